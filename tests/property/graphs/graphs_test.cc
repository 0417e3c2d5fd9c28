// Passes over random graphs, one by one, together and in other orders: their results are verified and compute the
// same. Some of the graphs are compiled and run. HONE_GRAPHS and HONE_COMPILED_GRAPHS take more, HONE_GRAPHS_SEED
// others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/text.h"
#include "compiler/host/local_kernel.h"
#include "compiler/model/build_model.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/draws.h"
#include "tests/fakes/leftover_arena.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"
#include "tests/property/graphs/random_graph.h"

namespace hone {
namespace {

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

std::vector<TensorData> inputs_of(const Graph& g, uint64_t seed) {
  std::vector<TensorData> out;
  for (const Port& p : g.inputs) {
    const int64_t elements = element_count(p.type.shape);
    std::string bytes = filled_elements(p.type.dtype, elements, seed * 100 + out.size());
    // Whole numbers of all sizes now and then: sums and products wrap.
    std::mt19937_64 rng(seed * 100 + out.size());
    if (p.type.dtype.is_integer() && rng() % 2 == 0)
      for (char& c : bytes) c = static_cast<char>(rng());
    out.emplace_back(p.type, std::move(bytes));
  }
  return out;
}

// The outputs, and the largest finite value on the way.
struct Computed {
  std::vector<TensorData> outputs;
  double largest = 1;
};
Computed compute(const Graph& g, uint64_t seed) {
  Computed out;
  out.outputs = interpret(g, inputs_of(g, seed), &evaluate, [&](const Node&, const std::vector<TensorData>& made) {
    for (const TensorData& t : made)
      for (const double v : t.values())
        if (std::isfinite(v)) out.largest = std::max(out.largest, std::abs(v));
  });
  return out;
}

// The first difference; empty: none. Floats may be `tolerance` times `largest` apart; 0: all bits count, save in NaNs.
std::string difference(const Computed& wanted, const std::vector<TensorData>& got, double tolerance) {
  if (got.size() != wanted.outputs.size()) return "another number of outputs";
  for (size_t o = 0; o < got.size(); ++o) {
    const TensorData &w = wanted.outputs[o], &h = got[o];
    if (w.type() != h.type())
      return fmt::format("output {} is {}, not {}", o, to_string(h.type()), to_string(w.type()));
    const std::vector<double> a = h.values(), b = w.values();
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
      if (w.type().dtype.is_float() && std::abs(a[i] - b[i]) <= tolerance * wanted.largest) continue;
      return fmt::format("output {}, element {}: {} instead of {}", o, i, a[i], b[i]);
    }
  }
  return "";
}

double epsilon_of(const Graph& g) {
  double most = 0;
  for (const Value& v : g.values) {
    if (v.type.dtype == f32) most = std::max(most, 1e-5);
    if (v.type.dtype == f64) most = std::max(most, 1e-5);  // constants of chains may be rounded
    if (v.type.dtype == f16) most = std::max(most, 1e-2);
    if (v.type.dtype == bf16) most = std::max(most, 8e-2);
  }
  return most;
}
bool is_narrow(const Graph& g) {
  return std::any_of(g.values.begin(), g.values.end(), [](const Value& v) { return v.type.dtype.is_narrow_float(); });
}

// Passes by their names, in order.
Graph passed(Graph g, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    for (const Pass<Graph>& pass : graph_passes({test_operators(), test_functions(), 4}))
      if (pass.name == name) g = pass.run(g);
  return g;
}

// The fault in the graph that passes make of `g`; empty: none.
std::string fault_behind(const Graph& g, const std::vector<std::string>& passes, uint64_t seed) {
  try {
    const Computed wanted = compute(g, seed);
    const Graph made = passed(g, passes);
    if (const auto fault = fault_of(made)) return fault->what;
    // Chains round to 16 bits once, where nodes do it each time. All else computes the very same.
    const bool fuses = std::any_of(passes.begin(), passes.end(), [](const auto& p) { return p.starts_with("fuse_"); });
    return difference(wanted, compute(made, seed).outputs, fuses && is_narrow(g) ? epsilon_of(g) : 0);
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::string join(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

// The smallest part of `g` that fails as well: one value instead of all outputs.
template <class Fails>
Graph shrunk(const Graph& g, const Fails& fails) {
  for (const Node& n : g.nodes)
    for (const ValueId v : n.outputs) {
      Graph part = g;
      part.outputs = {{"y", v, g.value(v).type}};
      part = remove_dead(part);
      if (fails(part)) return part;
    }
  return g;
}

RandomGraphOptions options_of(uint64_t seed) {
  switch (seed % 4) {
    case 0: return {{f32}};
    case 1: return {{f32, i32, boolean, i64}};
    case 2: return {{f16, bf16, f32}, /*only_continuous=*/true};
    default: return {{u8, i8, i32, f32, f64}};
  }
}

// Other roundings, so graphs without functions that make much of them.
TEST(RandomGraphs, RowsAreRecognized) {
  const uint64_t first = setting("HONE_GRAPHS_SEED", 0), count = setting("HONE_GRAPHS", draws(1500, 4000)) / 4;
  std::map<std::string, int> found;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Graph g = RandomGraph(test_operators(), test_functions(), seed, {{f32, f64}, true, 6, true}).make();
    const Computed wanted = compute(g, seed);
    for (const std::vector<std::string>& passes : {std::vector<std::string>{"share_nodes", "recognize_rows"},
                                                   {"share_nodes", "recognize_rows", "fuse_elementwise"}}) {
      const Graph made = passed(g, passes);
      const auto fault = fault_of(made);
      ASSERT_FALSE(fault) << fault->what;
      ASSERT_EQ(difference(wanted, compute(made, seed).outputs, 1e-4), "")
          << "seed " << seed << ", " << join(passes) << "\n"
          << to_string(g, 1 << 10) << "behind them:\n"
          << to_string(made, 1 << 10);
      for (const Node& n : made.nodes) ++found[n.workload.operator_name()];
    }
  }
  for (const char* op : {"softmax", "l2_norm", "rms_norm", "layer_norm"}) {
    std::cout << fmt::format("{}: {}\n", op, found[op]);
    EXPECT_GT(found[op], static_cast<int>(count / 25)) << op;
  }
}

// Passes that compute the same numbers in another way.
bool rounds_otherwise(std::string_view pass) { return pass == "simplify_chains" || pass == "fold_scales"; }

// Scales, shifts and spelled functions between convolutions, in graphs without functions that make much of a rounding.
TEST(RandomGraphs, OtherRoundingsStayClose) {
  const uint64_t first = setting("HONE_GRAPHS_SEED", 0), count = setting("HONE_GRAPHS", draws(1500, 4000)) / 4;
  int scaled = 0, kept = 0, functions = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Graph g = RandomGraph(test_operators(), test_functions(), seed, {{f32, f64}, true, 6, false, true}).make();
    const Computed wanted = compute(g, seed);
    const std::vector<std::string> fused = {"share_nodes", "fuse_elementwise", "fuse_epilogues"},
                                   folded = {"share_nodes",    "fuse_elementwise", "simplify_chains",
                                             "fuse_epilogues", "fold_scales",      "lift_numbers"};
    for (const auto& passes : {folded, std::vector<std::string>{"simplify_chains", "fold_scales", "lift_numbers"}}) {
      const Graph made = passed(g, passes);
      const auto fault = fault_of(made);
      ASSERT_FALSE(fault) << fault->what;
      ASSERT_EQ(difference(wanted, compute(made, seed).outputs, 1e-5), "")
          << "seed " << seed << ", " << join(passes) << "\n"
          << to_string(g, 1 << 10) << "behind them:\n"
          << to_string(made, 1 << 10);
    }
    const auto count_of = [](const Graph& made, const std::vector<std::string>& texts) {
      int n = 0;
      for (const Node& node : made.nodes)
        for (const std::string& text : texts) n += to_string(node.workload).find(text) != std::string::npos ? 1 : 0;
      return n;
    };
    scaled += count_of(passed(g, fused), {"mul[c]"});
    kept += count_of(passed(g, folded), {"mul[c]"});
    functions += count_of(passed(g, folded), {"silu", "hard_swish", "gelu"});
  }
  std::cout << fmt::format("{} scaled convolutions, {} behind the passes; {} functions found\n", scaled, kept,
                           functions);
  EXPECT_LT(kept, scaled * 2 / 3);
  EXPECT_GT(functions, static_cast<int>(count / 50));
}

TEST(RandomGraphs, PassesChangeNothingThatIsComputed) {
  const uint64_t first = setting("HONE_GRAPHS_SEED", 0), count = setting("HONE_GRAPHS", draws(1500, 4000));
  std::vector<std::string> all;
  for (const Pass<Graph>& pass : graph_passes({test_operators(), test_functions(), 4}))
    if (!rounds_otherwise(pass.name)) all.emplace_back(pass.name);
  int nodes = 0, kept = 0, epilogues = 0, failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < 10; ++seed) {
    const Graph g = RandomGraph(test_operators(), test_functions(), seed, options_of(seed)).make();
    ASSERT_FALSE(fault_of(g)) << fault_of(g)->what;
    const std::string text = to_string(g, 1 << 20);
    ASSERT_EQ(to_string(parse_graph(test_operators(), text), 1 << 20), text);
    std::vector<std::vector<std::string>> orders = {all};
    for (const std::string& name : all) orders.push_back({name});
    std::mt19937_64 rng(seed);
    // In any order but for the last pass: others do not know the nodes with more outputs that it makes.
    std::vector<std::string> other = all;
    const std::string last = other.back();
    ASSERT_EQ(last, "fuse_extremes");
    other.insert(other.end(), all.begin(), all.end());
    std::erase(other, last);
    std::shuffle(other.begin(), other.end(), rng);
    other.push_back(last);
    orders.push_back(other);
    for (const auto& order : orders) {
      const std::string fault = fault_behind(g, order, seed);
      if (fault.empty()) continue;
      const Graph part = shrunk(g, [&](const Graph& p) { return !fault_behind(p, order, seed).empty(); });
      ADD_FAILURE() << "seed " << seed << ", " << join(order) << ": " << fault_behind(part, order, seed) << "\n"
                    << to_string(part, 1 << 10) << "behind them:\n"
                    << to_string(passed(part, order), 1 << 10);
      ++failures;
      break;
    }
    nodes += static_cast<int>(g.nodes.size());
    for (const Node& n : passed(g, all).nodes) {
      ++kept;
      epilogues += n.workload.attributes.has("epilogue") && n.workload.attributes.text("epilogue") != "none" ? 1 : 0;
    }
  }
  std::cout << fmt::format("{} nodes, {} behind all passes, {} with epilogues\n", nodes, kept, epilogues);
  EXPECT_LT(kept, nodes * 2 / 3);
  EXPECT_GT(epilogues, kept / 50);
}

// The fault in `g`, compiled; empty: none.
std::string fault_compiled(const Graph& g, uint64_t seed, const std::string& folder) {
  try {
    const Computed wanted = compute(g, seed);
    std::vector<std::string> all;
    for (const Pass<Graph>& pass : graph_passes({test_operators(), test_functions(), 4})) all.emplace_back(pass.name);
    const Graph made = passed(g, all);
    Target target = host_target(2);
    const BuiltModel built = build_model(made, {"m", target, [](const Workload&, const Target&, const Space& space) {
                                                  return ChosenConfig{space.default_config(), "default", ""};
                                                }});
    static int number = 0;  // the loader gives a path that it knows the same code again
    const std::string path = fmt::format("{}/m{}.so", folder, number++);
    link_artifact(built.objects, target, "m", path, "");
    std::string fault;
    for (const int threads : {1, 2}) {
      LoadedModel model(path, "m", threads), again(path, "m", threads);
      std::vector<TensorData> got = model.run(inputs_of(g, seed));
      for (size_t o = 0; o < got.size(); ++o)  // an artifact has bools as u8
        if (g.outputs[o].type.dtype.is_bool() && got[o].type().dtype == u8)
          got[o] =
              TensorData({boolean, got[o].type().shape}, std::string(got[o].bytes().begin(), got[o].bytes().end()));
      fault = difference(wanted, got, epsilon_of(g));
      if (fault.empty()) fault = LeftoverArena(model, again).difference();
      if (!fault.empty()) return fmt::format("{} threads: {}", threads, fault);
    }
    return fault;
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST(RandomGraphs, CompiledComputeTheSame) {
  const uint64_t first = setting("HONE_GRAPHS_SEED", 0), count = setting("HONE_COMPILED_GRAPHS", draws(100, 300));
  const TemporaryFolder folder;
  int failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
    RandomGraphOptions options = options_of(seed);
    options.only_continuous = true;
    const Graph g = RandomGraph(test_operators(), test_functions(), seed, options).make();
    const std::string fault = fault_compiled(g, seed, folder.path());
    if (fault.empty()) continue;
    const Graph part = shrunk(g, [&](const Graph& p) { return !fault_compiled(p, seed, folder.path()).empty(); });
    ADD_FAILURE() << "seed " << seed << ": " << fault_compiled(part, seed, folder.path()) << "\n"
                  << to_string(part, 1 << 10);
    ++failures;
  }
}

}  // namespace
}  // namespace hone
