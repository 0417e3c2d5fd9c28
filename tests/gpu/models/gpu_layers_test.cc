// Layers of a GPU's model one by one, as hone.h runs and times them: on an OpenCL device.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <hone.h>

#include <fstream>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/frontend/onnx/import_growing.h"
#include "compiler/host/load_objects.h"
#include "compiler/host/local_gpu.h"
#include "compiler/runtime/gpu/gpu_launcher.h"
#include "tests/fakes/decoder_model.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/gpu/models/gpu_model_run.h"

namespace hone {
namespace {

using testing::HasSubstr;

// Launches, a function on the host between them, and a copy behind all.
constexpr const char* kNet = R"(graph g
input "x" %x f32[40, 4]
%zero = constant f32[1] [0]
%y = elementwise(op=mul[2],shape=40x4) %x   # /Twice
%first = slice(shape=40x4,begin=0:0,size=40x1) %y
%flat = reshape(shape=40x1,to=40) %first
%mask = elementwise(op=greater,shape=40,operands=1) %flat %zero   # /Mask
%places, %count = nonzero(n=40) %mask   # /Where
%rows = gather(shape=40x4,indices=40) %y %places   # /Rows
output "rows" %rows f32[40, 4] extent 0 by 1
output "rows.count" %count s64[1]
output "x" %x f32[40, 4]
)";

class OpenclLayers : public testing::Test {
 protected:
  void SetUp() override {
    auto here = open_local_gpu(Target::parse("opencl"));
    if (!here.ok()) GTEST_SKIP() << message_of(here.status());
    gpu_ = std::move(*here);
    launcher_ = std::make_unique<GpuLauncher>(*gpu_.device);
    rt_ = launcher_->runtime();
  }
  void load(const BuiltModel& built, const std::string& name) {
    artifact_ = std::make_unique<Artifact>(load_objects(built.objects[0].parts, name));
    variant_ = artifact_->description()->variants;
    tensors_.clear(), views_.clear();
    for (int32_t p = 0; p < variant_->param_count; ++p) {
      const HoneTensorType& t = variant_->params[p].plain;
      tensors_.emplace_back(t.dtype, std::vector<int64_t>(t.shape, t.shape + t.ndim));
      std::memset(tensors_.back().data(), 0, static_cast<size_t>(tensors_.back().bytes()));
    }
    for (const HostTensor& t : tensors_) views_.push_back(t.view());
  }
  const HoneLayers& layers() const {
    const HoneLayers* out = nullptr;
    EXPECT_EQ(variant_->run(nullptr, HONE_ASK_LAYERS, &out, nullptr), HONE_OK);
    return *out;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (int32_t i = 0; i < layers().count; ++i) out.emplace_back(layers().layers[i].name);
    return out;
  }
  std::string bytes(size_t i) const {
    return {static_cast<const char*>(tensors_[i].data()), static_cast<size_t>(tensors_[i].bytes())};
  }
  int32_t call(HoneEntry entry) { return entry(views_.data(), static_cast<int32_t>(views_.size()), nullptr, &rt_); }

