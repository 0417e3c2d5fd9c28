// An artifact's description as an object.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/artifact/description.h"
#include "compiler/target/target.h"

namespace hone {

/// An object for the CPU `host`, to be linked with the others of the artifact. With several variants it also has NAME
/// and NAME_plain, and uses hone_internal_run_variant and hone_internal_enter_variant (runtime/variants).
std::string emit_description_object(const ArtifactDescription& description, const Target& host);

/// NAME_library, a HoneLibrary of the artifacts of these names, which are in other objects.
std::string emit_library_object(const std::string& name, const std::vector<std::string>& artifacts, const Target& host);

}  // namespace hone
