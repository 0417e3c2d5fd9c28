// Models for CUDA: built without a GPU, and run over a driver that only adds (tests/fakes/fake_cuda.h).
#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/frontend/onnx/import_growing.h"
#include "compiler/host/load_objects.h"
#include "tests/fakes/decoder_model.h"
#include "tests/fakes/fake_cuda_device.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/gpu/models/gpu_model_run.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct OverTheDriver : testing::Test, FakeCudaDevice {
  OverTheDriver() : FakeCudaDevice(HONE_FAKE_CUDA_ADDS) {}
};

// One element a thread: the driver adds as many as there are threads.
ChosenConfig one_each(const Workload&, const Target&, const Space& space) {
  return {space.parse("threads=32,rounds=1,vector=1"), "given", ""};
}

constexpr const char* kAdds = R"(graph g
input "x" %x f32[256]
%w = constant f32[256] fill 1
%v = constant f32[256] fill 2
%a = elementwise(op=add,shape=256,dtype=f32) %x %w
%b = elementwise(op=add,shape=256,dtype=f32) %a %v
%c = elementwise(op=add,shape=256,dtype=f32) %b %a
output "c" %c f32[256]
output "x" %x f32[256]
)";

TEST_F(OverTheDriver, LayersAreLaunches) {
  const Graph g = read_graph(kAdds);
  const std::vector<TensorData> inputs = seeded_inputs(g), wanted = interpret(g, inputs, &evaluate);
  {
    // The pass that would make one layer of them is not run: each is a launch.
    LoadedModel model(built_for(g, Target::parse("cuda -arch=sm_90"), "cuda_adds", &one_each), "cuda_adds", 1, 0,
                      device.get());
    for (int turn = 0; turn < 4; ++turn) {
      fake->calls.clear();
      const std::vector<TensorData> got = model.run(inputs);
      for (size_t o = 0; o < got.size(); ++o) EXPECT_EQ(difference(got[o], wanted[o]).largest, 0) << o;
      // The second call records them, and from then on they are one command.
      EXPECT_THAT(fake->calls, Contains("cuLaunchKernel add 8x32 0").Times(turn < 2 ? 3 : 0));
      EXPECT_THAT(fake->calls, Contains("cuMemcpyDtoD 1024").Times(turn < 2 ? 1 : 0)) << "the input that is an output";
      EXPECT_THAT(fake->calls, Contains("cuGraphInstantiate 4").Times(turn == 1 ? 1 : 0));
      EXPECT_THAT(fake->calls, Contains("cuGraphLaunch").Times(turn == 0 ? 0 : 1));
      EXPECT_THAT(fake->calls, Contains("cuCtxSynchronize").Times(turn == 0 ? 2 : 1))
          << "one wait, at the end, and once one for the weights";
      EXPECT_THAT(fake->calls, Contains("cuMemcpyHtoD 2048").Times(turn == 0 ? 1 : 0)) << "weights are copied once";
      EXPECT_THAT(fake->calls, Contains(HasSubstr("cuModuleLoad")).Times(turn == 0 ? 1 : 0)) << "equal layers are one";
    }
    fake->failures["cuMemcpyHtoD"] = 2;
    EXPECT_THAT(refusal_of([&] { model.run(inputs); }), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  }
  EXPECT_EQ(fake->buffers, 0);
  EXPECT_EQ(fake->modules, 0);
  EXPECT_EQ(fake->graphs, 0);
}

// A layer in C between two launches: waits, copies its inputs to the host and its output back.
TEST_F(OverTheDriver, FunctionsRunOnTheHost) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[256]
input "is_there" %is_there bool[1]
%a = elementwise(op=add,shape=256,dtype=f32) %x %x
%r = require(shape=256,dtype=f32) %a %is_there
%c = elementwise(op=add,shape=256,dtype=f32) %r %x
output "c" %c f32[256]
)");
  std::vector<TensorData> inputs = seeded_inputs(g);
  inputs[1] = TensorData({boolean, {1}}, std::string(1, '\1'));
  {
    const BuiltModel built = built_for(g, Target::parse("cuda -arch=sm_90"), "cuda_host", &one_each);
    EXPECT_THAT(built.json, HasSubstr(R"("source":"host","copied":{"to_host":1025,"to_device":1024})"));
    LoadedModel model(built, "cuda_host", 1, 0, device.get());
    const auto wanted = interpret(g, inputs, &evaluate);
    for (int turn = 0; turn < 3; ++turn) {
      fake->calls.clear();
      EXPECT_EQ(difference(model.run(inputs)[0], wanted[0]).largest, 0);
      EXPECT_THAT(fake->calls, Contains("cuLaunchKernel add 8x32 0").Times(2)) << "before the host's step and behind";
      EXPECT_THAT(fake->calls, Contains("cuGraphLaunch").Times(0)) << "one launch is not recorded";
      EXPECT_THAT(fake->calls, Contains("cuCtxSynchronize").Times(2)) << "in front of the host's step, and at the end";
      EXPECT_THAT(fake->calls, Contains("cuMemcpyDtoH 1024").Times(2)) << "to the host, and the output";
      EXPECT_THAT(fake->calls, Contains("cuMemcpyHtoD 1024").Times(2)) << "the input, and back from the host";
    }
    inputs[1] = TensorData({boolean, {1}}, std::string(1, '\0'));
    EXPECT_THAT(refusal_of([&] { model.run(inputs); }), HasSubstr("branch that its shapes do not allow"));
    inputs[1] = TensorData({boolean, {1}}, std::string(1, '\1'));
    EXPECT_EQ(difference(model.run(inputs)[0], wanted[0]).largest, 0) << "as if nothing had happened";
  }
  EXPECT_EQ(fake->buffers, 0);
}

