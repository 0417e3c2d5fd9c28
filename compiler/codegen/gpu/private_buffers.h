// Buffers of a block whose elements each belong to one thread: every thread gets its own part, small enough for
// registers.
#pragma once

#include "compiler/ir/stmt.h"

namespace hone {

/// A thread loop and the thread loops directly inside it: a piece of a block's program that its threads carry out
/// together.
struct ThreadNest {
  /// Outermost first, each filled by the next; all begin at 0 and have constant extents.
  std::vector<const For*> loops;
  Stmt body;

  /// Reads the nest off a thread loop. UserError when an extent is not constant or a loop does not begin at 0.
  static ThreadNest of(const For* outermost);
  std::vector<int64_t> shape() const;
  int64_t threads() const;
};

/// alloc acc[512]:                                       alloc acc[32]:       (of each thread)
///   thread t in 0..16: for i in 0..32: acc[t*32 + i]  ->  thread t in 0..16: for i in 0..32: acc[i]
/// for each stack buffer that `s`, the program of a block, allocates around its thread nests; their thread loops then
/// no longer see other threads' stores there. The nests that touch a buffer have the same shape, and a thread's
/// elements are apart from the others': an index is a sum in which each thread variable is one digit of a mixed radix.
/// UserError naming the buffer when that cannot be shown. Indices are flat.
Stmt privatize_buffers(const Stmt& s);

}  // namespace hone
