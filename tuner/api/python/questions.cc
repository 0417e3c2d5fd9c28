#include "tuner/api/python/questions.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "tuner/api/python/no_gil.h"
#include "tuner/api/python/text.h"

namespace hone::python {

namespace py = pybind11;

namespace {

// How often signals are looked for while nothing is asked.
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

Questions::Questions(py::object answer, std::function<void(py::error_already_set&)> stop)
    : answer_(std::move(answer)), stop_(std::move(stop)), process_(getpid()) {
  template_.size = sizeof template_;
  template_.data = this;
  template_.answer = [](void* self, const char* question, void* to, void (*write)(void*, const char*)) {
    std::string text;
    const int32_t code = static_cast<Questions*>(self)->ask(question, &text);
    if (code == HONE_OK) write(to, text.c_str());
    return code;
  };
}

int32_t Questions::ask(const char* question, std::string* answer) {
  std::unique_lock lock(mutex_);
  question_ = question;
  state_ = State::kAsked;
  changed_.notify_all();
  changed_.wait(lock, [this] { return state_ == State::kAnswered; });
  state_ = State::kNone;
  *answer = std::move(text_);
  return code_;
}

const std::string* Questions::wait() {
  const NoGil no_gil;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kLook, [this] { return state_ == State::kAsked || ended_; });
  return state_ == State::kAsked ? &question_ : nullptr;
}

void Questions::reply(int32_t code, std::string text) {
  const std::lock_guard lock(mutex_);
  code_ = code;
  text_ = std::move(text);
  state_ = State::kAnswered;
  changed_.notify_all();
}

void Questions::serve(const std::function<void()>& search) {
  std::thread searching([&] {
    search();
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  });
  const auto is_over = [this] {
    const std::lock_guard lock(mutex_);
    return ended_;
  };
  while (!is_over()) {
    const std::string* const question = wait();  // stays what it is until it is answered
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!question) continue;
      std::string text = py::cast<std::string>(answer_(str_of(*question)));
      if (getpid() != process_) {
        // The search's threads are the parent's, and two processes would go on from here.
        (void)fputs("hone: the template called fork(): its child ends here\n", stderr);
        _exit(70);
      }
      reply(HONE_OK, std::move(text));
    } catch (py::error_already_set& e) {
      stop_(e);
      if (question) reply(HONE_STOPPED, "");
    }
  }
  const NoGil no_gil;
  searching.join();
}

}  // namespace hone::python
