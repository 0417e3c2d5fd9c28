// An artifact's description in C.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/artifact/description.h"
#include "compiler/codegen/c/emit.h"

namespace hone {

/// Adds NAME_run of each variant, NAME_error, NAME_json, NAME_cpu and NAME_artifact. With several variants also NAME
/// and NAME_plain, which need hone_internal_run_variant and hone_internal_enter_variant. `file` has the functions that
/// the description names already. `prefix` begins the names of its own, which are to differ where a file has several.
void add_description(CFile& file, const ArtifactDescription& description, const std::string& json,
                     const std::string& prefix = "hone");

/// NAME_library, a HoneLibrary of the artifacts of these names, which are in the file already.
void add_library(CFile& file, const std::string& name, const std::vector<std::string>& artifacts);

}  // namespace hone
