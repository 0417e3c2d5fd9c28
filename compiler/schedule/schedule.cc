#include "compiler/schedule/schedule.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <functional>

#include "compiler/schedule/region.h"

namespace hone {

Schedule::Schedule(const std::vector<std::pair<Tensor, ParamRole>>& inputs, const std::vector<Tensor>& outputs) {
  for (const auto& [tensor, role] : inputs) {
    HONE_USER_CHECK(tensor->is_placeholder()) << "schedule: input '" << tensor->name << "' is computed, not given";
    const std::vector<int64_t>& shape = tensor->caller_shape.empty() ? tensor->shape : tensor->caller_shape;
    params_.push_back({tensor->name, role, shape, tensor->buffer, Layout::identity(shape)});
  }
  // Stages in the order of their dependency.
  std::vector<const TensorNode*> order;
  const std::function<void(const TensorNode*)> visit = [&](const TensorNode* t) {
    if (std::find(order.begin(), order.end(), t) != order.end()) return;
    for (const auto& in : t->inputs) visit(in.get());
    order.push_back(t);
  };
  for (const Tensor& t : outputs) visit(t.node().get());
  for (const TensorNode* t : order) {
    if (t->is_placeholder()) {
      HONE_USER_CHECK(std::any_of(params_.begin(), params_.end(),
                                  [&](const ScheduledParam& p) { return p.buffer.same_as(t->buffer); }))
          << "schedule: placeholder '" << t->name << "' is not among the inputs";
      continue;
    }
    Block b;
    b.name = unique_name(t->name);
    b.out = t->buffer;
    b.value = t->body;
    b.reduce = t->reduce;
    b.initializes = t->reduce != ReduceKind::kNone;
    b.is_inlined = t->is_inlined;
    for (const Axis& a : t->axes) b.indices.push_back(a.var);
    b.compares_bits = t->compares_bits;
    for (const Axis& a : t->axes) b.iters.push_back({a.var, a.extent, false, nullptr});
    if (t->scan_axis) b.iters[*t->scan_axis].ordered = true;
    for (const Axis& a : t->reduce_axes) b.iters.push_back({a.var, a.extent, true, nullptr});
    BlockRef ref;
    auto nest = make_nest(make_block(std::move(b), &ref));
    attach(root_.get(), root_->children.size(), std::move(nest));
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    const Tensor& t = outputs[o];
    HONE_USER_CHECK(!t->is_placeholder()) << "schedule: output '" << t->name << "' is given, not computed";
    for (size_t other = 0; other < o; ++other)
      HONE_USER_CHECK(!outputs[other].node().same_as(t.node())) << "schedule: '" << t->name << "' is an output twice";
    const std::vector<int64_t>& shape = t->caller_shape.empty() ? t->shape : t->caller_shape;
    params_.push_back({t->name, ParamRole::kOutput, shape, t->buffer, Layout::identity(shape)});
    // A definition's stages lie in the workspace.
    replace_buffer(t->buffer, make_buffer(t->name, t->buffer->dtype, t->shape, BufferScope::kParam), nullptr);
  }
}

std::unique_ptr<TreeNode> Schedule::make_loop(const std::string& name, int64_t extent, LoopKind kind) {
  auto node = std::make_unique<TreeNode>();
  node->kind = TreeNode::Kind::kLoop;
  node->var = Var(name);
  node->extent = extent;
  node->loop = kind;
  name_loop(node.get());
  return node;
}

LoopRef Schedule::name_loop(TreeNode* loop) {
  loop->loop_id = static_cast<int>(loops_.size());
  loops_.push_back(loop);
  consumed_loop_.emplace_back();
  return {loop->loop_id};
}

std::unique_ptr<TreeNode> Schedule::make_block(Block block, BlockRef* ref) {
  auto node = std::make_unique<TreeNode>();
  node->kind = TreeNode::Kind::kBlock;
  node->block = std::make_unique<Block>(std::move(block));
  node->block->id = static_cast<int>(blocks_.size());
  *ref = {node->block->id};
  blocks_.push_back(node.get());
  consumed_block_.emplace_back();
  return node;
}

std::unique_ptr<TreeNode> Schedule::make_nest(std::unique_ptr<TreeNode> block) {
  std::vector<std::unique_ptr<TreeNode>> loops;
  for (Iter& i : block->block->iters) {
    if (i.binding) continue;
    loops.push_back(make_loop(i.var->name, i.extent));
    i.binding = loops.back()->var;
  }
  std::unique_ptr<TreeNode> nest = std::move(block);
  while (!loops.empty()) {
    attach(loops.back().get(), 0, std::move(nest));
    nest = std::move(loops.back());
    loops.pop_back();
  }
  return nest;
}

BlockRef Schedule::block(std::string_view name) const {
  std::vector<std::string> names;
  for (const TreeNode* b : blocks_) {
    if (!b) continue;
    if (b->block->name == name) return {b->block->id};
    names.push_back(b->block->name);
  }
  throw UserError("block: no stage is called '" + std::string(name) + "'; there are " + absl::StrJoin(names, ", "));
}

std::vector<LoopRef> Schedule::loops(BlockRef block) const {
  std::vector<LoopRef> out;
  for (TreeNode* n = live_block(block, "loops")->parent; n; n = n->parent)
    if (n->is_loop()) out.insert(out.begin(), {n->loop_id});
  return out;
}

LoopRef Schedule::loop(BlockRef block, std::string_view name) const {
  if (const auto found = find_loop(block, name)) return *found;
  throw UserError("loop: stage '" + live_block(block, "loop")->block->name + "' has no loop '" + std::string(name) +
                  "'");
}

std::optional<LoopRef> Schedule::find_loop(BlockRef block, std::string_view name) const {
  for (TreeNode* n = live_block(block, "loop")->parent; n; n = n->parent)
    if (n->is_loop() && n->var->name == name) return LoopRef{n->loop_id};
  return std::nullopt;
}

int64_t Schedule::extent(LoopRef loop) const { return live_loop(loop, "extent")->extent; }

std::string Schedule::buffer_of(BlockRef block) const { return live_block(block, "buffer_of")->block->out->name; }

std::vector<int64_t> Schedule::shape_of(BlockRef block) const {
  std::vector<int64_t> shape;
  for (const Expr& e : live_block(block, "shape_of")->block->out->shape) shape.push_back(*as_const_int(e));
  return shape;
}

TreeNode* Schedule::live_loop(LoopRef loop, std::string_view primitive) const {
  HONE_USER_CHECK(loop.id >= 0 && loop.id < static_cast<int>(loops_.size()))
      << primitive << ": there is no loop number " << loop.id;
  TreeNode* node = loops_[static_cast<size_t>(loop.id)];
  HONE_USER_CHECK(node) << primitive << ": loop number " << loop.id
                        << " is gone: " << consumed_loop_[static_cast<size_t>(loop.id)] << " replaced it";
  return node;
}

TreeNode* Schedule::live_block(BlockRef block, std::string_view primitive) const {
  HONE_USER_CHECK(block.id >= 0 && block.id < static_cast<int>(blocks_.size()))
      << primitive << ": there is no block number " << block.id;
  TreeNode* node = blocks_[static_cast<size_t>(block.id)];
  HONE_USER_CHECK(node) << primitive << ": block number " << block.id
                        << " is gone: " << consumed_block_[static_cast<size_t>(block.id)] << " removed it";
  return node;
}

std::string Schedule::describe(const TreeNode* loop) const {
  std::string stage = "?";
  const TreeNode* n = loop;
  while (!n->is_block() && !n->children.empty()) n = n->children.back().get();
  if (n->is_block()) stage = n->block->name;
  return "loop '" + loop->var->name + "' of stage '" + stage + "'";
}

void Schedule::refresh(const std::string& step) {
  std::vector<TreeNode*> live_loops(loops_.size(), nullptr), live_blocks(blocks_.size(), nullptr);
  const auto walk = [&](TreeNode* n, const auto& self) -> void {
    if (n->is_loop()) live_loops[static_cast<size_t>(n->loop_id)] = n;
    if (n->is_block()) live_blocks[static_cast<size_t>(n->block->id)] = n;
    for (const auto& c : n->children) self(c.get(), self);
  };
  walk(root_.get(), walk);
  for (size_t i = 0; i < loops_.size(); ++i)
    if (loops_[i] && !live_loops[i]) consumed_loop_[i] = step;
  for (size_t i = 0; i < blocks_.size(); ++i)
    if (blocks_[i] && !live_blocks[i]) consumed_block_[i] = step;
  loops_ = std::move(live_loops);
  blocks_ = std::move(live_blocks);
}

void Schedule::replace_variable(TreeNode* below, const VarNode* var, const Expr& value) {
  const VarMap map{{var, value}};
  for_each_block(below, [&](Block& b, TreeNode*) {
    for (Iter& i : b.iters) i.binding = substitute(i.binding, map);
    for (Expr& p : b.predicates) p = substitute(p, map);
  });
}

Buffer Schedule::buffer_named(std::string_view name, std::string_view primitive) const {
  std::string names;
  for (const ScheduledParam& p : params_) {
    if (p.name == name) return p.buffer;
    names += (names.empty() ? "" : ", ") + p.name;
  }
  for (const TreeNode* b : blocks_) {
    if (!b) continue;
    if (b->block->out->name == name) return b->block->out;
    names += ", " + b->block->out->name;
  }
  for (const TreeNode* b : blocks_)
    if (b && b->block->name == name) return b->block->out;
  throw UserError(std::string(primitive) + ": there is no buffer '" + std::string(name) + "'; there are " + names);
}

std::string Schedule::unique_name(const std::string& name) const {
  std::string unique = name;
  const auto taken = [&] {
    return std::any_of(blocks_.begin(), blocks_.end(),
                       [&](const TreeNode* b) { return b && b->block->name == unique; });
  };
  for (int i = 1; taken(); ++i) unique = name + "_" + std::to_string(i);
  return unique;
}

int64_t Schedule::annotation(std::string_view key, int64_t otherwise) const {
  for (auto it = annotations_.rbegin(); it != annotations_.rend(); ++it)
    if (it->first == key) return it->second;
  return otherwise;
}

void Schedule::record(Primitive p, std::vector<int64_t> args, std::string name, std::string text) {
  steps_.push_back({p, std::move(args), std::move(name), std::move(text)});
}

std::string Schedule::text() const {
  std::string out;
  for (const Step& s : steps_) out += s.text + "\n";
  return out;
}

namespace {

class BufferReplacer final : public Mutator {
 public:
  BufferReplacer(const Buffer& from, const Buffer& to, const Layout* layout)
      : Mutator(Sharing::kKept), from_(from), to_(to), layout_(layout) {
    if (!layout_) return;
    for (const LayoutDim& d : layout_->dims)
      outermost_.push_back(std::none_of(layout_->dims.begin(), layout_->dims.end(), [&](const LayoutDim& o) {
        return o.axis == d.axis && (o.stride > d.stride || (o.stride == d.stride && o.extent > d.extent));
      }));
  }
  std::vector<Expr> physical(const std::vector<Expr>& logical) const {
    if (!layout_) return logical;
    std::vector<Expr> out;
    out.reserve(layout_->dims.size());
    for (size_t i = 0; i < layout_->dims.size(); ++i) {
      const LayoutDim& d = layout_->dims[i];
      Expr part = floor_div(logical[static_cast<size_t>(d.axis)], d.stride);
      if (!outermost_[i]) part = floor_mod(part, d.extent);
      out.push_back(std::move(part));
    }
    return out;
  }

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    std::vector<Expr> indices;
    const bool changed = mutate_all(op->indices, &indices);
    if (op->buffer.same_as(from_)) return load(to_, physical(indices));
    return changed ? load(op->buffer, std::move(indices)) : Expr(op);
  }

 private:
  const Buffer &from_, &to_;
  const Layout* layout_;
  // For each dimension of the layout: whether it holds the highest part of its axis and needs no modulus.
  std::vector<bool> outermost_;
};

}  // namespace

void Schedule::replace_buffer(const Buffer& from, const Buffer& to, const Layout* layout) {
  BufferReplacer replace(from, to, layout);
  const Buffer keep = from;
  for_each_block(root_.get(), [&](Block& b, TreeNode*) {
    if (reads(b, keep)) b.value = replace(b.value);
    if (!b.out.same_as(keep)) return;
    b.out = to;
    b.indices = replace.physical(b.indices);
  });
  for (ScheduledParam& p : params_)
    if (p.buffer.same_as(keep)) p.buffer = to;
}

}  // namespace hone
