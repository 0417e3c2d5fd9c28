// The notes of a model's file in an artifact's JSON.
#pragma once

#include <set>
#include <string>

#include "base/json.h"
#include "compiler/frontend/lowering/model_metadata.h"

namespace hone {

/// {"name", "description", "version", "author", "license", "inputs": {NAME: {…}}, "outputs": {NAME: {…}}}, each only
/// where it says something; null where nothing does. `ports`: the artifact's inputs and outputs; others are left out.
OrderedJson metadata_json(const ModelMetadata& metadata, const std::set<std::string>& ports);

/// The same read again. Throws Json::exception for other forms.
ModelMetadata metadata_from(const Json& j);

}  // namespace hone
