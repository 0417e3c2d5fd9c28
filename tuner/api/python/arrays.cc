#include "tuner/api/python/arrays.h"

#include <cstring>
#include <memory>

namespace hone::python {
namespace {

namespace py = pybind11;

size_t bytes_of(DLDataType t) { return size_t{t.bits} / 8 * t.lanes; }

bool is_same(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

// Artifacts have bools as bytes.
DLDataType as_stored(DLDataType t) {
  constexpr uint8_t kBool = 6;  // DLPack's kDLBool, which older headers have not
  return t.code == kBool ? DLDataType{kDLUInt, t.bits, t.lanes} : t;
}

std::string told(const HoneParam& p) { return std::string("'") + p.name + "'"; }

[[noreturn]] void wrong_type(const HoneParam& p, const std::string& given) {
  throw py::type_error(told(p) + " has elements of type " + name_of(p.plain.dtype) + ", given are " + given);
}

bool is_row_major(const DLTensor& t) {
  if (!t.strides) return true;
  int64_t step = 1;
  for (int32_t d = t.ndim; d-- > 0;) {
    if (t.shape[d] == 0) return true;
    if (t.shape[d] != 1 && t.strides[d] != step) return false;
    step *= t.shape[d];
  }
  return true;
}

bool is_aligned(const void* data, DLDataType t) { return reinterpret_cast<uintptr_t>(data) % bytes_of(t) == 0; }

Argument of_array(py::array array, const HoneParam& p) {
  Argument a;
  a.shape.assign(array.shape(), array.shape() + array.ndim());
  a.tensor.data = const_cast<void*>(array.data());
  a.tensor.device = {kDLCPU, 0};
  a.tensor.dtype = p.plain.dtype;
  a.owner = std::move(array);
  return a;
}

// bfloat16 of uint16: numpy has no other.
bool fits(const py::dtype& t, const HoneParam& p) {
  if (!is_same(type_of(t), p.plain.dtype) &&
      !(p.plain.dtype.code == kDLBfloat && is_same(type_of(t), {kDLUInt, 16, 1})))
    return false;
  return t.attr("isnative").cast<bool>();
}

Argument of_numpy(const py::array& given, const HoneParam& p, const IsWanted& is_wanted, CopyCount* copied) {
  if (!fits(given.dtype(), p)) wrong_type(p, py::str(given.dtype()));
  if ((given.flags() & py::array::c_style) && is_aligned(given.data(), p.plain.dtype)) return of_array(given, p);
  if (!is_wanted({given.shape(), given.shape() + given.ndim()})) return of_array(given, p);
  ++copied->arrays;
  copied->bytes += static_cast<uint64_t>(given.nbytes());
  // A view that lies askew is contiguous for numpy.
  const py::array copy = given.attr("copy")("C");
  return of_array(copy, p);
}

// The array behind a capsule of DLPack, which is to be given back.
struct Release {
  void operator()(DLManagedTensor* t) const {
    if (t->deleter) t->deleter(t);
  }
};

void copy_strided(const DLTensor& from, char* to, size_t element, int32_t d, const char* at) {
  if (d == from.ndim) {
    std::memcpy(to, at, element);
    return;
  }
  size_t inner = element;
  for (int32_t i = d + 1; i < from.ndim; ++i) inner *= static_cast<size_t>(from.shape[i]);
  for (int64_t i = 0; i < from.shape[d]; ++i)
    copy_strided(from, to + static_cast<size_t>(i) * inner, element, d + 1,
                 at + i * from.strides[d] * static_cast<int64_t>(element));
}

// Memory that CUDA shares between the host and the GPU.
constexpr int kPinned = 3, kManaged = 13;

bool is_of_gpu(int device_type, const CallsOn& on) {
  return on.gpu && (device_type == on.gpu->device_type || (on.gpu->device_type == kDLCUDA && device_type == kManaged));
}

// x's tensor, which is to be given back, after the commands that make it: these are ordered in front of `on`'s stream.
std::unique_ptr<DLManagedTensor, Release> taken_from(const py::object& x, bool has_streams, const CallsOn& on) {
  const py::object capsule = has_streams ? x.attr("__dlpack__")(py::arg("stream") = on.stream) : x.attr("__dlpack__")();
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!managed) throw py::error_already_set();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return std::unique_ptr<DLManagedTensor, Release>(managed);
}

py::capsule owned(std::unique_ptr<DLManagedTensor, Release> tensor) {
  return {tensor.release(), [](void* m) { Release()(static_cast<DLManagedTensor*>(m)); }};
}

void check_extents(const HoneParam& p, const DLTensor& t) {
  constexpr int32_t kMostDimensions = 64;
  if (t.ndim < 0 || t.ndim > kMostDimensions || (t.ndim > 0 && !t.shape))
    throw py::value_error(told(p) + ": DLPack's tensor has " + std::to_string(t.ndim) + " dimensions");
  bool is_empty = false;
  for (int32_t d = 0; d < t.ndim; ++d) {
    if (t.shape[d] < 0) throw py::value_error(told(p) + ": DLPack's tensor has an extent below 0");
    is_empty = is_empty || t.shape[d] == 0;
  }
  if (!t.data && !is_empty) throw py::value_error(told(p) + ": DLPack's tensor has no data");
}

// An array on the call's GPU.
Argument of_gpu(const py::object& x, const HoneParam& p, const CallsOn& on) {
  auto owner = taken_from(x, on.gpu->device_type != kDLOpenCL, on);
  const DLTensor& t = owner->dl_tensor;
  if (!is_same(as_stored(t.dtype), p.plain.dtype)) wrong_type(p, name_of(t.dtype));
  check_extents(p, t);
  if (!is_row_major(t)) throw py::value_error(told(p) + " is on the GPU and not row-major without gaps");
  Argument a;
  a.shape.assign(t.shape, t.shape + t.ndim);
  a.tensor = t;
  a.tensor.strides = nullptr;
  a.tensor.dtype = p.plain.dtype;
  a.owner = owned(std::move(owner));
  return a;
}

Argument of_dlpack(const py::object& x, const HoneParam& p, const IsWanted& is_wanted, CopyCount* copied,
                   const CallsOn& on) {
  const auto device = x.attr("__dlpack_device__")().cast<std::pair<int, int>>();
  if (is_of_gpu(device.first, on)) return of_gpu(x, p, on);
  if (device.first != kDLCPU && device.first != kPinned)
    throw py::type_error(told(p) + " must lie on the CPU" +
                         (on.gpu ? std::string(" or on ") + on.gpu->name : std::string()) +
                         "; what is given lies on DLPack's device " + std::to_string(device.first) + ":" +
                         std::to_string(device.second));
  auto owner = taken_from(x, false, on);
  const DLTensor& t = owner->dl_tensor;
  if (!is_same(as_stored(t.dtype), p.plain.dtype)) wrong_type(p, name_of(t.dtype));
  check_extents(p, t);
  const char* const data = static_cast<const char*>(t.data) + t.byte_offset;
  if ((is_row_major(t) && is_aligned(data, t.dtype)) || !is_wanted({t.shape, t.shape + t.ndim})) {
    Argument a;
    a.shape.assign(t.shape, t.shape + t.ndim);
    a.tensor.data = const_cast<char*>(data);
    a.tensor.device = {kDLCPU, 0};
    a.tensor.dtype = p.plain.dtype;
    a.owner = owned(std::move(owner));
    return a;
  }
  py::array copy(numpy_type(p.plain.dtype), std::vector<py::ssize_t>(t.shape, t.shape + t.ndim));
  std::vector<int64_t> strides(static_cast<size_t>(t.ndim));
  DLTensor strided = t;
  if (!t.strides) {  // row-major, and askew
    int64_t step = 1;
    for (int32_t d = t.ndim; d-- > 0; step *= t.shape[d]) strides[static_cast<size_t>(d)] = step;
    strided.strides = strides.data();
  }
  copy_strided(strided, static_cast<char*>(copy.mutable_data()), bytes_of(t.dtype), 0, data);
  ++copied->arrays;
  copied->bytes += static_cast<uint64_t>(copy.nbytes());
  return of_array(copy, p);
}

}  // namespace

DLDataType type_of(const py::dtype& t) {
  const auto bits = static_cast<uint8_t>(t.itemsize() * 8);
  switch (t.kind()) {
    case 'b': return {kDLUInt, 8, 1};
    case 'i': return {kDLInt, bits, 1};
    case 'u': return {kDLUInt, bits, 1};
    case 'f': return {kDLFloat, bits, 1};
    default: break;
  }
  if (py::str(t.attr("name")).cast<std::string>() == "bfloat16") return {kDLBfloat, 16, 1};
  return {kDLOpaqueHandle, bits, 1};
}

size_t bytes_of(const Argument& a) {
  size_t bytes = bytes_of(a.tensor.dtype);
  for (const int64_t extent : a.shape) bytes *= static_cast<size_t>(extent);
  return bytes;
}

std::string name_of(DLDataType t) {
  const std::string bits = std::to_string(t.bits) + (t.lanes > 1 ? "x" + std::to_string(t.lanes) : "");
  switch (t.code) {
    case kDLInt: return "int" + bits;
    case kDLUInt: return "uint" + bits;
    case kDLFloat: return "float" + bits;
    case kDLBfloat: return "bfloat" + bits;
    case 5: return "complex" + bits;
    case 6: return "bool";
    default: return "DLPack's code " + std::to_string(t.code) + " of " + bits + " bits";
  }
}

py::dtype numpy_type(DLDataType t) {
  if (t.code != kDLBfloat) return py::dtype(name_of(t));
  try {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
  } catch (const py::error_already_set& e) {
    if (!e.matches(PyExc_ImportError)) throw;
    return py::dtype("uint16");
  }
}

bool is_on_gpu(const Argument& a) { return a.tensor.device.device_type != kDLCPU; }

Argument as_input(const py::object& x, const HoneParam& p, const IsWanted& is_wanted, CopyCount* copied,
                  const CallsOn& on) {
  if (py::isinstance<py::array>(x) && py::hasattr(x, "filled") && py::hasattr(x, "mask"))
    throw py::type_error(told(p) + " is a masked array: fill it, x.filled(0)");
  if (py::isinstance<py::array>(x)) return of_numpy(py::reinterpret_borrow<py::array>(x), p, is_wanted, copied);
  if (py::hasattr(x, "__dlpack__") && py::hasattr(x, "__dlpack_device__"))
    return of_dlpack(x, p, is_wanted, copied, on);
  // Lists and numbers have no type of their own; scalars of numpy have.
  const py::module_ numpy = py::module_::import("numpy");
  if (py::isinstance(x, numpy.attr("generic"))) return of_numpy(numpy.attr("asarray")(x), p, is_wanted, copied);
  if (!PyList_Check(x.ptr()) && !PyTuple_Check(x.ptr()) && !PyNumber_Check(x.ptr()))
    throw py::type_error(told(p) + " takes arrays (numpy's, or with DLPack), lists and numbers, not " +
                         py::str(py::type::of(x).attr("__name__")).cast<std::string>());
  const py::array array = numpy.attr("array")(x, py::arg("dtype") = numpy_type(p.plain.dtype), py::arg("order") = "C");
  ++copied->arrays;
  copied->bytes += static_cast<uint64_t>(array.nbytes());
  return of_array(array, p);
}

Argument as_output(const py::object& x, const HoneParam& p, const CallsOn& on) {
  if (on.gpu && !py::isinstance<py::array>(x) && py::hasattr(x, "__dlpack__") && py::hasattr(x, "__dlpack_device__") &&
      is_of_gpu(x.attr("__dlpack_device__")().cast<std::pair<int, int>>().first, on)) {
    Argument a = of_gpu(x, p, on);
    a.given = x;
    return a;
  }
  if (!py::isinstance<py::array>(x)) throw py::type_error("the output " + told(p) + " is to be a numpy array");
  const auto array = py::reinterpret_borrow<py::array>(x);
  if (!fits(array.dtype(), p)) wrong_type(p, py::str(array.dtype()));
  if (!array.writeable()) throw py::value_error("the output " + told(p) + " is read-only");
  if (!(array.flags() & py::array::c_style) || !is_aligned(array.data(), p.plain.dtype))
    throw py::value_error("the output " + told(p) + " is not row-major without gaps");
  return of_array(array, p);
}

Argument new_output(const HoneParam& p) {
  return of_array(
      py::array(numpy_type(p.plain.dtype), std::vector<py::ssize_t>(p.plain.shape, p.plain.shape + p.plain.ndim)), p);
}

}  // namespace hone::python
