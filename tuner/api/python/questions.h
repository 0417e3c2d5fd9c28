// A search whose template is in Python: the library asks on threads of its own, and the thread that called answers.
//
// So user code runs where it was called from, one call at a time, and Ctrl-C reaches it there as any other code.
#pragma once

#include <pybind11/pybind11.h>
#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "tuner/api/hone_compiler.h"

namespace hone::python {

class Questions {
 public:
  /// `answer(question: str) -> str`. `stop` hears what it raises, or a signal's handler; the question is then answered
  /// by HONE_STOPPED. It is called with the GIL.
  Questions(pybind11::object answer, std::function<void(pybind11::error_already_set&)> stop);

  const HoneTemplate* get() const { return &template_; }
  /// Runs `search` on a thread of its own, without the GIL, and answers until it ends. With the GIL.
  void serve(const std::function<void()>& search);

 private:
  enum class State { kNone, kAsked, kAnswered };
  int32_t ask(const char* question, std::string* answer);
  // The question; null where there is none within a little while, or the search has ended.
  const std::string* wait();
  void reply(int32_t code, std::string text);

  const pybind11::object answer_;
  const std::function<void(pybind11::error_already_set&)> stop_;
  const pid_t process_;
  HoneTemplate template_{};
  std::mutex mutex_;  // never held with the GIL wanted
  std::condition_variable changed_;
  // All below under mutex_.
  State state_ = State::kNone;
  std::string question_, text_;
  int32_t code_ = HONE_OK;
  bool ended_ = false;
};

}  // namespace hone::python
