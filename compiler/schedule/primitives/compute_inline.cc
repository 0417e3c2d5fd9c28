// compute_inline: the producer's expression, its axes replaced by the indices of each read. inline_rest: of all stages
// that are still to be inlined.
#include <fmt/format.h>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

// Whether an expression may be computed to other bits in another place: with a multiply-add, by another function.
class Rounding final : public Visitor {
 public:
  bool is_there = false;

 protected:
  using Visitor::visit;
  void visit(const Binary* op) override {
    const bool is_exact = op->op == BinaryOp::kMin || op->op == BinaryOp::kMax || op->dtype.is_bool();
    is_there |= op->dtype.is_float() && !is_exact;
    Visitor::visit(op);
  }
  void visit(const Call* op) override {
    is_there |= op->dtype.is_float();
    Visitor::visit(op);
  }
};

class Inliner final : public Mutator {
 public:
  explicit Inliner(const Block& producer) : Mutator(Sharing::kKept), producer_(producer) {}

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    std::vector<Expr> indices;
    const bool changed = mutate_all(op->indices, &indices);
    if (!op->buffer.same_as(producer_.out)) return changed ? load(op->buffer, std::move(indices)) : Expr(op);
    VarMap map;
    for (size_t d = 0; d < indices.size(); ++d) map.emplace_back(producer_.iters[d].var.get(), indices[d]);
    return substitute(producer_.value, map);
  }

 private:
  const Block& producer_;
};

}  // namespace

void Schedule::compute_inline(BlockRef producer) {
  TreeNode* p = live_block(producer, "compute_inline");
  const Block& block = *p->block;
  HONE_USER_CHECK(block.reduce == ReduceKind::kNone) << "compute_inline: stage '" << block.name << "' is a reduction";
  HONE_USER_CHECK(!block.is_scan()) << "compute_inline: stage '" << block.name << "' is a scan";
  HONE_USER_CHECK(block.out->scope != BufferScope::kParam)
      << "compute_inline: stage '" << block.name << "' writes the output '" << block.out->name << "'";
  for (size_t d = 0; d < block.indices.size(); ++d)
    HONE_USER_CHECK(block.indices[d].get() == block.iters[d].var.get())
        << "compute_inline: the layout of stage '" << block.name << "' was transformed; inline first";
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    HONE_USER_CHECK(n == p || !b.out.same_as(block.out)) << "compute_inline: stage '" << b.name << "' writes '"
                                                         << block.out->name << "' too, besides '" << block.name << "'";
  });
  Rounding rounding;
  rounding(block.value);
  for_each_block(root_.get(), [&](Block& b, TreeNode*) {
    HONE_USER_CHECK(!b.compares_bits || !rounding.is_there || !reads(b, block.out))
        << "compute_inline: stage '" << b.name << "' looks for an element of '" << block.out->name
        << "', which it would compute anew and might round otherwise";
  });
  Inliner inliner(block);
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    if (n != p) b.value = inliner(b.value);
  });
  const std::string text = fmt::format("compute_inline({})", block.name);
  detach(p);
  refresh(text);
  record(Primitive::kComputeInline, {producer.id}, "", text);
}

void Schedule::inline_rest() {
  std::vector<BlockRef> rest;
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    if (b.is_inlined && own_nest(n)->parent == root_.get()) rest.push_back({b.id});
  });
  for (const BlockRef b : rest) compute_inline(b);
}

}  // namespace hone
