// Extents that a model takes, near others that it does not: nets that halve an image five times and join the result
// with earlier values need multiples of 32.
#pragma once

#include <optional>
#include <string>

#include "compiler/frontend/onnx/import.h"

namespace hone::onnx {

/// Options whose extents, of axes that the model leaves open behind the first, are the nearest multiples of the
/// smallest power of two up to 64 with which import_file() takes the model at `path`. None where there is no such axis,
/// and where multiples of 64 do not help either: at most six tries.
std::optional<ImportOptions> fitting_options(const std::string& path, const OperatorTable& operators,
                                             const ImportOptions& options);

/// The flags in which `options` differs from `other`, which has the same names: ` --shape x=1x3x32x32`.
std::string extents_flags(const ImportOptions& options, const ImportOptions& other);

}  // namespace hone::onnx
