#include "compiler/check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/narrow_floats.h"

namespace hone {
namespace {

// Quiet NaNs with a payload that no arithmetic makes.
constexpr uint32_t kPoison32 = 0x7fe5a5a5;
constexpr uint16_t kPoisonF16 = 0x7fa5, kPoisonBf16 = 0x7fe5;
constexpr uint64_t kPoison64 = 0x7ffda5a5a5a5a5a5ULL;

template <class T>
T element(const void* data, int64_t i) {
  T v;
  std::memcpy(&v, static_cast<const char*>(data) + i * static_cast<int64_t>(sizeof(T)), sizeof v);
  return v;
}

int64_t integer_at(const void* data, DType t, int64_t i) {
  const bool is_signed = t.code == TypeCode::kInt;
  switch (t.lane_bytes()) {
    case 1: return is_signed ? element<int8_t>(data, i) : element<uint8_t>(data, i);
    case 2: return is_signed ? element<int16_t>(data, i) : element<uint16_t>(data, i);
    case 4: return is_signed ? element<int32_t>(data, i) : int64_t{element<uint32_t>(data, i)};
    default: return element<int64_t>(data, i);  // u64 and s64 compare by their bits
  }
}

// A tolerance that is no number allows nothing.
double share_of(double error, double tolerance) {
  return error == 0 ? 0 : tolerance > 0 ? error / tolerance : std::numeric_limits<double>::infinity();
}

// A tolerance from here on, which no type but f64 can reach with its numbers, says that a kernel may have anything
// there: infinities and NaNs, too.
constexpr double kAnything = 1e100;

// Whether an element takes part in the norm of all errors.
bool counts_on_average(double value, double tolerance) { return std::isfinite(value) && tolerance < kAnything; }

int64_t place_of(const Expected& e, size_t sample) { return e.places.empty() ? e.samples[sample] : e.places[sample]; }

CheckResult check_integers(const void* output, DType t, const Expected& e) {
  CheckResult r;
  for (size_t s = 0; s < e.samples.size(); ++s) {
    const int64_t got = integer_at(output, t, place_of(e, s));
    if (got == e.int_values[s]) continue;
    // At least 1: two different 64-bit numbers may round to the same double.
    const double error = std::max(1.0, std::abs(static_cast<double>(got) - static_cast<double>(e.int_values[s])));
    r.max_error = std::max(r.max_error, share_of(error, e.tolerances[s]));
    if (r.max_error <= 1) continue;
    r.ok = false;
    r.message = fmt::format("output element {} is {}, expected {}{}", e.samples[s], got, e.int_values[s],
                            e.tolerances[s] > 0 ? fmt::format(" within {:g}", e.tolerances[s]) : "");
    return r;
  }
  return r;
}

// The error of one element as a share of its tolerance; infinite when it is wrong in a way no bound forgives.
double error_share(double got, double want, double tolerance, double largest) {
  if (std::isfinite(got) && std::isfinite(want)) return share_of(std::abs(got - want), tolerance);
  if (largest < kAnything && tolerance >= kAnything && std::isfinite(tolerance)) return 0;
  // A value that the type cannot hold is infinite in it.
  const bool overflows = std::isinf(got) && std::isfinite(want) && std::abs(want) + tolerance > largest;
  const bool same = std::isnan(want) ? std::isnan(got) : got == want || (overflows && (got > 0) == (want > 0));
  return same ? 0 : std::numeric_limits<double>::infinity();
}

CheckResult check_floats(const void* output, DType t, const Expected& e) {
  CheckResult r;
  double error_squares = 0, value_squares = 0, worst_share = -1;
  size_t worst = 0;
  const double largest = t == f64   ? std::numeric_limits<double>::max()
                         : t == f16 ? 65504
                                    // bf16 rounds to inf slightly below its largest number
                                    : double{std::numeric_limits<float>::max()};
  const auto got_at = [&](size_t s) -> double {
    const int64_t i = place_of(e, s);
    return t == f32   ? element<float>(output, i)
           : t == f64 ? element<double>(output, i)
           : t == f16 ? float_of_f16(element<uint16_t>(output, i))
                      : float_of_bf16(element<uint16_t>(output, i));
  };
  for (size_t s = 0; s < e.samples.size(); ++s) {
    const double got = got_at(s), want = e.values[s], error = std::abs(got - want);
    // Nearly all elements are finite and better than the worst so far, which is found without a division.
    const bool counts = counts_on_average(want, e.tolerances[s]);
    if (counts && error <= worst_share * e.tolerances[s] && std::isfinite(error)) {
      error_squares += error * error;
      value_squares += want * want;
      continue;
    }
    const double share = error_share(got, want, e.tolerances[s], largest);
    if (share > worst_share) worst_share = share, worst = s;
    if (!counts || !std::isfinite(got)) continue;
    error_squares += error * error;
    value_squares += want * want;
  }
  r.max_error = std::max(worst_share, 0.0);
  r.rel_error = error_squares == 0  ? 0
                : value_squares > 0 ? std::sqrt(error_squares / value_squares)
                                    : std::numeric_limits<double>::infinity();
  const double norm = std::sqrt(error_squares);
  if (r.max_error <= 1 && norm <= e.error_norm) return r;
  r.ok = false;
  r.message =
      fmt::format("output element {} is {:.9g}, expected {:.9g}", e.samples[worst], got_at(worst), e.values[worst]);
  if (r.max_error > 1)
    r.message += fmt::format(" within {:.2g}", e.tolerances[worst]);
  else
    r.message += fmt::format(" (the worst; relative error of all {} {:.2g}, allowed {:.2g})", e.samples.size(),
                             r.rel_error, e.error_norm / std::sqrt(value_squares));
  return r;
}

}  // namespace

double error_norm_of(std::span<const double> values, std::span<const double> tolerances,
                     std::span<const double> typical) {
  constexpr size_t kFew = 64;
  size_t count = 0;
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!counts_on_average(values[i], tolerances[i])) continue;
    const double t = std::isfinite(typical[i]) ? typical[i] : tolerances[i];
    squares += t * t;
    ++count;
  }
  return count < kFew ? std::numeric_limits<double>::infinity() : std::sqrt(squares);
}

