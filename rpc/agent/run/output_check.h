// The check of a candidate, in every place it can run: poison the outputs, call once, require every element written and
// right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/check/checker.h"
#include "rpc/agent/pipe/protocol.h"

namespace hone::agent {

/// Why a candidate is not measured any further; becomes its result.
struct CandidateFailure {
  wire::ResultStatus status;
  std::string message;
  /// its process may hold damaged data or be out of memory: other candidates must not be judged by it
  bool spoils = false;
};

/// A candidate whose tensors are in place.
class CheckedKernel {
 public:
  virtual ~CheckedKernel() = default;
  /// Fills all outputs with poison(pattern).
  virtual void poison_outputs(uint8_t pattern) = 0;
  /// Runs the kernel once; the seconds it took. Throws CandidateFailure.
  virtual double call_once() = 0;
  /// The physical elements of output number `param`, valid until the next call of any of these functions.
  virtual const void* output(size_t param) = 0;
};

/// The logical elements of output number `param`, row-major.
std::vector<char> logical_output(CheckedKernel& kernel, const Param& p, size_t param);

/// Fills an output before it is computed: an element that still holds the pattern afterwards was not written.
inline constexpr uint8_t kFirstPoison = 0xA5;

/// Every logical element of every output must have been written, with the expected value: `expected` has one entry for
/// each output, or is empty where only writing is checked. Throws CandidateFailure.
CheckReply check_kernel(CheckedKernel& kernel, const ModuleInfo& info, const std::vector<Expected>& expected);

}  // namespace hone::agent