  LocalGpu gpu_;
  std::unique_ptr<GpuLauncher> launcher_;
  HoneRuntime rt_{};
  std::unique_ptr<Artifact> artifact_;
  const HoneVariant* variant_ = nullptr;
  std::vector<HostTensor> tensors_;
  std::vector<const DLTensor*> views_;
};

TEST_F(OpenclLayers, AllOfThemInOrderAreTheModel) {
  const Graph g = read_graph(kNet);
  load(built_for(g, gpu_.target, "gpu_layers"), "gpu_layers");
  EXPECT_THAT(names(), testing::ElementsAre("inputs, to the device", "/Twice", testing::_, "/Mask", "/Where", "/Rows",
                                            "x", "outputs, from the device"));
  EXPECT_THAT(layers().layers[4].workload, HasSubstr("nonzero(n=40)"));
  EXPECT_STREQ(layers().layers[6].workload, "copy");
  const std::vector<TensorData> inputs = seeded_inputs(g), wanted = interpret(g, inputs, &evaluate);
  std::memcpy(tensors_[0].data(), inputs[0].bytes().data(), inputs[0].bytes().size());
  // Without a call of the whole before, and behind calls that are recorded.
  for (int turn = 0; turn < 3; ++turn) {
    for (size_t o = 1; o < tensors_.size(); ++o)
      std::memset(tensors_[o].data(), 0, static_cast<size_t>(tensors_[o].bytes()));
    for (int32_t i = 0; i < layers().count; ++i)
      ASSERT_EQ(call(layers().layers[i].run), HONE_OK) << i << message_of(launcher_->status());
    for (size_t o = 0; o < wanted.size(); ++o)
      EXPECT_EQ(difference({wanted[o].type(), bytes(1 + o)}, wanted[o]).largest, 0) << turn << " " << o;
    ASSERT_EQ(call(variant_->run), HONE_OK);
  }
}

TEST_F(OpenclLayers, AreTimedThroughTheInterfaceInC) {
  const Graph g = read_graph(kNet);
  load(built_for(g, gpu_.target, "gpu_timed"), "gpu_timed");
  HoneModel* model = nullptr;
  ASSERT_EQ(hone_open_linked(artifact_->description(), &model), HONE_OK) << hone_last_error();
  const int32_t count = hone_layer_count(model);
  ASSERT_EQ(count, layers().count);
  EXPECT_STREQ(hone_layer(model, 1)->name, "/Twice");
  std::vector<double> seconds(static_cast<size_t>(count), -1);
  const auto timed = [&](const HoneRuntime* rt) {
    return hone_run_timed(model, views_.data(), 1, views_.data() + 1, 3, rt, seconds.data(), count);
  };
  ASSERT_EQ(timed(&rt_), HONE_OK) << hone_last_error();
  for (const double s : seconds) EXPECT_GT(s, 0);
  // Without a GPU, and without the library that opens one, an error says so.
  EXPECT_EQ(timed(nullptr), HONE_NO_GPU);
  EXPECT_THAT(hone_last_error(), HasSubstr("libhone_gpu, which runs it there, is not installed: "));
  hone_close(model);
}

// A layer that needs new rows writes them first.
TEST_F(OpenclLayers, OfADecoderWriteItsCaches) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/decoder.onnx";
  std::ofstream(file, std::ios::binary) << exported_decoder().model.SerializeAsString();
  GrowingModel read = import_growing_onnx(file, test_operators(), {}, {"past", 21});
  const Growth growth = read.growth;
  const Graph g = prepare_growing(std::move(read), test_context(), gpu_.target);
  ModelOptions options{"gpu_decoder_layers", gpu_.target, &default_config};
  options.host = host_target(1);
  load(build_model({ModelVariant{"", &g, gpu_.target, &growth}}, options), "gpu_decoder_layers");
  // Tensors: x, past_k, past_v, y, present_k, present_v.
  std::vector<int64_t> past{1, kDecoderHeads, 5, kDecoderDim}, present = past;
  std::vector<int64_t> strides{kDecoderHeads * kDecoderRoom * kDecoderDim, kDecoderRoom * kDecoderDim, kDecoderDim, 1};
  present[2] = 6;
  DLTensor caches[4];
  for (size_t i = 0; i < 4; ++i) {
    caches[i] = *tensors_[4 + i % 2].view();
    caches[i].shape = i < 2 ? past.data() : present.data();
    caches[i].strides = strides.data();
    views_[(i < 2 ? 1 : 2) + i] = &caches[i];
  }
  const auto fill = [&] {
    for (const size_t t : {0, 3, 4, 5})
      for (int64_t e = 0; e < tensors_[t].bytes() / 4; ++e)
        tensors_[t].as<float>()[e] = t == 3 ? 0 : 0.01f * static_cast<float>(e % 37);
  };
  fill();
  ASSERT_EQ(call(variant_->run), HONE_OK) << message_of(launcher_->status());
  const std::vector<std::string> wanted{bytes(3), bytes(4), bytes(5)};
  fill();
  for (int32_t i = 0; i < layers().count; ++i) ASSERT_EQ(call(layers().layers[i].run), HONE_OK);
  for (size_t o = 0; o < 3; ++o) EXPECT_TRUE(bytes(3 + o) == wanted[o]) << o;
}

}  // namespace
}  // namespace hone
