// Expressions of the tensor IR: immutable, reference-counted nodes. Variables and buffers are equal by identity.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/node_pool.h"
#include "base/ref.h"
#include "compiler/ir/dtype.h"

namespace hone {

enum class ExprKind : uint8_t {
  kIntImm,
  kFloatImm,
  kVar,
  kCast,
  kBinary,
  kNot,
  kSelect,
  kLoad,
  kRamp,
  kBroadcast,
  kCall
};

/// Binary operators. Comparisons give bool; kGt and kGe are written as kLt and kLe with swapped operands. kDiv is the
/// division of floats; integers use floor division and floor modulus (the result of kFloorMod has the divisor's sign).
/// kMin and kMax of floats are NaN where an operand is (nan.h; Module::assume_finite); of 0 and -0 either one.
enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  kEq,
  kNe,
  kLt,
  kLe,
  kAnd,
  kOr
};

/// The closed list of functions that a kernel may call. kDot4(a0 … a3, b0 … b3) is the s32 sum of the products at * bt,
/// of u8 and s8; each lane by itself, like everything else. kRint: to the nearest whole number, halves to the even one.
/// kDot2(a0, a1, b0, b1) is the f32 sum of the products at * bt, of bf16; numbers below the normal ones may count as 0.
enum class Intrinsic : uint8_t { kExp, kLog, kSqrt, kTanh, kAbs, kFma, kDot4, kErf, kRint, kSin, kCos, kAtan, kDot2 };
inline constexpr int kIntrinsicCount = 13;

/// Whether it sums products of neighbours in memory: the first half of its arguments times the second one.
constexpr bool is_dot(Intrinsic f) { return f == Intrinsic::kDot4 || f == Intrinsic::kDot2; }

/// Whether it is a function of analysis that no processor has: a polynomial in machine code, a library's elsewhere.
constexpr bool is_transcendental(Intrinsic f) {
  return f == Intrinsic::kExp || f == Intrinsic::kLog || f == Intrinsic::kTanh || f == Intrinsic::kErf ||
         f == Intrinsic::kSin || f == Intrinsic::kCos || f == Intrinsic::kAtan;
}

/// Where a buffer lives. kParam: a tensor that the caller passes. kWorkspace: the module's workspace. kStack: the
/// kernel's frame; its accesses become registers when their indices are constant. kShared: memory of a GPU's block,
/// seen by all of its threads.
enum class BufferScope : uint8_t { kParam, kWorkspace, kStack, kShared };

struct ExprNode;
/// An expression; null by default. Copying shares the node.
using Expr = Ref<const ExprNode>;

struct ExprNode : RefCounted, Pooled {
  const ExprKind kind;
  const DType dtype;
  virtual ~ExprNode() = default;

 protected:
  ExprNode(ExprKind k, DType t) : kind(k), dtype(t) {}
};

template <ExprKind K>
struct ExprNodeOf : ExprNode {
  static constexpr ExprKind kKind = K;

 protected:
  explicit ExprNodeOf(DType t) : ExprNode(K, t) {}
};

/// The node as a `T` when it is one, else null.
template <class T>
const T* as(const Expr& e) {
  return e && e->kind == T::kKind ? static_cast<const T*>(e.get()) : nullptr;
}

struct IntImm final : ExprNodeOf<ExprKind::kIntImm> {
  const int64_t value;
  IntImm(DType t, int64_t v) : ExprNodeOf(t), value(v) {}
};

struct FloatImm final : ExprNodeOf<ExprKind::kFloatImm> {
  const double value;
  FloatImm(DType t, double v) : ExprNodeOf(t), value(v) {}
};

struct VarNode final : ExprNodeOf<ExprKind::kVar> {
  const std::string name;  ///< for printing only
  VarNode(std::string n, DType t) : ExprNodeOf(t), name(std::move(n)) {}
};

/// A variable: an Expr that is known to be a VarNode.
class Var {
 public:
  Var() = default;
  explicit Var(std::string name, DType t = kIndex) : node_(new VarNode(std::move(name), t)) {}
  explicit Var(const VarNode* node) : node_(node) {}
  operator Expr() const { return Expr(node_); }  // NOLINT(google-explicit-constructor): a Var is an Expr
  const VarNode* get() const { return node_.get(); }
  const VarNode* operator->() const { return node_.get(); }
  explicit operator bool() const { return static_cast<bool>(node_); }
  bool same_as(const Var& other) const { return node_.same_as(other.node_); }
  bool operator==(const Var& other) const { return same_as(other); }

 private:
  Ref<const VarNode> node_;
};

struct BufferNode;
/// A typed, named, shaped piece of memory; equal by identity.
using Buffer = Ref<const BufferNode>;

struct BufferNode final : RefCounted, Pooled {
  const std::string name;
  const DType dtype;              ///< scalar
  const std::vector<Expr> shape;  ///< row-major; in loop form one extent: the number of elements
  const BufferScope scope;
  BufferNode(std::string n, DType t, std::vector<Expr> s, BufferScope sc)
      : name(std::move(n)), dtype(t), shape(std::move(s)), scope(sc) {}
};

/// Conversion between types; of a vector lane by lane. Float to integer truncates; numbers that do not fit become the
/// nearest value of the type, NaN becomes 0.
struct Cast final : ExprNodeOf<ExprKind::kCast> {
  const Expr value;
  Cast(DType t, Expr v) : ExprNodeOf(t), value(std::move(v)) {}
};

