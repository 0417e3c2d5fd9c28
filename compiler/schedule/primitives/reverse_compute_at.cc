// reverse_compute_at: the consumer takes the loops of its producer below the loop, as far as they run over elements,
// and its guards: it then meets exactly the elements that are complete. Axes that do not index the producer's buffer
// get loops of their own inside.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/linear.h"
#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

// The block below `l` that completes the one buffer written there that `consumer` reads.
TreeNode* find_producer(TreeNode* l, const Block& consumer, const std::string& what) {
  TreeNode* producer = nullptr;
  for_each_block(l, [&](Block& b, TreeNode* n) {
    if (!reads(consumer, b.out)) return;
    HONE_USER_CHECK(!producer || producer->block->out.same_as(b.out))
        << what << ": it reads both '" << producer->block->out->name << "' and '" << b.out->name
        << "', which are computed there";
    producer = n;
  });
  HONE_USER_CHECK(producer) << what << ": nothing that it reads is computed there";
  return producer;
}

// Checks that everything `consumer` reads exists once an iteration of `l` is over, and that `producer` is complete
// then.
void check_order(TreeNode* root, TreeNode* l, TreeNode* producer, TreeNode* consumer, const std::string& what) {
  const Block &p = *producer->block, &c = *consumer->block;
  TreeNode* top = top_of(l);
  for_each_block(root, [&](Block& b, TreeNode* n) {
    HONE_USER_CHECK(n == consumer || !b.out.same_as(c.out))
        << what << ": stage '" << b.name << "' writes '" << c.out->name
        << "' too; reverse_compute_at comes before decompose_reduction";
    HONE_USER_CHECK(!b.out.same_as(p.out) || l->contains(n) || stands_before(n, l))
        << what << ": stage '" << b.name << "' completes '" << p.out->name << "' only behind it";
    if (b.out.same_as(p.out) || !reads(c, b.out)) return;
    HONE_USER_CHECK(!top->contains(n) && stands_before(n, top))
        << what << ": it reads '" << b.out->name << "', which is not computed before";
  });
  HONE_USER_CHECK(!p.recomputes) << what << ": stage '" << p.name << "' is computed under another stage's loops";
  for (size_t d = 0; d < p.indices.size(); ++d)
    HONE_USER_CHECK(p.indices[d].get() == p.iters[d].var.get())
        << what << ": the layout of stage '" << p.name << "' was transformed; reverse_compute_at comes first";
  for (TreeNode* n = l; n->is_loop(); n = n->parent)
    for (const Iter& i : p.iters)
      HONE_USER_CHECK(!i.reduce || !uses_var(i.binding, n->var.get()))
          << what << ": stage '" << p.name << "' is not complete there, it reduces over loop '" << n->var->name << "'";
}

// For each dimension of `buffer` the iter of `consumer` that indexes it; -1 for a dimension of one element.
std::vector<int> iters_by_dimension(const Block& consumer, const Buffer& buffer, const std::string& what) {
  std::vector<int> out(buffer->shape.size(), -1);
  const auto loads = loads_of(consumer.value, buffer);
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t extent = *as_const_int(buffer->shape[d]);
    if (extent == 1) continue;
    for (const Load* l : loads)
      HONE_USER_CHECK(equal(l->indices[d], loads[0]->indices[d]))
          << what << ": it reads '" << buffer->name << "' at more than one place";
    for (size_t i = 0; i < consumer.iters.size(); ++i)
      if (consumer.iters[i].var.get() == loads[0]->indices[d].get()) out[d] = static_cast<int>(i);
    HONE_USER_CHECK(out[d] >= 0 && std::count(out.begin(), out.end(), out[d]) == 1)
        << what << ": dimension " << d << " of '" << buffer->name << "' is not indexed by an axis of its own";
    const Iter& iter = consumer.iters[static_cast<size_t>(out[d])];
    HONE_USER_CHECK(iter.extent <= extent)
        << what << ": axis '" << iter.var->name << "' runs beyond '" << buffer->name << "'";
  }
  return out;
}

}  // namespace

