#include "compiler/ir/expr.h"

#include <cmath>

namespace hone {
namespace {

bool is_comparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kLe; }
bool is_logical(BinaryOp op) { return op == BinaryOp::kAnd || op == BinaryOp::kOr; }

// Wraps instead of overflowing, as the program does.
int64_t wrapped(BinaryOp op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case BinaryOp::kAdd: return static_cast<int64_t>(x + y);
    case BinaryOp::kSub: return static_cast<int64_t>(x - y);
    default: return static_cast<int64_t>(x * y);
  }
}

std::optional<int64_t> fold(BinaryOp op, int64_t a, int64_t b) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul: return wrapped(op, a, b);
    case BinaryOp::kDiv: return std::nullopt;
    case BinaryOp::kFloorDiv: return b == 0 || b == -1 ? std::nullopt : std::optional(floor_div(a, b));
    case BinaryOp::kFloorMod: return b == 0 || b == -1 ? std::nullopt : std::optional(floor_mod(a, b));
    case BinaryOp::kMin: return std::min(a, b);
    case BinaryOp::kMax: return std::max(a, b);
    case BinaryOp::kEq: return a == b;
    case BinaryOp::kNe: return a != b;
    case BinaryOp::kLt: return a < b;
    case BinaryOp::kLe: return a <= b;
    case BinaryOp::kAnd: return a && b;
    case BinaryOp::kOr: return a || b;
  }
  return std::nullopt;
}

// Identities with one constant side; null when none applies.
Expr fold_identity(BinaryOp op, const Expr& a, const Expr& b) {
  const bool integer = a->dtype.is_integer();
  switch (op) {
    case BinaryOp::kAdd:
      if (integer && is_const(a, 0)) return b;
      if (integer && is_const(b, 0)) return a;
      break;
    case BinaryOp::kSub:
      if (integer && is_const(b, 0)) return a;
      break;
    case BinaryOp::kMul:
      if (!integer) break;
      if (is_const(a, 1)) return b;
      if (is_const(b, 1)) return a;
      if (is_const(a, 0)) return a;
      if (is_const(b, 0)) return b;
      break;
    case BinaryOp::kFloorDiv:
      if (is_const(b, 1)) return a;
      break;
    case BinaryOp::kFloorMod:
      if (is_const(b, 1)) return make_int(0, a->dtype);
      break;
    case BinaryOp::kAnd:
      if (is_const(a, 1)) return b;
      if (is_const(b, 1)) return a;
      if (is_const(a, 0)) return a;
      if (is_const(b, 0)) return b;
      break;
    case BinaryOp::kOr:
      if (is_const(a, 0)) return b;
      if (is_const(b, 0)) return a;
      if (is_const(a, 1)) return a;
      if (is_const(b, 1)) return b;
      break;
    default: break;
  }
  return nullptr;
}

}  // namespace

Load::Load(Buffer b, std::vector<Expr> i)
    : ExprNodeOf(b->dtype.with_lanes(i.empty() ? 1 : i.back()->dtype.lanes)),
      buffer(std::move(b)),
      indices(std::move(i)) {}

Expr make_int(int64_t value, DType t) { return Expr(new IntImm(t, value)); }
Expr make_float(double value, DType t) { return Expr(new FloatImm(t, value)); }
Expr make_bool(bool value) { return Expr(new IntImm(boolean, value)); }

Expr make_const(double value, DType t) {
  const DType scalar = t.scalar();
  Expr e = t.is_float() ? make_float(value, scalar) : make_int(static_cast<int64_t>(value), scalar);
  return t.is_vector() ? Expr(new Broadcast(e, t.lanes)) : e;
}

Buffer make_buffer(std::string name, DType t, std::vector<Expr> shape, BufferScope scope) {
  return Buffer(new BufferNode(std::move(name), t, std::move(shape), scope));
}

Buffer make_buffer(std::string name, DType t, const std::vector<int64_t>& shape, BufferScope scope) {
  std::vector<Expr> extents;
  for (int64_t n : shape) extents.push_back(make_int(n));
  return make_buffer(std::move(name), t, std::move(extents), scope);
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  HONE_ICHECK(a && b) << "null operand of " << symbol_of(op);
  HONE_ICHECK(a->dtype == b->dtype) << "operands of " << symbol_of(op) << " have types " << to_string(a->dtype)
                                    << " and " << to_string(b->dtype);
  const IntImm* ia = as<IntImm>(a);
  const IntImm* ib = as<IntImm>(b);
  const DType result = is_comparison(op) ? boolean.with_lanes(a->dtype.lanes) : a->dtype;
  if (ia && ib && (a->dtype.bits == 64 || is_comparison(op) || is_logical(op)))
    if (const auto value = fold(op, ia->value, ib->value)) return make_int(*value, result);
  if (ia || ib)
    if (Expr e = fold_identity(op, a, b)) return e;
  return Expr(new Binary(op, result, std::move(a), std::move(b)));
}

