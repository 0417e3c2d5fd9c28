// Status and StatusOr (abseil's) and the macros that pass errors on. Everything outside compiler/ reports errors this
// way.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hone {

using absl::Status;
using absl::StatusOr;

/// The status's message as std::string (Debian's abseil has a string_view of its own, which fmt does not print).
inline std::string message_of(const Status& status) { return std::string(status.message()); }

}  // namespace hone

#define HONE_CONCAT_(a, b) a##b
#define HONE_CONCAT(a, b) HONE_CONCAT_(a, b)

/// Returns the status of `expr` from the enclosing function unless it is ok.
#define HONE_RETURN_IF_ERROR(expr)                                                     \
  do {                                                                                 \
    if (::absl::Status hone_status_ = (expr); !hone_status_.ok()) return hone_status_; \
  } while (false)

/// Evaluates `expr` (a StatusOr) and either returns its error or defines `lhs` as its value.
#define HONE_ASSIGN_OR_RETURN(lhs, expr) HONE_ASSIGN_OR_RETURN_(HONE_CONCAT(hone_result_, __LINE__), lhs, expr)
// NOLINTBEGIN(bugprone-macro-parentheses): names, and declarations such as `lhs`, take none
#define HONE_ASSIGN_OR_RETURN_(tmp, lhs, expr)   \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = std::move(tmp).value()
// NOLINTEND(bugprone-macro-parentheses)
