// The check of a candidate, wherever it runs: outputs poisoned, one call, every element written, all of them right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/check/checker.h"
#include "rpc/agent/pipe/protocol.h"

namespace hone::agent {

/// Why a candidate is not measured (further); becomes its result.
struct CandidateFailure {
  wire::ResultStatus status;
  std::string message;
  bool spoils = false;  ///< its process may hold something that is damaged or full: others are not to be judged by it
};

/// A candidate whose tensors are in place.
class CheckedKernel {
 public:
  virtual ~CheckedKernel() = default;
  /// Fills all outputs with poison(pattern).
  virtual void poison_outputs(uint8_t pattern) = 0;
  /// Runs the kernel once; the seconds it took. Throws CandidateFailure.
  virtual double call_once() = 0;
  /// The physical elements of output number `param`, until the next call of any of these.
  virtual const void* output(size_t param) = 0;
};

/// The logical elements of output number `param`, row-major.
std::vector<char> logical_output(CheckedKernel& kernel, const Param& p, size_t param);

/// Fills an output before it is computed: what is still there afterwards was not written.
inline constexpr uint8_t kFirstPoison = 0xA5;

/// Every logical element of every output must have been written, and be as expected: `expected` is of each output, or
/// empty where only the first is asked for. Throws CandidateFailure.
CheckReply check_kernel(CheckedKernel& kernel, const ModuleInfo& info, const std::vector<Expected>& expected);

}  // namespace hone::agent
