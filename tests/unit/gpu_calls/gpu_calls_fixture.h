// Calls of models over the CUDA driver that only adds: tensors on the CPU and the device, and what the driver was
// asked.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/e2e/api/gpu_handles.h"
#include "tests/fakes/fake_cuda.h"
#include "tests/fakes/fake_cuda_left.h"
#include "tests/unit/gpu_calls/adds_model.h"

namespace hone {

inline constexpr FakeOrder kFakeOrders[] = {FakeOrder::kAtOnce, FakeOrder::kWhenWaited, FakeOrder::kOthersFirst};

/// The tensors of a call; those that `lies` says are on the device.
class GpuCall {
 public:
  GpuCall(AddsModel& model, HoneGpuDevice* gpu, const std::function<bool(size_t)>& lies)
      : model_(model), gpu_(gpu), shape_(static_cast<int64_t>(model.elements())) {
    const auto count = static_cast<size_t>(model.count());
    host_.assign(count, std::vector<float>(model.elements(), -1));
    device_.resize(count, nullptr), tensors_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      tensors_[i] = {host_[i].data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &shape_, nullptr, 0};
      if (!lies(i)) continue;
      EXPECT_EQ(hone_gpu_allocate(gpu, bytes(), &device_[i]), HONE_OK) << hone_gpu_last_error();
      tensors_[i].data = device_[i];
      tensors_[i].device = {kDLCUDA, 0};
    }
  }
  GpuCall(const GpuCall&) = delete;
  GpuCall& operator=(const GpuCall&) = delete;
  ~GpuCall() {
    for (void* d : device_) hone_gpu_free(gpu_, d);
  }

  /// Inputs of their own for each number; outputs are -1.
  void set(int number) {
    for (size_t t = 0; t < host_.size(); ++t) {
      const bool is_input = t < static_cast<size_t>(model_.inputs());
      for (size_t i = 0; i < host_[t].size(); ++i)
        host_[t][i] = is_input ? static_cast<float>((i + 31 * t + 17 * static_cast<size_t>(number)) % 97) : -1;
      if (device_[t]) {
        EXPECT_EQ(hone_gpu_write(gpu_, device_[t], 0, host_[t].data(), bytes()), HONE_OK) << hone_gpu_last_error();
      }
    }
    inputs_ = {host_.begin(), host_.begin() + model_.inputs()};
  }
  std::vector<std::vector<float>> wanted() const { return model_.run(inputs_); }
  std::vector<std::vector<float>> outputs() {
    for (size_t t = static_cast<size_t>(model_.inputs()); t < host_.size(); ++t)
      if (device_[t]) {
        EXPECT_EQ(hone_gpu_read(gpu_, device_[t], 0, host_[t].data(), bytes()), HONE_OK) << hone_gpu_last_error();
      }
    return {host_.begin() + model_.inputs(), host_.end()};
  }
  DLTensor& operator[](size_t i) { return tensors_[i]; }

  /// Why it is refused; "" where it is not.
  std::string run(const HoneRuntime* rt) const {
    const std::vector<const DLTensor*> all = views();
    const int32_t code =
        rt->gpu->run_plain(rt->gpu->self, model_.head(), all.data(), static_cast<int32_t>(all.size()), rt);
    return code == HONE_OK ? "" : hone_gpu_last_error();
  }
  /// Sends it; all is on the device.
  std::string send(const HoneRuntime* rt, void* workspace) const {
    const std::vector<const DLTensor*> all = views();
    const int32_t code =
        rt->gpu->run(rt->gpu->self, model_.head(), all.data(), static_cast<int32_t>(all.size()), workspace);
    return code == HONE_OK ? "" : hone_gpu_last_error();
  }

 private:
  int64_t bytes() const { return shape_ * 4; }
  std::vector<const DLTensor*> views() const {
    std::vector<const DLTensor*> out;
    for (const DLTensor& t : tensors_) out.push_back(&t);
    return out;
  }

  AddsModel& model_;
  HoneGpuDevice* const gpu_;
  int64_t shape_;
  std::vector<std::vector<float>> host_, inputs_;
  std::vector<void*> device_;
  std::vector<DLTensor> tensors_;
};

class GpuCalls : public testing::Test {
 protected:
  GpuCalls() {
    // libhone_gpu asks for the driver by its name, which is then that of the one that is there.
    library_ = dlopen(HONE_FAKE_CUDA_ADDS, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library_) throw std::runtime_error(dlerror());
    fake_ = symbol<FakeCudaReset>(kFakeCudaReset)();
    open();
  }
  ~GpuCalls() override { close(); }

  template <class F>
  F symbol(const char* name) const {
    return reinterpret_cast<F>(dlsym(library_, name));
  }
  void open() {
    HoneGpuDevice* opened = nullptr;
    EXPECT_EQ(hone_gpu_open("cuda", &opened), HONE_OK) << hone_gpu_last_error();
    gpu_.reset(opened);
    rt_ = runtime(nullptr);
    fake_->calls.clear();
  }
  void close() {
    fake_->order = FakeOrder::kAtOnce;
    rt_.reset();
    gpu_.reset();
  }
  LibraryRuntime runtime(void* stream) const {
    HoneRuntime* made = nullptr;
    EXPECT_EQ(hone_gpu_runtime_new(gpu_.get(), nullptr, stream, 0, &made), HONE_OK) << hone_gpu_last_error();
    return LibraryRuntime(made);
  }
  void* new_stream() const {
    void* stream = nullptr;
    in_context([&] { EXPECT_EQ(symbol<int (*)(void**, unsigned)>("cuStreamCreate")(&stream, 1), 0); });
    return stream;
  }
  void destroy_stream(void* stream) const { symbol<int (*)(void*)>("cuStreamDestroy_v2")(stream); }
  template <class F>
  void in_context(const F& f) const {
    void* context = nullptr;
    symbol<int (*)(void*)>("cuCtxPushCurrent_v2")(hone_gpu_context(gpu_.get()));
    f();
    symbol<int (*)(void**)>("cuCtxPopCurrent_v2")(&context);
  }
  /// How many calls of the driver begin so.
  int64_t count(const std::string& begin) const {
    return std::count_if(fake_->calls.begin(), fake_->calls.end(),
                         [&](const std::string& c) { return c.rfind(begin, 0) == 0; });
  }
  int64_t updates() const { return count("cuGraphExecKernelNode") + count("cuGraphExecMemcpyNode"); }
  /// Runs the call with inputs of that number.
  void run_well(GpuCall& call, int number, const HoneRuntime* rt = nullptr) {
    call.set(number);
    ASSERT_EQ(call.run(rt ? rt : rt_.get()), "");
    EXPECT_EQ(call.outputs(), call.wanted()) << number;
  }
  /// Closes the device, too.
  void expect_nothing_left() {
    close();
    expect_nothing_left_in(*fake_);
  }

  void* library_;
  FakeCuda* fake_;
  LibraryDevice gpu_;
  LibraryRuntime rt_;
};

inline bool lies_on_cpu(size_t) { return false; }
inline bool lies_on_device(size_t) { return true; }

}  // namespace hone
