// A model's inputs with extents, and perhaps elements, that a caller's options give.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/lowering/import_options.h"
#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// An axis of an input as the model declares it.
struct DeclaredDimension {
  std::optional<int64_t> extent;  ///< none: callers choose it
  std::string name;               ///< that options may give it by; empty where there is none
};

/// An input of a model, a tensor, as the model declares it.
struct DeclaredInput {
  std::string name;
  ElementType element;
  std::optional<std::vector<DeclaredDimension>> shape;  ///< none: not even its rank is known
};

/// The inputs as operands, by name: inputs of the graph, or constants where options give their elements. All extents
/// are known afterwards; a first dimension that nothing says is 1, which is noted. `cache`: a dimension that --cache
/// binds, if any. UserError, one line, for options that do not fit, and for extents that are not known, with the
/// options to give.
std::map<std::string, Operand> bind_inputs(const std::vector<DeclaredInput>& inputs, const ImportOptions& options,
                                           const std::string& cache, Lowering& lowering,
                                           std::vector<std::string>* notes);

}  // namespace hone::frontend
