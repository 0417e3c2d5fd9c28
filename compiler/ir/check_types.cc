#include "compiler/ir/check_types.h"

#include <fmt/format.h>

namespace hone {
namespace {

using Error = std::optional<std::string>;

Error int_error(const IntImm* op) {
  const DType t = op->dtype;
  if (t.is_float() || t.is_vector()) return fmt::format("an integer constant has type {}", to_string(t));
  if (t.is_bool() && op->value != 0 && op->value != 1) return fmt::format("a bool constant is {}", op->value);
  // An unsigned 64-bit constant is its bit pattern; narrower ones are values.
  if (t.bits < 64 && !t.is_bool()) {
    const bool is_signed = t.code == TypeCode::kInt;
    const int64_t lo = is_signed ? -(int64_t{1} << (t.bits - 1)) : 0,
                  hi = (int64_t{1} << (is_signed ? t.bits - 1 : t.bits)) - 1;
    if (op->value < lo || op->value > hi) return fmt::format("constant {} does not fit {}", op->value, to_string(t));
  }
  return std::nullopt;
}

Error binary_error(const Binary* op) {
  const DType t = op->a->dtype;
  if (op->b->dtype != t)
    return fmt::format("the operands of {} have types {} and {}", symbol_of(op->op), to_string(t),
                       to_string(op->b->dtype));
  const bool comparison = op->op >= BinaryOp::kEq && op->op <= BinaryOp::kLe;
  const DType result = comparison ? boolean.with_lanes(t.lanes) : t;
  if (op->dtype != result)
    return fmt::format("{} of {} has type {}", symbol_of(op->op), to_string(t), to_string(op->dtype));
  bool allowed = !t.is_bool();
  switch (op->op) {
    case BinaryOp::kDiv: allowed = t.is_float(); break;
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: allowed = t.is_integer(); break;
    case BinaryOp::kAnd:
    case BinaryOp::kOr: allowed = t.is_bool(); break;
    default: break;
  }
  if (!allowed) return fmt::format("{} does not take {}", symbol_of(op->op), to_string(t));
  if ((op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod) && is_const(op->b, 0))
    return fmt::format("{} by zero", symbol_of(op->op));
  return std::nullopt;
}

Error select_error(const Select* op) {
  const DType c = op->condition->dtype, t = op->on_true->dtype;
  if (!c.is_bool() || (c.is_vector() && c.lanes != t.lanes))
    return fmt::format("the condition of a select of {} has type {}", to_string(t), to_string(c));
  if (op->on_false->dtype != t || op->dtype != t)
    return fmt::format("a select of {} and {} has type {}", to_string(t), to_string(op->on_false->dtype),
                       to_string(op->dtype));
  return std::nullopt;
}

Error access_error(const BufferNode& b, const std::vector<Expr>& indices) {
  if (indices.size() != b.shape.size() && indices.size() != 1)
    return fmt::format("buffer '{}' of {} dimensions is accessed with {} indices", b.name, b.shape.size(),
                       indices.size());
  for (const Expr& i : indices) {
    if (i->dtype.scalar() != kIndex)
      return fmt::format("an index of buffer '{}' has type {}, not {}", b.name, to_string(i->dtype), to_string(kIndex));
    if (i->dtype.is_vector() && i->dtype.lanes != indices.back()->dtype.lanes)
      return fmt::format("the indices of buffer '{}' differ in lanes", b.name);
  }
  return std::nullopt;
}

Error call_error(const Call* op) {
  if (static_cast<int>(op->args.size()) != arity_of(op->function))
    return fmt::format("{} takes {} arguments, not {}", name_of(op->function), arity_of(op->function), op->args.size());
  const DType t = op->dtype;
  if (is_dot(op->function)) {
    const bool of_bytes = op->function == Intrinsic::kDot4;
    if (t.scalar() != (of_bytes ? i32 : f32)) return fmt::format("{} has type {}", name_of(op->function), to_string(t));
    for (size_t i = 0; i < op->args.size(); ++i)
      if (const DType a = op->args[i]->dtype; a != (of_bytes ? i < 4 ? u8 : i8 : bf16).with_lanes(t.lanes))
        return fmt::format("argument {} of {} has type {}", i, name_of(op->function), to_string(a));
    return std::nullopt;
  }
  if (!t.is_float() && !(op->function == Intrinsic::kAbs && t.is_integer()))
    return fmt::format("{} does not take {}", name_of(op->function), to_string(t));
  for (const Expr& a : op->args)
    if (a->dtype != t)
      return fmt::format("{} of {} has type {}", name_of(op->function), to_string(a->dtype), to_string(t));
  return std::nullopt;
}

bool is_index(const Expr& e) { return e->dtype == kIndex; }

}  // namespace

bool is_valid(DType t) {
  if (t.lanes < 1 || t.lanes > kMaxLanes) return false;
  switch (t.code) {
    case TypeCode::kInt:
    case TypeCode::kUInt: return t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
    case TypeCode::kFloat: return t.bits == 16 || t.bits == 32 || t.bits == 64;
    case TypeCode::kBool: return t.bits == 1;
    case TypeCode::kBFloat: return t.bits == 16;
  }
  return false;
}

Error type_error(const Expr& e) {
  if (!is_valid(e->dtype)) return "a type does not exist";
  switch (e->kind) {
    case ExprKind::kIntImm: return int_error(as<IntImm>(e));
    case ExprKind::kFloatImm:
      if (!e->dtype.is_float() || e->dtype.is_vector())
        return fmt::format("a float constant has type {}", to_string(e->dtype));
      return std::nullopt;
    case ExprKind::kVar:
      if (!is_index(e))
        return fmt::format("variable '{}' has type {}, not {}", as<VarNode>(e)->name, to_string(e->dtype),
                           to_string(kIndex));
      return std::nullopt;
    case ExprKind::kCast:
      if (as<Cast>(e)->value->dtype.lanes != e->dtype.lanes) return "a cast changes the number of lanes";
      return std::nullopt;
    case ExprKind::kBinary: return binary_error(as<Binary>(e));
    case ExprKind::kNot:
      if (!e->dtype.is_bool() || as<Not>(e)->value->dtype != e->dtype)
        return fmt::format("! does not take {}", to_string(as<Not>(e)->value->dtype));
      return std::nullopt;
    case ExprKind::kSelect: return select_error(as<Select>(e));
    case ExprKind::kLoad: {
      const Load* op = as<Load>(e);
      if (auto error = access_error(*op->buffer, op->indices)) return error;
      const int lanes = op->indices.empty() ? 1 : op->indices.back()->dtype.lanes;
      if (e->dtype != op->buffer->dtype.with_lanes(lanes))
        return fmt::format("a load of buffer '{}' has type {}", op->buffer->name, to_string(e->dtype));
      return std::nullopt;
    }
    case ExprKind::kRamp: {
      const Ramp* op = as<Ramp>(e);
      if (!is_index(op->base) || !is_index(op->stride) || !e->dtype.is_vector() || e->dtype.scalar() != kIndex)
        return "a ramp is not made of scalar indices";
      return std::nullopt;
    }
    case ExprKind::kBroadcast: {
      const DType t = as<Broadcast>(e)->value->dtype;
      if (t.is_vector() || !e->dtype.is_vector() || e->dtype.scalar() != t)
        return fmt::format("a broadcast of {} has type {}", to_string(t), to_string(e->dtype));
      return std::nullopt;
    }
    case ExprKind::kCall: return call_error(as<Call>(e));
  }
  return "an expression of unknown kind";
}

Error type_error(const Stmt& s) {
  switch (s->kind) {
    case StmtKind::kFor: {
      const For* op = as<For>(s);
      if (!is_index(op->var) || !is_index(op->min) || !is_index(op->extent))
        return fmt::format("loop '{}' does not run over indices", op->var->name);
      return std::nullopt;
    }
    case StmtKind::kStore: {
      const Store* op = as<Store>(s);
      if (auto error = access_error(*op->buffer, op->indices)) return error;
      const int lanes = op->indices.empty() ? 1 : op->indices.back()->dtype.lanes;
      if (op->value->dtype != op->buffer->dtype.with_lanes(lanes))
        return fmt::format("a value of type {} is stored to {} elements of buffer '{}' of {}",
                           to_string(op->value->dtype), lanes, op->buffer->name, to_string(op->buffer->dtype));
      if (op->mask && op->mask->dtype != boolean.with_lanes(lanes))
        return fmt::format("the mask of a store to buffer '{}' has type {}", op->buffer->name,
                           to_string(op->mask->dtype));
      return std::nullopt;
    }
    case StmtKind::kIf:
      if (as<If>(s)->condition->dtype != boolean)
        return fmt::format("the condition of an if has type {}", to_string(as<If>(s)->condition->dtype));
      return std::nullopt;
    case StmtKind::kPrefetch: {
      const Prefetch* op = as<Prefetch>(s);
      for (const Expr& i : op->indices)
        if (i->dtype.is_vector())
          return fmt::format("a prefetch of buffer '{}' has a vector for an index", op->buffer->name);
      return access_error(*op->buffer, op->indices);
    }
    case StmtKind::kSeq:
    case StmtKind::kAllocate:
    case StmtKind::kBarrier: return std::nullopt;
  }
  return "a statement of unknown kind";
}

Error type_error(const BufferNode& b) {
  if (!is_valid(b.dtype) || b.dtype.is_vector()) return fmt::format("buffer '{}' has no scalar type", b.name);
  for (const Expr& n : b.shape)
    if (!is_index(n)) return fmt::format("an extent of buffer '{}' has type {}", b.name, to_string(n->dtype));
  return std::nullopt;
}

}  // namespace hone
