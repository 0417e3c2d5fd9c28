#include "compiler/te/sizes.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "base/check.h"
#include "compiler/ir/layout.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// Every size that the process has met; they are few, and variables of definitions that live anywhere.
struct Sizes {
  std::mutex mutex;
  std::map<std::string, Var> by_name;
};

Sizes& sizes() {
  static auto* const all = new Sizes;
  return *all;
}

// Calls `f` with each size in an expression.
class SizeFinder final : public Visitor {
 public:
  explicit SizeFinder(const std::function<void(const VarNode*)>& f) : f_(f) {}

 protected:
  using Visitor::visit;
  void visit(const VarNode* v) override {
    if (is_size(v)) f_(v);
  }

 private:
  const std::function<void(const VarNode*)>& f_;
};

void visit_tensors(const std::vector<Tensor>& tensors, const std::function<void(const TensorNode*)>& f) {
  std::vector<const TensorNode*> seen;
  const std::function<void(const TensorNode*)> visit = [&](const TensorNode* t) {
    if (std::find(seen.begin(), seen.end(), t) != seen.end()) return;
    seen.push_back(t);
    for (const auto& in : t->inputs) visit(in.get());
    f(t);
  };
  for (const Tensor& t : tensors) visit(t.node().get());
}

class Binder {
 public:
  explicit Binder(const std::map<std::string, int64_t>& numbers) : numbers_(numbers) {}

  Tensor operator()(const TensorNode* t) {
    if (const auto found = bound_.find(t); found != bound_.end()) return found->second;
    TensorNode* node = copied_node(*t);
    const Ref<const TensorNode> owner(node);
    bool is_new = t->is_open;
    for (auto& in : node->inputs) {
      const Tensor bound = (*this)(in.get());
      is_new |= !bound.node().same_as(in);
      in = bound.node();
    }
    if (!is_new) return bound_[t] = Tensor(Ref<const TensorNode>(t));
    if (t->is_open) set_extents(node);
    node->is_open = false;
    node->buffer = make_buffer(t->name, t->buffer->dtype, node->shape, t->buffer->scope);
    if (t->body) node->body = Rewriter(*this, t, node)(t->body);
    return bound_[t] = Tensor(owner);
  }

 private:
  // Arithmetic that wraps around would be another extent.
  int64_t number_of(const Expr& e) const {
    if (const auto number = as_const_int(e)) return *number;
    if (const VarNode* v = as<VarNode>(e)) return numbers_.at(v->name);
    const Binary* b = as<Binary>(e);
    HONE_USER_CHECK(b) << "sizes: an extent " << to_string(e) << " is more than whole numbers, + - * // %";
    const int64_t x = number_of(b->a), y = number_of(b->b);
    int64_t result = 0;
    bool is_known = true;
    switch (b->op) {
      case BinaryOp::kAdd: is_known = !__builtin_add_overflow(x, y, &result); break;
      case BinaryOp::kSub: is_known = !__builtin_sub_overflow(x, y, &result); break;
      case BinaryOp::kMul: is_known = !__builtin_mul_overflow(x, y, &result); break;
      case BinaryOp::kMin: result = std::min(x, y); break;
      case BinaryOp::kMax: result = std::max(x, y); break;
      case BinaryOp::kFloorDiv:
        is_known = y > 0;
        if (is_known) result = floor_div(x, y);
        break;
      case BinaryOp::kFloorMod:
        is_known = y > 0;
        if (is_known) result = x - y * floor_div(x, y);
        break;
      default: is_known = false;
    }
    HONE_USER_CHECK(is_known) << "sizes: an extent " << to_string(e) << " is none: " << x << " and " << y;
    return result;
  }

  void set_extents(TensorNode* node) const {
    for (size_t d = 0; d < node->written_extents.size(); ++d) {
      const Expr& written = node->written_extents[d];
      const int64_t extent = number_of(written);
      HONE_USER_CHECK(extent >= 1) << "sizes: extent " << to_string(written) << " of '" << node->name << "' is "
                                   << extent;
      if (d >= node->shape.size()) {
        node->reduce_axes[d - node->shape.size()].extent = extent;
        continue;
      }
      node->shape[d] = extent;
      if (!node->axes.empty()) node->axes[d].extent = extent;
    }
    element_count(node->shape);
  }

  // Numbers for sizes, and the bound tensors' buffers.
  class Rewriter final : public Mutator {
   public:
    Rewriter(const Binder& binder, const TensorNode* from, const TensorNode* to)
        : Mutator(Sharing::kKept), binder_(binder), from_(from), to_(to) {}

   protected:
    using Mutator::visit;
    Expr visit(const VarNode* v) override {
      if (!is_size(v)) return Expr(v);
      return make_int(binder_.numbers_.at(v->name));
    }
    Expr visit(const Load* op) override {
      std::vector<Expr> indices;
      mutate_all(op->indices, &indices);
      if (op->buffer.same_as(from_->buffer)) return load(to_->buffer, std::move(indices));
      for (size_t i = 0; i < from_->inputs.size(); ++i)
        if (op->buffer.same_as(from_->inputs[i]->buffer)) return load(to_->inputs[i]->buffer, std::move(indices));
      return load(op->buffer, std::move(indices));
    }

   private:
    const Binder& binder_;
    const TensorNode *from_, *to_;
  };

  const std::map<std::string, int64_t>& numbers_;
  std::map<const TensorNode*, Tensor> bound_;
};

}  // namespace

Var size_named(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  HONE_USER_CHECK(!name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  })) << "a size is a word, letters, digits and _";
  Sizes& all = sizes();
  const std::lock_guard lock(all.mutex);
  return all.by_name.try_emplace(name, Var(name)).first->second;
}

bool is_size(const VarNode* v) {
  Sizes& all = sizes();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_name.find(v->name);
  return found != all.by_name.end() && found->second.get() == v;
}

std::vector<std::string> sizes_of(const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  const std::function<void(const VarNode*)> add = [&](const VarNode* v) {
    if (std::find(names.begin(), names.end(), v->name) == names.end()) names.push_back(v->name);
  };
  SizeFinder find(add);
  visit_tensors(tensors, [&](const TensorNode* t) {
    if (!t->is_open) return;
    for (const Expr& e : t->written_extents) find(e);
    if (t->body) find(t->body);
  });
  return names;
}

std::vector<Tensor> bind_sizes(const std::vector<Tensor>& tensors, const std::map<std::string, int64_t>& numbers) {
  const std::vector<std::string> names = sizes_of(tensors);
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!numbers.contains(name)) missing.push_back(name);
  HONE_USER_CHECK(missing.empty()) << "sizes: " << absl::StrJoin(missing, ", ")
                                   << (missing.size() == 1 ? " has" : " have") << " no number";
  for (const auto& [name, number] : numbers)
    HONE_USER_CHECK(std::find(names.begin(), names.end(), name) != names.end())
        << "sizes: there is no '" << name << "' in the definition"
        << (names.empty() ? "" : "; there are " + absl::StrJoin(names, ", "));
  Binder bind(numbers);
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(bind(t.node().get()));
  return out;
}

}  // namespace hone
