// A kernel for GPUs that sums products of bytes four at a time.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace hone {

/// Each of four rows of A, u8 [4, 12], with 16 columns of B, s8 [16, 4], three times: four bytes that begin a word,
/// four that begin none, and four of the next row, or 7s behind the last.
///   for b in 0..4 block: for j in 0..4 thread: for v in 0..4 vectorize:
///     C[b, 4j + v] = dot4(A[b, 0..4], B[4j + v]) + (dot4(A[b, 5..9], B[4j + v]) + dot4(A[b + 1, 0..4] or 7, B[4j +
///     v]))
inline Module gpu_dot_module() {
  constexpr int64_t kRows = 4, kDepth = 12, kColumns = 16;
  const Buffer a = make_buffer("A", u8, {kRows * kDepth}), b = make_buffer("B", i8, {kColumns * 4}),
               c = make_buffer("C", i32, {kRows * kColumns});
  const Var row("b"), j("j"), v("v");
  const Expr column = Expr(j) * 4 + v;
  const auto dot = [&](int64_t offset, bool is_padded) {
    std::vector<Expr> args;
    for (int64_t t = 0; t < 4; ++t) {
      const Expr element = load(a, {Expr(row) * kDepth + (offset + t)});
      args.push_back(is_padded ? select(lt(row, make_int(kRows - 1)), element, make_whole(7, u8)) : element);
    }
    for (int64_t t = 0; t < 4; ++t) args.push_back(load(b, {column * 4 + t}));
    return call(Intrinsic::kDot4, args);
  };
  const Stmt store =
      make_store(c, {Expr(row) * kColumns + column}, dot(0, false) + (dot(5, false) + dot(kDepth, true)));
  const auto loop = [](const Var& var, LoopKind kind, Stmt body) {
    return make_for(var, make_int(0), make_int(4), kind, std::move(body));
  };
  Module m;
  m.kernels = {{"dots",
                {a, b, c},
                {},
                loop(row, LoopKind::kBlock, loop(j, LoopKind::kThread, loop(v, LoopKind::kVectorize, store)))}};
  m.params = {{"A", ParamRole::kInput, u8, {kRows, kDepth}, Layout::identity({kRows, kDepth})},
              {"B", ParamRole::kInput, i8, {kColumns, 4}, Layout::identity({kColumns, 4})},
              {"C", ParamRole::kOutput, i32, {kRows, kColumns}, Layout::identity({kRows, kColumns})}};
  return m;
}

/// Bytes of all signs for its inputs.
inline std::vector<std::vector<char>> gpu_dot_inputs() {
  std::vector<std::vector<char>> out = {std::vector<char>(48), std::vector<char>(64)};
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t n = 0; n < out[i].size(); ++n) out[i][n] = static_cast<char>(37 * n + 101 * i + 130);
  return out;
}

}  // namespace hone
