// The named sets of passes, -O0 to -O3: what they have, and that the models that they make are right.
#include <gmock/gmock.h>

#include <fstream>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/frontend/model_reader.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/check/check_whole.h"
#include "compiler/model/model_data.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/decoder_model.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tflite_pets.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr OptLevel kLevels[] = {OptLevel::kNeeded, OptLevel::kSimplify, OptLevel::kFuse, OptLevel::kAll};

PassContext of_level(OptLevel level) {
  PassContext context{test_operators(), test_functions()};
  context.level = level;
  return context;
}

// How many layers each level leaves; the artifacts are compared with the graph as it was read.
std::vector<size_t> checked_layers(const Graph& imported) {
  std::vector<size_t> out;
  for (const OptLevel level : kLevels) {
    const Graph made = prepare_graph(imported, of_level(level), host_target(1));
    const BuiltModel built =
        build_model(made, {"m", host_target(1), [](const Workload&, const Target&, const Space& space) {
                             return ChosenConfig{space.default_config(), "default", ""};
                           }});
    const std::vector<TensorData> inputs = seeded_inputs(made);
    const WholeCheck c =
        check_whole(imported, made, host_target(1), inputs, LoadedModel(built, "m", 1).run(inputs), {});
    EXPECT_EQ(c.wrong, "") << static_cast<int>(level);
    EXPECT_EQ(c.left_out, "") << static_cast<int>(level);
    out.push_back(built.variants[0].layers.calls.size());
  }
  return out;
}

struct Levels : testing::Test {
  const TemporaryFolder folder;
  Graph read(const std::string& name, const std::string& content, const ImportOptions& options = {}) {
    const std::string path = folder.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return import_model(path, test_operators(), options).graph;
  }
};

TEST_F(Levels, EachHasThePassesOfTheOneBefore) {
  std::vector<std::string> before;
  for (const OptLevel level : kLevels) {
    std::vector<std::string> names;
    for (const Pass<Graph>& pass : graph_passes(of_level(level))) names.emplace_back(pass.name);
    EXPECT_GT(names.size(), before.size());
    EXPECT_THAT(names, testing::IsSupersetOf(before));
    before = names;
  }
  EXPECT_EQ(names_of(graph_passes(of_level(OptLevel::kNeeded))), "remove_dead");
  EXPECT_EQ(names_of(graph_passes(of_level(OptLevel::kAll))),
            names_of(graph_passes({test_operators(), test_functions()})));
}

// Each pass is of one level, for the help and the pages.
TEST_F(Levels, HaveNames) {
  EXPECT_EQ(names_of_level(OptLevel::kNeeded), "unroll_steps, remove_dead, use_caches, sum_in_f16");
  EXPECT_THAT(names_of_level(OptLevel::kFuse), HasSubstr("fuse_epilogues"));
  EXPECT_THAT(names_of_level(OptLevel::kFuse), Not(HasSubstr("choose_layouts")));
}

TEST_F(Levels, GpusHaveThemToo) {
  PassContext context = of_level(OptLevel::kNeeded);
  context.for_gpu = true;
  EXPECT_EQ(names_of(graph_passes(context)), "unroll_steps, remove_dead");
  context.level = OptLevel::kAll;
  EXPECT_THAT(names_of(graph_passes(context)),
              AllOf(HasSubstr("join_transposes"), Not(HasSubstr("choose_layouts")), Not(HasSubstr("fuse_extremes"))));
}

TEST_F(Levels, AModelOfImages) {
  SmallModel().write(folder.path() + "/m.onnx");
  const std::vector<size_t> layers =
      checked_layers(import_model(folder.path() + "/m.onnx", test_operators(), {}).graph);
  EXPECT_GE(layers[0], layers[1]);
  EXPECT_GT(layers[1], layers[2]) << "nodes are fused";
}

TEST_F(Levels, AModelOfTensorFlowLite) { checked_layers(read("pets.tflite", pets_tflite())); }

TEST_F(Levels, ADecoder) {
  const std::vector<size_t> layers = checked_layers(
      read("m.onnx", exported_decoder().model.SerializeAsString(), {.bind = {{"past", kDecoderRoom - 1}}}));
  EXPECT_GT(layers[1], layers[2]) << "attention is one node";
}

// Quantised weights and activations: products of bytes from the third level on, of floats before it.
TEST_F(Levels, AModelOfBytes) {
  const Graph g = parse_graph(test_operators(), R"(graph g
input "x" %x u8[5, 16]
%w = constant s8[8, 16] fill 3
%xf = elementwise(op=cast:f32+sub[3.0]+mul[0.05],shape=5x16,dtype=u8) %x   # dequantize x
%wf = elementwise(op=cast:f32+mul[0.02],shape=8x16,dtype=s8) %w   # dequantize w
%h = dense(m=5,n=8,k=16,dtype=f32) %xf %wf   # dense
%r = elementwise(op=relu,shape=5x8,dtype=f32) %h   # relu
%q = elementwise(op=div[0.07]+round+clip[0;255]:u8,shape=5x8,dtype=f32) %r   # quantize
output "y" %q u8[5, 8]
)");
  const auto text = [&](OptLevel level) { return to_string(prepare_graph(g, of_level(level), host_target(1))); };
  EXPECT_THAT(text(OptLevel::kSimplify), Not(HasSubstr("dtype=u8:s8")));
  EXPECT_THAT(text(OptLevel::kFuse), HasSubstr("dtype=u8:s8:s32"));
  checked_layers(g);
}

// The model for one row less goes through the same passes, users' too.
TEST_F(Levels, UsersPassesSeeBothGraphsOfCaches) {
  std::ofstream(folder.path() + "/m.onnx", std::ios::binary) << exported_decoder().model.SerializeAsString();
  size_t calls = 0;
  const std::vector<UserPass> own = {{"mine", "fuse_attention", true, "", [&](const Graph& g) {
                                        ++calls;
                                        return g;
                                      }}};
  PassContext context = of_level(OptLevel::kAll);
  context.user_passes = &own;
  GrowingModel m = import_growing_model(folder.path() + "/m.onnx", test_operators(), {}, {"past", kDecoderRoom - 1});
  EXPECT_THAT(to_string(prepare_growing(std::move(m), context, host_target(1))), HasSubstr("cached_attention("));
  EXPECT_EQ(calls, 2u);
}

TEST_F(Levels, CachesTakeAttention) {
  std::ofstream(folder.path() + "/m.onnx", std::ios::binary) << exported_decoder().model.SerializeAsString();
  const auto prepared = [&](OptLevel level) {
    GrowingModel m = import_growing_model(folder.path() + "/m.onnx", test_operators(), {}, {"past", kDecoderRoom - 1});
    return to_string(prepare_growing(std::move(m), of_level(level), host_target(1)));
  };
  for (const OptLevel level : {OptLevel::kNeeded, OptLevel::kSimplify}) try {
      prepared(level);
      ADD_FAILURE() << "accepted";
    } catch (const UserError& e) {
      EXPECT_THAT(e.what(), HasSubstr("caches that grow in place (--cache) take -O2"));
    }
  EXPECT_THAT(prepared(OptLevel::kFuse), HasSubstr("cached_attention("));
}

}  // namespace
}  // namespace hone
