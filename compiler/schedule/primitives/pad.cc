// pad: an axis becomes a multiple, so that splitting it leaves no tail. Reads beyond the end go to copies that hold the
// reduction's identity there (0, or the lowest value for max); a reduction axis can be padded only where such values
// add nothing. The surplus elements of a padded output axis are computed and not read: an intermediate buffer grows, in
// front of an output stands a larger one, copied behind the stage. The copies are stages like others: computed at a
// tile they are its packing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/region.h"
#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

// How a stage reads one buffer: the extent it reads to, and the extent of the data.
struct Need {
  Buffer buffer;
  std::vector<int64_t> extent, valid;
  bool grows = false;
};

class NeedFinder final : public Visitor {
 public:
  // `ends`: the padded extent of each iter of `block`.
  NeedFinder(const Block& block, const std::vector<int64_t>& ends, const std::string& what)
      : block_(block), ends_(ends), what_(what) {
    for (size_t i = 0; i < ends.size(); ++i) facts_.push_range(block.iters[i].var.get(), 0, ends[i] - 1);
  }
  std::vector<Need> needs;

 protected:
  using Visitor::visit;
  void visit(const Select* op) override {
    (*this)(op->condition);
    int n = facts_.push_condition(op->condition);
    (*this)(op->on_true);
    facts_.pop_facts(n);
    n = facts_.push_negation(op->condition);
    (*this)(op->on_false);
    facts_.pop_facts(n);
  }
  void visit(const Load* op) override {
    Visitor::visit(op);
    Need& need = need_of(op->buffer);
    for (size_t d = 0; d < op->indices.size(); ++d) {
      const Expr& index = op->indices[d];
      const int64_t have = *as_const_int(op->buffer->shape[d]);
      bool padded = false;
      int64_t valid = have;
      for (size_t i = 0; i < ends_.size(); ++i) {
        const Iter& iter = block_.iters[i];
        if (ends_[i] == iter.extent || !uses_var(index, iter.var.get())) continue;
        padded = true;
        if (!iter.reduce) continue;
        HONE_USER_CHECK(index.get() == iter.var.get()) << what_ << ": reduction axis '" << iter.var->name
                                                       << "' is not an index of '" << op->buffer->name << "' by itself";
        valid = iter.extent;
      }
      // All reads of a dimension must agree on where its data ends.
      HONE_USER_CHECK(agrees(need, d, valid))
          << what_ << ": it reads dimension " << d << " of '" << op->buffer->name << "' in two ways";
      if (!padded) continue;
      const Interval range = facts_.bounds(index);
      HONE_USER_CHECK(range.lo >= 0 && range.hi != Interval::kMax)
          << what_ << ": how far it reads in dimension " << d << " of '" << op->buffer->name << "' is not known";
      need.extent[d] = std::max(need.extent[d], range.hi + 1);
      need.grows |= need.extent[d] > need.valid[d];
    }
  }

 private:
  Need& need_of(const Buffer& buffer) {
    for (Need& n : needs)
      if (n.buffer.same_as(buffer)) return n;
    Need n{buffer, {}, {}, false};
    for (const Expr& e : buffer->shape) n.extent.push_back(*as_const_int(e));
    n.valid = n.extent;
    decided_.emplace_back(n.extent.size(), false);
    needs.push_back(std::move(n));
    return needs.back();
  }
  bool agrees(Need& need, size_t d, int64_t valid) {
    auto decided = decided_[static_cast<size_t>(&need - needs.data())].begin() + static_cast<ptrdiff_t>(d);
    if (*decided && need.valid[d] != valid) return false;
    *decided = true;
    need.valid[d] = valid;
    return true;
  }

  const Block& block_;
  const std::vector<int64_t>& ends_;
  const std::string& what_;
  Facts facts_;
  std::vector<std::vector<bool>> decided_;
};