CheckResult check_output(const void* output, DType t, const Expected& e) {
  return t.is_float() ? check_floats(output, t, e) : check_integers(output, t, e);
}

void poison(void* data, DType t, int64_t count, uint8_t pattern) {
  if (t == f32) {
    std::fill_n(static_cast<uint32_t*>(data), count, kPoison32);
  } else if (t == f64) {
    std::fill_n(static_cast<uint64_t*>(data), count, kPoison64);
  } else if (t.is_narrow_float()) {
    std::fill_n(static_cast<uint16_t*>(data), count, t == f16 ? kPoisonF16 : kPoisonBf16);
  } else {
    std::memset(data, pattern, count * t.bytes());
  }
}

bool is_poisoned(const void* data, DType t, int64_t i, uint8_t pattern) {
  if (t == f32) return element<uint32_t>(data, i) == kPoison32;
  if (t == f64) return element<uint64_t>(data, i) == kPoison64;
  if (t.is_narrow_float()) return element<uint16_t>(data, i) == (t == f16 ? kPoisonF16 : kPoisonBf16);
  const uint8_t* bytes = static_cast<const uint8_t*>(data) + i * t.bytes();
  for (int64_t b = 0; b < t.bytes(); ++b)
    if (bytes[b] != pattern) return false;
  return true;
}

int64_t find_poison(const void* data, DType t, int64_t count, int64_t from, uint8_t pattern) {
  if (t == f32) {  // the type of nearly all outputs
    const uint32_t* values = static_cast<const uint32_t*>(data);
    const uint32_t* found = std::find(values + std::min(from, count), values + count, kPoison32);
    return found == values + count ? -1 : found - values;
  }
  for (int64_t i = from; i < count; ++i)
    if (is_poisoned(data, t, i, pattern)) return i;
  return -1;
}

}  // namespace hone
