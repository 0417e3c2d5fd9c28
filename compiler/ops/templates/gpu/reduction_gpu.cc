#include "compiler/ops/templates/gpu/reduction_gpu.h"

#include <algorithm>

namespace hone {

void GpuReductions::schedule(const std::string& reduction, const std::string& writer,
                             const std::vector<std::string>& partials) {
  BlockRef out = s_.block(writer);
  const bool own_writer = writer == reduction;
  if (partials.empty()) {
    if (own_writer)
      out = s_.cache_write(s_.block(reduction), BufferScope::kStack);
    else
      s_.set_scope(s_.block(reduction), BufferScope::kStack);
  }
  const LoopRef block = bind_writer(out);
  if (partials.empty()) return reduce(s_.block(reduction), stage(reduction), block, false);
  schedule_partials(partials, block);
}

void GpuReductions::schedule_partials(const std::vector<std::string>& partials, LoopRef block) {
  // Readers are scheduled before the stages they read. `shared` is the first stage that all threads of a row read:
  // the last of main, tail and their sum.
  const size_t shared = first_shared(partials);
  for (size_t i = partials.size(); i-- > shared + 1;)
    k_.warp > 1 ? combine_warps(s_.block(partials[i]), stage(partials[i]), block)
                : combine(s_.block(partials[i]), stage(partials[i]), block);
  const TensorNode* first = stage(partials[shared]);
  if (first->reduce == ReduceKind::kNone) {
    combine(s_.block(first->name), first, block);
  } else {
    const BlockRef copy = s_.cache_write(s_.block(first->name), BufferScope::kStack);
    combine(copy, first, block);
    reduce(s_.block(first->name), first, block, true);
  }
  for (size_t i = shared; i-- > 0;) {
    const TensorNode* own = stage(partials[i]);
    s_.set_scope(s_.block(own->name), BufferScope::kStack);
    reduce(s_.block(own->name), own, block, true);
  }
}

const TensorNode* GpuReductions::stage(const std::string& name) const {
  return *std::find_if(stages_.begin(), stages_.end(), [&](const TensorNode* t) { return t->name == name; });
}

size_t GpuReductions::first_shared(const std::vector<std::string>& partials) const {
  size_t n = 0;
  while (n + 1 + (k_.warp > 1) < partials.size() && stage(partials[n + 1])->shape == stage(partials[n])->shape) ++n;
  return n;
}

// A block's own loops: the innermost ones.
std::vector<LoopRef> GpuReductions::own_loops(BlockRef block, size_t count) const {
  const std::vector<LoopRef> all = s_.loops(block);
  return {all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())), all.end()};
}

LoopRef GpuReductions::bind_writer(BlockRef writer) {
  const std::vector<LoopRef> loops = s_.loops(writer);
  const auto [blocks, row] = s_.split(loops.back(), k_.rows);
  for (size_t i = 0; i + 1 < loops.size(); ++i) s_.bind(loops[i], LoopKind::kBlock);
  s_.bind(blocks, LoopKind::kBlock);
  s_.bind(row, LoopKind::kThread);
  return blocks;
}

// Binds the loops of the rows and, with `lanes`, of the lanes (the last spatial axis) among `own` to threads, outside
// of the stage's other loops.
void GpuReductions::bind_threads(const std::vector<LoopRef>& own, size_t spatial, bool lanes,
                                 const std::vector<LoopRef>& inside) {
  const LoopRef row = own[spatial - (lanes ? 2 : 1)];
  std::vector<LoopRef> order(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(spatial) - (lanes ? 2 : 1)),
      threads{row};
  if (lanes) threads.insert(k_.along ? threads.end() : threads.begin(), own[spatial - 1]);
  order.insert(order.end(), threads.begin(), threads.end());
  order.insert(order.end(), inside.begin(), inside.end());
  s_.reorder(order);
  for (const LoopRef l : threads) s_.bind(l, LoopKind::kThread);
}

// One step of the tree: each thread computes one element.
void GpuReductions::combine(BlockRef block, const TensorNode* t, LoopRef at) {
  s_.set_scope(block, BufferScope::kShared);
  s_.compute_at(block, at);
  const size_t spatial = t->shape.size();
  bind_threads(own_loops(block, spatial), spatial, true, {});
}

// Each thread gets the combined result of its warp's threads.
void GpuReductions::combine_warps(BlockRef block, const TensorNode* t, LoopRef at) {
  const BlockRef copy = s_.cache_write(block, BufferScope::kStack);
  s_.set_scope(copy, BufferScope::kShared);
  const size_t spatial = t->shape.size();
  // Only one element of each warp is read, but all threads of the warp take part.
  const auto whole_warps = [&](LoopRef lane) {
    const auto [warp, thread] = s_.split(lane, k_.warp);
    return s_.fuse(warp, thread);
  };
  s_.compute_at(copy, at);
  std::vector<LoopRef> own = own_loops(copy, spatial);
  own.back() = whole_warps(own.back());
  bind_threads(own, spatial, true, {});
  s_.compute_at(block, at);
  own = own_loops(block, spatial + 1);
  own[spatial - 1] = whole_warps(own[spatial - 1]);
  bind_threads(own, spatial, true, {own.back()});
  s_.bind(own.back(), LoopKind::kWarp);
  s_.decompose_reduction(block, own.back());
}

void GpuReductions::reduce(BlockRef block, const TensorNode* t, LoopRef at, bool lanes) {
  s_.compute_at(block, at);
  const size_t spatial = t->shape.size(), reduced = t->reduce_axes.size();
  const std::vector<LoopRef> own = own_loops(block, spatial + reduced);
  if (reduced == 0) return bind_threads(own, spatial, lanes, {});
  std::vector<LoopRef> inside(own.begin() + static_cast<std::ptrdiff_t>(spatial), own.end());
  const auto [k_o, k_u] = s_.split(inside.back(), k_.unroll_k);
  inside.back() = k_o;
  inside.push_back(k_u);
  bind_threads(own, spatial, lanes, inside);
  s_.unroll(k_u);
  s_.decompose_reduction(block, inside.front());
}

void GpuReductions::compute_rows(BlockRef block, const TensorNode* t, LoopRef at) {
  s_.set_scope(block, BufferScope::kShared);
  s_.compute_at(block, at);
  const size_t spatial = t->shape.size();
  bind_threads(own_loops(block, spatial), spatial, false, {});
}

}  // namespace hone
