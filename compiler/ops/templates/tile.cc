#include "compiler/ops/templates/tile.h"

#include <algorithm>
#include <functional>

#include "compiler/ops/prologue.h"

namespace hone {
namespace {

bool is_anchor(const Definition& d, const TensorNode* t) { return t == d.anchor.node().get(); }

// The stages and inputs that the output depends on, down to the anchor, each once.
std::vector<const TensorNode*> behind_the_anchor(const Definition& d) {
  std::vector<const TensorNode*> found;
  const std::function<void(const TensorNode*)> visit = [&](const TensorNode* t) {
    if (is_anchor(d, t) || std::find(found.begin(), found.end(), t) != found.end()) return;
    found.push_back(t);
    for (const auto& in : t->inputs) visit(in.get());
  };
  visit(d.output().node().get());
  return found;
}

}  // namespace

bool has_epilogue(const Definition& d) { return !is_anchor(d, d.output().node().get()); }

BlockRef begin_writer(Schedule& s, const Definition& d) {
  for (const TensorNode* t : behind_the_anchor(d))
    if (!t->is_placeholder() && t != d.output().node().get()) s.compute_inline(s.block(t->name));
  return s.block(d.output()->name);
}

Tile begin_tile(Schedule& s, const Definition& d) {
  const BlockRef sum = s.block(d.anchor->name);
  if (!has_epilogue(d)) return {sum, s.cache_write(sum, BufferScope::kStack)};
  const BlockRef writer = begin_writer(s, d);
  s.set_scope(sum, BufferScope::kStack);
  return {sum, writer};
}

Tile begin_product(Schedule& s, const Definition& d) {
  const TensorNode* summed = d.anchor->inputs[0].get();
  if (summed->reduce == ReduceKind::kNone) return begin_tile(s, d);  // an operand, not parts
  const BlockRef parts = s.block(summed->name);
  return {parts, s.cache_write(parts, BufferScope::kStack)};
}

BlockRef begin_runs(Schedule& s, const Definition& d, BlockRef sum, const std::vector<std::string>& rows,
                    std::string_view lanes) {
  const TensorNode* runs = d.anchor->inputs[0].get();
  if (runs->name != "runs") return sum;
  const BlockRef of_run = s.block(runs->name);
  const LoopRef run = s.loop(sum, "run"), vector = s.loop(sum, lanes);
  std::vector<LoopRef> order{run};
  for (const std::string& row : rows) order.push_back(s.loop(sum, row));
  order.push_back(vector);
  s.reorder(order);
  for (size_t i = 1; i + 1 < order.size(); ++i) s.unroll(order[i]);
  s.vectorize(vector);
  s.set_scope(of_run, BufferScope::kStack);
  s.compute_at(of_run, run);
  s.decompose_reduction(sum, run);
  return of_run;
}

BlockRef cache_first_input(Schedule& s, const Definition& d, BlockRef reader, BufferScope scope) {
  const TensorNode* prologue = prologue_stage(d);
  if (!prologue) return s.cache_read(d.inputs[0].first->name, reader, scope);
  const BlockRef stage = s.block(prologue->name);
  s.set_scope(stage, scope);
  return stage;
}

void lay_out_first_input(Schedule& s, const Definition& d, const Layout& layout) {
  const TensorNode* input = d.inputs[0].first.node().get();
  s.transform_layout(input->name, layout);
  const TensorNode* prologue = prologue_stage(d);
  if (!prologue) return;
  for (const auto& t : prologue->inputs)
    if (t.get() != input && t->shape == input->shape) s.transform_layout(t->name, layout);
}

void lay_out_like(Schedule& s, const Definition& d, const Layout& output) {
  s.transform_layout(d.output()->name, output);
  for (const TensorNode* t : behind_the_anchor(d))
    if (t->is_placeholder() && t->shape == d.output()->shape) s.transform_layout(t->name, output);
}

}  // namespace hone
