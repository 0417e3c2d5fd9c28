// Objects of C code (runtime/c_objects.h) as parts of an artifact.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/artifact/model_program.h"
#include "compiler/target/target.h"

namespace hone {

/// `object` as it is. UserError, which says `what` needs it, when it is empty: Hone was built without a C compiler for
/// `cpu`.
std::string c_part(std::string_view object, std::string_view what, const Target& cpu);

/// The objects of runtime/entry/FILE.c for `cpu`. UserError as c_part().
std::vector<std::string> entry_parts(const std::vector<std::string_view>& files, const Target& cpu);

/// The files of runtime/entry that the entry of such a model calls.
std::vector<std::string_view> entry_files(const ModelProgram& program);

}  // namespace hone
