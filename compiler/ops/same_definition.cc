#include "compiler/ops/same_definition.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace hone {
namespace {

bool same_axes(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Axis& x, const Axis& y) { return x.extent == y.extent && x.var->name == y.var->name; });
}

// The place of `v` among `axes`; their number where it is none of them.
size_t place_of(const VarNode* v, const std::vector<Axis>& axes) {
  return static_cast<size_t>(std::find_if(axes.begin(), axes.end(), [v](const Axis& a) { return a.var.get() == v; }) -
                             axes.begin());
}

class Comparison {
 public:
  Comparison(const Definition& a, const Definition& b) : a_(tensors_of(a)), b_(tensors_of(b)) {}

  bool same_tensors() {
    if (a_.size() != b_.size()) return false;
    for (size_t i = 0; i < a_.size(); ++i) {
      const TensorNode &x = *a_[i], &y = *b_[i];
      if (x.name != y.name || x.shape != y.shape || x.buffer->dtype != y.buffer->dtype ||
          x.is_placeholder() != y.is_placeholder())
        return false;
      if (!x.is_placeholder() && !same_stage(x, y)) return false;
    }
    return true;
  }
  bool same_buffer(const Buffer& x, const Buffer& y) const { return number_of(x, a_) == number_of(y, b_); }

 private:
  using Tensors = std::vector<const TensorNode*>;

  static Tensors tensors_of(const Definition& d) {
    Tensors out;
    for (const auto& [tensor, role] : d.inputs) out.push_back(tensor.node().get());
    for (const TensorNode* t : stages_of(d)) out.push_back(t);
    return out;
  }
  static size_t number_of(const Buffer& buffer, const Tensors& tensors) {
    return static_cast<size_t>(
        std::find_if(tensors.begin(), tensors.end(), [&](const TensorNode* t) { return t->buffer.same_as(buffer); }) -
        tensors.begin());
  }

  bool same_stage(const TensorNode& x, const TensorNode& y) {
    x_ = &x, y_ = &y;
    return x.reduce == y.reduce && x.is_inlined == y.is_inlined && x.compares_bits == y.compares_bits &&
           x.scan_axis == y.scan_axis && same_axes(x.axes, y.axes) && same_axes(x.reduce_axes, y.reduce_axes) &&
           std::equal(x.inputs.begin(), x.inputs.end(), y.inputs.begin(), y.inputs.end(),
                      [this](const auto& p, const auto& q) { return same_buffer(p->buffer, q->buffer); }) &&
           same(x.body, y.body);
  }
  bool same_axis(const VarNode* v, const VarNode* w) const {
    return place_of(v, x_->axes) == place_of(w, y_->axes) &&
           place_of(v, x_->reduce_axes) == place_of(w, y_->reduce_axes);
  }
  bool same_all(const std::vector<Expr>& x, const std::vector<Expr>& y) const {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [this](const Expr& p, const Expr& q) { return same(p, q); });
  }
  bool same(const Expr& x, const Expr& y) const {
    if (x->kind != y->kind || x->dtype != y->dtype) return false;
    switch (x->kind) {
      case ExprKind::kIntImm: return as<IntImm>(x)->value == as<IntImm>(y)->value;
      case ExprKind::kFloatImm: {
        const double p = as<FloatImm>(x)->value, q = as<FloatImm>(y)->value;
        return std::bit_cast<uint64_t>(p) == std::bit_cast<uint64_t>(q) || (p != p && q != q);
      }
      case ExprKind::kVar: return same_axis(as<VarNode>(x), as<VarNode>(y));
      case ExprKind::kCast: return same(as<Cast>(x)->value, as<Cast>(y)->value);
      case ExprKind::kBinary: {
        const auto *p = as<Binary>(x), *q = as<Binary>(y);
        return p->op == q->op && same(p->a, q->a) && same(p->b, q->b);
      }
      case ExprKind::kNot: return same(as<Not>(x)->value, as<Not>(y)->value);
      case ExprKind::kSelect: {
        const auto *p = as<Select>(x), *q = as<Select>(y);
        return same(p->condition, q->condition) && same(p->on_true, q->on_true) && same(p->on_false, q->on_false);
      }
      case ExprKind::kLoad: {
        const auto *p = as<Load>(x), *q = as<Load>(y);
        return same_buffer(p->buffer, q->buffer) && same_all(p->indices, q->indices);
      }
      case ExprKind::kCall: {
        const auto *p = as<Call>(x), *q = as<Call>(y);
        return p->function == q->function && same_all(p->args, q->args);
      }
      default: return false;
    }
  }

  const Tensors a_, b_;
  const TensorNode *x_ = nullptr, *y_ = nullptr;
};

}  // namespace

bool is_same_definition(const Definition& a, const Definition& b) {
  const auto same_roles = std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                                     [](const auto& x, const auto& y) { return x.second == y.second; });
  Comparison c(a, b);
  return same_roles && c.same_tensors() &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [&c](const Tensor& x, const Tensor& y) { return c.same_buffer(x->buffer, y->buffer); });
}

}  // namespace hone
