// The calls of one sequence, for who replays it: printed where the sequence fails, and where it ends the process.
#pragma once

#include <cstdint>
#include <string>

namespace hone::fuzz {

/// The trace is this thread's. A new sequence forgets the one before.
void begin_trace(const std::string& sequence);
/// One line, before the call is made. Ends the process, with the trace, where the call takes minutes.
void trace(const std::string& call);
/// Notes the code that the last call returned.
void trace_end(int32_t code);
std::string traced();

/// `text` with its bytes in quotes, other bytes than printable ASCII as \x41; long ones are cut.
std::string quoted(const char* text);

/// While this lives, output of the process to stdout and stderr is kept and not printed.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  std::string written() const;

 private:
  int kept_, before_[2];
};

}  // namespace hone::fuzz
