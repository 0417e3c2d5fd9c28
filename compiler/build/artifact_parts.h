// Parts that the makers of artifacts share: which tensors are packed, by which entries, and the description of one
// module.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/artifact/description.h"
#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

/// Whether the kernels take the row-major tensor as it is.
bool is_plain(const Module& m, size_t i);
/// The prepacks that run on the CPU; NAME_prepack<i> is the i-th. First each constant, in the order of the parameters;
/// for a GPU then inputs and outputs in layouts of their own.
std::vector<Prepack> packing_of(const Module& m, const Target& target);
/// The entry that packs parameter `i` (unpacks it when it is an output); empty: it needs none.
std::string packing_entry(const std::vector<Prepack>& packing, size_t i, const std::string& name);
/// The module as emitted.
Module with_packing(const Module& m, const Target& target);
/// Whether its artifacts bring a thread pool.
bool has_pool(const Target& target);
/// `run_workspace_bytes`: of NAME_run.
ArtifactDescription description_of(const Module& m, const Target& target, const std::string& name,
                                   int64_t run_workspace_bytes);

}  // namespace hone
