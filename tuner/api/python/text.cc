#include "tuner/api/python/text.h"

#include <string>

namespace hone::python {

namespace py = pybind11;

namespace {

void set_error(PyObject* type, std::string_view text) { PyErr_SetObject(type, str_of(text).ptr()); }

}  // namespace

py::str str_of(std::string_view text) {
  PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace");
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

void translate_errors() {
  py::register_local_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const py::cast_error& e) {
      // The rest of the text is about C++ types, which mean nothing to users.
      const std::string_view text = e.what();
      set_error(PyExc_TypeError, text.substr(0, text.find(" to C++ type")));
    } catch (const py::type_error& e) {
      set_error(PyExc_TypeError, e.what());
    } catch (const py::value_error& e) {
      set_error(PyExc_ValueError, e.what());
    } catch (const py::index_error& e) {
      set_error(PyExc_IndexError, e.what());
    }
  });
}

}  // namespace hone::python
