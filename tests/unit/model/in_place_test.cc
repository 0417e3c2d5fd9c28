// Layers that write over their residual: as machine code, with any config, in the arena.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/draws.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

// `op` with the residual %r, which is computed before it and has no other reader than `reader`.
Graph with_residual(const std::string& op, const std::string& image, const std::string& weight,
                    const std::string& shape, const std::string& extents, const std::string& reader = "") {
  return parse_graph(test_operators(), fmt::format(R"(graph g
input "x" %x f32[{}]
input "s" %s f32[{}]
%w = constant f32[{}] fill 5
%r = elementwise(op=relu,shape={}) %s
%y = {} %x %w %r
%z = elementwise(op=relu,shape={}) %y
{}output "z" %z f32[{}]
)",
                                                   image, shape, weight, extents, op, extents, reader, shape));
}

class Built {
 public:
  // The config of the second layer is `config`, if given.
  explicit Built(const Graph& g, const std::optional<Config>& config = std::nullopt) : g_(g) {
    const Workload tried = g.nodes[1].workload;
    options_.choose = [tried, config](const Workload& w, const Target&, const Space& space) {
      return ChosenConfig{config && to_string(w) == to_string(tried) ? *config : space.default_config(), "", ""};
    };
    built_ = build_model(g, options_);
  }
  std::optional<size_t> in_place(size_t call) const { return built_.variants[0].layers.calls[call].in_place; }
  const std::string& json() const { return built_.json; }
  int64_t arena() const { return built_.variants[0].memory.bytes; }
  void expect_right() const {
    const std::vector<TensorData> inputs = seeded_inputs(g_);
    const std::vector<double> wanted = interpret(g_, inputs, &evaluate)[0].values(),
                              got = LoadedModel(built_, "m", 2).run(inputs)[0].values();
    EXPECT_THAT(got, testing::Pointwise(testing::DoubleNear(1e-4), wanted));
  }

 private:
  const Graph& g_;
  ModelOptions options_{"m", host_target(2), {}};
  BuiltModel built_;
};

TEST(LayersInPlace, OfAnyConfigComputeTheSame) {
  const std::vector<Graph> graphs = {
      with_residual("conv2d(ci=16,h=9,w=7,co=16,layout=NCHW16c,epilogue=add+relu)", "1, 1, 9, 7, 16", "16, 16, 3, 3",
                    "1, 1, 9, 7, 16", "1x1x9x7x16"),
      with_residual("conv2d(ci=16,h=6,w=9,co=32,kh=1,kw=1,pad=0,layout=NCHW16c,epilogue=silu+add)", "1, 1, 6, 9, 16",
                    "32, 16, 1, 1", "1, 2, 6, 9, 16", "1x2x6x9x16"),
      with_residual("dense(m=13,n=37,k=19,epilogue=add)", "13, 19", "37, 19", "13, 37", "13x37")};
  for (const Graph& g : graphs) {
    const Space space = make_space(g.nodes[1].workload, host_target(2));
    std::mt19937_64 rng(5);
    int in_place = 0;
    for (const Config& config : some_configs(space, 10, rng)) {
      SCOPED_TRACE(to_string(g.nodes[1].workload) + " " + space.print(config));
      const Built built(g, config);
      in_place += built.in_place(1) == std::optional<size_t>(2);
      built.expect_right();
    }
    EXPECT_GE(in_place, draws(2, 5)) << to_string(g.nodes[1].workload);
  }
}

TEST(LayersInPlace, NeedLessMemory) {
  const Graph g = with_residual("dense(m=16,n=64,k=4,epilogue=add)", "16, 4", "64, 4", "16, 64", "16x64");
  const Built built(g);
  EXPECT_EQ(built.in_place(1), std::optional<size_t>(2));
  EXPECT_EQ(built.arena(), 16 * 64 * 4) << "one buffer of %r and %y";
  EXPECT_THAT(built.json(), testing::HasSubstr("\"in_place\":\"residual\""));
}

TEST(LayersInPlace, LeaveWhatIsReadLater) {
  const std::string later = "%l = elementwise(op=exp,shape=16x64) %r\noutput \"l\" %l f32[16, 64]\n";
  const Graph g = with_residual("dense(m=16,n=64,k=4,epilogue=add)", "16, 4", "64, 4", "16, 64", "16x64", later);
  const Built built(g);
  EXPECT_EQ(built.in_place(1), std::nullopt);
  built.expect_right();
}

// The residual is the caller's own tensor.
TEST(LayersInPlace, LeaveTensorsOfTheCaller) {
  const Graph g = parse_graph(test_operators(), R"(graph g
input "x" %x f32[16, 4]
input "r" %r f32[16, 64]
%w = constant f32[64, 4] fill 5
%y = dense(m=16,n=64,k=4,epilogue=add) %x %w %r
%z = elementwise(op=relu,shape=16x64) %y
output "z" %z f32[16, 64]
)");
  EXPECT_EQ(Built(g).in_place(0), std::nullopt);
}

// Both operands of the sum are one tensor.
TEST(LayersInPlace, LeaveWhatTheyReadTwice) {
  const Graph g = parse_graph(test_operators(), R"(graph g
input "s" %s f32[1, 1, 6, 7, 16]
%w = constant f32[16, 16, 3, 3] fill 5
%r = elementwise(op=relu,shape=1x1x6x7x16) %s
%y = conv2d(ci=16,h=6,w=7,co=16,layout=NCHW16c,epilogue=add) %r %w %r
%z = elementwise(op=relu,shape=1x1x6x7x16) %y
output "z" %z f32[1, 1, 6, 7, 16]
)");
  const Built built(g);
  EXPECT_EQ(built.in_place(1), std::nullopt);
  built.expect_right();
}

}  // namespace
}  // namespace hone
