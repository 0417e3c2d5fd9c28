// The description, the JSON and the C header of a model's artifact.
#pragma once

#include <deque>
#include <string>

#include "compiler/codegen/llvm/artifact/describe.h"
#include "compiler/model/build_model.h"
#include "compiler/model/variant.h"

namespace hone {

ArtifactDescription describe_model(const std::deque<VariantBuilder>& variants, const std::string& name,
                                   bool has_weights_file);

/// The text of NAME_json: inputs, outputs and layers; a list with those of each variant when there are several. The
/// notes of the model's file are there once, "metadata" (metadata_json.h).
std::string model_json(const std::deque<VariantBuilder>& variants, const ModelOptions& options, int64_t weight_bytes);

/// `weights_file`: its name; empty: the weights are in the artifact, which is in C with `in_c`.
std::string model_header(const std::deque<VariantBuilder>& variants, const std::string& name,
                         const std::string& weights_file, bool in_c, Denormals denormals, bool assume_finite);

}  // namespace hone
