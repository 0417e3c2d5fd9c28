// From workloads to code: spaces, candidates, artifacts. The tuner and tensorc call this.
#pragma once

#include <string>

#include "compiler/ir/module.h"
#include "compiler/ir/passes.h"
#include "compiler/ops/workload.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"

namespace hone {

/// The space of `w` on `target`. UserError when no template serves the pair.
Space make_space(const Workload& w, const Target& target, const Narrowing& narrowing = {});

/// `config` applied and lowered to loop form: the program that is hashed, featurised, sent and compiled. UserError
/// when the config breaks a constraint.
/// `hooks` watch the passes or leave some out.
Module lower_config(const Workload& w, const Target& target, const Space& space, const Config& config,
                    const PassHooks<Function>& hooks = {});

/// The Schedule of `config` as text (`--emit ir`): its steps and the scheduled program before lowering.
std::string scheduled_text(const Workload& w, const Target& target, const Space& space, const Config& config);

/// The schedule's steps alone, one a line.
std::string steps_text(const Workload& w, const Target& target, const Space& space, const Config& config);

/// Resolved layouts of the inputs and of the output of a candidate, as the database keeps them: `NCHW16c` and
/// `NCHW32c`.
struct Layouts {
  std::string in, out;
};
Layouts layouts_of(const Module& m);

/// Version of Hone, stored with records.
std::string hone_version();

}  // namespace hone
