#include "tuner/api/python/call_limit.h"

#include "tuner/api/python/no_gil.h"

namespace hone::python {

namespace py = pybind11;
using std::chrono::milliseconds;

py::handle too_long() {
  static PyObject* const type = PyErr_NewException("hone._te.TooLong", PyExc_BaseException, nullptr);
  return type;
}

CallLimit::CallLimit(milliseconds most) : most_(most), thread_([this] { watch(); }) {}

CallLimit::~CallLimit() {
  const NoGil no_gil;
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

py::object CallLimit::call(const py::object& function, const py::object& argument) {
  {
    const std::lock_guard lock(mutex_);
    running_ = true;
    caller_ = PyThread_get_thread_ident();
    until_ = Clock::now() + most_;
  }
  PyObject* const result = PyObject_CallOneArg(function.ptr(), argument.ptr());
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
    PyThreadState_SetAsyncExc(caller_, nullptr);  // one that was raised, and came too late
  }
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

void CallLimit::watch() {
  constexpr milliseconds kLook{100}, kAgain{1000};
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kLook, [this] { return leaving_; })) return;
      if (!running_ || Clock::now() < until_) continue;
    }
    sleep_if_python_ends();
    const py::gil_scoped_acquire gil;
    const std::lock_guard lock(mutex_);
    if (!running_ || Clock::now() < until_) continue;  // another call
    PyThreadState_SetAsyncExc(caller_, too_long().ptr());
    until_ = Clock::now() + kAgain;
  }
}

}  // namespace hone::python
