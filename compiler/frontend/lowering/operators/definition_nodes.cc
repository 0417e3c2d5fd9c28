#include "compiler/frontend/lowering/operators/definition_nodes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/frontend/lowering/operators/function_patterns.h"
#include "compiler/frontend/lowering/operators/stage_shape.h"
#include "compiler/frontend/lowering/window.h"
#include "compiler/ir/visitor.h"

namespace hone::frontend {
namespace {

// A stage that no operator of Hone's computes.
struct OwnStage {};

constexpr int64_t kMostExpressionNodes = 96;  // of a stage: longer ones are better off as a kernel of their own

int64_t nodes_of_expr(const Expr& e) {
  struct Count : Visitor {
    int64_t nodes = 0;
    void visit(const Binary* b) override { ++nodes, Visitor::visit(b); }
    void visit(const Select* s) override { ++nodes, Visitor::visit(s); }
    void visit(const Call* c) override { ++nodes, Visitor::visit(c); }
    void visit(const Cast* c) override { ++nodes, Visitor::visit(c); }
    void visit(const Load*) override { ++nodes; }
  } count;
  count(e);
  return count.nodes;
}

Extents picked(const Extents& shape, const Extents& dimensions) {
  Extents out;
  for (const int64_t d : dimensions) out.push_back(shape[static_cast<size_t>(d)]);
  return out;
}

Extents joined_lists(std::initializer_list<Extents> lists) {
  Extents out;
  for (const Extents& l : lists) out.insert(out.end(), l.begin(), l.end());
  return out;
}

// The stages of a definition as nodes; without a Lowering it finds out whether they have such.
class StageLowering {
 public:
  StageLowering(Lowering* l, const Definition& d, const std::vector<Operand>& inputs, const std::vector<bool>& is_known)
      : l_(l) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      values_.emplace(d.inputs[i].first->buffer.get(), inputs[i]);
      if (is_known[i]) known_.push_back(d.inputs[i].first->buffer.get());
    }
    const std::vector<const TensorNode*> stages = stages_of(d);
    for (const TensorNode* t : stages) {
      stage_ = t;
      made_.clear();
      if (const auto border = border_stage(*t)) {
        // Its value, where anything else reads it, is made then.
        borders_.emplace(t->buffer.get(), *border);
        continue;
      }
      values_.emplace(t->buffer.get(), t->reduce == ReduceKind::kNone ? elements(*t) : product(*t));
    }
    for (const Tensor& t : d.outputs) out_.push_back(tensor(t->buffer.get()));
  }
  const std::vector<Operand>& outputs() const { return out_; }
  // By themselves reductions and borders are nothing to be taken apart for.
  bool has_products() const { return has_products_; }

 private:
  const Operand& tensor(const BufferNode* b) {
    if (const auto known = values_.find(b); known != values_.end()) return known->second;
    const BorderStage& border = borders_.at(b);
    const Operand& x = tensor(border.x);
    Operand padded;
    if (l_) padded = with_borders(*l_, x, border.before, border.after);
    return values_.emplace(b, padded).first->second;
  }

  // ---- functions of elements ----

  Operand elements(const TensorNode& t) {
    if (nodes_of_expr(t.body) > kMostExpressionNodes) throw OwnStage();
    const Operand x = value(t.body);
    return l_ ? l_->broadcast(x, t.shape) : x;
  }

  Operand value(const Expr& e) {
    if (const auto known = made_.find(e.get()); known != made_.end()) return known->second;
    return made_.emplace(e.get(), new_value(e)).first->second;
  }

  Operand pointwise(const std::string& text, const std::vector<Operand>& operands) {
    return l_ ? l_->pointwise(text, operands) : Operand();
  }

  Operand new_value(const Expr& e) {
    if (const auto function = function_of_table(e)) return pointwise(function->text, {value(function->x)});
    switch (e->kind) {
      case ExprKind::kIntImm: return number(static_cast<double>(as<IntImm>(e)->value), e->dtype);
      case ExprKind::kFloatImm: return number(as<FloatImm>(e)->value, e->dtype);
      case ExprKind::kCast: {
        const Operand x = value(as<Cast>(e)->value);
        return l_ ? l_->cast(x, e->dtype) : x;
      }
      case ExprKind::kNot: return pointwise("not", {value(as<Not>(e)->value)});
      case ExprKind::kBinary: return binary_value(*as<Binary>(e));
      case ExprKind::kCall: {
        const auto* c = as<Call>(e);
        if (c->args.size() != 1) throw OwnStage();
        return pointwise(c->function == Intrinsic::kRint ? "round" : std::string(name_of(c->function)),
                         {value(c->args[0])});
      }
      case ExprKind::kLoad: return element(*as<Load>(e));
      // An axis: the value depends on the position. A choice: chains have none between two values that are computed.
      default: throw OwnStage();
    }
  }

  Operand number(double v, DType t) {
    // The largest numbers of unsigned types are negative ones here.
    const bool is_whole = t.is_integer() && std::abs(v) < 0x1p53 && (v >= 0 || t.code != TypeCode::kUInt);
    if (!t.is_float() && !is_whole) throw OwnStage();
    return l_ ? l_->number(v, t) : Operand();
  }

