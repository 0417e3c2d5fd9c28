// The GIL, released and taken back, also while the interpreter ends.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace hone::python {

/// Whether this thread is the one that ends the interpreter: it alone has the GIL meanwhile, and frees objects.
inline thread_local bool this_thread_ends_python = false;

/// When the interpreter ends, it ends the other threads that want the GIL, in the midst of whatever C++ they are in.
/// One that comes later sleeps instead, until the process is gone.
inline void sleep_if_python_ends() {
  while (_Py_IsFinalizing() && !this_thread_ends_python) pause();
}

/// Without the GIL as long as it lives.
class NoGil {
 public:
  NoGil() {
    this_thread_ends_python = _Py_IsFinalizing();
    state_ = PyEval_SaveThread();
  }
  // Python ends a thread that waits for the GIL by an exception of the C library's.
  ~NoGil() noexcept(false) {
    sleep_if_python_ends();
    PyEval_RestoreThread(state_);
  }
  NoGil(const NoGil&) = delete;
  NoGil& operator=(const NoGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace hone::python
