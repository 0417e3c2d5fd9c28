// Checks of models whose functions saturate: no right result is refused, and wrong ones are found where outputs show
// anything of them. HONE_SATURATING_MODELS takes more of them, HONE_SATURATING_SEED others.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/check/check_layers.h"
#include "compiler/model/check/check_whole.h"
#include "compiler/model/check/checked_layer.h"
#include "compiler/model/check/naive_kernels.h"
#include "compiler/model/model_data.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"
#include "tests/property/saturating/saturating_model.h"

namespace hone {
namespace {

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

constexpr double kScales[] = {1, 10, 100, 1e3, 1e4};
double scale_of(uint64_t seed) { return kScales[seed % std::size(kScales)]; }

// A model, compiled with configs drawn at random.
struct RandomModel {
  Graph imported, graph;
  const Target target;
  BuiltModel built;

  explicit RandomModel(uint64_t seed)
      : imported(SaturatingModel(test_operators(), seed, scale_of(seed)).make()), target(host_target(1)) {
    const PassContext context{test_operators(), test_functions()};
    graph = prepare_graph(imported, context, target);
    std::mt19937_64 rng(seed);
    built = build_model(graph, {"m", target, [&](const Workload&, const Target&, const Space& space) {
                                  const auto drawn = space.sample(rng);
                                  return ChosenConfig{drawn ? *drawn : space.default_config(), "given", ""};
                                }});
  }
  const Layers& layers() const { return built.variants[0].layers; }
};

struct SaturatingModels : testing::Test {
  const uint64_t first = setting("HONE_SATURATING_SEED", 0), count = setting("HONE_SATURATING_MODELS", 25);
};

TEST_F(SaturatingModels, ThatAreRightAreNotRefused) {
  size_t layers = 0, rounds = 0, left_out = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomModel m(seed);
    const std::vector<TensorData> inputs = seeded_inputs(m.graph);
    const LayerCheck c = check_layers(m.graph, m.layers(), m.target, inputs);
    EXPECT_EQ(c.wrong, "") << "seed " << seed << "\n" << to_string(m.graph);
    const std::vector<TensorData> got = LoadedModel(m.built, "m", 1).run(inputs);
    const WholeCheck whole = check_whole(m.imported, m.graph, m.target, inputs, got);
    EXPECT_EQ(whole.wrong, "") << "seed " << seed << "\n" << to_string(m.imported);
    layers += c.checked, rounds += c.rounds, left_out += whole.left_out.empty() ? 0 : 1;
  }
  std::cout << fmt::format("{} models: {} layers agree, {} adversarial inputs; {} wholes say nothing\n", count, layers,
                           rounds, left_out);
  EXPECT_LT(left_out, count / 2);
}

// Faults that may be planted into a layer's computation.
enum class Fault : uint8_t { kLastElement, kWrongLane, kDroppedStep, kFewerBits };
constexpr std::pair<Fault, const char*> kFaults[] = {{Fault::kLastElement, "last element"},
                                                     {Fault::kWrongLane, "wrong lane"},
                                                     {Fault::kDroppedStep, "dropped step"},
                                                     {Fault::kFewerBits, "fewer bits"}};

std::string bytes_of(const std::vector<double>& values) {
  std::string bytes;
  for (const double v : values) {
    const auto f = static_cast<float>(v);
    bytes.append(reinterpret_cast<const char*>(&f), sizeof f);
  }
  return bytes;
}

// A layer with a product, and the facts known without the reference: the results of its naive program for these inputs
// and for ones that are a little off.
class Planted {
 public:
  Planted(const Node& n, const std::vector<TensorData>& in, int64_t terms, NaiveKernels& naive)
      : node_(n),
        in_(in),
        terms_(static_cast<double>(terms)),
        naive_(naive),
        right_(compute(in)),
        room_(right_.size()) {
    // Sixteen times the errors of the first order that a sum of so many terms may have: a change of outputs by these is
    // no fault. Nor is a change by smaller errors: a function that is flat but for a bump (exp(-|x|) of numbers in the
    // thousands) has its bump between the far draws.
    std::mt19937_64 rng(1);
    for (double off = 16 * std::sqrt(terms_) * terms_ * 0x1p-24, least = off / 512; off > least; off /= 4)
      for (int draw = 0; draw < 4; ++draw) {
        std::vector<TensorData> moved = in;
        moved[0] = scaled(in[0], [&] { return 1 + off * (static_cast<double>(rng() >> 11) * 0x1p-52 - 1); });
        const std::vector<double> other = compute(moved);
        for (size_t e = 0; e < right_.size(); ++e) room_[e] = std::max(room_[e], 2 * std::abs(other[e] - right_[e]));
      }
    for (const double v : right_)
      if (std::isfinite(v)) largest_ = std::max(largest_, std::abs(v));
  }

