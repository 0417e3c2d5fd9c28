#include <limits>

#include "compiler/te/tensor.h"

namespace hone {

Expr Tensor::at(std::vector<Expr> indices) const {
  HONE_USER_CHECK(indices.size() == node_->shape.size())
      << "tensor '" << node_->name << "' has " << node_->shape.size() << " dimensions, not " << indices.size();
  return load(node_->buffer, std::move(indices));
}

Tensor placeholder(const std::string& name, const std::vector<int64_t>& shape, DType dtype) {
  auto* node = new TensorNode;
  node->name = name;
  node->shape = shape;
  node->buffer = make_buffer(name, dtype, shape, BufferScope::kParam);
  return Tensor(Ref<const TensorNode>(node));
}

Axis reduce_axis(const std::string& name, int64_t extent) { return {Var(name), extent}; }
Reduction sum(Expr value, std::vector<Axis> axes) { return {ReduceKind::kSum, std::move(value), std::move(axes)}; }
Reduction max_over(Expr value, std::vector<Axis> axes) { return {ReduceKind::kMax, std::move(value), std::move(axes)}; }
Reduction min_over(Expr value, std::vector<Axis> axes) { return {ReduceKind::kMin, std::move(value), std::move(axes)}; }

namespace {

Tensor make_stage(const std::string& name, const std::vector<int64_t>& shape, const std::vector<std::string>& names,
                  const std::vector<Tensor>& reads, bool is_inlined,
                  const std::function<Reduction(const std::vector<Expr>&)>& body) {
  HONE_USER_CHECK(names.size() == shape.size())
      << "compute '" << name << "': " << names.size() << " axis names for " << shape.size() << " dimensions";
  auto* node = new TensorNode;
  const Ref<const TensorNode> owner(node);
  node->name = name;
  node->shape = shape;
  node->is_inlined = is_inlined;
  std::vector<Expr> indices;
  for (size_t i = 0; i < shape.size(); ++i) {
    HONE_USER_CHECK(shape[i] >= 1) << "compute '" << name << "': extent " << shape[i] << " of axis '" << names[i]
                                   << "' must be at least 1";
    node->axes.push_back({Var(names[i]), shape[i]});
    indices.push_back(node->axes.back());
  }
  Reduction r = body(indices);
  node->reduce = r.kind;
  node->reduce_axes = std::move(r.axes);
  node->body = std::move(r.value);
  node->buffer = make_buffer(name, node->body->dtype, shape, BufferScope::kWorkspace);
  for (const Tensor& t : reads) node->inputs.push_back(t.node());
  return Tensor(owner);
}

}  // namespace

Tensor compute_reduce(const std::string& name, const std::vector<int64_t>& shape, const std::vector<std::string>& names,
                      const std::vector<Tensor>& reads,
                      const std::function<Reduction(const std::vector<Expr>&)>& body) {
  return make_stage(name, shape, names, reads, /*is_inlined=*/false, body);
}

Tensor compute(const std::string& name, const std::vector<int64_t>& shape, const std::vector<std::string>& names,
               const std::vector<Tensor>& reads, const std::function<Expr(const std::vector<Expr>&)>& body) {
  return make_stage(name, shape, names, reads, /*is_inlined=*/false, [&](const std::vector<Expr>& i) {
    return Reduction{ReduceKind::kNone, body(i), {}};
  });
}

Tensor compute_inlined(const std::string& name, const std::vector<int64_t>& shape,
                       const std::vector<std::string>& names, const std::vector<Tensor>& reads,
                       const std::function<Expr(const std::vector<Expr>&)>& body) {
  return make_stage(name, shape, names, reads, /*is_inlined=*/true, [&](const std::vector<Expr>& i) {
    return Reduction{ReduceKind::kNone, body(i), {}};
  });
}

Expr reduce_identity(ReduceKind kind, DType t) {
  if (kind == ReduceKind::kSum || kind == ReduceKind::kNone) return make_const(0, t);
  const bool is_max = kind == ReduceKind::kMax;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (t.is_float()) return make_float(is_max ? -kInfinity : kInfinity, t);
  const bool is_signed = t.code == TypeCode::kInt;
  if (is_max) return make_int(!is_signed ? 0 : t.bits == 64 ? INT64_MIN : -(int64_t{1} << (t.bits - 1)), t);
  // The highest u64 is all ones, which as a constant is -1.
  if (t.bits == 64) return make_int(is_signed ? INT64_MAX : -1, t);
  return make_int((int64_t{1} << (is_signed ? t.bits - 1 : t.bits)) - 1, t);
}

Expr reduce_combine(ReduceKind kind, Expr old, Expr value) {
  switch (kind) {
    case ReduceKind::kMax: return max(std::move(old), std::move(value));
    case ReduceKind::kMin: return min(std::move(old), std::move(value));
    default: return std::move(old) + std::move(value);
  }
}

}  // namespace hone
