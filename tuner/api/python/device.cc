#include "tuner/api/python/device.h"

#include <hone_compiler.h>
#include <pybind11/numpy.h>

#include "tuner/api/python/arrays.h"
#include "tuner/api/python/no_gil.h"
#include "tuner/api/python/text.h"
#include "tuner/api/python/whole_objects.h"

namespace hone::python {
namespace {

namespace py = pybind11;

void check_gpu(int32_t code) {
  if (code == HONE_OK) return;
  const py::object error = py::module_::import("hone.errors").attr("error_of")(code, str_of(hone_gpu_last_error()));
  PyErr_SetObject(py::type::of(error).ptr(), error.ptr());
  throw py::error_already_set();
}

// Runs f(), which returns a code and may wait for the device, without the GIL. The last error is the thread's.
template <class F>
void checked(const F& f) {
  int32_t code = HONE_OK;
  {
    const NoGil no_gil;
    code = f();
  }
  check_gpu(code);
}

// Frees an array's DLPack form, on whatever thread and with or without the GIL.
struct Lent {
  DLManagedTensor managed{};
  std::vector<int64_t> shape;
  py::object array;

  static void give_back(DLManagedTensor* t) {
    sleep_if_python_ends();
    const py::gil_scoped_acquire gil;
    delete static_cast<Lent*>(t->manager_ctx);
  }
};

void drop_unused(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  auto* const t = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  t->deleter(t);
}

// A consumer's stream is not asked to wait: the array is complete when this returns.
py::object dlpack_of(const py::object& self, const py::object&) {
  auto& array = self.cast<DeviceArray&>();
  array.wait();
  auto* const lent = new Lent();
  lent->array = self;
  lent->shape = array.shape();
  lent->managed.dl_tensor = array.tensor();
  lent->managed.dl_tensor.shape = lent->shape.data();
  lent->managed.manager_ctx = lent;
  lent->managed.deleter = &Lent::give_back;
  PyObject* const capsule = PyCapsule_New(&lent->managed, "dltensor", &drop_unused);
  if (!capsule) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(capsule);
}

py::tuple tuple_of(const std::vector<int64_t>& extents) {
  py::tuple out(extents.size());
  for (size_t i = 0; i < extents.size(); ++i) out[i] = extents[i];
  return out;
}

// `float32[1, 257] on cuda:0`
std::string told(const DeviceArray& a) {
  std::string extents;
  for (const int64_t e : a.shape()) extents += (extents.empty() ? "" : ", ") + std::to_string(e);
  return name_of(a.type()) + "[" + extents + "] on " + hone_gpu_properties(a.device().get())->name;
}

py::array numpy_of(const DeviceArray& a) {
  py::array out(numpy_type(a.type()), std::vector<py::ssize_t>(a.shape().begin(), a.shape().end()));
  a.wait();
  a.read(out.mutable_data());
  return out;
}

}  // namespace

HeldDevice open_device(const std::string& name) {
  HoneGpuDevice* opened = nullptr;
  if (name.find('\0') != name.npos) throw py::value_error("a device's name has no NUL");
  checked([&] { return hone_gpu_open(name.c_str(), &opened); });
  return {opened, &hone_gpu_close};
}

Device::Device(const std::string& name) : held(open_device(name)) {}

py::dict Device::properties() const {
  const HoneGpuProperties& p = *hone_gpu_properties(held.get());
  py::dict d;
  d["name"] = str_of(p.name);
  d["api"] = str_of(p.api);
  d["model"] = str_of(p.model);
  d["driver"] = str_of(p.driver);
  d["arch"] = str_of(p.arch);
  d["memory_bytes"] = p.memory_bytes;
  d["compute_units"] = p.compute_units;
  d["is_integrated"] = p.is_integrated != 0;
  return d;
}

std::shared_ptr<DeviceArray> Device::array(const py::object& values) const {
  const py::array given = py::module_::import("numpy").attr("ascontiguousarray")(values);
  const DLDataType type = type_of(given.dtype());
  if (type.code == kDLOpaqueHandle)
    throw py::type_error("an array on a device has numbers, not " + py::str(given.dtype()).cast<std::string>());
  auto out =
      std::make_shared<DeviceArray>(held, type, std::vector<int64_t>(given.shape(), given.shape() + given.ndim()));
  out->write(given.data());
  return out;
}

HeldRuntime runtime_on(const HeldDevice& device, uintptr_t stream, bool is_async) {
  HoneRuntime* made = nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python has a stream's address as a number
  checked(
      [&] { return hone_gpu_runtime_new(device.get(), nullptr, reinterpret_cast<void*>(stream), is_async, &made); });
  return {made, [device](HoneRuntime* r) { hone_gpu_runtime_free(r); }};
}

DeviceArray::DeviceArray(HeldDevice device, DLDataType type, std::vector<int64_t> shape)
    : device_(std::move(device)), type_(type), shape_(std::move(shape)), bytes_(type.bits / 8) {
  for (const int64_t extent : shape_)
    if (__builtin_mul_overflow(bytes_, extent, &bytes_)) throw py::value_error("an array of more than 2^63 bytes");
  void* data = nullptr;
  checked([&] { return hone_gpu_allocate(device_.get(), bytes_ > 0 ? bytes_ : 1, &data); });
  data_ = std::shared_ptr<void>(data, [device = device_](void* d) { hone_gpu_free(device.get(), d); });
}

DLTensor DeviceArray::tensor() {
  const HoneGpuProperties& p = *hone_gpu_properties(device_.get());
  DLTensor t{};
  t.data = data_.get();
  t.device = {static_cast<DLDeviceType>(p.device_type), p.device_id};
  t.dtype = type_;
  t.ndim = static_cast<int32_t>(shape_.size());
  t.shape = shape_.data();
  return t;
}

void DeviceArray::write(const void* from) {
  checked([&] { return hone_gpu_write(device_.get(), data_.get(), 0, from, bytes_); });
}
void DeviceArray::read(void* to) const {
  checked([&] { return hone_gpu_read(device_.get(), data_.get(), 0, to, bytes_); });
}
void DeviceArray::wait() const {
  if (pending_) checked([&] { return hone_gpu_wait(pending_.get()); });
}

void bind_devices(py::module_& m) {
  // Signatures of Device name it.
  py::class_<DeviceArray, std::shared_ptr<DeviceArray>> array(m, "DeviceArray");
  make_only_whole(array);
  py::class_<Device> device(m, "Device");
  make_only_whole(device);
  device.def(py::init<const std::string&>())
      .def_property_readonly("properties", &Device::properties,
                             "A dict: name, api, model, driver, arch, memory_bytes, compute_units, is_integrated.")
      .def("array", &Device::array, py::arg("values"), "A copy of numpy's array (or a list's) on the device.")
      .def("__repr__", [](const Device& d) {
        const HoneGpuProperties& p = *hone_gpu_properties(d.held.get());
        return str_of(std::string("<hone.Device ") + p.name + ", " + p.model + ">");
      });
  device.attr("__module__") = "hone";
  device.attr("__doc__") =
      "A GPU, or another device of OpenCL: Device(\"cuda:0\"), \"opencl:1\", \"auto\". ``properties`` says what it is, "
      "array(x) copies numpy's array there.";
  array.attr("__module__") = "hone";
  array.attr("__doc__") =
      "Row-major numbers on a device: what a model gives whose inputs lie there. numpy() copies them, and whoever "
      "knows "
      "DLPack takes them where they lie: torch.from_dlpack(y), cupy.from_dlpack(y).";
  array
      .def_property_readonly(
          "shape", [](const DeviceArray& a) { return tuple_of(a.shape()); }, "Its extents.")
      .def_property_readonly(
          "dtype", [](const DeviceArray& a) { return name_of(a.type()); }, "numpy's name of its elements' type.")
      .def_property_readonly(
          "device", [](const DeviceArray& a) { return str_of(hone_gpu_properties(a.device().get())->name); },
          "Where it is, ``\"cuda:0\"``.")
      .def("numpy", &numpy_of, "A copy of it as numpy's array, once whatever writes it is done.")
      .def("__repr__", [](const DeviceArray& a) { return str_of("<hone.DeviceArray " + told(a) + ">"); })
      .def("__dlpack__", &dlpack_of, py::arg("stream") = py::none())
      .def("__dlpack_device__", [](DeviceArray& a) {
        const DLDevice d = a.tensor().device;
        return py::make_tuple(static_cast<int>(d.device_type), d.device_id);
      });
}

}  // namespace hone::python
