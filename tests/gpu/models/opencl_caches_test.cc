// A decoder on an OpenCL device whose caches grow in place, against the plain model of each number of rows.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/frontend/onnx/import.h"
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

constexpr int64_t kHeads = kDecoderHeads, kDim = kDecoderDim, kWidth = kHeads * kDim, kRoom = kDecoderRoom,
                  kMost = kRoom - 1;
constexpr size_t kX = 0, kPast = 1, kY = 3, kPresent = 4;  // tensors; of the caches the first of two

// Where a caller has its tensors.
enum class Lies { kCachesOnCpu, kCachesOnDevice, kOneCacheOnDevice, kAllOnDevice };

// A tensor of floats of the caller, on the CPU or on the device.
class Floats {
 public:
  Floats(Device* device, int64_t count)
      : device_(device), host_(static_cast<size_t>(count), std::numeric_limits<float>::quiet_NaN()) {
    if (device_) buffer_ = *device_->allocate(bytes());
    write();
  }
  std::vector<float>& read() {
    if (device_) must(device_->read(*buffer_, host_.data(), bytes()));
    return host_;
  }
  void write(const std::vector<float>& values) {
    host_ = values;
    write();
  }
  DLTensor tensor(std::vector<int64_t>& shape, int64_t* strides) {
    return {device_ ? buffer_->native() : host_.data(),
            {device_ ? kDLOpenCL : kDLCPU, 0},
            static_cast<int32_t>(shape.size()),
            {kDLFloat, 32, 1},
            shape.data(),
            strides,
            0};
  }

 private:
  int64_t bytes() const { return static_cast<int64_t>(host_.size() * sizeof(float)); }
  void write() {
    if (device_) must(device_->write(*buffer_, host_.data(), bytes()));
  }
  static void must(const Status& done) { EXPECT_TRUE(done.ok()) << message_of(done); }

  Device* const device_;
  std::vector<float> host_;
  std::unique_ptr<DeviceBuffer> buffer_;
};

class Caller {
 public:
  Caller(const Artifact& artifact, GpuLauncher& launcher, Device& device, Lies lies)
      : variant_(artifact.description()->variants),
        error_(artifact.description()->error),
        launcher_(launcher),
        is_entry_(lies == Lies::kAllOnDevice),
        x_(is_entry_ ? &device : nullptr, kWidth),
        y_(is_entry_ ? &device : nullptr, kWidth),
        arena_(is_entry_ ? *device.allocate(std::max<int64_t>(1, variant_->workspace_bytes)) : nullptr),
        strides_{kHeads * kRoom * kDim, kRoom * kDim, kDim, 1} {
    for (size_t i = 0; i < 2; ++i) {
      const bool there = lies != Lies::kCachesOnCpu && (lies != Lies::kOneCacheOnDevice || i == 0);
      rooms_.emplace_back(there ? &device : nullptr, kHeads * kRoom * kDim);
    }
    set_rows(0);
  }

  // The tensors of the next call, with `past` rows.
  void set_rows(int64_t past) {
    row_ = {1, kWidth};
    past_ = {1, kHeads, past, kDim}, present_ = {1, kHeads, past + 1, kDim};
    tensors_[kX] = x_.tensor(row_, nullptr);
    tensors_[kY] = y_.tensor(row_, nullptr);
    for (size_t i = 0; i < 2; ++i) {
      tensors_[kPast + i] = rooms_[i].tensor(past_, strides_.data());
      tensors_[kPresent + i] = rooms_[i].tensor(present_, strides_.data());
    }
  }
  DLTensor& operator[](size_t i) { return tensors_[i]; }
  Floats& x() { return x_; }
  Floats& y() { return y_; }
  Floats& room(size_t i) { return rooms_[i]; }
  std::vector<int64_t>& strides() { return strides_; }

  int32_t run() {
    std::vector<const DLTensor*> views;
    for (const DLTensor& t : tensors_) views.push_back(&t);
    const HoneRuntime rt = launcher_.runtime();
    const HoneEntry entry = is_entry_ ? variant_->entry : variant_->run;
    return entry(views.data(), static_cast<int32_t>(views.size()), arena_ ? arena_->native() : nullptr, &rt);
  }
  // The error of a call that is refused.
  std::string refusal() {
    const int32_t code = run();
    if (code == HONE_OK) return "";
    return std::string(error_(code)) + (launcher_.status().ok() ? "" : ": " + message_of(launcher_.status()));
  }
  // A cache's first rows, one behind the other.
  TensorData rows(size_t i, int64_t count) {
    const std::vector<float>& all = rooms_[i].read();
    std::string data;
    for (int64_t h = 0; h < kHeads; ++h)
      data.append(reinterpret_cast<const char*>(all.data() + h * kRoom * kDim),
                  static_cast<size_t>(count * kDim) * sizeof(float));
    return {TensorType{f32, {1, kHeads, count, kDim}}, data};
  }

 private:
  const HoneVariant* variant_;
  const char* (*error_)(int32_t);
  GpuLauncher& launcher_;
  const bool is_entry_;
  Floats x_, y_;
  std::unique_ptr<DeviceBuffer> arena_;
  std::deque<Floats> rooms_;
  std::vector<int64_t> strides_, row_, past_, present_;
  DLTensor tensors_[6] = {};
};