  Operand binary_value(const Binary& b) {
    static constexpr std::pair<BinaryOp, const char*> kFunctions[] = {
        {BinaryOp::kAdd, "add"},       {BinaryOp::kSub, "sub"},      {BinaryOp::kMul, "mul"},
        {BinaryOp::kDiv, "div"},       {BinaryOp::kMin, "minimum"},  {BinaryOp::kMax, "maximum"},
        {BinaryOp::kEq, "equal"},      {BinaryOp::kNe, "not_equal"}, {BinaryOp::kLt, "less"},
        {BinaryOp::kLe, "less_equal"}, {BinaryOp::kAnd, "and"},      {BinaryOp::kOr, "or"}};
    const bool is_logical = b.op == BinaryOp::kAnd || b.op == BinaryOp::kOr;
    if (b.a->dtype.is_bool() != is_logical) throw OwnStage();
    for (const auto& [op, function] : kFunctions)
      if (op == b.op) return pointwise(function, {value(b.a), value(b.b)});
    throw OwnStage();
  }

  // Under the stage's axes: each index is one of them, in their order, or the only position there is.
  Operand element(const Load& load) {
    const Operand& x = tensor(load.buffer.get());
    Extents shape(stage_->axes.size(), 1);
    size_t next = 0;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const int64_t extent = as_const_int(load.buffer->shape[d]).value_or(-1);
      if (is_const(load.indices[d], 0) && extent == 1) continue;
      while (next < stage_->axes.size() && stage_->axes[next].var.get() != load.indices[d].get()) ++next;
      if (next == stage_->axes.size() || stage_->axes[next].extent != extent) throw OwnStage();
      shape[next++] = extent;
    }
    return l_ ? l_->reshape(x, shape) : x;
  }

  // ---- products ----

  Operand product(const TensorNode& t) {
    std::optional<ProductStage> p = product_stage(t);
    if (!p) throw OwnStage();
    has_products_ = true;
    // The factor that is known is the one that is packed.
    if (p->stride.empty() && is_constant(p->x) && !is_constant(p->w)) exchange_factors(*p);
    return p->stride.empty() ? matrices(t, *p) : convolution(t, *p);
  }

  bool is_constant(const BufferNode* b) const { return std::find(known_.begin(), known_.end(), b) != known_.end(); }

  static void exchange_factors(ProductStage& p) {
    std::swap(p.x, p.w);
    std::swap(p.of_x.groups, p.of_w.groups);
    std::swap(p.of_x.channels, p.of_w.channels);
    std::swap(p.of_x.batch, p.of_w.outputs);
    std::swap(p.of_y.batch, p.of_y.outputs);
  }

  // A factor in the type in which a stage multiplies.
  Operand wide(const TensorNode& t, const BufferNode* b) { return l_->cast(tensor(b), t.body->dtype); }

  // A tensor with its dimensions in this order, each list of them one axis.
  Operand arranged(const Operand& x, const std::vector<Extents>& lists) {
    Extents perm, shape;
    for (const Extents& dimensions : lists) {
      shape.push_back(element_count(picked(x.type.shape, dimensions)));
      perm.insert(perm.end(), dimensions.begin(), dimensions.end());
    }
    return l_->reshape(l_->transpose(x, perm), shape);
  }

  // `made` has the output's axes in this order.
  Operand in_order(const TensorNode& t, const Operand& made, const Extents& order) {
    Extents back(order.size());
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return l_->transpose(l_->reshape(made, picked(t.shape, order)), back);
  }

  Operand matrices(const TensorNode& t, const ProductStage& p) {
    const int64_t rows = element_count(picked(t.shape, p.of_y.batch)),
                  columns = element_count(picked(t.shape, p.of_y.outputs));
    if (rows == 1 && columns == 1) throw OwnStage();  // sums of rows
    if (!l_) return {};
    Operand x = arranged(wide(t, p.x), {p.of_x.groups, p.of_x.batch, p.of_x.channels});
    Operand w = arranged(wide(t, p.w), {p.of_w.groups, p.of_w.channels, p.of_w.outputs});
    if (x.type.shape[0] == 1) {
      x = l_->reshape(x, {x.type.shape[1], x.type.shape[2]});
      w = l_->reshape(w, {w.type.shape[1], w.type.shape[2]});
    }
    return in_order(t, l_->matmul(x, w), joined_lists({p.of_y.groups, p.of_y.batch, p.of_y.outputs}));
  }

  Operand convolution(const TensorNode& t, const ProductStage& p) {
    if (!is_constant(p.w) || p.stride.size() > 2) throw OwnStage();
    if (!l_) return {};
    // Zeros around the image are the convolution's own, those of a border that goes around the image alone, too.
    const BufferNode* source = p.x;
    Extents border_before(p.stride.size(), 0);
    const auto border = borders_.find(p.x);
    if (border != borders_.end() && is_of_windows(border->second, p)) {
      source = border->second.x;
      border_before = picked(border->second.before, p.of_x.windows);
    }
    Operand x = wide(t, source);
    const Operand w = wide(t, p.w);
    Window window{{}, p.stride, p.dilation, {}, {}};
    Extents begin(x.rank(), 0), size = x.type.shape;
    for (size_t i = 0; i < p.stride.size(); ++i) {
      const auto d = static_cast<size_t>(p.of_x.windows[i]);
      const int64_t taps = w.type.shape[static_cast<size_t>(p.of_w.windows[i])];
      const int64_t positions = t.shape[static_cast<size_t>(p.of_y.windows[i])];
      const int64_t from = p.begin[i] - border_before[i];
      const int64_t to = from + (positions - 1) * p.stride[i] + (taps - 1) * p.dilation[i] + 1;
      window.kernel.push_back(taps);
      window.before.push_back(std::max<int64_t>(0, -from));
      window.after.push_back(std::max<int64_t>(0, to - x.type.shape[d]));
      begin[d] = std::max<int64_t>(0, from);
      size[d] = std::min(x.type.shape[d], to) - begin[d];
      if (size[d] < 1) throw OwnStage();
    }
    if (size != x.type.shape) x = l_->slice(x, begin, Extents(x.rank(), 1), size);
    const int64_t groups = element_count(picked(x.type.shape, p.of_x.groups));
    std::vector<Extents> image{p.of_x.batch, joined_lists({p.of_x.groups, p.of_x.channels})};
    std::vector<Extents> weights{joined_lists({p.of_w.groups, p.of_w.outputs}), p.of_w.channels};
    Extents shape{element_count(picked(t.shape, p.of_y.batch)),
                  groups * element_count(picked(t.shape, p.of_y.outputs))};
    for (size_t i = 0; i < p.stride.size(); ++i) {
      image.push_back({p.of_x.windows[i]});
      weights.push_back({p.of_w.windows[i]});
    }
    Operand planes = arranged(x, image), taps = arranged(w, weights);
    Extents out = joined_lists({p.of_y.batch, p.of_y.groups, p.of_y.outputs, p.of_y.windows});
    for (const int64_t d : p.of_y.windows) shape.push_back(t.shape[static_cast<size_t>(d)]);
    const bool is_sequence = make_image(&window, Extents(planes.type.shape.begin() + 2, planes.type.shape.end()));
    const Operand made = l_->add("conv2d", attributes_of(window),
                                 {l_->as(planes, image_shape(planes.type.shape, is_sequence)),
                                  l_->as(taps, image_shape(taps.type.shape, is_sequence))},
                                 shape);
    return in_order(t, made, out);
  }

  static bool is_of_windows(const BorderStage& border, const ProductStage& p) {
    for (size_t d = 0; d < border.before.size(); ++d) {
      const bool is_window =
          std::find(p.of_x.windows.begin(), p.of_x.windows.end(), static_cast<int64_t>(d)) != p.of_x.windows.end();
      if (!is_window && border.before[d] + border.after[d] > 0) return false;
    }
    return true;
  }

  Lowering* const l_;
  const TensorNode* stage_ = nullptr;
  std::map<const BufferNode*, Operand> values_;
  std::map<const BufferNode*, BorderStage> borders_;
  std::vector<const BufferNode*> known_;
  std::map<const ExprNode*, Operand> made_;  // of the stage
  std::vector<Operand> out_;
  bool has_products_ = false;
};

}  // namespace

