#include "compiler/frontend/lowering/operators/stage_shape.h"

#include <algorithm>
#include <map>
#include <set>

namespace hone::frontend {
namespace {

// sum of factor * axis, plus `plus`.
struct AffineIndex {
  std::map<const VarNode*, int64_t> factors;
  int64_t plus = 0;
};

constexpr int64_t kMostOfIndex = int64_t{1} << 31;

std::optional<AffineIndex> affine(const Expr& e) {
  AffineIndex out;
  if (const auto number = as_const_int(e)) {
    out.plus = *number;
    return std::abs(out.plus) <= kMostOfIndex ? std::optional(out) : std::nullopt;
  }
  if (const auto* v = as<VarNode>(e)) {
    out.factors[v] = 1;
    return out;
  }
  const auto* b = as<Binary>(e);
  if (!b || (b->op != BinaryOp::kAdd && b->op != BinaryOp::kSub && b->op != BinaryOp::kMul)) return std::nullopt;
  const auto x = affine(b->a), y = affine(b->b);
  if (!x || !y) return std::nullopt;
  if (b->op == BinaryOp::kMul) {
    if (!x->factors.empty() && !y->factors.empty()) return std::nullopt;
    const AffineIndex &number = x->factors.empty() ? *x : *y, &other = x->factors.empty() ? *y : *x;
    for (const auto& [v, f] : other.factors) out.factors[v] = f * number.plus;
    out.plus = other.plus * number.plus;
  } else {
    const int64_t sign = b->op == BinaryOp::kSub ? -1 : 1;
    out = *x;
    for (const auto& [v, f] : y->factors) out.factors[v] += sign * f;
    out.plus += sign * y->plus;
  }
  std::erase_if(out.factors, [](const auto& f) { return f.second == 0; });
  const bool is_small = std::abs(out.plus) <= kMostOfIndex &&
                        std::all_of(out.factors.begin(), out.factors.end(),
                                    [](const auto& f) { return std::abs(f.second) <= kMostOfIndex; });
  return is_small ? std::optional(out) : std::nullopt;
}

// The position of a variable among axes; their number where it is none of them.
size_t position(const std::vector<Axis>& axes, const VarNode* v) {
  return static_cast<size_t>(std::find_if(axes.begin(), axes.end(), [v](const Axis& a) { return a.var.get() == v; }) -
                             axes.begin());
}

int64_t extent_of(const BufferNode& b, size_t dimension) { return as_const_int(b.shape[dimension]).value_or(-1); }

// Narrows the bounds of axes by a conjunction of comparisons of an axis and a number; false where it is something else.
bool narrow(const Expr& condition, const std::vector<Axis>& axes, Extents* least, Extents* end) {
  const auto* b = as<Binary>(condition);
  if (!b) return false;
  if (b->op == BinaryOp::kAnd) return narrow(b->a, axes, least, end) && narrow(b->b, axes, least, end);
  if (b->op != BinaryOp::kLt && b->op != BinaryOp::kLe) return false;
  const auto x = affine(b->a), y = affine(b->b);
  if (!x || !y || x->factors.size() + y->factors.size() != 1) return false;
  const AffineIndex& of_axis = x->factors.empty() ? *y : *x;
  const auto [v, factor] = *of_axis.factors.begin();
  const size_t at = position(axes, v);
  if (factor != 1 || at == axes.size()) return false;
  // a + p < n, or n < a + p; with <= one further.
  const int64_t more = b->op == BinaryOp::kLe ? 1 : 0;
  if (x->factors.empty())
    (*least)[at] = std::max((*least)[at], x->plus - y->plus + 1 - more);
  else
    (*end)[at] = std::min((*end)[at], y->plus - x->plus + more);
  return true;
}

}  // namespace

std::optional<BorderStage> border_stage(const TensorNode& t) {
  const auto* s = as<Select>(t.body);
  const auto* load = s ? as<Load>(s->on_true) : nullptr;
  const auto* zero = s ? as<FloatImm>(s->on_false) : nullptr;
  const bool is_zero = (zero && zero->value == 0) || (s && is_const(s->on_false, 0));
  if (t.reduce != ReduceKind::kNone || !load || !is_zero || load->indices.size() != t.axes.size()) return std::nullopt;
  Extents least(t.axes.size(), 0), end = t.shape;
  if (!narrow(s->condition, t.axes, &least, &end)) return std::nullopt;
  BorderStage out{load->buffer.get(), {}, {}};
  for (size_t d = 0; d < t.axes.size(); ++d) {
    const auto index = affine(load->indices[d]);
    const bool is_axis = index && index->factors.size() == 1 && index->factors.begin()->first == t.axes[d].var.get() &&
                         index->factors.begin()->second == 1;
    if (!is_axis) return std::nullopt;
    out.before.push_back(-index->plus);
    out.after.push_back(t.shape[d] - extent_of(*load->buffer, d) + index->plus);
    // The condition says where the tensor is, no more and no less.
    if (out.before[d] < 0 || out.after[d] < 0 || least[d] != out.before[d] || end[d] != t.shape[d] - out.after[d])
      return std::nullopt;
  }
  return out;
}

namespace {

// Adds the sums that a conjunction of comparisons says are 0 at least. False where it is something else.
bool add_bounds(const Expr& condition, std::vector<AffineIndex>* at_least_0) {
  const auto* b = as<Binary>(condition);
  if (!b) return false;
  if (b->op == BinaryOp::kAnd) return add_bounds(b->a, at_least_0) && add_bounds(b->b, at_least_0);
  if (b->op != BinaryOp::kLt && b->op != BinaryOp::kLe) return false;
  auto room = affine(b->b - b->a);
  if (!room) return false;
  room->plus -= b->op == BinaryOp::kLt ? 1 : 0;
  at_least_0->push_back(*std::move(room));
  return true;
}

class ProductMatcher {
 public:
  // `inside`: what must hold where x is read, else 0 is; null: it is read everywhere.
  ProductMatcher(const TensorNode& t, const Load& x, const Load& w, Expr inside)
      : t_(t), x_(x), w_(w), inside_(std::move(inside)) {}

