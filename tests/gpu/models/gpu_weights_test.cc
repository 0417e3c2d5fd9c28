// Models for GPUs whose weights are in a file of their own: over the fake CUDA driver, and on an OpenCL device.
#include <gmock/gmock.h>

#include <fstream>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/load_objects.h"
#include "compiler/host/local_gpu.h"
#include "compiler/runtime/gpu/gpu_launcher.h"
#include "tests/fakes/fake_cuda_device.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/gpu/models/gpu_model_run.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr const char* kGpuWeightsNet = R"(graph g
input "x" %x f32[256]
%w = constant f32[256] fill 1
%v = constant f32[256] fill 2
%a = elementwise(op=add,shape=256,dtype=f32) %x %w
%b = elementwise(op=add,shape=256,dtype=f32) %a %v
output "b" %b f32[256]
)";

ChosenConfig one_each_in_gpu_weights(const Workload&, const Target&, const Space& space) {
  return {space.parse("threads=32,rounds=1,vector=1"), "given", ""};
}

BuiltModel built_beside(const Graph& g, const Target& target, const std::string& name, const std::string& file,
                        const ChooseConfig& choose = &default_config) {
  ModelOptions options{name, target, choose};
  options.host = host_target(1);
  options.weights_file = file;
  return build_model(g, options);
}

TEST(GpuWeights, OfAFileAreCopiedToTheDeviceOnce) {
  FakeCudaDevice cuda(HONE_FAKE_CUDA_ADDS);
  const Graph g = read_graph(kGpuWeightsNet);
  const std::vector<TensorData> inputs = seeded_inputs(g), wanted = interpret(g, inputs, &evaluate);
  const BuiltModel built =
      built_beside(g, Target::parse("cuda -arch=sm_90"), "apart", "apart.weights", &one_each_in_gpu_weights);
  EXPECT_EQ(built.weights.size(), 2048u);
  EXPECT_THAT(built.header, HasSubstr("int32_t apart_weights(const char* path);"));
  EXPECT_THAT(built.header, HasSubstr("The first\n   run copies them to the device."));
  {
    LoadedModel model(built, "apart", 1, 0, cuda.device.get());
    for (int turn = 0; turn < 3; ++turn) {
      cuda.fake->calls.clear();
      EXPECT_EQ(difference(model.run(inputs)[0], wanted[0]).largest, 0);
      EXPECT_THAT(cuda.fake->calls, Contains("cuMemcpyHtoD 2048").Times(turn == 0 ? 1 : 0));
    }
  }
  EXPECT_EQ(cuda.fake->buffers, 0);
}

TEST(GpuWeights, AboveWhatArtifactsHoldAreInAFile) {
  ModelOptions options{"large", Target::parse("opencl -sms=2"), &default_config};
  options.host = host_target(1);
  options.most_embedded = 2047;
  EXPECT_EQ(build_model(read_graph(kGpuWeightsNet), options).weights_file, "large.weights");
  options.most_embedded = 2048;
  EXPECT_EQ(build_model(read_graph(kGpuWeightsNet), options).weights_file, "");
}

