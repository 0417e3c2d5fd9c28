// Compares a candidate's logical output with the reference.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "compiler/ir/dtype.h"

namespace hone {

/// The reference's values at `samples`, flat indices into the logical output.
struct Expected {
  std::span<const int64_t> samples;
  std::span<const double> values;       ///< floats: what the elements should be
  std::span<const int64_t> int_values;  ///< integers: the same; one of the two is empty
  std::span<const double> magnitudes;   ///< floats: sum |a b| of the element's reduction
  double rel_error = 0;                 ///< floats: bound on the relative Frobenius error over the samples
  double max_error = 0;                 ///< floats: bound on |error| / magnitude of any element
};

struct CheckResult {
  bool ok = true;
  std::string message;  ///< when not ok: index, got, expected
  double rel_error = 0, max_error = 0;
};

/// Integers are compared exactly. A NaN or infinity is right only where the reference has the same.
CheckResult check_output(const void* output, DType t, const Expected& expected);

/// Fills an output with what no kernel computes: a NaN of an odd pattern in floats, the byte `pattern` in integers.
void poison(void* data, DType t, int64_t count, uint8_t pattern = 0xA5);
/// True when element `i` still holds poison(pattern). For integers a kernel may have computed just that: poison again
/// with another pattern and run again to be sure.
bool is_poisoned(const void* data, DType t, int64_t i, uint8_t pattern = 0xA5);
/// The first element that holds poison, at or after `from`; -1 when none does.
int64_t find_poison(const void* data, DType t, int64_t count, int64_t from = 0, uint8_t pattern = 0xA5);

}  // namespace hone