class OpenclCaches : public testing::Test {
 protected:
  void SetUp() override {
    auto here = open_local_gpu(Target::parse("opencl"));
    if (!here.ok()) GTEST_SKIP() << message_of(here.status());
    gpu_ = std::move(*here);
    std::ofstream(file_, std::ios::binary) << exported_decoder().model.SerializeAsString();
    GrowingModel read = import_growing_onnx(file_, test_operators(), {}, {"past", 21});
    growth_ = read.growth;
    graph_ = prepare_growing(std::move(read), test_context(), gpu_.target);
  }

  BuiltModel built() const {
    ModelOptions options{"gpu_decoder", gpu_.target, &default_config};
    options.host = host_target(1);
    return build_model({ModelVariant{"", &graph_, gpu_.target, &growth_}}, options);
  }
  static Artifact loaded(const BuiltModel& model) {
    std::vector<std::string> parts;
    for (const ArtifactObject& o : model.objects) parts.insert(parts.end(), o.parts.begin(), o.parts.end());
    return load_objects(parts, "gpu_decoder");
  }

  // Calls with rows from..to in front of them, on the earlier calls' state; each against the interpreted model.
  void grow(Caller& caller, int64_t from, int64_t to) {
    for (int64_t past = from; past <= to; ++past) {
      SCOPED_TRACE(past);
      std::vector<float> x(kWidth);
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i + 1) * static_cast<float>(past + 3));
      const Graph plain = import_onnx(file_, test_operators(), {.bind = {{"past", past}}}).graph;
      std::vector<TensorData> inputs{bytes_of_row(x)};
      for (size_t i = 0; i < 2 && plain.inputs.size() > 2; ++i) inputs.push_back(caller.rows(i, past));
      const std::vector<TensorData> wanted = interpret(plain, inputs, &evaluate);
      caller.set_rows(past);
      caller.x().write(x);
      ASSERT_EQ(caller.refusal(), "");
      EXPECT_LT(difference(bytes_of_row(caller.y().read()), wanted[0]).frobenius, 1e-5);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_LT(difference(caller.rows(i, past + 1), wanted[1 + i]).frobenius, 1e-5);
        const std::vector<float>& all = caller.room(i).read();
        for (int64_t h = 0; h < kHeads; ++h)
          for (int64_t e = (past + 1) * kDim; e < kRoom * kDim; ++e)
            ASSERT_TRUE(std::isnan(all[static_cast<size_t>(h * kRoom * kDim + e)])) << "written at " << e;
      }
    }
  }
  static TensorData bytes_of_row(const std::vector<float>& x) {
    return {TensorType{f32, {1, kWidth}},
            std::string(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float))};
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.path() + "/decoder.onnx";
  LocalGpu gpu_;
  Growth growth_;
  Graph graph_;
};

class OpenclCachesSomewhere : public OpenclCaches, public testing::WithParamInterface<Lies> {};
INSTANTIATE_TEST_SUITE_P(Places, OpenclCachesSomewhere,
                         testing::Values(Lies::kCachesOnCpu, Lies::kCachesOnDevice, Lies::kOneCacheOnDevice,
                                         Lies::kAllOnDevice));

TEST_P(OpenclCachesSomewhere, GrowFromNoRowToAllThatThereIsRoomFor) {
  const Artifact artifact = loaded(built());
  GpuLauncher launcher(*gpu_.device);
  Caller caller(artifact, launcher, *gpu_.device, GetParam());
  grow(caller, 0, kMost);
}

// Two sequences, each in buffers of its own, in turns; then one on the CPU.
TEST_P(OpenclCachesSomewhere, AreThoseOfTheCall) {
  const Artifact artifact = loaded(built());
  GpuLauncher launcher(*gpu_.device);
  Caller one(artifact, launcher, *gpu_.device, GetParam()), other(artifact, launcher, *gpu_.device, GetParam());
  grow(one, 0, 3);
  grow(other, 0, 1);
  grow(one, 4, 5);
  grow(other, 2, 2);
  if (GetParam() == Lies::kAllOnDevice) return;
  Caller third(artifact, launcher, *gpu_.device, Lies::kCachesOnCpu);
  grow(third, 0, 2);
  grow(one, 6, 7);
}

TEST_F(OpenclCaches, AreTheSameOnTheCpuAndOnTheDevice) {
  const BuiltModel model = built();
  EXPECT_THAT(model.json, HasSubstr(R"("caches":[{"input":"past_k","output":"present_k","axis":2,"rows":"past")"));
  EXPECT_THAT(model.json, HasSubstr("cached_attention("));
  EXPECT_THAT(model.header, HasSubstr("may lie on the device"));
  std::vector<TensorData> inputs = with_most_rows(seeded_inputs(graph_), graph_, growth_);
  LoadedModel on_cpu(model, "gpu_decoder", 1, 0, gpu_.device.get()),
      on_device(model, "gpu_decoder", 1, 0, gpu_.device.get());
  on_cpu.join_caches(growth_);
  on_device.join_caches(growth_, true);
  for (int turn = 0; turn < 3; ++turn) {
    const std::vector<TensorData> a = on_cpu.run(inputs), b = on_device.run(inputs);
    for (size_t o = 0; o < a.size(); ++o) EXPECT_EQ(difference(a[o], b[o]).largest, 0) << o;
  }
}