void Schedule::reverse_compute_at(BlockRef consumer, LoopRef loop) {
  TreeNode* c = live_block(consumer, "reverse_compute_at");
  TreeNode* l = live_loop(loop, "reverse_compute_at");
  Block& block = *c->block;
  const std::string what = fmt::format("reverse_compute_at: stage '{}' under {}", block.name, describe(l));
  HONE_USER_CHECK(l->loop != LoopKind::kVectorize) << what << ": a vector loop holds no other loops";
  HONE_USER_CHECK(!l->contains(c)) << what << ": it stands there already";
  HONE_USER_CHECK(!block.is_scan()) << what << ": it is a scan, whose steps follow each other";
  TreeNode* nest = own_nest(c);
  HONE_USER_CHECK(!nest->parent->is_loop())
      << what << ": it shares " << describe(nest->parent) << " with other statements";
  TreeNode* p = find_producer(l, block, what);
  const Block& producer = *p->block;
  check_order(root_.get(), l, p, c, what);
  const std::vector<int> iter_of = iters_by_dimension(block, producer.out, what);

  // The consumer's loops, as far as they follow from the producer.
  std::vector<TreeNode*> taken;  // loops below l that run over elements, innermost first
  std::vector<const VarNode*> left_behind;
  const auto over_elements = [&](const VarNode* v) {
    return std::any_of(producer.iters.begin(), producer.iters.end(),
                       [&](const Iter& i) { return !i.reduce && uses_var(i.binding, v); });
  };
  for (TreeNode* n = p->parent; n != l; n = n->parent) {
    if (over_elements(n->var.get()))
      taken.push_back(n);
    else
      left_behind.push_back(n->var.get());
  }
  VarMap renamed;
  std::vector<Var> fresh;
  for (TreeNode* n : taken) {
    fresh.emplace_back(n->var->name);
    renamed.emplace_back(n->var.get(), Expr(fresh.back()));
  }
  std::vector<Expr> bindings(block.iters.size()), predicates;
  for (const Expr& g : producer.predicates)
    if (!uses_any(g, left_behind)) predicates.push_back(substitute(g, renamed));
  for (size_t d = 0; d < iter_of.size(); ++d) {
    if (iter_of[d] < 0) continue;
    const auto i = static_cast<size_t>(iter_of[d]);
    bindings[i] = substitute(producer.iters[d].binding, renamed);
    if (block.iters[i].extent < producer.iters[d].extent) predicates.push_back(lt(bindings[i], block.iters[i].extent));
  }
  const auto check_loop = [&](const VarNode* v, LoopKind kind) {
    bool space = false, reduction = false;
    for (size_t i = 0; i < bindings.size(); ++i)
      if (bindings[i] && uses_var(bindings[i], v)) (block.iters[i].reduce ? reduction : space) = true;
    HONE_USER_CHECK(!space || !reduction)
        << what << ": loop '" << v->name << "' would serve both its elements and its reduction";
    HONE_USER_CHECK(!is_concurrent(kind) || space)
        << what << ": iterations of the " << name_of(kind) << " loop '" << v->name
        << "' would write the same elements of '" << block.out->name << "'";
  };
  for (const Var& v : fresh) check_loop(v.get(), LoopKind::kSerial);
  for (TreeNode* n = l; n->is_loop(); n = n->parent) check_loop(n->var.get(), n->loop);

  const size_t position = [&] {
    TreeNode* n = p;
    while (n->parent != l) n = n->parent;
    return n->position() + 1;
  }();
  std::unique_ptr<TreeNode> fresh_nest = take_block(nest);
  for (size_t i = 0; i < bindings.size(); ++i) block.iters[i].binding = bindings[i];
  block.predicates = std::move(predicates);
  fresh_nest = make_nest(std::move(fresh_nest));
  for (size_t i = 0; i < taken.size(); ++i) {
    auto around = make_loop(taken[i]->var->name, taken[i]->extent);
    around->var = fresh[i];
    attach(around.get(), 0, std::move(fresh_nest));
    fresh_nest = std::move(around);
  }
  attach(l, position, std::move(fresh_nest));
  const std::string text = fmt::format("reverse_compute_at({}, {})", block.name, l->var->name);
  refresh(text);
  record(Primitive::kReverseComputeAt, {consumer.id, loop.id}, "", text);
}

}  // namespace hone
