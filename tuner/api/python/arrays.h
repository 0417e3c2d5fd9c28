// Arrays of Python as tensors of a call: numpy's, and objects with DLPack.
#pragma once

#include <hone_compiler.h>
#include <hone_gpu.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hone::python {

/// The arrays and bytes that calls have copied since the model was opened.
struct CopyCount {
  uint64_t arrays = 0, bytes = 0;
};

/// A tensor of a call, and the owner of its memory.
struct Argument {
  pybind11::object owner;
  pybind11::object given;  ///< the caller's output on a GPU; else null, and `owner` is it
  std::vector<int64_t> shape;
  DLTensor tensor{};  ///< row-major; its shape is `shape`
};

/// The GPU that a call runs on: null, none; and its stream as DLPack's protocol says it, which is ordered behind the
/// commands that make an input: 1 for CUDA's default one.
struct CallsOn {
  const HoneGpuProperties* gpu = nullptr;
  int64_t stream = 1;
};

/// The size of the tensor's elements.
size_t bytes_of(const Argument& a);
/// `float32`, `bool` …: DLPack's types by numpy's names.
std::string name_of(DLDataType t);
/// DLPack's type of numpy's elements; kDLOpaqueHandle for those that are no numbers.
DLDataType type_of(const pybind11::dtype& t);
/// numpy's type of these elements. Without one of its own, bfloat16 is ml_dtypes', where that is installed, else
/// uint16.
pybind11::dtype numpy_type(DLDataType t);

/// `x` for the parameter: numpy arrays and objects with DLPack are used in place if they are row-major, else copied
/// once; lists and numbers as arrays of the parameter's type. Throws TypeError for other types of elements and for
/// other devices; extents are for the library to check, which knows all variants. An array that `is_wanted` refuses is
/// neither copied nor read: few bytes may claim to be terabytes.
using IsWanted = std::function<bool(const std::vector<int64_t>& shape)>;
/// `on`: the GPU whose arrays are taken where they lie, too; they are row-major, or a ValueError.
Argument as_input(const pybind11::object& x, const HoneParam& p, const IsWanted& is_wanted, CopyCount* copied,
                  const CallsOn& on = {});
/// `x` for the parameter's result: a numpy array that can be written where it lies, or an array on the GPU. Throws
/// TypeError, ValueError.
Argument as_output(const pybind11::object& x, const HoneParam& p, const CallsOn& on = {});
/// Whether it lies on a GPU.
bool is_on_gpu(const Argument& a);
/// A new numpy array for it.
Argument new_output(const HoneParam& p);

}  // namespace hone::python
