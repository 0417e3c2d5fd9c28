// The text of a program between passes: `tensorc --emit lowered:after=PASS`, `legalized:after=PASS`.
#pragma once

#include <set>
#include <string>

#include "base/status.h"
#include "compiler/build/build.h"

namespace hone {

/// `form` or `form:after=PASS`.
struct EmitForm {
  std::string form, after;
};
EmitForm emit_form(const std::string& text);

/// A program's text after the pass `after` (empty: after all), without the passes in `left_out`. Usage errors, one
/// line, name the passes that there are.
struct PassRequest {
  std::string after;
  std::set<std::string, std::less<>> left_out;
};

/// The passes that lower `config`: functions of the schedule's blocks, flat accesses, planned storage.
StatusOr<std::string> lowered_text(const Workload& w, const Target& target, const Space& space, const Config& config,
                                   const PassRequest& request);
/// The passes between loop form and machine code.
StatusOr<std::string> legalized_text(const Module& m, const Target& target, const PassRequest& request);

}  // namespace hone
