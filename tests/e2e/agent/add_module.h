// Small modules for agents to measure, and their reference.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/module.h"

namespace hone::agent {

inline constexpr int64_t kElements = 1000;

/// C[i] = A[i] + B[i], with whatever `change` makes of the store's value and index; repeated `repeats` times.
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
              {"magnitude", ParamRole::kOutput, f64, {samples}, Layout::identity({samples})}};
  std::vector<Buffer> buffers;
  for (const Param& p : m.params) buffers.push_back(make_buffer(p.name, p.dtype, p.shape));
  const Var s("s");
  const Expr at = load(buffers[0], {s}), a = load(buffers[1], {at}), b = load(buffers[2], {at});
  const Expr magnitude =
      floats ? call(Intrinsic::kAbs, {cast(f64, a)}) + call(Intrinsic::kAbs, {cast(f64, b)}) : make_float(0, f64);
  const Stmt body = make_seq(
      {make_store(buffers[3], {s}, cast(value_type, a) + cast(value_type, b)), make_store(buffers[4], {s}, magnitude)});
  m.kernels.push_back({"reference", buffers, {}, make_for(s, make_int(0), make_int(samples), LoopKind::kSerial, body)});
  return m;
}

}  // namespace hone::agent
