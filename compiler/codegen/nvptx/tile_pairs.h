// Tiles of B whose fragments one instruction reads. Private to codegen/nvptx.
#pragma once

#include <unordered_map>

#include "compiler/codegen/gpu/select_instructions.h"

namespace hone {

/// Two tiles of B that lie beside each other: a `ldmatrix` reads the fragments of both.
struct TilePair {
  Expr first;         ///< where the first of the two begins
  int64_t apart = 0;  ///< elements from there to the second
  bool is_second = false;
};

/// The products in `body` that follow, or are followed by, another one with nothing between.
std::unordered_map<const For*, TilePair> pair_tiles(const Stmt& body,
                                                    const std::unordered_map<const For*, TensorProduct>& products);

}  // namespace hone
