// The entry of a whole model: calls its layers in order. And its weights as an object that LLVM never sees.
#pragma once

#include <span>
#include <string>

#include "compiler/codegen/artifact/model_program.h"
#include "compiler/target/target.h"

namespace hone {

/// An object with an entry (HoneEntry) of each variant, variant_symbol(), which trusts its arguments and whose
/// workspace is the arena, and NAME_plain, the same, when there is one variant; with an entry of each step,
/// step_symbol(); each treats denormals as the program says; with NAME_json; and, when there are weights, with a use of
/// the hidden symbol NAME.weights, or, when they are in a file of their own, with NAME_weights and NAME_weights_file
/// and a use of hone_internal_map_weights.
std::string emit_model_object(const ModelProgram& program, const Target& target);

/// The head of a weights file in front of `weights`: one page.
std::string begin_of_weights(std::span<const char> weights);

/// A relocatable ELF object for the target's architecture whose one section, read-only and aligned to 4096 bytes, holds
/// `bytes` under the hidden symbol `symbol`.
std::string raw_object(std::span<const char> bytes, const std::string& symbol, const Target& target);

}  // namespace hone
