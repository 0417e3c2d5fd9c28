// The caller of libhone, and the events that it receives.
#pragma once

#include <mutex>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>

#include "tuner/api/hone_compiler.h"
#include "tuner/session/progress.h"

namespace hone::api {

/// The caller's functions, as many as his version of the struct has. Calls them one at a time.
class Caller {
 public:
  /// Null: there is no listener.
  explicit Caller(const HoneCall* call);

  void line(const std::string& text);
  void progress(const HoneProgress& p);
  void progress(const Snapshot& s);
  int stops();
  /// Whether he answers for operators of his own.
  bool defines() const { return call_.define != nullptr; }
  /// His answer; nothing where he ends the call.
  std::optional<std::string> define(const std::string& question);

 private:
  HoneCall call_{};
  std::mutex mutex_;
};

/// Hands over written text, line by line.
class LineBuffer : public std::streambuf {
 public:
  explicit LineBuffer(Caller& caller) : caller_(caller) {}
  /// Hands over a last line without an end, too.
  ~LineBuffer() override;

 private:
  int overflow(int c) override;

  Caller& caller_;
  std::string line_;
};

/// A stream whose lines the caller hears.
class CallerStream final : private LineBuffer, public std::ostream {
 public:
  explicit CallerStream(Caller& caller) : LineBuffer(caller), std::ostream(static_cast<LineBuffer*>(this)) {}
};

}  // namespace hone::api
