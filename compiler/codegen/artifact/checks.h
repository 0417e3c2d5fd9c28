// The conditions of a variant's checked entry on its tensors, beyond their types, for both code generators' tables.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/artifact/description.h"

namespace hone {

/// The data of a HoneChecks (runtime/include/hone_runtime.h documents each member).
struct ArtifactChecks {
  struct Symbol {
    std::string name;
    int64_t least = 0, most = 0, multiple_of = 1;
  };
  struct Extent {
    size_t dimension = 0, symbol = 0;
    int64_t more = 0, room = 0;
  };
  struct Tensor {
    uint64_t devices = 0;
    int begins_with = -1;
    std::vector<Extent> extents;
  };
  std::vector<Symbol> symbols;
  std::vector<Tensor> tensors;
};

/// In the order of the variant's parameters. A growing cache's rows are a symbol: its inputs have as many, from 0 to
/// the room less 1, and its outputs one more. InternalError where an output stands before its input.
ArtifactChecks checks_of(const ArtifactDescription& description, const ArtifactDescription::Variant& variant);

}  // namespace hone