  // The output with a fault, as bytes.
  std::vector<double> with(Fault fault) const {
    std::vector<double> out = right_;
    std::mt19937_64 rng(2);
    switch (fault) {
      case Fault::kLastElement: out.back() += largest_ / 16; break;
      case Fault::kWrongLane: std::swap(out.back(), out[out.size() / 2]); break;
      case Fault::kDroppedStep: {
        std::vector<TensorData> shorter = in_;
        shorter[1] = without_last(in_[1]);
        return compute(shorter);
      }
      case Fault::kFewerBits:
        for (double& v : out) v *= 1 + (rng() % 2 == 0 ? 1 : -1) * 0x1p-10;
    }
    return out;
  }

  // Whether an output says that this is wrong: some element is further off than roundings can explain.
  bool is_evident(const std::vector<double>& out) const {
    for (size_t e = 0; e < out.size(); ++e)
      if (std::abs(static_cast<float>(out[e]) - right_[e]) > room_[e] + 128 * 0x1p-24 * largest_) return true;
    return false;
  }

 private:
  std::vector<double> compute(const std::vector<TensorData>& in) const {
    const PhysicalTypes types = physical_types(node_.workload);
    return to_logical(naive_.evaluate(node_.workload, in)[0], types.outputs[0]).values();
  }
  template <class F>
  static TensorData scaled(const TensorData& t, const F& factor) {
    std::vector<double> values = t.values();
    for (double& v : values) v *= factor();
    return {t.type(), bytes_of(values)};
  }
  // Weights whose last elements of each sum are 0. Theirs are [outputs, terms...] in all layouts but of channels.
  TensorData without_last(const TensorData& weights) const {
    std::vector<double> values = weights.values();
    const auto terms = static_cast<size_t>(terms_);
    for (size_t e = terms - 1; e < values.size(); e += terms) values[e] = 0;
    return {weights.type(), bytes_of(values)};
  }

  const Node& node_;
  const std::vector<TensorData>& in_;
  const double terms_;
  NaiveKernels& naive_;
  const std::vector<double> right_;
  std::vector<double> room_;
  double largest_ = 0;
};

// Terms of each sum where a node is a product with constant weights that lie [outputs, terms...]; else 0.
int64_t terms_of(const Graph& g, const Node& n) {
  const std::string_view task = n.workload.operator_name();
  if (task != "dense" && task != "conv2d" && task != "depthwise_conv2d") return 0;
  if (n.outputs.size() != 1 || !g.is_constant(n.inputs[1]) || g.value(n.inputs[0]).type.dtype != f32) return 0;
  const std::vector<int64_t>& shape = g.value(n.inputs[1]).type.shape;
  return element_count(shape) / shape[0];
}

TEST_F(SaturatingModels, HideNoFaultThatIsEvident) {
  struct Count {
    int planted = 0, evident = 0, found = 0;
  };
  std::map<std::pair<double, Fault>, Count> counts;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomModel m(seed);
    NaiveKernels naive(m.target);
    std::vector<TensorData> inputs = seeded_inputs(m.graph);
    std::map<ValueId, TensorData> values;
    for (size_t i = 0; i < inputs.size(); ++i) values[m.graph.inputs[i].value] = inputs[i];
    for (size_t v = 0; v < m.graph.values.size(); ++v)
      if (m.graph.values[v].constant) values[static_cast<ValueId>(v)] = *m.graph.values[v].constant;
    const auto watch = [&](const Node& n, const std::vector<TensorData>& out) {
      for (size_t o = 0; o < out.size(); ++o) values[n.outputs[o]] = out[o];
      const int64_t terms = terms_of(m.graph, n);
      if (terms < 2) return;
      std::vector<TensorData> in;
      for (const ValueId v : n.inputs) in.push_back(values.at(v));
      CheckedLayer layer(n.workload, naive_module(n.workload), std::vector<bool>(n.inputs.size(), false), m.target, 1e9,
                         Denormals::kKeep);
      for (size_t i = 0; i < in.size(); ++i) layer.set_input(i, in[i]);
      std::string wrong;
      layer.run(&wrong);
      ASSERT_EQ(wrong, "");
      const Planted planted(n, in, terms, naive);
      for (const auto& [fault, name] : kFaults) {
        const std::vector<double> out_with = planted.with(fault);
        const bool is_evident = planted.is_evident(out_with);
        const bool is_found = !layer.compare(0, bytes_of(out_with).data(), std::nullopt).ok;
        Count& c = counts[{scale_of(seed), fault}];
        ++c.planted, c.evident += is_evident ? 1 : 0, c.found += is_found ? 1 : 0;
        EXPECT_TRUE(is_found || !is_evident) << "seed " << seed << ": " << name << " in " << to_string(n.workload);
      }
    };
    interpret(
        m.graph, inputs, [&](const Workload& w, std::span<const TensorData> in) { return naive.evaluate(w, in); },
        watch);
  }
  for (const double scale : kScales)
    for (const auto& [fault, name] : kFaults) {
      const Count& c = counts[{scale, fault}];
      std::cout << fmt::format("scale {:g}, {}: {} planted, {} evident, {} found\n", scale, name, c.planted, c.evident,
                               c.found);
      EXPECT_GT(c.evident, c.planted / 4) << "scale " << scale << ": " << name;
    }
}

}  // namespace
}  // namespace hone
