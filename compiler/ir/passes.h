// Lists of passes and their driver. Lowering and legalizing are such lists, so that each pass has a name by which it is
// watched, timed, left out and blamed.
#pragma once

#include <absl/strings/str_join.h>

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace hone {

/// One rewriting of a program P (a Stmt, a Function).
template <class P>
struct Pass {
  std::string_view name;  ///< unique in its list
  std::function<P(const P&)> run;
  bool is_needed = false;  ///< later passes rely on it: it cannot be left out
  bool is_users = false;   ///< a user wrote it: a UserError of it is a failure, too
};

/// Callbacks with which a caller observes and changes a list of passes. Every member may be empty.
template <class P>
struct PassHooks {
  /// After each pass: its name, its result, and the seconds it took.
  std::function<void(std::string_view pass, const P& program, double seconds)> after = {};
  /// When a pass fails an internal check, or a user's pass with a UserError, before the error is passed on: its name
  /// and its input.
  std::function<void(std::string_view pass, const P& program)> on_failure = {};
  /// Names of passes that are not run.
  std::set<std::string, std::less<>> left_out = {};
};

/// Runs the passes in order. UserError when one that is needed is left out. An InternalError of a pass says its name.
template <class P>
P run_passes(const std::vector<Pass<P>>& passes, P program, const PassHooks<P>& hooks = {}) {
  for (const Pass<P>& pass : passes) {
    if (hooks.left_out.contains(pass.name)) {
      HONE_USER_CHECK(!pass.is_needed) << "pass '" << pass.name << "' cannot be left out: what follows relies on it";
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    try {
      program = pass.run(program);
    } catch (const InternalError& e) {
      if (hooks.on_failure) hooks.on_failure(pass.name, program);
      throw InternalError(std::string(e.what()) + " (in pass '" + std::string(pass.name) + "')");
    } catch (const UserError&) {
      if (pass.is_users && hooks.on_failure) hooks.on_failure(pass.name, program);
      throw;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (hooks.after) hooks.after(pass.name, program, seconds);
  }
  return program;
}

/// `simplify, relayout_stack, …`
template <class P>
std::string names_of(const std::vector<Pass<P>>& passes) {
  return absl::StrJoin(passes, ", ", [](std::string* out, const Pass<P>& pass) { *out += pass.name; });
}

}  // namespace hone
