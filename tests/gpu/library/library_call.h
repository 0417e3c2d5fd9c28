// libhone_gpu as its users have it: artifacts in files, devices and runtimes with owners, the tensors of a call.
#pragma once

#include <gtest/gtest.h>
#include <hone_gpu.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/link/link.h"
#include "compiler/graph/tensor_data.h"
#include "tests/e2e/api/gpu_handles.h"
#include "tests/e2e/api/handles.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {

inline LibraryDevice device_of(const std::string& name) {
  HoneGpuDevice* gpu = nullptr;
  EXPECT_EQ(hone_gpu_open(name.c_str(), &gpu), HONE_OK) << hone_gpu_last_error();
  return LibraryDevice(gpu);
}
inline LibraryRuntime runtime_on(HoneGpuDevice* gpu, void* stream = nullptr, bool is_async = false,
                                 const HoneRuntime* pool = nullptr) {
  HoneRuntime* made = nullptr;
  EXPECT_EQ(hone_gpu_runtime_new(gpu, pool, stream, is_async, &made), HONE_OK) << hone_gpu_last_error();
  return LibraryRuntime(made);
}
inline Model model_of(const std::string& path) {
  HoneModel* model = nullptr;
  EXPECT_EQ(hone_open(path.c_str(), &model), HONE_OK) << hone_last_error();
  return Model(model);
}
inline Model model_on(const std::string& path, const HoneRuntime* runtime) {
  HoneModel* model = nullptr;
  EXPECT_EQ(hone_open_on(path.c_str(), nullptr, runtime, &model), HONE_OK) << hone_last_error();
  return Model(model);
}

/// The shared object of these objects, in `folder`, as `tensorc --emit so` links it.
inline std::string linked(const TemporaryFolder& folder, const std::vector<std::string>& objects,
                          const std::string& name) {
  const std::string path = folder.path() + "/" + name + ".so";
  link_shared(objects, path, {.artifact = name});
  return path;
}

inline bool on_cpu(size_t) { return false; }
inline bool on_device(size_t) { return true; }

/// The tensors of a call of `model`, inputs before outputs; those that `lies` says are on `gpu`. Bytes of both kinds
/// are 0x7f until they are written. Shapes are those of the artifact: for as long as it is loaded.
class LibraryCall {
 public:
  LibraryCall(const HoneModel* model, HoneGpuDevice* gpu, const std::function<bool(size_t)>& lies, int32_t variant = 0)
      : gpu_(gpu), input_count_(static_cast<size_t>(hone_input_count(model))) {
    const size_t count = input_count_ + static_cast<size_t>(hone_output_count(model));
    host_.resize(count), tensors_.resize(count), device_.resize(count, nullptr);
    for (size_t i = 0; i < count; ++i) {
      const auto n = static_cast<int32_t>(i < input_count_ ? i : i - input_count_);
      const HoneTensorType& t =
          (i < input_count_ ? hone_variant_input(model, variant, n) : hone_variant_output(model, variant, n))->plain;
      size_t bytes = t.dtype.bits / 8;
      for (int32_t d = 0; d < t.ndim; ++d) bytes *= static_cast<size_t>(t.shape[d]);
      host_[i].assign(bytes, '\x7f');
      tensors_[i] = {host_[i].data(), {kDLCPU, 0}, t.ndim, t.dtype, const_cast<int64_t*>(t.shape), nullptr, 0};
      if (!lies(i)) continue;
      const HoneGpuProperties& p = *hone_gpu_properties(gpu_);
      EXPECT_EQ(hone_gpu_allocate(gpu_, static_cast<int64_t>(bytes), &device_[i]), HONE_OK) << hone_gpu_last_error();
      tensors_[i].data = device_[i];
      tensors_[i].device = {static_cast<DLDeviceType>(p.device_type), p.device_id};
      write(i, host_[i]);
    }
  }
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
  ~LibraryCall() {
    for (void* d : device_) hone_gpu_free(gpu_, d);
  }

  void set(const std::vector<TensorData>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) write(i, {inputs[i].bytes().begin(), inputs[i].bytes().end()});
  }
  void write(size_t i, const std::string& bytes) {
    ASSERT_EQ(bytes.size(), host_[i].size());
    std::memcpy(host_[i].data(), bytes.data(), bytes.size());
    if (device_[i]) {
      EXPECT_EQ(hone_gpu_write(gpu_, device_[i], 0, bytes.data(), static_cast<int64_t>(bytes.size())), HONE_OK)
          << hone_gpu_last_error();
    }
  }
  std::string read(size_t i) {
    if (device_[i]) {
      EXPECT_EQ(hone_gpu_read(gpu_, device_[i], 0, host_[i].data(), static_cast<int64_t>(host_[i].size())), HONE_OK)
          << hone_gpu_last_error();
    }
    return host_[i];
  }
  DLTensor& operator[](size_t i) { return tensors_[i]; }
  size_t size() const { return tensors_.size(); }

  int32_t run(HoneModel* model, const HoneRuntime* runtime = nullptr) {
    const std::vector<const DLTensor*> all = views();
    return hone_run(model, all.data(), static_cast<int32_t>(input_count_), all.data() + input_count_,
                    static_cast<int32_t>(all.size() - input_count_), runtime);
  }
  int32_t time(HoneModel* model, const HoneRuntime* runtime, std::vector<double>* seconds) {
    const std::vector<const DLTensor*> all = views();
    return hone_run_timed(model, all.data(), static_cast<int32_t>(input_count_), all.data() + input_count_,
                          static_cast<int32_t>(all.size() - input_count_), runtime, seconds->data(),
                          static_cast<int32_t>(seconds->size()));
  }
  /// The bytes of the outputs, which are 0x7f again afterwards.
  std::vector<std::string> take_outputs() {
    std::vector<std::string> out;
    for (size_t i = input_count_; i < tensors_.size(); ++i) {
      out.push_back(read(i));
      write(i, std::string(out.back().size(), '\x7f'));
    }
    return out;
  }
  /// The line that the next call is refused with; "" where it is not.
  std::string refusal(HoneModel* model, const HoneRuntime* runtime = nullptr) {
    const int32_t code = run(model, runtime);
    if (code == HONE_OK) return "";
    const std::string words = hone_last_error();
    EXPECT_EQ(words.find('\n'), std::string::npos) << words;
    EXPECT_NE(words, "");
    return words;
  }

 private:
  std::vector<const DLTensor*> views() const {
    std::vector<const DLTensor*> out;
    for (const DLTensor& t : tensors_) out.push_back(&t);
    return out;
  }

  HoneGpuDevice* const gpu_;
  const size_t input_count_;
  std::vector<std::string> host_;
  std::vector<void*> device_;
  std::vector<DLTensor> tensors_;
};

/// The bytes of each.
inline std::vector<std::string> bytes_of_all(const std::vector<TensorData>& tensors) {
  std::vector<std::string> out;
  for (const TensorData& t : tensors) out.emplace_back(t.bytes().begin(), t.bytes().end());
  return out;
}

}  // namespace hone
