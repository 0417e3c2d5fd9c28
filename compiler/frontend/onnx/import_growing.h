// Decoders whose caches grow in place.
#pragma once

#include <string>

#include "compiler/frontend/onnx/import.h"

namespace hone {

/// Reads the model at `path`, whose dimension `cache.symbol` is the number of rows, 0 to the most (at least 1). Values
/// that depend on that number and on constants alone (a position, its row of a table, a part of a mask) are computed
/// for each number into one table; a call reads the row for its number. UserError as import_onnx(), and when the model
/// has no caches that grow by one row of that dimension.
GrowingModel import_growing_onnx(const std::string& path, const OperatorTable& operators, const ImportOptions& options,
                                 const CacheOption& cache);

}  // namespace hone
