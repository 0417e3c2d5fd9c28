// What a model's artifact says of itself: description, JSON and C header.
#pragma once

#include <deque>
#include <string>

#include "compiler/codegen/llvm/artifact/describe.h"
#include "compiler/model/build_model.h"
#include "compiler/model/variant.h"

namespace hone {

ArtifactDescription describe_model(const std::deque<VariantBuilder>& variants, const std::string& name,
                                   bool has_weights_file);

/// What NAME_json holds: inputs, outputs and layers; of several variants those of each, in a list.
std::string model_json(const std::deque<VariantBuilder>& variants, const std::string& name, int64_t weight_bytes,
                       Denormals denormals, bool assume_finite);

/// `weights_file`: its name; empty: the weights are in the artifact, which is in C with `in_c`.
std::string model_header(const std::deque<VariantBuilder>& variants, const std::string& name,
                         const std::string& weights_file, bool in_c, Denormals denormals, bool assume_finite);

}  // namespace hone
