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

// Gives the node its name, shape and axes; returns these as indices.
std::vector<Expr> begin_stage(TensorNode* node, const std::string& name, const std::vector<int64_t>& shape,
                              const std::vector<std::string>& names) {
  HONE_USER_CHECK(names.size() == shape.size())
      << "compute '" << name << "': " << names.size() << " axis names for " << shape.size() << " dimensions";
  node->name = name;
  node->shape = shape;
  std::vector<Expr> indices;
  for (size_t i = 0; i < shape.size(); ++i) {
    HONE_USER_CHECK(shape[i] >= 1) << "compute '" << name << "': extent " << shape[i] << " of axis '" << names[i]
                                   << "' must be at least 1";
    node->axes.push_back({Var(names[i]), shape[i]});
    indices.push_back(node->axes.back());
  }
  return indices;
}

Tensor make_stage(const std::string& name, const std::vector<int64_t>& shape, const std::vector<std::string>& names,
                  const std::vector<Tensor>& reads, bool is_inlined,
                  const std::function<Reduction(const std::vector<Expr>&)>& body) {
  auto* node = new TensorNode;
  const Ref<const TensorNode> owner(node);
  const std::vector<Expr> indices = begin_stage(node, name, shape, names);
  node->is_inlined = is_inlined;
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

TensorNode* copied_node(const TensorNode& t) {
  auto* node = new TensorNode;
  node->name = t.name;
  node->buffer = t.buffer;
  node->shape = t.shape;
  node->caller_shape = t.caller_shape;
  node->axes = t.axes;
  node->reduce_axes = t.reduce_axes;
  node->reduce = t.reduce;
  node->body = t.body;
  node->inputs = t.inputs;
  node->scan_axis = t.scan_axis;
  node->compares_bits = t.compares_bits;
  node->written_extents = t.written_extents;
  node->is_open = t.is_open;
  node->is_inlined = t.is_inlined;
  return node;
}

Tensor comparing_bits(const Tensor& t) {
  TensorNode* node = copied_node(*t.node());
  node->compares_bits = true;
  return Tensor(Ref<const TensorNode>(node));
}

Tensor scan(const std::string& name, const std::vector<int64_t>& shape, const std::vector<std::string>& names,
            size_t axis, const std::vector<Tensor>& reads, const std::function<Expr(const std::vector<Expr>&)>& first,
            const std::function<Expr(const Expr& previous, const std::vector<Expr>&)>& next) {
  auto* node = new TensorNode;
  const Ref<const TensorNode> owner(node);
  const std::vector<Expr> indices = begin_stage(node, name, shape, names);
  HONE_USER_CHECK(axis < shape.size()) << "scan '" << name << "': there is no axis " << axis;
  node->scan_axis = axis;
  std::vector<Expr> at_first = indices, before = indices;
  at_first[axis] = make_int(0);
  before[axis] = indices[axis] - make_int(1);
  const Expr start = first(at_first);
  HONE_USER_CHECK(!start->dtype.is_bool()) << "scan '" << name << "': a scan of bools";
  node->buffer = make_buffer(name, start->dtype, shape, BufferScope::kWorkspace);
  node->body = next(select(ge(indices[axis], make_int(1)), load(node->buffer, before), start), indices);
  HONE_USER_CHECK(node->body->dtype == start->dtype)
      << "scan '" << name << "': its first value is " << to_string(start->dtype) << ", the next ones are "
      << to_string(node->body->dtype);
  for (const Tensor& t : reads) node->inputs.push_back(t.node());
  return Tensor(owner);
}

const Select* previous_of(const TensorNode& scan, const Expr& e) {
  const auto* chosen = as<Select>(e);
  const auto* before = chosen ? as<Load>(chosen->on_true) : nullptr;
  return before && before->buffer.same_as(scan.buffer) ? chosen : nullptr;
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
