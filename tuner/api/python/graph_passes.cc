#include "tuner/api/python/graph_passes.h"

#include <pybind11/numpy.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuner/api/python/arrays.h"
#include "tuner/api/python/no_gil.h"
#include "tuner/api/python/whole_objects.h"

namespace hone::python {

namespace py = pybind11;

namespace {

// The constants beside a graph, for as long as its pass runs.
struct GivenConstants {
  const DLTensor* tensors = nullptr;  // null: the pass has ended
  int32_t count = 0;

  // A copy: arrays may outlive the model's.
  py::array array(int32_t number) const {
    if (!tensors) throw py::value_error("constants can be read while the pass runs");
    if (number < 0 || number >= count) throw py::index_error("there is no constant " + std::to_string(number));
    const DLTensor& t = tensors[number];
    return {numpy_type(t.dtype), std::vector<py::ssize_t>(t.shape, t.shape + t.ndim), t.data};
  }
};

// Names in a graph may be any bytes, and come back as they are.
py::str str_of_bytes(const char* text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text, static_cast<py::ssize_t>(std::char_traits<char>::length(text)), "surrogateescape"));
}
std::string bytes_of_str(const py::handle& text) {
  const auto bytes =
      py::reinterpret_steal<py::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

}  // namespace

GraphPasses::GraphPasses(py::object passes, std::function<void(py::error_already_set&)> stop)
    : passes_(std::move(passes)), stop_(std::move(stop)) {
  if (passes_.is_none()) return;
  list_ = passes_.attr("list").cast<std::string>();
  told_.size = sizeof told_;
  told_.data = this;
  told_.list = list_.c_str();
  told_.run = [](void* self, int32_t pass, const char* graph, const DLTensor* given, int32_t count, void* to,
                 auto write) { return static_cast<GraphPasses*>(self)->run(pass, graph, given, count, to, write); };
}

int32_t GraphPasses::run(int32_t pass, const char* graph, const DLTensor* given, int32_t count, void* to,
                         void (*write)(void*, const char*, const DLTensor*, int32_t)) {
  sleep_if_python_ends();
  const py::gil_scoped_acquire gil;
  const auto constants = std::make_shared<GivenConstants>(GivenConstants{given, count});
  try {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    const py::tuple made = passes_.attr("run")(pass, str_of_bytes(graph), constants);
    constants->tensors = nullptr;
    if (made[0].is_none()) {
      write(to, bytes_of_str(made[1]).c_str(), nullptr, 0);
      return HONE_BAD_INPUT;
    }
    const std::string text = bytes_of_str(made[0]);
    std::vector<py::array> arrays;
    std::vector<std::vector<int64_t>> shapes;
    std::vector<DLTensor> tensors;
    for (const py::handle& one : made[1]) {
      const auto array = py::array::ensure(one, py::array::c_style);
      if (!array) throw py::error_already_set();
      shapes.emplace_back(array.shape(), array.shape() + array.ndim());
      arrays.push_back(array);
    }
    for (size_t i = 0; i < arrays.size(); ++i) {
      const bool is_bool = arrays[i].dtype().kind() == 'b';
      DLTensor t{};
      t.data = const_cast<void*>(arrays[i].data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): it is read
      t.device = {kDLCPU, 0};
      t.ndim = static_cast<int32_t>(shapes[i].size());
      t.dtype = is_bool ? DLDataType{kDLUInt, 8, 1} : type_of(arrays[i].dtype());
      t.shape = shapes[i].data();
      tensors.push_back(t);
    }
    write(to, text.c_str(), tensors.data(), static_cast<int32_t>(tensors.size()));
    return HONE_OK;
  } catch (py::error_already_set& e) {
    constants->tensors = nullptr;
    stop_(e);
    return HONE_STOPPED;
  }
}

void bind_given_constants(py::module_& m) {
  py::class_<GivenConstants, std::shared_ptr<GivenConstants>> given(m, "GivenConstants");
  make_only_whole(given);
  given.def_readonly("count", &GivenConstants::count).def("array", &GivenConstants::array);
}

}  // namespace hone::python
