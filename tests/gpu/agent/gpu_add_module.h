// Small modules for an agent's GPU: like add_module.h's, with blocks and threads.
#pragma once

#include "tests/e2e/agent/add_module.h"

namespace hone::agent {

struct GpuAddOptions {
  int64_t threads = 25;         ///< of a block; 40 blocks make kElements
  double wrong_tail = 0;        ///< added to the last element
  int64_t written = kElements;  ///< elements before this one are written
  bool crooked = false;         ///< A[i * i / max(i, 1)]: within bounds, which takes more than a verifier to see
  int64_t spin = 0;             ///< so many steps of a sum that a compiler may not take away
  bool forgets = false;         ///< the value is one more than what the call before wrote, where there was one
};

/// C[i] = A[i] + B[i], i = block * o.threads + thread.
inline Module gpu_add_module(const GpuAddOptions& o = {}) {
  Module m = add_module();
  const Buffer a = m.kernels[0].params[0], b = m.kernels[0].params[1], c = m.kernels[0].params[2];
  const Var block("block"), thread("thread"), r("r");
  const Expr i = Expr(block) * o.threads + thread;
  Expr sum = load(a, {o.crooked ? floor_div(i * i, max(i, make_int(1))) : i}) + load(b, {i});
  if (o.wrong_tail != 0)
    sum = sum + select(eq(i, make_int(kElements - 1)), make_const(o.wrong_tail, f32), make_const(0, f32));
  if (o.forgets) sum = select(eq(load(c, {i}), load(c, {i})), load(c, {i}) + make_const(1, f32), sum);
  Stmt body = make_store(c, {i}, sum);
  if (o.spin > 0)
    body = make_seq({body, make_for(r, make_int(0), make_int(o.spin), LoopKind::kSerial,
                                    make_store(c, {i}, load(c, {i}) * make_const(0.5, f32) + load(a, {i})))});
  if (o.written < kElements) body = make_if(lt(i, make_int(o.written)), body);
  body = make_for(thread, make_int(0), make_int(o.threads), LoopKind::kThread, body);
  m.kernels[0].body = make_for(block, make_int(0), make_int(kElements / o.threads), LoopKind::kBlock, body);
  return m;
}

}  // namespace hone::agent
