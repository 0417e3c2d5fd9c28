#include "compiler/schedule/tree.h"

#include <algorithm>

#include "compiler/ir/visitor.h"

namespace hone {

VarMap Block::bindings() const {
  VarMap map;
  for (const Iter& i : iters) map.emplace_back(i.var.get(), i.binding);
  return map;
}

bool Block::is_scan() const {
  return std::any_of(iters.begin(), iters.end(), [](const Iter& i) { return i.ordered; });
}

bool Block::keeps_order_of(const VarNode* var) const {
  return std::any_of(iters.begin(), iters.end(), [&](const Iter& i) { return i.ordered && uses_var(i.binding, var); });
}

size_t TreeNode::position() const {
  for (size_t i = 0; i < parent->children.size(); ++i)
    if (parent->children[i].get() == this) return i;
  HONE_ICHECK(false) << "node is not among its parent's children";
  return 0;
}

bool TreeNode::contains(const TreeNode* other) const {
  for (; other; other = other->parent)
    if (other == this) return true;
  return false;
}

TreeNode* top_of(TreeNode* node) {
  while (node->parent->is_loop()) node = node->parent;
  return node;
}

TreeNode* own_nest(TreeNode* leaf) {
  while (leaf->parent->is_loop() && leaf->parent->children.size() == 1) leaf = leaf->parent;
  return leaf;
}

bool stands_before(TreeNode* a, TreeNode* b) {
  TreeNode* common = a->parent;
  while (!common->contains(b)) common = common->parent;
  const auto below = [common](TreeNode* n) {
    while (n->parent != common) n = n->parent;
    return n->position();
  };
  return below(a) < below(b);
}

bool uses_any(const Expr& e, const std::vector<const VarNode*>& vars) {
  return std::any_of(vars.begin(), vars.end(), [&](const VarNode* v) { return uses_var(e, v); });
}

std::unique_ptr<TreeNode> detach(TreeNode* node) {
  TreeNode* parent = node->parent;
  const auto at = parent->children.begin() + static_cast<ptrdiff_t>(node->position());
  std::unique_ptr<TreeNode> out = std::move(*at);
  parent->children.erase(at);
  out->parent = nullptr;
  while (parent->is_loop() && parent->children.empty()) {
    TreeNode* above = parent->parent;
    above->children.erase(above->children.begin() + static_cast<ptrdiff_t>(parent->position()));
    parent = above;
  }
  return out;
}

std::unique_ptr<TreeNode> take_block(TreeNode* nest) {
  std::unique_ptr<TreeNode> node = detach(nest);
  while (!node->is_block()) {
    std::unique_ptr<TreeNode> child = std::move(node->children[0]);
    node = std::move(child);
  }
  node->parent = nullptr;
  return node;
}

TreeNode* attach(TreeNode* parent, size_t position, std::unique_ptr<TreeNode> node) {
  node->parent = parent;
  TreeNode* out = node.get();
  parent->children.insert(parent->children.begin() + static_cast<ptrdiff_t>(position), std::move(node));
  return out;
}

Block copy_block(const std::string& name, const Buffer& from, const Buffer& to) {
  Block b;
  b.name = name;
  b.out = to;
  for (size_t d = 0; d < to->shape.size(); ++d) {
    Var v("i" + std::to_string(d));
    b.indices.push_back(v);
    b.iters.push_back({v, *as_const_int(to->shape[d]), false, nullptr});
  }
  b.value = load(from, b.indices);
  return b;
}

namespace {

class LoadFinder final : public Visitor {
 public:
  explicit LoadFinder(const Buffer& buffer) : buffer_(buffer) {}
  std::vector<const Load*> found;

 protected:
  using Visitor::visit;
  void visit(const Load* op) override {
    // A load that several sums share is one.
    if (op->buffer.same_as(buffer_) && std::find(found.begin(), found.end(), op) == found.end()) found.push_back(op);
    Visitor::visit(op);
  }

 private:
  const Buffer& buffer_;
};

}  // namespace

std::vector<const Load*> loads_of(const Expr& e, const Buffer& buffer) {
  LoadFinder finder(buffer);
  finder(e);
  return std::move(finder.found);
}

namespace {

class BufferFinder final : public Visitor {
 public:
  explicit BufferFinder(std::vector<const BufferNode*>* found) : found_(*found) {}

 protected:
  using Visitor::visit;
  void visit(const Load* op) override {
    if (std::find(found_.begin(), found_.end(), op->buffer.get()) == found_.end()) found_.push_back(op->buffer.get());
    Visitor::visit(op);
  }

 private:
  std::vector<const BufferNode*>& found_;
};

}  // namespace

const std::vector<const BufferNode*>& Block::buffers_read() const {
  if (!searched_.same_as(value)) {
    buffers_read_.clear();
    BufferFinder find(&buffers_read_);
    find(value);
    searched_ = value;
  }
  return buffers_read_;
}

bool reads(const Block& block, const Buffer& buffer) {
  const auto& all = block.buffers_read();
  return std::find(all.begin(), all.end(), buffer.get()) != all.end();
}

}  // namespace hone