Expr operator+(Expr a, Expr b) { return binary(BinaryOp::kAdd, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(BinaryOp::kSub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(BinaryOp::kMul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) {
  HONE_ICHECK(a->dtype.is_float()) << "integers divide with floor_div";
  return binary(BinaryOp::kDiv, std::move(a), std::move(b));
}
Expr floor_div(Expr a, Expr b) { return binary(BinaryOp::kFloorDiv, std::move(a), std::move(b)); }
Expr floor_mod(Expr a, Expr b) { return binary(BinaryOp::kFloorMod, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return binary(BinaryOp::kMin, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(BinaryOp::kMax, std::move(a), std::move(b)); }
Expr eq(Expr a, Expr b) { return binary(BinaryOp::kEq, std::move(a), std::move(b)); }
Expr ne(Expr a, Expr b) { return binary(BinaryOp::kNe, std::move(a), std::move(b)); }
Expr lt(Expr a, Expr b) { return binary(BinaryOp::kLt, std::move(a), std::move(b)); }
Expr le(Expr a, Expr b) { return binary(BinaryOp::kLe, std::move(a), std::move(b)); }
Expr ge(Expr a, Expr b) { return binary(BinaryOp::kLe, std::move(b), std::move(a)); }
Expr logical_and(Expr a, Expr b) { return binary(BinaryOp::kAnd, std::move(a), std::move(b)); }
Expr logical_or(Expr a, Expr b) { return binary(BinaryOp::kOr, std::move(a), std::move(b)); }

Expr logical_not(Expr a) {
  if (const IntImm* imm = as<IntImm>(a)) return make_bool(imm->value == 0);
  return Expr(new Not(std::move(a)));
}

Expr select(Expr condition, Expr on_true, Expr on_false) {
  HONE_ICHECK(on_true->dtype == on_false->dtype)
      << "select of " << to_string(on_true->dtype) << " and " << to_string(on_false->dtype);
  const Broadcast* spread = as<Broadcast>(condition);
  if (const auto known = as_const_int(spread ? spread->value : condition)) return *known ? on_true : on_false;
  return Expr(new Select(std::move(condition), std::move(on_true), std::move(on_false)));
}

Expr cast(DType t, Expr value) {
  if (value->dtype == t) return value;
  return Expr(new Cast(t, std::move(value)));
}

Expr load(Buffer buffer, std::vector<Expr> indices) { return Expr(new Load(std::move(buffer), std::move(indices))); }

Expr call(Intrinsic f, std::vector<Expr> args) {
  HONE_ICHECK(static_cast<int>(args.size()) == arity_of(f)) << name_of(f) << " takes " << arity_of(f) << " arguments";
  const DType t = f == Intrinsic::kDot4   ? i32.with_lanes(args[0]->dtype.lanes)
                  : f == Intrinsic::kDot2 ? f32.with_lanes(args[0]->dtype.lanes)
                                          : args[0]->dtype;
  return Expr(new Call(t, f, std::move(args)));
}

std::optional<int64_t> as_const_int(const Expr& e) {
  if (const IntImm* imm = as<IntImm>(e)) return imm->value;
  return std::nullopt;
}

std::string_view symbol_of(BinaryOp op) {
  static constexpr std::string_view kSymbols[] = {"+",   "-",  "*",  "/", "floordiv", "floormod", "min",
                                                  "max", "==", "!=", "<", "<=",       "&&",       "||"};
  return kSymbols[static_cast<int>(op)];
}

std::string_view name_of(Intrinsic f) {
  static constexpr std::string_view kNames[] = {"exp", "log",  "sqrt", "tanh", "abs",  "fma", "dot4",
                                                "erf", "rint", "sin",  "cos",  "atan", "dot2"};
  return kNames[static_cast<int>(f)];
}

std::string_view name_of(BufferScope scope) {
  static constexpr std::string_view kNames[] = {"param", "workspace", "stack", "shared"};
  return kNames[static_cast<int>(scope)];
}

int arity_of(Intrinsic f) {
  return f == Intrinsic::kFma ? 3 : f == Intrinsic::kDot4 ? 8 : f == Intrinsic::kDot2 ? 4 : 1;
}

}  // namespace hone