TEST_F(OpenclCaches, AreRefusedWhereTheyAreNotAsTheModelTakesThem) {
  const Artifact artifact = loaded(built());
  GpuLauncher launcher(*gpu_.device);
  for (const Lies lies : {Lies::kCachesOnCpu, Lies::kCachesOnDevice}) {
    Caller caller(artifact, launcher, *gpu_.device, lies);
    grow(caller, 0, 2);
    caller.strides()[1] = 3 * kDim;
    EXPECT_THAT(caller.refusal(),
                HasSubstr("input 'past_k' has other strides than 704, 176, 8, 1, those of a buffer of 22 rows"));
    caller.strides()[1] = kRoom * kDim;
    caller.set_rows(kRoom);
    EXPECT_THAT(caller.refusal(), HasSubstr("input 'past_k' has another shape than float32 [1, 4, past, 8] with past "
                                            "from 0 to 21"));
    caller.set_rows(-1);
    EXPECT_THAT(caller.refusal(), HasSubstr("input 'past_k' has another shape"));
    caller.set_rows(3);
    caller[kPast].ndim = 3;
    EXPECT_THAT(caller.refusal(), HasSubstr("input 'past_k' has another shape"));
    caller.set_rows(3);
    caller[kPresent].data = caller[kPresent + 1].data;
    EXPECT_THAT(caller.refusal(), HasSubstr("output 'present_k' is missing, has no data, or lies elsewhere than"));
    caller.set_rows(3);
    caller[kPast].device.device_type = kDLCUDA;
    EXPECT_THAT(caller.refusal(), HasSubstr("input 'past_k' is neither on the CPU nor on the GPU"));
    caller.set_rows(3);
    caller[kPresent + 1].device.device_type = lies == Lies::kCachesOnCpu ? kDLOpenCL : kDLCPU;
    EXPECT_THAT(caller.refusal(),
                HasSubstr("output 'present_v' is neither on the CPU nor on the GPU, or not where 'past_v' is"));
    // Tensors that are no caches lie on the CPU.
    caller.set_rows(3);
    caller[kX].device.device_type = kDLOpenCL;
    EXPECT_THAT(caller.refusal(), HasSubstr("input 'x' is not on the CPU"));
    grow(caller, 3, 4);
  }
}

// NAME, which takes tensors of the device, writes nowhere else either.
TEST_F(OpenclCaches, OfTheDeviceAreCheckedByWhoRunsThem) {
  const Artifact artifact = loaded(built());
  GpuLauncher launcher(*gpu_.device);
  Caller caller(artifact, launcher, *gpu_.device, Lies::kAllOnDevice);
  grow(caller, 0, 2);
  caller.set_rows(kRoom);
  EXPECT_THAT(caller.refusal(), HasSubstr("cache 'past_k' has 22 rows; there may be 0 to 21"));
  caller.set_rows(-1);
  EXPECT_THAT(caller.refusal(), HasSubstr("cache 'past_k' has -1 rows; there may be 0 to 21"));
  caller.set_rows(3);
  caller[kPast].ndim = 2;
  EXPECT_THAT(caller.refusal(), HasSubstr("cache 'past_k' has no dimension 2, that of rows"));
  caller.set_rows(3);
  std::vector<int64_t> shape{1, kHeads, 4, kDim}, narrow{1, kHeads, 4, kDim - 1};
  caller[kPast + 1].shape = shape.data();
  EXPECT_THAT(caller.refusal(), HasSubstr("cache 'past_v' has another shape than 4 matrices of 3 rows of 32 bytes"));
  caller.set_rows(3);
  caller[kPresent].shape = narrow.data();
  EXPECT_THAT(caller.refusal(), HasSubstr("cache 'present_k' has another shape than 4 matrices of 4 rows"));
  caller.set_rows(3);
  std::vector<int64_t> tight{kHeads * 4 * kDim, 4 * kDim, kDim, 1};
  caller[kPresent].strides = tight.data();
  EXPECT_THAT(caller.refusal(), HasSubstr("cache 'present_k' has other strides than a buffer of 22 rows"));
  caller.set_rows(3);
  caller[kPresent].data = caller[kPresent + 1].data;
  EXPECT_THAT(caller.refusal(), HasSubstr("cache 'present_k' lies elsewhere than 'past_k', whose rows it has"));
  caller.set_rows(3);
  caller[kPresent].device.device_type = kDLCPU;
  EXPECT_THAT(caller.refusal(), HasSubstr("cache 'present_k' is on a device of type 1, not 4"));
  caller.set_rows(3);
  caller[kPast].dtype.bits = 16;
  EXPECT_THAT(caller.refusal(), HasSubstr("parameter 'past_k' has type 2.16x1, not 2.32x1"));
  grow(caller, 3, 4);
}

}  // namespace
}  // namespace hone
