// Modules for tests: hand-made ones that use every kind of node, and random ones.
#pragma once

#include <random>

#include "compiler/ir/module.h"

namespace hone {

inline Stmt serial(const Var& v, int64_t n, Stmt body, LoopKind kind = LoopKind::kSerial) {
  return make_for(v, make_int(0), make_int(n), kind, std::move(body));
}

/// C = relu(pad(A) * W + B) in one dimension, with a prepack for W, a workspace buffer for each worker and a stack
/// accumulator: every kind of statement and nearly every kind of expression, legal and in bounds. `prefix` goes before
/// every name.
inline Module sample_module(const std::string& prefix = "") {
  constexpr int64_t kN = 20, kTaps = 3, kBlock = 8;
  const auto name = [&](const char* n) { return prefix + n; };
  const Buffer a = make_buffer(name("A"), f32, {kN}), w = make_buffer(name("W"), f32, {kTaps}),
               c = make_buffer(name("C"), f32, {24});
  const Buffer padded = make_buffer(name("padded"), f32, {kBlock + kTaps - 1}, BufferScope::kWorkspace);
  const Buffer sum = make_buffer(name("sum"), f32, {kBlock}, BufferScope::kStack);
  const Var io(name("io")), ii(name("ii")), p(name("p")), r(name("r")), j(name("j"));
  const Expr x = Expr(io) * kBlock + p - 1;
  const Stmt pad =
      serial(p, kBlock + kTaps - 1,
             make_store(padded, {p}, select(logical_and(le(make_int(0), x), lt(x, kN)), load(a, {x}), make_float(0))));
  const Stmt init = serial(ii, kBlock, make_store(sum, {ii}, make_float(0)), LoopKind::kVectorize);
  const Var i2(name("i"));
  const Expr product = load(padded, {Expr(i2) + r}) * load(w, {r});
  const Stmt reduce =
      serial(r, kTaps, serial(i2, kBlock, make_store(sum, {i2}, load(sum, {i2}) + product), LoopKind::kVectorize),
             LoopKind::kUnroll);
  const Expr out = Expr(io) * kBlock + j;
  const Expr bias = cast(f32, floor_mod(floor_div(out, 2), 3));
  const Stmt write(new If(lt(out, kN),
                          make_store(c, {out}, max(load(sum, {j}), make_float(0)) + call(Intrinsic::kAbs, {bias})),
                          make_store(c, {out}, make_float(0))));
  const Stmt body =
      make_allocate(padded, 0, make_allocate(sum, -1, make_seq({pad, init, reduce, serial(j, kBlock, write)})));
  Module m;
  m.kernels = {{name("kernel"), {a, w, c}, {}, serial(io, 3, body, LoopKind::kParallel)}};
  const Buffer logical = make_buffer(name("logical"), f32, {kTaps}), packed = make_buffer(name("packed"), f32, {kTaps});
  const Var t(name("t"));
  m.prepacks = {{1,
                 {name("pack"),
                  {logical, packed},
                  {},
                  serial(t, kTaps, make_store(packed, {t}, load(logical, {make_int(kTaps - 1) - t})))}}};
  m.params = {{name("A"), ParamRole::kInput, f32, {kN}, Layout::identity({kN})},
              {name("W"), ParamRole::kConstant, f32, {kTaps}, Layout::identity({kTaps})},
              {name("C"), ParamRole::kOutput, f32, {kN}, Layout::parse("N8n", "N", {kN})}};
  m.workers = 2;
  m.workspace_bytes = 128;
  m.vector_bits = 256;
  return m;
}

/// A vector form, as code generation makes it: ramps, broadcasts, a mask, a vector select.
inline Module vector_module() {
  const Buffer a = make_buffer("A", f32, {30}), c = make_buffer("C", f32, {30});
  const Var i("i");
  const Expr ramp(new Ramp(Expr(i) * 8, make_int(1), 8));
  const Expr inside = lt(ramp, make_const(30, kIndex.with_lanes(8)));
  const Expr even =
      logical_not(eq(floor_mod(ramp, make_const(2, kIndex.with_lanes(8))), make_const(1, kIndex.with_lanes(8))));
  const Expr value = load(a, {ramp}) + make_const(1.5, f32.with_lanes(8));
  const Expr chosen(new Select(even, value, call(Intrinsic::kFma, {value, value, make_const(0.1, f32.with_lanes(8))})));
  Module m;
  m.kernels = {{"vectors", {a, c}, {}, serial(i, 4, make_store(c, {ramp}, chosen, inside))}};
  m.params = {{"A", ParamRole::kInput, f32, {30}, Layout::identity({30})},
              {"C", ParamRole::kOutput, f32, {30}, Layout::identity({30})}};
  return m;
}

/// C[i, j] = sum over k of A[i, k] * B[k / 4, j, k % 4] with u8 A [rows, k], s8 B and 16 columns, four steps at a time;
/// or, by kDot2, of bf16, two steps at a time.
inline Module dot_module(int64_t rows = 2, int64_t k = 8, Intrinsic dot = Intrinsic::kDot4) {
  constexpr int64_t kColumns = 16;
  const bool of_bytes = dot == Intrinsic::kDot4;
  const int64_t steps = of_bytes ? 4 : 2;
  const DType left = of_bytes ? u8 : bf16, right = of_bytes ? i8 : bf16, wide = of_bytes ? i32 : f32;
  const Buffer a = make_buffer("A", left, {rows * k}), b = make_buffer("B", right, {k * kColumns}),
               c = make_buffer("C", wide, {rows * kColumns});
  const Buffer sum = make_buffer("sum", wide, {kColumns}, BufferScope::kStack);
  const Var i("i"), q("q"), j0("j"), j1("j"), j2("j");
  std::vector<Expr> args;
  for (int t = 0; t < steps; ++t) args.push_back(load(a, {Expr(i) * k + Expr(q) * steps + t}));
  for (int t = 0; t < steps; ++t) args.push_back(load(b, {Expr(q) * (steps * kColumns) + Expr(j1) * steps + t}));
  const Stmt zero = serial(j0, kColumns, make_store(sum, {j0}, make_whole(0, wide)), LoopKind::kVectorize);
  const Stmt step =
      serial(j1, kColumns, make_store(sum, {j1}, load(sum, {j1}) + call(dot, args)), LoopKind::kVectorize);
  const Stmt write =
      serial(j2, kColumns, make_store(c, {Expr(i) * kColumns + j2}, load(sum, {j2})), LoopKind::kVectorize);
  Module m;
  m.kernels = {{"dots",
                {a, b, c},
                {},
                serial(i, rows, make_allocate(sum, -1, make_seq({zero, serial(q, k / steps, step), write})))}};
  const std::vector<int64_t> words{k / steps, kColumns, steps};
  m.params = {{"A", ParamRole::kInput, left, {rows, k}, Layout::identity({rows, k})},
              {"B", ParamRole::kConstant, right, words, Layout::identity(words)},
              {"C", ParamRole::kOutput, wide, {rows, kColumns}, Layout::identity({rows, kColumns})}};
  return m;
}

/// C = 2 A, which asks for elements ahead, before and far beyond the ends of A.
inline Module prefetch_module() {
  const Buffer a = make_buffer("A", f32, {30}), c = make_buffer("C", f32, {30});
  const Var i("i");
  const Stmt ahead = make_prefetch(a, {Expr(i) + 16}), behind = make_prefetch(a, {Expr(i) * 1000000 - 7});
  Module m;
  m.kernels = {{"twice",
                {a, c},
                {},
                serial(i, 30, make_seq({ahead, behind, make_store(c, {i}, load(a, {i}) * make_float(2))}))}};
  m.params = {{"A", ParamRole::kInput, f32, {30}, Layout::identity({30})},
              {"C", ParamRole::kOutput, f32, {30}, Layout::identity({30})}};
  return m;
}

}  // namespace hone