  std::optional<ProductStage> match() {
    out_.x = x_.buffer.get();
    out_.w = w_.buffer.get();
    // Each index of w is an axis, each another one.
    std::map<const VarNode*, int64_t> dimension_of_w;
    for (size_t d = 0; d < w_.indices.size(); ++d) {
      const auto* v = as<VarNode>(w_.indices[d]);
      if (!v || !dimension_of_w.emplace(v, static_cast<int64_t>(d)).second) return std::nullopt;
      if (!is_whole(v, extent_of(*w_.buffer, d))) return std::nullopt;
    }
    std::set<const VarNode*> used;
    for (size_t d = 0; d < x_.indices.size(); ++d) {
      const auto index = affine(x_.indices[d]);
      if (!index || (index->plus < 0 && !inside_)) return std::nullopt;
      for (const auto& [v, factor] : index->factors)
        if (factor < 1 || !used.insert(v).second) return std::nullopt;
      if (!of_x(static_cast<int64_t>(d), *index, dimension_of_w)) return std::nullopt;
    }
    for (const auto& [v, d] : dimension_of_w) {
      if (used.contains(v)) continue;
      const size_t at = position(t_.axes, v);
      if (at == t_.axes.size()) return std::nullopt;  // summed in w alone
      out_.of_w.outputs.push_back(d);
      out_.of_y.outputs.push_back(static_cast<int64_t>(at));
    }
    const auto& y = out_.of_y;
    const size_t axes = y.groups.size() + y.batch.size() + y.outputs.size() + y.windows.size();
    const size_t reduced = out_.of_w.channels.size() + out_.of_w.windows.size();
    if (axes != t_.axes.size() || reduced != t_.reduce_axes.size() || !is_read_inside()) return std::nullopt;
    return out_;
  }