// True when `e` is the identity of `kind` for every `iter` beyond its end, if the copies that it reads hold the
// identity there.
bool vanishes(const Expr& e, ReduceKind kind, const VarNode* iter) {
  const auto each = [&](const Expr& a, const Expr& b) { return vanishes(a, kind, iter) && vanishes(b, kind, iter); };
  if (const Load* op = as<Load>(e))
    return std::any_of(op->indices.begin(), op->indices.end(), [&](const Expr& i) { return i.get() == iter; });
  if (const Select* op = as<Select>(e)) return each(op->on_true, op->on_false);
  const Binary* op = as<Binary>(e);
  if (kind == ReduceKind::kMax) return op && op->op == BinaryOp::kMax && each(op->a, op->b);
  if (const Cast* c = as<Cast>(e)) return vanishes(c->value, kind, iter);
  if (!op) return false;
  switch (op->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMin:
    case BinaryOp::kMax: return each(op->a, op->b);
    case BinaryOp::kMul:
      // 0 times an infinity is not 0: of two floats both factors must vanish, or one be a constant.
      if (op->dtype.is_integer()) return vanishes(op->a, kind, iter) || vanishes(op->b, kind, iter);
      return each(op->a, op->b) || (as<FloatImm>(op->a) && vanishes(op->b, kind, iter)) ||
             (as<FloatImm>(op->b) && vanishes(op->a, kind, iter));
    default: return false;
  }
}

// to[i…] = from[i…] inside the data, `fill` beyond it.
Block padded_copy(const std::string& name, const Need& need, const Buffer& to, const Expr& fill) {
  Block b;
  b.name = name;
  b.out = to;
  Expr inside = make_bool(true);
  for (size_t d = 0; d < need.extent.size(); ++d) {
    Var v("i" + std::to_string(d));
    b.indices.push_back(v);
    b.iters.push_back({v, need.extent[d], false, nullptr});
    if (need.extent[d] > need.valid[d]) inside = logical_and(inside, lt(v, need.valid[d]));
  }
  b.value = select(inside, load(need.buffer, b.indices), fill);
  return b;
}

class LoadsRedirector final : public Mutator {
 public:
  explicit LoadsRedirector(const std::vector<std::pair<Buffer, Buffer>>& map) : map_(map) {}

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    std::vector<Expr> indices;
    const bool changed = mutate_all(op->indices, &indices);
    for (const auto& [from, to] : map_)
      if (op->buffer.same_as(from)) return load(to, std::move(indices));
    return changed ? load(op->buffer, std::move(indices)) : Expr(op);
  }

 private:
  const std::vector<std::pair<Buffer, Buffer>>& map_;
};

// The loop that runs over `iter` and nothing else.
TreeNode* loop_of(TreeNode* leaf, const Iter& iter, const std::string& what) {
  for (TreeNode* n = leaf->parent; n->is_loop(); n = n->parent) {
    HONE_USER_CHECK(n->children.size() == 1) << what << ": loop '" << n->var->name << "' holds other statements too";
    if (n->var.get() != iter.binding.get()) continue;
    HONE_USER_CHECK(n->loop == LoopKind::kSerial)
        << what << ": loop '" << n->var->name << "' is already " << name_of(n->loop) << "; pad first";
    HONE_USER_CHECK(std::none_of(leaf->block->predicates.begin(), leaf->block->predicates.end(),
                                 [&](const Expr& p) { return uses_var(p, n->var.get()); }))
        << what << ": loop '" << n->var->name << "' has a tail; pad first";
    return n;
  }
  throw UserError(
      fmt::format("{}: axis '{}' is no loop of its own any more; pad comes before split, fuse and compute_at", what,
                  iter.var->name));
}

void check_whole(TreeNode* root, TreeNode* leaf, const std::vector<Need>& needs, const std::string& what) {
  const Block& block = *leaf->block;
  TreeNode* top = top_of(leaf);
  for_each_block(root, [&](Block& b, TreeNode* n) {
    HONE_USER_CHECK(n == leaf || !b.out.same_as(block.out))
        << what << ": stage '" << b.name << "' writes '" << block.out->name << "' too";
    if (!top->contains(n)) return;
    HONE_USER_CHECK(!reads(b, block.out)) << what << ": stage '" << b.name << "' reads '" << block.out->name
                                          << "' in its nest; pad comes before compute_at";
    for (const Need& need : needs)
      HONE_USER_CHECK(!need.grows || !b.out.same_as(need.buffer))
          << what << ": stage '" << b.name << "' writes '" << need.buffer->name
          << "' in its nest; pad comes before compute_at";
  });
}

}  // namespace

