// Small questions about expressions and buffers that several passes and emitters ask.
#pragma once

#include "compiler/ir/expr.h"

namespace hone {

/// Whether there is a Load in `e`.
bool reads_memory(const Expr& e);

/// The number of elements of `b`; UserError when that is no constant.
int64_t elements_of(const BufferNode* b);

}  // namespace hone
