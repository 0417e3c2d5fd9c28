// Decoders whose caches grow in place.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/frontend/onnx/import.h"
#include "compiler/graph/growth.h"

namespace hone {

/// The dimension that counts the rows of caches, and the most of them before a call adds one.
struct CacheOption {
  std::string symbol;
  int64_t most = 0;
};

/// A model for each number of rows of its caches up to the most.
struct GrowingModel {
  std::string path;  ///< of its file
  OnnxModel model;   ///< for the most; its last input is the number of rows
  Growth growth;
  Graph shorter;  ///< the same for one row less, for check_growth()
  Growth shorter_growth;
};

/// Reads the model at `path`, whose dimension `cache.symbol` is the number of rows, 0 to the most (at least 1). What
/// depends on that number and on constants alone (a position, its row of a table, a part of a mask) is computed for
/// each number: one table, of which a call reads a row. UserError as import_onnx(), and where the model has no caches
/// that grow by one row of that dimension.
GrowingModel import_growing(const std::string& path, const OperatorTable& operators, const OnnxOptions& options,
                            const CacheOption& cache);

}  // namespace hone
