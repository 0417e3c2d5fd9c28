// Small modules for agents to measure, and their reference.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/module.h"

namespace hone::agent {

inline constexpr int64_t kElements = 1000;

/// C[i] = A[i] + B[i], with the store's value and index modified by `change`; repeated `repeats` times.
struct AddOptions {
  int64_t store_offset = 0;  ///< added to the index of the store
  int64_t repeats = 1;
  double wrong_tail = 0;         ///< added to the last element
  int64_t wild_load_scale = 1;   ///< A[i * scale]
  std::optional<Layout> layout;  ///< of all three
  DType dtype = f32;
};

inline Module add_module(const AddOptions& o = {}) {
  Module m;
  const Layout layout = o.layout.value_or(Layout::identity({kElements}));
  const int64_t n = layout.physical_size();
  m.params = {{"A", ParamRole::kInput, o.dtype, {kElements}, layout},
              {"B", ParamRole::kInput, o.dtype, {kElements}, layout},
              {"C", ParamRole::kOutput, o.dtype, {kElements}, layout}};
  const Buffer a = make_buffer("A", o.dtype, std::vector<int64_t>{n}),
               b = make_buffer("B", o.dtype, std::vector<int64_t>{n}),
               c = make_buffer("C", o.dtype, std::vector<int64_t>{n});
  const Var i("i"), r("r");
  Expr sum = load(a, {Expr(i) * o.wild_load_scale}) + load(b, {i});
  if (o.wrong_tail != 0)
    sum = sum + select(eq(i, make_int(n - 1)), make_const(o.wrong_tail, o.dtype), make_const(0, o.dtype));
  Stmt body = make_for(i, make_int(0), make_int(n), LoopKind::kSerial, make_store(c, {Expr(i) + o.store_offset}, sum));
  if (o.repeats > 1) body = make_for(r, make_int(0), make_int(o.repeats), LoopKind::kSerial, body);
  m.kernels.push_back({"add", {a, b, c}, {}, body});
  return m;
}

/// Its reference, for `samples` outputs.
inline Module add_reference(int64_t samples = kElements, DType dtype = f32) {
  const bool floats = dtype.is_float();
  const DType value_type = floats ? f64 : i64;
  Module m;
  m.params = {{"samples", ParamRole::kInput, i64, {samples}, Layout::identity({samples})},
              {"A", ParamRole::kInput, dtype, {kElements}, Layout::identity({kElements})},
              {"B", ParamRole::kInput, dtype, {kElements}, Layout::identity({kElements})},
              {"value", ParamRole::kOutput, value_type, {samples}, Layout::identity({samples})},
              {"tolerance", ParamRole::kOutput, f64, {samples}, Layout::identity({samples})},
              {"typical", ParamRole::kOutput, f64, {samples}, Layout::identity({samples})}};
  std::vector<Buffer> buffers;
  for (const Param& p : m.params) buffers.push_back(make_buffer(p.name, p.dtype, p.shape));
  const Var s("s");
  const Expr at = load(buffers[0], {s}), a = load(buffers[1], {at}), b = load(buffers[2], {at});
  const auto size = [](const Expr& x) { return call(Intrinsic::kAbs, {cast(f64, x)}); };
  const Expr tolerance = floats ? (size(a) + size(b)) * make_float(1e-6, f64) : make_float(0, f64);
  const Stmt body = make_seq({make_store(buffers[3], {s}, cast(value_type, a) + cast(value_type, b)),
                              make_store(buffers[4], {s}, tolerance), make_store(buffers[5], {s}, tolerance)});
  m.kernels.push_back({"reference", buffers, {}, make_for(s, make_int(0), make_int(samples), LoopKind::kSerial, body)});
  return m;
}

/// `m`, an add_module() of f32, with a second output D[i] = A[i] - B[i], whose last element is off by `wrong_tail`.
inline Module with_difference(Module m, double wrong_tail) {
  m.params.push_back(m.params.back());
  m.params.back().name = "D";
  Function& f = m.kernels[0];
  f.params.push_back(make_buffer("D", f32, std::vector<int64_t>{kElements}));
  const Var i("i");
  const Expr tail = select(eq(i, make_int(kElements - 1)), make_float(wrong_tail), make_float(0));
  f.body = make_seq(
      {f.body, make_for(i, make_int(0), make_int(kElements), LoopKind::kSerial,
                        make_store(f.params[3], {i}, load(f.params[0], {i}) - load(f.params[1], {i}) + tail))});
  return m;
}

/// The reference of both outputs: all elements of C, two of D.
inline Module difference_reference() {
  const int64_t counts[] = {kElements, 2};
  Module m;
  const auto add = [&](const char* name, ParamRole role, DType t, int64_t n) {
    m.params.push_back({name, role, t, {n}, Layout::identity({n})});
  };
  add("samples0", ParamRole::kInput, i64, counts[0]);
  add("samples1", ParamRole::kInput, i64, counts[1]);
  add("A", ParamRole::kInput, f32, kElements);
  add("B", ParamRole::kInput, f32, kElements);
  for (const int64_t n : counts)
    for (const char* name : {"value", "tolerance", "typical"}) add(name, ParamRole::kOutput, f64, n);
  std::vector<Buffer> buffers;
  for (const Param& p : m.params) buffers.push_back(make_buffer(p.name, p.dtype, p.shape));
  std::vector<Stmt> loops;
  for (size_t o = 0; o < 2; ++o) {
    const Var s("s");
    const Expr at = load(buffers[o], {s});
    const Expr a = cast(f64, load(buffers[2], {at})), b = cast(f64, load(buffers[3], {at}));
    const size_t first = 4 + 3 * o;
    std::vector<Stmt> stores{make_store(buffers[first], {s}, o == 0 ? a + b : a - b)};
    for (size_t bound : {first + 1, first + 2})
      stores.push_back(make_store(buffers[bound], {s}, make_float(1e-6, f64)));
    loops.push_back(make_for(s, make_int(0), make_int(counts[o]), LoopKind::kSerial, make_seq(std::move(stores))));
  }
  m.kernels.push_back({"reference", buffers, {}, make_seq(std::move(loops))});
  return m;
}

}  // namespace hone::agent
