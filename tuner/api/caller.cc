#include "tuner/api/caller.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace hone::api {

Caller::Caller(const HoneCall* call) {
  // Each member is as large as a pointer; of one that would be cut nothing is taken.
  if (call) std::memcpy(&call_, call, std::min(call->size, sizeof call_) / sizeof(void*) * sizeof(void*));
}

void Caller::line(const std::string& text) {
  if (!call_.line) return;
  const std::lock_guard lock(mutex_);
  call_.line(call_.data, clean_line(text).c_str());
}

void Caller::progress(const HoneProgress& p) {
  if (!call_.progress) return;
  const std::lock_guard lock(mutex_);
  call_.progress(call_.data, &p);
}

void Caller::progress(const Snapshot& s) {
  progress({.size = sizeof(HoneProgress),
            .what = "measuring",
            .done = s.trials,
            .all = s.budget,
            .best_gflops = s.best_gflops,
            .seconds = s.model ? s.model->seconds : s.best_seconds,
            .default_seconds = s.model ? s.model->default_seconds : s.default_seconds,
            .seconds_left = s.seconds_left});
}

int Caller::stops() {
  if (!call_.stops) return 0;
  const std::lock_guard lock(mutex_);
  return call_.stops(call_.data);
}

std::optional<std::string> Caller::define(const std::string& question) {
  std::string answer;
  const auto write = [](void* to, const char* text) { *static_cast<std::string*>(to) = text; };
  const std::lock_guard lock(mutex_);
  if (call_.define(call_.data, question.c_str(), &answer, write) != HONE_OK) return std::nullopt;
  return answer;
}

LineBuffer::~LineBuffer() {
  if (!line_.empty()) caller_.line(line_);
}

int LineBuffer::overflow(int c) {
  if (c == traits_type::eof()) return 0;
  if (c != '\n') {
    line_ += static_cast<char>(c);
    return c;
  }
  caller_.line(line_);
  line_.clear();
  return c;
}

}  // namespace hone::api
