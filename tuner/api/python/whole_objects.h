// Objects of the bound classes are initialized, or are not there.
#pragma once

#include <pybind11/pybind11.h>

namespace hone::python {

/// `cls.__new__(cls)` alone leaves an object whose C++ object was never made, and every method of it would read memory
/// that was never written. With this, `__new__` calls the constructor, too, with the arguments that it is given; of a
/// class without one it is a TypeError. Python's own call of the constructor does nothing then. Classes derived from
/// `bound` afterwards are made in the same way.
inline void make_only_whole(const pybind11::handle& bound) {
  reinterpret_cast<PyTypeObject*>(bound.ptr())->tp_new = [](PyTypeObject* type, PyObject* words, PyObject* named) {
    namespace py = pybind11;
    try {
      auto object = py::reinterpret_steal<py::object>(py::detail::make_new_instance(type));
      const py::handle bound(reinterpret_cast<PyObject*>(py::detail::all_type_info(type).front()->type));
      bound.attr("__init__")(object, *py::reinterpret_borrow<py::args>(words),
                             **(named ? py::reinterpret_borrow<py::kwargs>(named) : py::kwargs()));
      return object.release().ptr();
    } catch (py::error_already_set& e) {
      e.restore();
    } catch (const py::builtin_exception& e) {
      e.set_error();
    }
    return static_cast<PyObject*>(nullptr);
  };
}

}  // namespace hone::python
