// The file that is written when a pass fails: enough to see the failure again without the machine that had it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command_files.h"
#include "base/status.h"
#include "compiler/build/build.h"
#include "compiler/ir/passes.h"

namespace hone {

struct PassFailure {
  std::string pass, error;
  std::string program;  ///< the program that the pass was given, as text
};

/// The first pass that fails on `program`; nothing when all succeed.
std::optional<PassFailure> failure_of(const std::vector<Pass<Stmt>>& passes, const Stmt& program);

/// The pass of lowering or legalizing that fails for a config; nothing when the error is not in a pass.
std::optional<PassFailure> find_failure(const Workload& w, const Target& target, const Space& space,
                                        const Config& config);

/// Writes `tensorc-PASS.txt` into `folder`: the error, the command that shows it, the program that the pass was given.
/// The file's path. A usage error where it is one of `files`.
StatusOr<std::string> write_reproducer(const std::string& folder, const PassFailure& failure,
                                       const std::string& command, CommandFiles files = {});

}  // namespace hone