 private:
  // Whether `inside` says of windows where x is, no more and no less: each of its bounds is that of a dimension.
  bool is_read_inside() const {
    if (!inside_) return true;
    std::vector<AffineIndex> bounds;
    if (!add_bounds(inside_, &bounds)) return false;
    return std::all_of(bounds.begin(), bounds.end(), [&](const AffineIndex& bound) {
      return std::any_of(out_.of_x.windows.begin(), out_.of_x.windows.end(), [&](int64_t d) {
        const AffineIndex index = *affine(x_.indices[static_cast<size_t>(d)]);
        AffineIndex room = index;  // extent - 1 - index
        for (auto& [v, factor] : room.factors) factor = -factor;
        room.plus = extent_of(*x_.buffer, static_cast<size_t>(d)) - 1 - index.plus;
        const auto is = [&](const AffineIndex& other) {
          return bound.factors == other.factors && bound.plus == other.plus;
        };
        return is(index) || is(room);
      });
    });
  }

  // Whether the axis goes through all of such a dimension.
  bool is_whole(const VarNode* v, int64_t extent) const {
    for (const auto* axes : {&t_.axes, &t_.reduce_axes})
      if (const size_t at = position(*axes, v); at < axes->size()) return (*axes)[at].extent == extent;
    return false;
  }

  bool of_x(int64_t d, const AffineIndex& index, const std::map<const VarNode*, int64_t>& of_w) {
    const VarNode *out = nullptr, *reduced = nullptr;
    for (const auto& [v, factor] : index.factors) {
      const bool is_out = position(t_.axes, v) < t_.axes.size();
      if ((is_out ? out : reduced) != nullptr) return false;
      (is_out ? out : reduced) = v;
    }
    const bool is_plain = index.factors.size() == 1 && index.plus == 0 && index.factors.begin()->second == 1 &&
                          is_whole(index.factors.begin()->first, extent_of(*x_.buffer, static_cast<size_t>(d)));
    const auto y = [&] { return static_cast<int64_t>(position(t_.axes, out)); };
    if (is_plain && out) {
      const auto shared = of_w.find(out);
      auto& kind = shared == of_w.end() ? out_.of_x.batch : out_.of_x.groups;
      (shared == of_w.end() ? out_.of_y.batch : out_.of_y.groups).push_back(y());
      kind.push_back(d);
      if (shared != of_w.end()) out_.of_w.groups.push_back(shared->second);
      return true;
    }
    if (is_plain) {
      const auto shared = of_w.find(reduced);
      if (shared == of_w.end()) return false;  // summed in x alone
      out_.of_x.channels.push_back(d);
      out_.of_w.channels.push_back(shared->second);
      return true;
    }
    if (!out || !reduced || of_w.contains(out) || !of_w.contains(reduced)) return false;
    out_.of_x.windows.push_back(d);
    out_.of_w.windows.push_back(of_w.at(reduced));
    out_.of_y.windows.push_back(y());
    out_.stride.push_back(index.factors.at(out));
    out_.dilation.push_back(index.factors.at(reduced));
    out_.begin.push_back(index.plus);
    return true;
  }

  const TensorNode& t_;
  const Load &x_, &w_;
  const Expr inside_;
  ProductStage out_;
};

}  // namespace

std::optional<ProductStage> product_stage(const TensorNode& t) {
  if (t.reduce != ReduceKind::kSum || !(t.body->dtype == f32 || t.body->dtype == f64)) return std::nullopt;
  // a * b, or that where it is inside, or with one of them where it is inside; 0 elsewhere.
  const auto guarded = [](const Expr& e) -> std::pair<Expr, Expr> {
    const auto* s = as<Select>(e);
    const auto* zero = s ? as<FloatImm>(s->on_false) : nullptr;
    return zero && zero->value == 0 ? std::pair(s->on_true, s->condition) : std::pair(e, Expr());
  };
  // Numbers of 16 bits may be multiplied in a wider type.
  const auto element = [](const Expr& e) {
    const auto* wide = as<Cast>(e);
    return as<Load>(wide && wide->value->dtype.is_narrow_float() ? wide->value : e);
  };
  const auto [body, inside] = guarded(t.body);
  const auto* product = as<Binary>(body);
  if (!product || product->op != BinaryOp::kMul) return std::nullopt;
  for (const auto& [x, w] : {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
    const auto [from, own] = guarded(x);
    const auto *a = element(from), *b = element(w);
    if (!a || !b || (own && inside)) continue;
    if (auto found = ProductMatcher(t, *a, *b, own ? own : inside).match()) return found;
  }
  return std::nullopt;
}

}  // namespace hone::frontend
