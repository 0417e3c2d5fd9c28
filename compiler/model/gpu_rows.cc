#include "compiler/model/gpu_rows.h"

#include <algorithm>

#include "compiler/arith/simplify.h"
#include "compiler/ops/movement/movement.h"

namespace hone {

Module new_row_module(DType dtype, int64_t matrices, int64_t room, int64_t elements, const Target& target) {
  Module m;
  const auto add = [&](const char* name, ParamRole role, DType t, std::vector<int64_t> shape) {
    m.params.push_back({name, role, t, shape, Layout::identity(shape)});
    return make_buffer(name, t, std::vector<int64_t>{element_count(shape)}, BufferScope::kParam);
  };
  const Buffer row = add("row", ParamRole::kInput, dtype, {matrices, elements}),
               count = add("count", ParamRole::kInput, kIndex, {1}),
               cache = add("cache", ParamRole::kOutput, dtype, {matrices, room, elements});
  const int64_t all = matrices * elements, threads = std::min<int64_t>({all, target.max_threads, 256}),
                blocks = (all + threads - 1) / threads;
  const Var block("block"), thread("thread");
  const Expr i = Expr(block) * threads + thread;
  // Clamped, so that no count that the host lets through writes elsewhere.
  const Expr at = floor_div(i, elements) * (room * elements) +
                  index_within(load(count, {make_int(0)}), room) * elements + floor_mod(i, elements);
  Stmt body = make_store(cache, {at}, load(row, {i}));
  if (all % threads != 0) body = make_if(lt(i, all), body);
  body = make_for(thread, make_int(0), make_int(threads), LoopKind::kThread, body);
  body = make_for(block, make_int(0), make_int(blocks), LoopKind::kBlock, body);
  m.kernels.push_back({"new_row", {row, count, cache}, {}, simplify(body)});
  return m;
}

}  // namespace hone
