#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// x * scale + shift, a number each for every channel.
struct Affine {
  std::vector<double> scale, shift;

  explicit Affine(size_t channels) : scale(channels, 1), shift(channels, 0) {}
  bool scales() const {
    return std::any_of(scale.begin(), scale.end(), [](double v) { return v != 1; });
  }
  bool shifts() const {
    return std::any_of(shift.begin(), shift.end(), [](double v) { return v != 0; });
  }
};

// Numbers as f32 or f64 holds them; nothing where one is not finite there, or so small that digits are lost.
std::optional<TensorData> data_of(const TensorType& type, const std::vector<double>& values) {
  std::string bytes(static_cast<size_t>(bytes_of(type)), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const auto narrow = static_cast<float>(values[i]);
    const auto is_held = [&](auto held) { return std::isnormal(held) || values[i] == 0; };
    if (!(type.dtype == f32 ? is_held(narrow) : is_held(values[i]))) return std::nullopt;
    if (type.dtype == f32)
      std::memcpy(bytes.data() + i * sizeof narrow, &narrow, sizeof narrow);
    else
      std::memcpy(bytes.data() + i * sizeof values[i], &values[i], sizeof values[i]);
  }
  return TensorData(type, std::move(bytes));
}

class ScaleFolder {
 public:
  ScaleFolder(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  // Producers first: readers fold the scales that producers leave to them.
  Graph run() {
    return r_.run([&](const Node& n) {
      if (has_own_weights(n)) {
        fold_front(n);
        pass_on(n);
      }
      return false;
    });
  }

 private:
  bool has_own_weights(const Node& n) const { return has_folding_weights(r_.graph(), n); }
  const TensorType& weights(const Node& n) const { return r_.type(n.inputs[1]); }
  size_t channels(const Node& n) const { return static_cast<size_t>(weights(n).shape[0]); }

  // A link that scales or shifts by numbers that are known, applied to `a`; false: it is none. `operand` is the value
  // of its operand, if it has one.
  bool apply(const ChainLink& link, ValueId operand, Affine* a) const {
    if (!link.function || link.arguments.size() != 1 || link.result) return false;
    std::vector<double> by;
    if (const double* number = std::get_if<double>(&link.arguments[0])) {
      by.assign(a->scale.size(), *number);
    } else if (operand != kNoValue && r_.is_constant(operand)) {
      const int64_t count = element_count(r_.shape(operand));
      if (count == 1)
        by.assign(a->scale.size(), r_.graph().value(operand).constant->values()[0]);
      else if (std::get<Operand>(link.arguments[0]).kind == Operand::Kind::kChannel)
        by = r_.graph().value(operand).constant->values();
    }
    if (by.size() != a->scale.size()) return false;
    const std::string& f = link.function->name;
    for (size_t c = 0; c < by.size(); ++c) {
      if (f == "add" || f == "sub") {
        a->shift[c] += f == "add" ? by[c] : -by[c];
      } else if (f == "mul" || f == "div") {
        const double factor = f == "mul" ? by[c] : 1 / by[c];
        a->scale[c] *= factor;
        a->shift[c] *= factor;
      } else {
        return false;
      }
    }
    return true;
  }

  // Weights times `scale`, one for each output channel; with `by_input`, one for each of the input's.
  std::optional<TensorData> scaled_weights(const Node& n, const std::vector<double>& scale, bool by_input) const {
    const TensorType& type = weights(n);
    std::vector<double> values = r_.graph().value(n.inputs[1]).constant->values();
    const bool own_channels = by_input && type.shape[1] == static_cast<int64_t>(scale.size());
    const size_t channel = values.size() / channels(n),  // elements of an output channel
        inner = own_channels ? channel / scale.size() : channel;
    for (size_t i = 0; i < values.size(); ++i) values[i] *= scale[own_channels ? i % channel / inner : i / channel];
    return data_of(type, values);
  }

  // conv * a + b   ->   convolution with other weights, + b
  void fold_front(const Node& n) {
    std::vector<BoundLink> links = bound_links(n);
    Affine a(channels(n));
    size_t count = 0;
    while (count < links.size() && apply(links[count].link, links[count].operand(), &a)) ++count;
    std::vector<ChainLink> rest;
    for (size_t l = count; l < links.size(); ++l) rest.push_back(links[l].link);
    if (!is_continuous(rest)) return;  // a difference of a rounding could become a step
    if (count == 0 || (count == 1 && !a.scales() && links[0].operand() != kNoValue)) return;
    const DType t = weights(n).dtype;
    const auto shift = data_of({t, {static_cast<int64_t>(a.shift.size())}}, a.shift);
    auto weight = a.scales() ? scaled_weights(n, a.scale, false) : r_.graph().value(n.inputs[1]).constant;
    if (!shift || !weight) return;
    links.erase(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(count));
    if (a.shifts()) {
      const ValueId bias = constant(n, *shift);
      links.insert(links.begin(),
                   {{c_.functions.find("add"), {Operand{Operand::Kind::kChannel, {}}}, std::nullopt}, {bias}});
    }
    auto folded = with_links(n, links, r_.shape(n.outputs[0]), c_.functions);
    if (!folded) return;
    if (a.scales()) folded->inputs[1] = constant(n, std::move(*weight));
    r_.become(n, folded->workload, std::move(folded->inputs));
  }

  // Whether `n` reads `v` as the image or matrix that its weights are applied to, and nowhere else.
  bool applies_weights_to(const Node& n, ValueId v) const {
    return has_own_weights(n) && n.inputs[0] == v && std::count(n.inputs.begin(), n.inputs.end(), v) == 1 &&
           n.workload.attributes.text("prologue") == "none" &&
           (!is_convolution(n) || conv_shape(n.workload).groups == 1 || conv_shape(n.workload).depthwise);
  }
  static bool is_convolution(const Node& n) { return n.workload.attributes.has("layout"); }
  static bool pads(const Node& n) {
    if (!is_convolution(n)) return false;
    const ConvShape& s = conv_shape(n.workload);
    return s.pad_top != 0 || s.pad_left != 0 || s.pad_bottom != 0 || s.pad_right != 0;
  }

  // Moves the scales and shifts at the end of a node's chain to its readers, when all of them have weights to fold it
  // into. A shift stays in front of borders, which are zeros: x * a + b is (x + b / a) * a.
  void pass_on(const Node& n) {
    const ValueId v = n.outputs[0];
    const std::vector<int> readers = r_.uses().readers[v];
    if (r_.uses().is_output[v] || readers.empty()) return;
    bool any_pads = false;
    for (const int r : readers) {
      const Node& reader = r_.node(r);
      if (!applies_weights_to(reader, v)) return;
      any_pads = any_pads || pads(reader);
    }
    std::vector<BoundLink> links = bound_links(n);
    // From the end on, as long as all that follows scales and shifts; the first links are in the weights already.
    size_t kept = links.size();
    Affine a(channels(n));
    while (kept > 1) {
      Affine tail(channels(n));
      bool all = true;
      for (size_t l = kept - 1; l < links.size(); ++l) all = all && apply(links[l].link, links[l].operand(), &tail);
      if (!all) break;
      --kept;
      a = tail;
    }
    if (kept == links.size()) return;
    const auto equal = [](const std::vector<double>& v) {
      return std::all_of(v.begin(), v.end(), [&](double x) { return x == v[0]; });
    };
    Affine left(a.scale.size());  // the part that stays
    if (any_pads) {
      if (!a.scales()) return;
      for (size_t c = 0; c < a.scale.size(); ++c) {
        left.shift[c] = a.shift[c] / a.scale[c];
        a.shift[c] = 0;
      }
      if (!std::all_of(left.shift.begin(), left.shift.end(), [](double s) { return std::isfinite(s); })) return;
    }
    // All or nothing: the folded weights of each reader.
    std::vector<std::pair<TensorData, TensorData>> folded;
    for (const int r : readers) {
      const Node& reader = r_.node(r);
      auto weight = scaled_weights(reader, a.scale, true);
      auto shift = data_of({weights(reader).dtype, {static_cast<int64_t>(channels(reader))}}, shift_behind(reader, a));
      if (!weight || !shift) return;
      folded.emplace_back(std::move(*weight), std::move(*shift));
    }
    links.resize(kept);
    if (left.shifts()) {
      const DType t = weights(n).dtype;
      const auto shift = data_of({t, {equal(left.shift) ? 1 : static_cast<int64_t>(left.shift.size())}},
                                 equal(left.shift) ? std::vector<double>{left.shift[0]} : left.shift);
      if (!shift) return;
      const Operand operand{equal(left.shift) ? Operand::Kind::kOne : Operand::Kind::kChannel, {}};
      links.push_back({{c_.functions.find("add"), {operand}, std::nullopt}, {constant(n, *shift)}});
    }
    auto own = with_links(n, links, r_.shape(v), c_.functions);
    if (!own) return;
    std::vector<Rewritten> changed;
    for (size_t r = 0; r < readers.size(); ++r) {
      const Node& reader = r_.node(readers[r]);
      std::vector<BoundLink> chain = bound_links(reader);
      if (a.shifts())
        chain.insert(chain.begin(), {{c_.functions.find("add"), {Operand{Operand::Kind::kChannel, {}}}, std::nullopt},
                                     {constant(reader, std::move(folded[r].second))}});
      auto of = with_links(reader, chain, r_.shape(reader.outputs[0]), c_.functions);
      if (!of) return;
      of->inputs[1] = constant(reader, std::move(folded[r].first));
      changed.push_back(std::move(*of));
    }
    r_.become(n, own->workload, std::move(own->inputs));
    for (size_t r = 0; r < readers.size(); ++r)
      r_.become(r_.node(readers[r]), changed[r].workload, std::move(changed[r].inputs));
  }

  // The shift of a reader's output when its input's channels are shifted by a.shift, and nothing is padded.
  std::vector<double> shift_behind(const Node& reader, const Affine& a) const {
    const std::vector<double> values = r_.graph().value(reader.inputs[1]).constant->values();
    const size_t outputs = channels(reader), channel = values.size() / outputs;
    const bool own_channels = weights(reader).shape[1] == static_cast<int64_t>(a.shift.size());
    const size_t inner = own_channels ? channel / a.shift.size() : channel;
    std::vector<double> out(outputs, 0);
    for (size_t i = 0; i < values.size(); ++i)
      out[i / channel] += values[i] * a.shift[own_channels ? i % channel / inner : i / channel];
    return out;
  }

  ValueId constant(const Node& n, TensorData data) { return r_.constant(std::move(data), n.inputs[1], "_folded"); }

  const PassContext& c_;
  Rewriter r_;
};

}  // namespace

Graph fold_scales(const Graph& g, const PassContext& context) { return ScaleFolder(g, context).run(); }

}  // namespace hone
