// Buffers replaced by others in every access of a statement in loop form.
#pragma once

#include <vector>

#include "compiler/ir/stmt.h"

namespace hone {

/// `from[i]` becomes `to[i + offset]`; a null offset is none.
struct BufferReplacement {
  Buffer from, to;
  Expr offset = nullptr;
};

/// `s`, whose accesses have one scalar index each, with these replaced. Others stay as they are.
Stmt replace_buffers(const Stmt& s, const std::vector<BufferReplacement>& replacements);

}  // namespace hone