bool have_nodes(const Definition& d, const std::vector<bool>& is_known) try {
  const StageLowering dry(nullptr, d, std::vector<Operand>(is_known.size()), is_known);
  const std::vector<const TensorNode*> stages = stages_of(d);
  const bool has_border =
      std::any_of(stages.begin(), stages.end(), [](const TensorNode* t) { return border_stage(*t).has_value(); });
  return dry.has_products() || !has_border;
} catch (const OwnStage&) {
  return false;
}

std::optional<std::vector<Operand>> as_nodes(Lowering& l, const Definition& d, const std::vector<Operand>& inputs) {
  std::vector<bool> is_known;
  for (const Operand& x : inputs) is_known.push_back(l.data_of(x).has_value());
  if (!have_nodes(d, is_known)) return std::nullopt;
  try {
    // Operands of rank 0 have one axis here.
    std::vector<Operand> given;
    for (size_t i = 0; i < inputs.size(); ++i) given.push_back(l.reshape(inputs[i], d.inputs[i].first->shape));
    std::vector<Operand> out = StageLowering(&l, d, given, is_known).outputs();
    for (size_t o = 0; o < out.size(); ++o)
      if (out[o].type != TensorType{d.outputs[o]->buffer->dtype, d.outputs[o]->shape}) return std::nullopt;
    return out;
  } catch (const UserError&) {  // an operator that does not take a type, or a window; nodes that were added are dead
    return std::nullopt;
  } catch (const OwnStage&) {  // a window that lies in the border
    return std::nullopt;
  }
}

}  // namespace hone::frontend
