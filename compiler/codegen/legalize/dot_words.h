// The words that a dot4 or a dot2 multiplies: elements that are neighbours in memory, read at once.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/stmt.h"

namespace hone {

/// b - a, if it is a constant.
std::optional<int64_t> constant_distance(const Expr& a, const Expr& b);

/// Half of the arguments of a dot4 (four bytes) or a dot2 (two bf16), which are neighbours: one word for all lanes, or
/// a word a lane in a row. In the border of an image they may be constants instead.
struct DotWords {
  const Load* first;
  Expr base;            ///< the index of lane 0's first element
  bool uniform;         ///< one word for all lanes
  Expr inside;          ///< the condition under which they are read; null: always
  uint32_t border = 0;  ///< the word otherwise
};

/// The words of the arguments from `first` on; nothing where they do not lie so.
std::optional<DotWords> dot_words(const Call* dot, size_t first);

}  // namespace hone
