#include "tests/fuzz/library/trace.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

// This function is in the run-time library of sanitizers, where there is one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace hone::fuzz {
namespace {

constexpr unsigned kMostSeconds = 240;  // a call's; sanitized and on a busy machine, too

thread_local std::string t_trace;
int s_stderr = 2;  // the process's own

void print_trace() {
  const std::string& text = t_trace;
  if (write(s_stderr, text.data(), text.size()) < 0) return;
}

void end_with_trace(int signal) {
  print_trace();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch_for_the_end() {
  static std::once_flag once;
  std::call_once(once, [] {
    s_stderr = dup(2);
    std::signal(SIGALRM, &end_with_trace);
    if (__sanitizer_set_death_callback) {
      __sanitizer_set_death_callback(&print_trace);
      return;
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) std::signal(signal, &end_with_trace);
  });
}

}  // namespace

void begin_trace(const std::string& sequence) {
  watch_for_the_end();
  t_trace = sequence + "\n";
}

void trace(const std::string& call) {
  t_trace += "  " + call + "\n";
  alarm(kMostSeconds);
}

void trace_end(int32_t code) {
  t_trace.pop_back();
  t_trace += " -> " + std::to_string(code) + "\n";
}

std::string traced() { return t_trace; }

std::string quoted(const char* text) {
  if (!text) return "null";
  std::string out = "\"";
  for (const char* c = text; *c; ++c) {
    if (out.size() > 120) return out + "...\"";
    char byte[8];
    const auto b = static_cast<unsigned char>(*c);
    if (b >= 0x20 && b < 0x7f) {
      out += *c;
    } else {
      std::snprintf(byte, sizeof byte, "\\x%02x", b);
      out += byte;
    }
  }
  return out + "\"";
}

Quiet::Quiet() : kept_(memfd_create("output", MFD_CLOEXEC)) {
  if (kept_ < 0) throw std::runtime_error("memfd_create");
  std::fflush(nullptr);
  for (const int fd : {1, 2}) {
    before_[fd - 1] = dup(fd);
    dup2(kept_, fd);
  }
}

Quiet::~Quiet() {
  std::fflush(nullptr);
  for (const int fd : {1, 2}) {
    dup2(before_[fd - 1], fd);
    close(before_[fd - 1]);
  }
  close(kept_);
}

std::string Quiet::written() const {
  std::fflush(nullptr);
  std::string text(1 << 12, '\0');
  const ssize_t n = pread(kept_, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

}  // namespace hone::fuzz
