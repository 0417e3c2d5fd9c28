// Small GPU programs in loop form, for tests of their code.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"

namespace hone {

inline Stmt loop(const Var& v, int64_t n, LoopKind kind, Stmt body) {
  return make_for(v, make_int(0), make_int(n), kind, std::move(body));
}
inline Buffer buffer(const std::string& name, int64_t n, BufferScope scope = BufferScope::kParam, DType t = f32) {
  return make_buffer(name, t, std::vector<int64_t>{n}, scope);
}
inline Function function_of(std::vector<Buffer> params, Stmt body) {
  Function f;
  f.name = "f";
  f.params = std::move(params);
  f.body = std::move(body);
  return f;
}

/// The parameters of `f`, all f32, after a run on 0, 1, 2, … in each.
inline std::vector<std::vector<float>> run(const Function& f) {
  std::vector<std::vector<float>> tensors;
  std::vector<InterpArg> args;
  for (const Buffer& b : f.params) {
    tensors.emplace_back(static_cast<size_t>(*as_const_int(b->shape[0])));
    for (size_t i = 0; i < tensors.back().size(); ++i) tensors.back()[i] = static_cast<float>(i);
  }
  for (auto& t : tensors) args.push_back({t.data(), static_cast<int64_t>(t.size())});
  interpret(f, args);
  return tensors;
}

/// The error of interpreting `f`; empty when there is none.
inline std::string complaint(const Function& f) {
  try {
    run(f);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

/// Each block reverses its 8 elements of A by way of shared memory and adds them to the elements that its threads
/// loaded before, twice over:
///   for b in 0..2 block { alloc S: f32[8] shared { alloc R: f32[8] stack { for k in 0..2 {
///     for t thread { S[t] = A[b*8 + t]; R[t] = A[k*8 + t] }
///     for u thread { C[b*8 + u] = S[7 - u] + R[u] }
struct Reversal {
  Buffer a = buffer("A", 16), c = buffer("C", 16), s = buffer("S", 8, BufferScope::kShared),
         r = buffer("R", 8, BufferScope::kStack);
  Var b{"b"}, k{"k"}, t{"t"}, u{"u"};
  Function form() const {
    const Stmt first = loop(t, 8, LoopKind::kThread,
                            make_seq({make_store(s, {Expr(t)}, load(a, {Expr(b) * 8 + t})),
                                      make_store(r, {Expr(t)}, load(a, {Expr(k) * 8 + t}))}));
    const Stmt second = loop(u, 8, LoopKind::kThread,
                             make_store(c, {Expr(b) * 8 + u}, load(s, {make_int(7) - u}) + load(r, {Expr(u)})));
    const Stmt body = loop(k, 2, LoopKind::kSerial, make_seq({first, second}));
    return function_of({a, c}, loop(b, 2, LoopKind::kBlock, make_allocate(s, -1, make_allocate(r, -1, body))));
  }
};

}  // namespace hone