class OpenclWeights : public testing::Test {
 protected:
  void SetUp() override {
    auto here = open_local_gpu(Target::parse("opencl"));
    if (!here.ok()) GTEST_SKIP() << message_of(here.status());
    gpu_ = std::move(*here);
  }
  std::string written(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  const TemporaryFolder folder_;
  LocalGpu gpu_;
};

TEST_F(OpenclWeights, AreRefusedWhereTheyAreOthersAndMissedWhereThereAreNone) {
  const Graph g = read_graph(kGpuWeightsNet);
  const BuiltModel built = built_beside(g, gpu_.target, "gpu_apart", "m.weights");
  const std::string all = built.weights_begin + built.weights;
  const Artifact artifact = load_objects(built.objects[0].parts, "gpu_apart");
  const HoneArtifact& description = *artifact.description();
  EXPECT_STREQ(static_cast<const char*>(artifact.symbol("gpu_apart_weights_file")), "m.weights");
  EXPECT_EQ(description.variants->gpu->abi_version, HONE_GPU_MODEL_ABI);
  const auto map = reinterpret_cast<int32_t (*)(const char*)>(artifact.symbol("gpu_apart_weights"));
  GpuLauncher launcher(*gpu_.device);
  const HoneRuntime rt = launcher.runtime();
  std::vector<TensorData> inputs = seeded_inputs(g);
  HostTensor x({kDLFloat, 32, 1}, {256}), b({kDLFloat, 32, 1}, {256});
  std::memcpy(x.data(), inputs[0].bytes().data(), inputs[0].bytes().size());
  const DLTensor* args[] = {x.view(), b.view()};
  const auto said = [&](int32_t code) { return std::string(description.error(code)); };
  const auto run = [&] { return description.variants->run(args, 2, nullptr, &rt); };

  EXPECT_EQ(said(run()), "gpu_apart: its weights are in a file of their own; call gpu_apart_weights(path) first");
  // A host that does not ask the entries gets this error, too.
  EXPECT_EQ(rt.gpu->run_plain(rt.gpu->self, description.variants->gpu, args, 2, &rt), HONE_BAD_ARGUMENTS);
  EXPECT_THAT(message_of(launcher.status()), HasSubstr("not mapped"));
  EXPECT_EQ(said(map((folder_.path() + "/none").c_str())), "gpu_apart: the file of its weights cannot be read");
  const std::string wrong = "gpu_apart: this is not the file of its weights, or not all of it";
  EXPECT_EQ(said(map(written("cut", all.substr(0, all.size() - 1)).c_str())), wrong);
  std::string changed = all;
  changed[10] = static_cast<char>(changed[10] ^ 1);  // in the hash that the file begins with
  EXPECT_EQ(said(map(written("changed", changed).c_str())), wrong);
  std::string text = kGpuWeightsNet;
  text.replace(text.find("fill 2"), 6, "fill 3");
  const BuiltModel other = built_beside(read_graph(text), gpu_.target, "gpu_apart", "m.weights");
  EXPECT_EQ(said(map(written("other", other.weights_begin + other.weights).c_str())), wrong);
  EXPECT_EQ(said(run()), "gpu_apart: its weights are in a file of their own; call gpu_apart_weights(path) first");

  EXPECT_EQ(map(written("right", all).c_str()), HONE_OK);
  EXPECT_EQ(map("another path"), HONE_OK) << "a second call does nothing";
  ASSERT_EQ(run(), HONE_OK) << message_of(launcher.status());
  const TensorData got({f32, {256}}, std::string(static_cast<const char*>(b.data()), 1024));
  EXPECT_EQ(difference(got, interpret(g, inputs, &evaluate)[0]).largest, 0);
}

TEST_F(OpenclWeights, OfAFileAreThoseOfAllVariants) {
  const auto net = [](int batch) {
    return read_graph("graph g\ninput \"x\" %x f32[" + std::to_string(batch) +
                      ", 16]\n%w = constant f32[8, 16] fill 1\n%d = dense(m=" + std::to_string(batch) +
                      ",n=8,k=16,dtype=f32) %x %w\noutput \"d\" %d f32[" + std::to_string(batch) + ", 8]\n");
  };
  const Graph one = net(1), four = net(4);
  ModelOptions options{"gpu_variants_apart", gpu_.target, &default_config};
  options.host = host_target(1);
  options.weights_file = "v.weights";
  const BuiltModel built = build_model({{"batch=1", &one, gpu_.target}, {"batch=4", &four, gpu_.target}}, options);
  size_t variant = 0;
  for (const Graph* g : {&one, &four}) {
    LoadedModel model(built, "gpu_variants_apart", 1, variant++, gpu_.device.get());
    const std::vector<TensorData> inputs = seeded_inputs(*g);
    EXPECT_LT(difference(model.run(inputs)[0], interpret(*g, inputs, &evaluate)[0]).largest, 1e-5);
  }
}

}  // namespace
}  // namespace hone
