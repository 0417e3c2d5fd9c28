// A rule that holds for any bytes: they are refused with one clear line, or the module compiles and touches nothing but
// its own memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::fuzz {

enum class Outcome : uint8_t {
  kNotDecoded,   ///< decode() refused the bytes
  kNotVerified,  ///< verify() refused the module
  kCompiled,     ///< compiled, not run: it would compute or allocate more than a test may
  kRan,          ///< compiled and ran to its end
  kFaulted,      ///< a run-time check stopped it
};

struct Report {
  Outcome outcome = Outcome::kNotDecoded;
  /// Empty when everything held. Else the rule that did not, with the module's text. (An access out of bounds mostly
  /// ends the process with a signal.)
  std::string violation;
};

/// Decodes, verifies and compiles `bytes` for this machine as a device agent does, and runs the result between guard
/// pages, against either of them, on the calling thread and on a pool. Where the interpreter can follow, it must find
/// every access in bounds too (also of stack buffers, which no page guards) unless it was to be checked at run time,
/// and compute the same integers.
Report run_guarded(std::string_view bytes);

}  // namespace hone::fuzz
