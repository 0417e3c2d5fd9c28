// The flags that name a model or an operator and how it is built or tuned, shared by tensorc and tuner.
#pragma once

#include <string>

#include "base/command_files.h"
#include "base/command_line.h"
#include "base/shell_command.h"
#include "compiler/driver/request/bindings.h"
#include "compiler/driver/request/build_request.h"
#include "compiler/ops/operator.h"

namespace hone {

/// All but the model's path, which both programs take in their own way; of the fields of `request`, which outlives
/// `line`.
void add_model_flags(CommandLine& line, ModelRequest& request);

/// --task, --args, --workload and --target, of the fields of `request`, which outlives `line`.
void add_operator_flags(CommandLine& line, const OperatorTable& operators, OperatorRequest& request);

/// The flags of a model that say the same, without the path and without --calibrate and --ranges, which the programs
/// have for different things.
void add_words(ShellCommand& command, const ModelRequest& request);

/// Adds the files of the request: the model, called `what` in messages, with its data, and the files of --bind-data.
void reads_model(CommandFiles& files, const ModelRequest& request, const std::string& what);

/// The request for one of its bindings alone.
BuildRequest of_binding(BuildRequest request, const ModelBinding& binding);

/// `tensorc MODEL`; where users' passes belong to it, Python's command, which has them.
ShellCommand build_command(const ModelRequest& request);

/// The same, with all that the request says of the model, and `--emit EMIT`; where that is empty, `--check`.
std::string graph_command(const BuildRequest& request, const std::string& emit);

}  // namespace hone
