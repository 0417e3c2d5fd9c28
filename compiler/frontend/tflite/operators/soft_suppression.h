// Boxes whose scores sink by what they have in common with better ones.
#pragma once

#include "compiler/frontend/lowering/lowering.h"

namespace hone::tflite {

/// The boxes that are taken, the best first: positions (s64) and scores, [most] each, zeros behind the last one; and
/// their number, s64[1].
struct SoftlyTaken {
  frontend::Operand positions, scores, count;
};

/// boxes [n, 4], two corners each, and scores [n]. A taken box multiplies the score of another one by
/// exp(-p^2 / (2 sigma)), p being the intersection over union of the two, and drops it from p = `overlap` on; scores up
/// to `score` are left out. Steps are written out: UserError for more than that.
SoftlyTaken softly_taken(frontend::Lowering& l, const frontend::Operand& boxes, const frontend::Operand& scores,
                         int64_t most, float overlap, float score, float sigma);

}  // namespace hone::tflite
