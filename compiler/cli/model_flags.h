// The flags that say what is asked of a model: of tensorc and tuner alike.
#pragma once

#include <string>

#include "base/cli.h"
#include "base/command_files.h"
#include "base/shell_command.h"
#include "compiler/driver/model_words.h"

namespace hone {

/// All but the model's path, which both programs take in their own way; of the fields of `words`, which outlives `app`.
void add_model_flags(CLI::App& app, ModelWords& words);

/// The flags that say the same, without the path.
void add_words(ShellCommand& command, const ModelWords& words);

/// The files that they name: the model, which the user knows as `what`, with its data, and those of --bind-data.
void reads_model(CommandFiles& files, const ModelWords& words, const std::string& what);

}  // namespace hone