struct Binary final : ExprNodeOf<ExprKind::kBinary> {
  const BinaryOp op;
  const Expr a, b;
  Binary(BinaryOp o, DType t, Expr x, Expr y) : ExprNodeOf(t), op(o), a(std::move(x)), b(std::move(y)) {}
};

struct Not final : ExprNodeOf<ExprKind::kNot> {
  const Expr value;
  explicit Not(Expr v) : ExprNodeOf(v->dtype), value(std::move(v)) {}
};

/// `condition ? on_true : on_false`. Only the chosen side's loads are performed: an access that is out of bounds on the
/// other side is not a fault.
struct Select final : ExprNodeOf<ExprKind::kSelect> {
  const Expr condition, on_true, on_false;
  Select(Expr c, Expr t, Expr f)
      : ExprNodeOf(t->dtype), condition(std::move(c)), on_true(std::move(t)), on_false(std::move(f)) {}
};

/// An element of a buffer; in loop form with one flat index. With a Ramp index, a vector of elements.
struct Load final : ExprNodeOf<ExprKind::kLoad> {
  const Buffer buffer;
  const std::vector<Expr> indices;
  Load(Buffer b, std::vector<Expr> i);
};

/// base, base + stride, … (lanes of them).
struct Ramp final : ExprNodeOf<ExprKind::kRamp> {
  const Expr base, stride;
  Ramp(Expr b, Expr s, int lanes) : ExprNodeOf(b->dtype.with_lanes(lanes)), base(std::move(b)), stride(std::move(s)) {}
};

struct Broadcast final : ExprNodeOf<ExprKind::kBroadcast> {
  const Expr value;
  Broadcast(Expr v, int lanes) : ExprNodeOf(v->dtype.with_lanes(lanes)), value(std::move(v)) {}
};

struct Call final : ExprNodeOf<ExprKind::kCall> {
  const Intrinsic function;
  const std::vector<Expr> args;
  Call(DType t, Intrinsic f, std::vector<Expr> a) : ExprNodeOf(t), function(f), args(std::move(a)) {}
};

// Construction. The operators fold constants and the identities x+0, x*1, x*0 (integers), x/1 (see expr.cc); they do
// nothing deeper.

Expr make_int(int64_t value, DType t = kIndex);
Expr make_float(double value, DType t = f32);
/// A constant of type `t`, integer or float; broadcast when `t` has lanes.
Expr make_const(double value, DType t);
/// A whole number of type `t`: exact where make_const, which goes through double, is not.
inline Expr make_whole(int64_t value, DType t) {
  return t.is_integer() && !t.is_vector() ? make_int(value, t) : make_const(static_cast<double>(value), t);
}
Expr make_bool(bool value);
Buffer make_buffer(std::string name, DType t, std::vector<Expr> shape, BufferScope scope = BufferScope::kParam);
Buffer make_buffer(std::string name, DType t, const std::vector<int64_t>& shape,
                   BufferScope scope = BufferScope::kParam);
/// For shapes written out, {4, 8}: neither vector would be preferred.
inline Buffer make_buffer(std::string name, DType t, std::initializer_list<int64_t> shape,
                          BufferScope scope = BufferScope::kParam) {
  return make_buffer(std::move(name), t, std::vector<int64_t>(shape), scope);
}

/// Any binary operator, folding as above. InternalError when the types of `a` and `b` differ.
Expr binary(BinaryOp op, Expr a, Expr b);
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  ///< floats only
Expr floor_div(Expr a, Expr b);
Expr floor_mod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr eq(Expr a, Expr b);
Expr ne(Expr a, Expr b);
Expr lt(Expr a, Expr b);
Expr le(Expr a, Expr b);
Expr ge(Expr a, Expr b);
Expr logical_and(Expr a, Expr b);
Expr logical_or(Expr a, Expr b);
Expr logical_not(Expr a);
Expr select(Expr condition, Expr on_true, Expr on_false);
Expr cast(DType t, Expr value);
Expr load(Buffer buffer, std::vector<Expr> indices);
Expr call(Intrinsic f, std::vector<Expr> args);

inline Expr operator+(const Expr& a, int64_t b) { return a + make_whole(b, a->dtype); }
inline Expr operator-(const Expr& a, int64_t b) { return a - make_whole(b, a->dtype); }
inline Expr operator*(const Expr& a, int64_t b) { return a * make_whole(b, a->dtype); }
inline Expr floor_div(const Expr& a, int64_t b) { return floor_div(a, make_whole(b, a->dtype)); }
inline Expr floor_mod(const Expr& a, int64_t b) { return floor_mod(a, make_whole(b, a->dtype)); }
inline Expr lt(const Expr& a, int64_t b) { return lt(a, make_whole(b, a->dtype)); }
inline Expr ge(const Expr& a, int64_t b) { return ge(a, make_whole(b, a->dtype)); }

/// The value of an integer (or bool) constant.
std::optional<int64_t> as_const_int(const Expr& e);
inline bool is_const(const Expr& e, int64_t value) {
  const IntImm* imm = as<IntImm>(e);
  return imm && imm->value == value;
}

/// The operator's symbol as printed: `+`, `min`, `floordiv`, …
std::string_view symbol_of(BinaryOp op);
std::string_view name_of(Intrinsic f);
std::string_view name_of(BufferScope scope);
int arity_of(Intrinsic f);

/// Floor division and modulus of integers; `b` != 0.
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
constexpr int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

}  // namespace hone
