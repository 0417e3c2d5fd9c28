// Non-maximum suppression: boxes with the best scores are taken, others that overlap them are not.
#pragma once

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// How boxes are chosen.
struct Suppression {
  ValueId there = kNoValue;    ///< s64[1]: how many boxes, the first ones, are looked at
  ValueId wanted = kNoValue;   ///< s64[1]: the most that are taken of a class
  int64_t most = 1;            ///< the same as far as it is known: 1 to the number of boxes
  bool is_center = false;      ///< a box is x, y, width, height; else two corners, y before x
  ValueId overlap = kNoValue;  ///< f32[1]: a box goes whose common part with a better one is a larger part of both
  ValueId score = kNoValue;    ///< f32[1]: only boxes with larger scores are looked at; NaN: all
};

/// Rows [batch, class, box] (s64) of the boxes taken, by class, the best first; and how many rows there are, s64[1].
/// The others are zeros.
struct TakenBoxes {
  Operand rows;
  ValueId count = kNoValue;
};
/// boxes [batches, n, 4] and scores [batches, classes, n], f32.
TakenBoxes taken_boxes(Lowering& l, const Operand& boxes, const Operand& scores, const Suppression& how);

}  // namespace hone::frontend
