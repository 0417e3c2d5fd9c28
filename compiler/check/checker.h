// Compares a candidate's output with the reference.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "base/status.h"
#include "compiler/ir/dtype.h"

namespace hone {

/// The reference's values at `samples`, flat indices into the logical output.
struct Expected {
  std::span<const int64_t> samples;
  std::span<const double> values;       ///< floats: the right values of the elements
  std::span<const int64_t> int_values;  ///< integers: the same; one of the two is empty
  std::span<const double> tolerances;   ///< how far each may be from its value; 0: exact
  /// Floats: bound on the root of the sum of all squared errors. It distinguishes a kernel that is less exact
  /// everywhere from one with a single unlucky element.
  double error_norm = std::numeric_limits<double>::infinity();
  /// Where the samples lie in the output; empty: it is logical, each at its own index.
  std::span<const int64_t> places = {};
};

/// Expected::error_norm of these values when their errors are typically as large as `typical`. Values that are no
/// numbers, and values whose tolerance allows anything, are left out here and in the check. Infinite when fewer than 64
/// are left, which say nothing on average.
double error_norm_of(std::span<const double> values, std::span<const double> tolerances,
                     std::span<const double> typical);

struct CheckResult {
  bool ok = true;
  std::string message;   ///< when not ok: index, got, expected
  double rel_error = 0;  ///< the errors' norm as a share of the values'
  double max_error = 0;  ///< the largest error as a share of its tolerance
};

/// A NaN or infinity is right only where the reference has the same.
CheckResult check_output(const void* output, DType t, const Expected& expected);

/// Fills an output with a pattern that no kernel computes: an odd NaN in floats, the byte `pattern` in integers.
void poison(void* data, DType t, int64_t count, uint8_t pattern = 0xA5);
/// True when element `i` still holds poison(pattern). For integers a kernel may have computed just that: poison again
/// with another pattern and run again to be sure.
bool is_poisoned(const void* data, DType t, int64_t i, uint8_t pattern = 0xA5);
/// The first element that holds poison, at or after `from`; -1 when none does.
int64_t find_poison(const void* data, DType t, int64_t count, int64_t from = 0, uint8_t pattern = 0xA5);

}  // namespace hone
