// Artifacts of several functions: users' kernels in one file with one header, each under a name of its own.
#pragma once

#include <string>
#include <vector>

#include "compiler/build/module_files.h"

namespace hone {

/// One way to run a function.
struct LibraryVariant {
  Module module;
  std::string what, config;  ///< as ModuleFiles has them
};

struct LibraryFunction {
  std::string name;                      ///< a C identifier
  std::vector<LibraryVariant> variants;  ///< at least one; they differ in shapes and numbers of threads alone
};

/// Writes all files or none: those of `files.form` at `files.path`, and one header. Each function is an artifact of its
/// own (hone_runtime.h), NAME_library lists them, and NAME_pool has threads for all, where NAME is `files.name`. Among
/// several variants NAME_run takes the one that a call's shapes and threads are right for, as models do; their
/// constants are packed in every call. UserError, one line, for names that are none or clash, and for variants that a
/// call could not tell apart.
Status write_library(const std::vector<LibraryFunction>& functions, const ModuleFiles& files);

}  // namespace hone
