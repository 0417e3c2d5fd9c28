// An artifact's description in C.
#pragma once

#include "compiler/codegen/artifact/description.h"
#include "compiler/codegen/c/emit.h"

namespace hone {

/// Adds NAME_run of each variant, NAME_error, NAME_json, NAME_cpu and NAME_artifact. With several variants also NAME
/// and NAME_plain, which need hone_internal_run_variant and hone_internal_enter_variant. `file` has the functions that
/// the description names already.
void add_description(CFile& file, const ArtifactDescription& description, const std::string& json);

}  // namespace hone
