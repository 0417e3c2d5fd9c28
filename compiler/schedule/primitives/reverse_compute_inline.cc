// reverse_compute_inline: the loops are the producer's, as they were scheduled; its stage now writes the consumer's
// buffer.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/linear.h"
#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

class LoadReplacer final : public Mutator {
 public:
  LoadReplacer(const Buffer& buffer, const Expr& value) : buffer_(buffer), value_(value) {}

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override { return op->buffer.same_as(buffer_) ? value_ : Mutator::visit(op); }

 private:
  const Buffer& buffer_;
  const Expr& value_;
};

// The one stage that `consumer` can be folded into.
TreeNode* find_producer(TreeNode* root, TreeNode* consumer, const std::string& what) {
  TreeNode* producer = nullptr;
  for_each_block(root, [&](Block& b, TreeNode* n) {
    if (n == consumer || !reads(*consumer->block, b.out)) return;
    // The last stage that computes it; all others that `consumer` reads come before.
    producer = n;
  });
  HONE_USER_CHECK(producer) << what << ": it reads no other stage";
  return producer;
}

}  // namespace

void Schedule::reverse_compute_inline(BlockRef consumer) {
  TreeNode* c = live_block(consumer, "reverse_compute_inline");
  const Block block = *c->block;
  std::string what = fmt::format("reverse_compute_inline: stage '{}'", block.name);
  HONE_USER_CHECK(block.reduce == ReduceKind::kNone) << what << ": it is a reduction";
  HONE_USER_CHECK(!block.is_scan()) << what << ": it is a scan";
  TreeNode* p = find_producer(root_.get(), c, what);
  Block& producer = *p->block;
  const Buffer from = producer.out;
  what += fmt::format(" into '{}'", producer.name);
  HONE_USER_CHECK(from->scope != BufferScope::kParam) << what << ": that writes the output '" << from->name << "'";
  HONE_USER_CHECK(!producer.is_scan()) << what << ": that is a scan, which reads what it wrote";
  HONE_USER_CHECK(producer.reduce == ReduceKind::kNone)
      << what << ": that is a reduction, complete only behind its loops";
  HONE_USER_CHECK(!producer.recomputes) << what
                                        << ": that is computed under another stage's loops; compute_inline does this";
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    HONE_USER_CHECK(n == p || !b.out.same_as(from))
        << what << ": stage '" << b.name << "' writes '" << from->name << "' too";
    HONE_USER_CHECK(n == c || !b.out.same_as(block.out))
        << what << ": stage '" << b.name << "' writes '" << block.out->name << "' too";
    HONE_USER_CHECK(n == c || !reads(b, from)) << what << ": stage '" << b.name << "' reads '" << from->name << "' too";
    HONE_USER_CHECK(n == p || !reads(block, b.out) || (!top_of(p)->contains(n) && stands_before(n, p)))
        << what << ": it reads '" << b.out->name << "', which is not computed before";
  });
  for (size_t d = 0; d < producer.indices.size(); ++d)
    HONE_USER_CHECK(producer.indices[d].get() == producer.iters[d].var.get())
        << what << ": the layout of '" << from->name << "' was transformed; inline first";

  // Its axes are the producer's, one for one.
  const auto loads = loads_of(block.value, from);
  std::vector<Iter> iters = block.iters;
  std::vector<Expr> predicates = producer.predicates;
  VarMap to_consumer;
  for (Iter& iter : iters) iter.binding = nullptr;
  for (size_t d = 0; d < producer.iters.size(); ++d) {
    const Iter& own = producer.iters[d];
    const Expr& index = loads[0]->indices[d];
    for (const Load* l : loads)
      HONE_USER_CHECK(equal(l->indices[d], index))
          << what << ": it reads '" << from->name << "' at more than one place";
    const auto iter =
        std::find_if(iters.begin(), iters.end(), [&](const Iter& i) { return i.var.get() == index.get(); });
    HONE_USER_CHECK(iter != iters.end() && !iter->binding)
        << what << ": dimension " << d << " of '" << from->name << "' is not indexed by an axis of its own";
    HONE_USER_CHECK(iter->extent <= own.extent)
        << what << ": axis '" << iter->var->name << "' runs beyond '" << from->name << "'";
    iter->binding = own.binding;
    if (iter->extent < own.extent) predicates.push_back(lt(own.binding, iter->extent));
    to_consumer.emplace_back(own.var.get(), index);
  }
  for (const Iter& i : iters)
    HONE_USER_CHECK(i.binding) << what << ": axis '" << i.var->name << "' does not index '" << from->name << "'";

  const std::string text = fmt::format("reverse_compute_inline({})", block.name);
  producer.value = LoadReplacer(from, substitute(producer.value, to_consumer))(block.value);
  producer.out = block.out;
  producer.indices = block.indices;
  producer.iters = std::move(iters);
  producer.predicates = std::move(predicates);
  detach(c);
  refresh(text);
  record(Primitive::kReverseComputeInline, {consumer.id}, "", text);
}

}  // namespace hone
