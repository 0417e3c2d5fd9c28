// The steps of a model in C.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/artifact/model_program.h"
#include "compiler/codegen/c/emit.h"

namespace hone {

/// Adds the layer SYMBOL(void* p0, …, char* workspace, const HoneRuntime* rt): the host function hone_internal_<name>
/// with these numbers, which stands in `file`.
void add_host_layer(CFile& file, const std::string& name, const std::vector<int64_t>& numbers, size_t tensors,
                    const std::string& symbol);

/// Adds the entries of emit_model_object() for steps whose layers stand in `file`, and `weights`, unless they are in a
/// file of their own: then NAME_weights needs hone_internal_map_weights. Symbols for other objects of the artifact are
/// static here. InternalError for rows of caches.
void add_model(CFile& file, const ModelProgram& program, std::span<const char> weights);

}  // namespace hone