TEST(CudaModels, HoldTheLayersCodeAndSayWhereTheArenaIs) {
  const Graph g = prepare_graph(read_graph(R"(graph g
input "x" %x f32[1, 3, 8, 8]
%w = constant f32[8, 3, 3, 3] fill 1
%c = conv2d(n=1,ci=3,h=8,w=8,co=8,kh=3,kw=3,stride=1,pad=1,layout=NCHW,dtype=f32) %x %w
%r = elementwise(op=relu,shape=1x8x8x8,dtype=f32) %c
%y = softmax(shape=1x8x8x8,axis=3,dtype=f32) %r
output "y" %y f32[1, 8, 8, 8]
)"),
                                test_context(), Target::parse("cuda -arch=sm_80"));
  const BuiltModel built = built_for(g, Target::parse("cuda -arch=sm_80"), "cuda_net");
  EXPECT_THAT(built.json, HasSubstr(R"("target":"cuda -arch=sm_80)"));
  EXPECT_THAT(built.json, HasSubstr(R"("arena_on":"device")"));
  EXPECT_THAT(built.json, HasSubstr("epilogue=relu"));
  EXPECT_THAT(built.json, HasSubstr("layout=NCHW,")) << "no blocks of channels";
  EXPECT_THAT(built.header, HasSubstr("extern const HoneGpuModel cuda_net_gpu;"));
  EXPECT_THAT(built.objects[0].parts[0], HasSubstr(".target sm_80"));
  // Without a GPU an error names it.
  LoadedModel alone(built, "cuda_net", 1);
  EXPECT_THAT(refusal_of([&] { alone.run(seeded_inputs(g)); }), HasSubstr("has no GPU that runs plain tensors"));
}

// A kernel writes the new rows, and reads their number on the device: launches are the same in each call.
TEST(CudaModels, HaveCachesThatGrowInPlace) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/decoder.onnx";
  std::ofstream(file, std::ios::binary) << exported_decoder().model.SerializeAsString();
  GrowingModel read = import_growing_onnx(file, test_operators(), {}, {"past", 21});
  const Growth growth = read.growth;
  const Target target = Target::parse("cuda -arch=sm_80");
  const Graph g = prepare_growing(std::move(read), test_context(), target);
  ModelOptions options{"cuda_decoder", target, &default_config};
  options.host = host_target(1);
  const BuiltModel built = build_model({ModelVariant{"", &g, target, &growth}}, options);
  const Artifact artifact = load_objects(built.objects[0].parts, "cuda_decoder");
  const auto& model = *reinterpret_cast<const HoneGpuModel*>(artifact.description()->variants->gpu);
  EXPECT_EQ(model.head.abi_version, HONE_GPU_MODEL_ABI);
  EXPECT_EQ(model.head.param_count, 6) << "the number of rows is none of the caller's";
  ASSERT_EQ(model.cache_count, 2);
  for (int c = 0; c < 2; ++c) {
    const HoneGpuCache& cache = model.caches[c];
    EXPECT_STREQ(model.head.params[cache.input].name, c == 0 ? "past_k" : "past_v");
    EXPECT_STREQ(model.head.params[cache.output].name, c == 0 ? "present_k" : "present_v");
    EXPECT_EQ(cache.axis, 2);
    EXPECT_EQ(cache.matrices, kDecoderHeads);
    EXPECT_EQ(cache.room, kDecoderRoom);
    EXPECT_EQ(cache.row_bytes, kDecoderDim * 4);
  }
  std::set<const HoneGpuProgram*> row_programs;
  size_t rows = 0;
  for (int64_t s = 0; s < model.step_count; ++s)
    if (model.steps[s].workload == std::string("copy")) row_programs.insert(model.steps[s].program), ++rows;
  EXPECT_EQ(rows, 2u);
  EXPECT_EQ(row_programs.size(), 1u) << "caches of one shape share a program";
}

TEST(CudaModels, WithoutCachesAreOfTheVersionThatHostsOfBeforeKnow) {
  const Graph g = read_graph(kAdds);
  const BuiltModel built = built_for(g, Target::parse("cuda -arch=sm_90"), "cuda_old", &one_each);
  const Artifact artifact = load_objects(built.objects[0].parts, "cuda_old");
  EXPECT_EQ(artifact.description()->variants->gpu->abi_version, HONE_GPU_MODEL_ABI_OLDEST);
}

}  // namespace
}  // namespace hone