std::vector<BlockRef> Schedule::pad(BlockRef ref, const std::vector<int64_t>& multiples) {
  TreeNode* leaf = live_block(ref, "pad");
  Block& block = *leaf->block;
  const std::string what = fmt::format("pad: stage '{}'", block.name);
  HONE_USER_CHECK(multiples.size() == block.iters.size())
      << what << ": " << multiples.size() << " multiples for " << block.iters.size() << " axes";
  HONE_USER_CHECK(!block.is_scan()) << what << ": it is a scan, which reads what it wrote";
  HONE_USER_CHECK(block.reduce == ReduceKind::kNone || (block.initializes && !block.step_guard))
      << what << ": it is decomposed or factored; pad comes first";
  std::vector<int64_t> ends;
  std::vector<TreeNode*> loops;
  bool wider = false;
  for (size_t i = 0; i < multiples.size(); ++i) {
    const Iter& iter = block.iters[i];
    HONE_USER_CHECK(multiples[i] >= 1 && multiples[i] <= (int64_t{1} << 20))
        << what << ": multiple " << multiples[i] << " of axis '" << iter.var->name << "' must be between 1 and 2^20";
    ends.push_back(ceil_div(iter.extent, multiples[i]) * multiples[i]);
    loops.push_back(ends[i] == iter.extent ? nullptr : loop_of(leaf, iter, what));
    if (!loops[i]) continue;
    HONE_USER_CHECK(!iter.reduce || vanishes(block.value, block.reduce, iter.var.get()))
        << what << ": beyond the end of reduction axis '" << iter.var->name << "' its terms would not vanish";
    wider |= !iter.reduce;
    if (iter.reduce) continue;
    for (size_t d = 0; d < block.indices.size(); ++d)
      HONE_USER_CHECK(block.indices[d].get() == block.iters[d].var.get())
          << what << ": its layout was transformed; pad comes first";
  }
  NeedFinder finder(block, ends, what);
  finder(block.value);
  check_whole(root_.get(), leaf, finder.needs, what);

  TreeNode* top = top_of(leaf);
  std::vector<BlockRef> stages;
  std::vector<std::pair<Buffer, Buffer>> redirected;
  std::vector<std::string> names;
  const auto add = [&](Block b, size_t position) {
    names.push_back(b.name);
    stages.emplace_back();
    auto nest = make_nest(make_block(std::move(b), &stages.back()));
    attach(top->parent, position, std::move(nest));
  };
  for (const Need& need : finder.needs) {
    if (!need.grows) continue;
    const DType type = need.buffer->dtype;
    const std::string name = unique_name(need.buffer->name + "_pad");
    const Buffer to = make_buffer(name, type, need.extent, BufferScope::kWorkspace);
    add(padded_copy(name, need, to,
                    block.reduce == ReduceKind::kNone ? make_const(0, type) : reduce_identity(block.reduce, type)),
        top->position());
    redirected.emplace_back(need.buffer, to);
  }
  block.value = LoadsRedirector(redirected)(block.value);
  for (size_t i = 0; i < ends.size(); ++i) {
    block.iters[i].extent = ends[i];
    if (loops[i]) loops[i]->extent = ends[i];
  }
  if (wider) {
    const Buffer from = block.out;
    std::vector<int64_t> shape(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(block.indices.size()));
    if (from->scope == BufferScope::kParam) {
      block.out = make_buffer(block.name + "_wide", from->dtype, shape, BufferScope::kWorkspace);
      add(copy_block(unique_name(block.name + "_write"), block.out, from), top->position() + 1);
    } else {
      replace_buffer(from, make_buffer(from->name, from->dtype, shape, from->scope), nullptr);
    }
  }
  std::vector<int64_t> args{ref.id};
  args.insert(args.end(), multiples.begin(), multiples.end());
  record(Primitive::kPad, std::move(args), "",
         fmt::format("pad({}, [{}]) -> [{}]", block.name, fmt::join(multiples, ", "), fmt::join(names, ", ")));
  return stages;
}

}  // namespace hone
