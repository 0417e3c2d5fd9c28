// Models built and opened, and tensors that they take.
#pragma once

#include <gtest/gtest.h>
#include <hone.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/e2e/api/handles.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {

/// `file` built with these flags as NAME.so, and opened.
template <class File>
Model opened(const TemporaryFolder& folder, const File& file, const std::string& name,
             const std::string& flags = "--threads 3") {
  file.write(folder.path() + "/" + name + ".onnx");
  const Ran ran = shell("cd " + folder.path() + " && " + kBin + "/tensorc " + name + ".onnx --config default -o " +
                        name + ".so " + flags);
  if (ran.code != 0) ADD_FAILURE() << ran.output;
  HoneModel* model = nullptr;
  EXPECT_EQ(hone_open((folder.path() + "/" + name + ".so").c_str(), &model), HONE_OK) << hone_last_error();
  return Model(model);
}

/// A tensor of that type over memory of its own.
struct Tensor {
  explicit Tensor(const HoneTensorType& type) : shape(type.shape, type.shape + type.ndim) {
    const auto count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    memory.resize(static_cast<size_t>(count) * type.dtype.bits / 8 + 64);
    tensor.data = memory.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = type.ndim;
    tensor.dtype = type.dtype;
    tensor.shape = shape.data();
  }
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(memory.data());
  }
  std::vector<int64_t> shape;
  std::vector<char> memory;
  DLTensor tensor{};
};

/// All tensors of a model's variant.
struct Tensors {
  explicit Tensors(const HoneModel* m, int32_t variant = 0) {
    for (int32_t i = 0; i < hone_input_count(m); ++i) add(hone_variant_input(m, variant, i), &inputs);
    for (int32_t i = 0; i < hone_output_count(m); ++i) add(hone_variant_output(m, variant, i), &outputs);
  }
  void add(const HoneParam* p, std::vector<const DLTensor*>* to) {
    all.push_back(std::make_unique<Tensor>(p->plain));
    to->push_back(&all.back()->tensor);
  }
  int32_t run(HoneModel* m, const HoneRuntime* pool) {
    return hone_run(m, inputs.data(), static_cast<int32_t>(inputs.size()), outputs.data(),
                    static_cast<int32_t>(outputs.size()), pool);
  }
  int32_t time(HoneModel* m, const HoneRuntime* pool, std::vector<double>* seconds) {
    return hone_run_timed(m, inputs.data(), static_cast<int32_t>(inputs.size()), outputs.data(),
                          static_cast<int32_t>(outputs.size()), pool, seconds->data(),
                          static_cast<int32_t>(seconds->size()));
  }
  std::vector<std::unique_ptr<Tensor>> all;  ///< inputs, then outputs
  std::vector<const DLTensor*> inputs, outputs;
};

}  // namespace hone
