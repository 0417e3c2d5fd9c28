#include "compiler/codegen/llvm/kernel/emit_expr.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/narrow_floats.h"
#include "compiler/codegen/llvm/kernel/emit_math.h"
#include "compiler/ir/nan.h"

namespace hone {

using llvm::Value;

llvm::Type* llvm_type(llvm::IRBuilderBase& b, DType t) {
  llvm::Type* scalar = nullptr;
  switch (t.code) {
    case TypeCode::kInt:
    case TypeCode::kUInt: scalar = b.getIntNTy(t.bits); break;
    case TypeCode::kBool: scalar = b.getInt1Ty(); break;
    // As bits. LLVM's own type is legal on few processors; elsewhere even a load of some of its lanes may become a call
    // of a function that no library has (__truncsfbf2).
    case TypeCode::kBFloat: scalar = b.getInt16Ty(); break;
    case TypeCode::kFloat:
      scalar = t.bits == 16 ? b.getHalfTy() : t.bits == 32 ? b.getFloatTy() : b.getDoubleTy();
      break;
  }
  return t.is_vector() ? llvm::FixedVectorType::get(scalar, t.lanes) : scalar;
}

namespace {

bool is_linear_op(const Binary* op) {
  return op->dtype == kIndex && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub || op->op == BinaryOp::kMul);
}

// A number, or all lanes of a vector; NaN where it is none.
double number_of(const Expr& e) {
  if (const Broadcast* vector = as<Broadcast>(e)) return number_of(vector->value);
  const FloatImm* number = as<FloatImm>(e);
  return number ? number->value : std::numeric_limits<double>::quiet_NaN();
}

bool is_bf16(const Expr& e) { return e->dtype.scalar() == bf16; }
Expr widened(const Expr& e) { return cast(f32.with_lanes(e->dtype.lanes), e); }

// The expression in f32 for operations on bf16, which has no arithmetic; null for all others.
Expr computed_in_f32(const Expr& e) {
  Expr wide;
  if (const Binary* op = as<Binary>(e); op && is_bf16(op->a)) {
    wide = binary(op->op, widened(op->a), widened(op->b));
  } else if (const Call* op = as<Call>(e); op && !op->args.empty() && is_bf16(op->args[0])) {
    std::vector<Expr> args;
    for (const Expr& a : op->args) args.push_back(widened(a));
    wide = call(op->function, std::move(args));
  } else {
    return {};
  }
  return is_bf16(e) ? cast(e->dtype, wide) : wide;
}

// Powers of e, and sums and products of such: not below 0, if a number at all.
bool is_positive(const Expr& e) {
  if (number_of(e) >= 0) return true;
  if (const Call* call = as<Call>(e)) return call->function == Intrinsic::kExp;
  const Binary* b = as<Binary>(e);
  return b && (b->op == BinaryOp::kAdd || b->op == BinaryOp::kMul) && is_positive(b->a) && is_positive(b->b);
}

// f(x) in the sum 1 + f(x) of f32; else null.
const Call* beside_one(const Binary* sum, Intrinsic f) {
  if (sum->op != BinaryOp::kAdd || sum->dtype.with_lanes(1) != f32) return nullptr;
  const Expr& other = number_of(sum->a) == 1 ? sum->b : number_of(sum->b) == 1 ? sum->a : Expr();
  const Call* call = other ? as<Call>(other) : nullptr;
  return call && call->function == f ? call : nullptr;
}

}  // namespace

const BufferSlot& ExprEmitter::slot(const BufferNode* buffer) const {
  const auto it = slots_.find(buffer);
  HONE_ICHECK(it != slots_.end()) << "buffer " << buffer->name << " is used outside of its scope";
  return it->second;
}

Value* ExprEmitter::value_of(const VarNode* var) const {
  const auto it = vars_.find(var);
  HONE_ICHECK(it != vars_.end()) << "variable " << var->name << " is used outside of its scope";
  return it->second;
}

llvm::Type* ExprEmitter::type_of(DType t) const {
  return llvm_type(b_, t.scalar() == kIndex && options_.index_bits < 64 ? i32.with_lanes(t.lanes) : t);
}

Value* ExprEmitter::index_constant(int64_t value) const {
  return llvm::ConstantInt::get(type_of(kIndex), static_cast<uint64_t>(value), true);
}

Value* ExprEmitter::iota(int lanes, int bits) {
  std::vector<llvm::Constant*> values;
  for (int i = 0; i < lanes; ++i) values.push_back(b_.getIntN(static_cast<unsigned>(bits), static_cast<uint64_t>(i)));
  return llvm::ConstantVector::get(values);
}

Value* ExprEmitter::any_of(Value* lanes) {
  if (!lanes->getType()->isVectorTy()) return lanes;
  const unsigned n = llvm::cast<llvm::FixedVectorType>(lanes->getType())->getNumElements();
  return b_.CreateIsNotNull(b_.CreateBitCast(lanes, b_.getIntNTy(n)));
}

Value* ExprEmitter::emit(const Expr& e) {
  if (const Expr wide = computed_in_f32(e)) return emit(wide);
  switch (e->kind) {
    case ExprKind::kIntImm:
      return llvm::ConstantInt::get(type_of(e->dtype), static_cast<uint64_t>(as<IntImm>(e)->value), true);
    case ExprKind::kFloatImm: {
      const double value = as<FloatImm>(e)->value;
      if (is_bf16(e)) return llvm::ConstantInt::get(type_of(e->dtype), bf16_of_float(static_cast<float>(value)));
      return llvm::ConstantFP::get(llvm_type(b_, e->dtype), value);
    }
    case ExprKind::kVar: return value_of(as<VarNode>(e));
    case ExprKind::kCast: return emit_cast(as<Cast>(e));
    case ExprKind::kBinary: return emit_binary(as<Binary>(e));
    case ExprKind::kNot: return b_.CreateNot(emit(as<Not>(e)->value));
    case ExprKind::kSelect: return emit_select(as<Select>(e));
    case ExprKind::kLoad: return emit_load(as<Load>(e));
    case ExprKind::kBroadcast: return b_.CreateVectorSplat(e->dtype.lanes, emit(as<Broadcast>(e)->value));
    case ExprKind::kCall: return emit_call(as<Call>(e));
    case ExprKind::kRamp: {
      const Ramp* op = as<Ramp>(e);
      const int lanes = op->dtype.lanes;
      Value* steps = b_.CreateMul(iota(lanes, static_cast<int>(type_of(op->dtype.scalar())->getIntegerBitWidth())),
                                  b_.CreateVectorSplat(lanes, emit(op->stride)));
      return b_.CreateAdd(b_.CreateVectorSplat(lanes, emit(op->base)), steps);
    }
  }
  return nullptr;
}

std::vector<ExprEmitter::Term> ExprEmitter::emit_terms(const Linear& form, int64_t scale) {
  std::vector<Term> out;
  for (const Linear::Term& t : form.terms) {
    const Binary* op = as<Binary>(t.atom);
    // A product of two variables is an atom of the form: emit its factors, not the form again.
    Value* atom =
        op && is_linear_op(op) ? arith_.binary(llvm::Instruction::Mul, emit(op->a), emit(op->b)) : emit(t.atom);
    out.push_back({atom, static_cast<int64_t>(static_cast<uint64_t>(t.coefficient) * static_cast<uint64_t>(scale))});
  }
  std::stable_sort(out.begin(), out.end(), [this](const Term& x, const Term& y) {
    return arith_.level_of(x.value) < arith_.level_of(y.value);
  });
  return out;
}

Value* ExprEmitter::sum_of(std::span<const Term> terms) {
  Value* sum = nullptr;
  for (const Term& t : terms) {
    Value* term = t.factor == 1 ? t.value : arith_.binary(llvm::Instruction::Mul, t.value, index_constant(t.factor));
    sum = sum ? arith_.binary(llvm::Instruction::Add, sum, term) : term;
  }
  return sum;
}

Value* ExprEmitter::emit_linear(const Linear& form) {
  Value* sum = sum_of(emit_terms(form, 1));
  Value* constant = index_constant(form.constant);
  if (!sum) return constant;
  return form.constant == 0 ? sum : arith_.binary(llvm::Instruction::Add, sum, constant);
}

// x + y * z as one operation, where the target has a fast one: instruction selection has less to do than for a product
// and a sum that may be contracted.
Value* ExprEmitter::emit_fused(const Binary* op) {
  if (op->op != BinaryOp::kAdd || !op->dtype.is_float()) return nullptr;
  const auto product = [](const Expr& e) {
    const Binary* p = as<Binary>(e);
    return p && p->op == BinaryOp::kMul ? p : nullptr;
  };
  const Binary* p = product(op->b);
  const Expr& addend = p ? op->a : op->b;
  if (!p) p = product(op->a);
  if (!p) return nullptr;
  Value *x = emit(addend), *y = emit(p->a), *z = emit(p->b);
  return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {x->getType()}, {y, z, x});
}

// 1 / (1 + e^x), the logistic function, and other inverses of values of at least 1; times `factor`, which may be null.
Value* ExprEmitter::emit_inverse(const Binary* op, const Expr& factor) {
  if (op->op != BinaryOp::kDiv || number_of(op->a) != 1) return nullptr;
  const Binary* sum = as<Binary>(op->b);
  if (!sum || sum->op != BinaryOp::kAdd) return nullptr;
  if (!(number_of(sum->a) >= 1 && is_positive(sum->b)) && !(number_of(sum->b) >= 1 && is_positive(sum->a)))
    return nullptr;
  Value* by = factor ? emit(factor) : nullptr;
  if (const Call* power = beside_one(sum, Intrinsic::kExp))
    return emit_logistic(b_, emit(power->args[0]), by, options_.math_units);
  return emit_quotient(b_, by, emit(op->b), options_.math_units);
}

// 1 + erf(x), of gelu.
Value* ExprEmitter::emit_one_plus_erf(const Binary* op) {
  const Call* erf = beside_one(op, Intrinsic::kErf);
  return erf ? hone::emit_one_plus_erf(b_, emit(erf->args[0]), options_.math_units) : nullptr;
}

Value* ExprEmitter::emit_binary(const Binary* op) {
  if (is_linear_op(op))
    if (const auto form = linear_of(Expr(op))) return emit_linear(*form);
  if (Value* fused = emit_fused(op)) return fused;
  if (Value* inverse = emit_inverse(op, Expr())) return inverse;
  if (op->op == BinaryOp::kMul)
    for (const bool second : {true, false})
      if (const Binary* inverse = as<Binary>(second ? op->b : op->a))
        if (Value* quotient = emit_inverse(inverse, second ? op->a : op->b)) return quotient;
  if (Value* one_plus_erf = emit_one_plus_erf(op)) return one_plus_erf;
  if (Value* masked = emit_masked(op)) return masked;
  switch (op->op) {
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe: return emit_compare(op);
    default: break;
  }
  if (op->op == BinaryOp::kAdd)
    for (const bool second : {true, false})
      if (const Call* dot = as<Call>(second ? op->b : op->a); dot && is_dot(dot->function))
        return emit_dot(dot, emit(second ? op->a : op->b));
  Value *a = emit(op->a), *b = emit(op->b);
  const bool real = op->dtype.is_float(), is_signed = op->dtype.code == TypeCode::kInt;
  const auto integer = [&](llvm::Instruction::BinaryOps code) { return arith_.binary(code, a, b); };
  switch (op->op) {
    case BinaryOp::kAdd: return real ? b_.CreateFAdd(a, b) : integer(llvm::Instruction::Add);
    case BinaryOp::kSub: return real ? b_.CreateFSub(a, b) : integer(llvm::Instruction::Sub);
    case BinaryOp::kMul: return real ? b_.CreateFMul(a, b) : integer(llvm::Instruction::Mul);
    case BinaryOp::kDiv: return b_.CreateFDiv(a, b);
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: return emit_integer_division(op, a, b);
    case BinaryOp::kMin:
      return real ? emit_extreme(op, a, b)
                  : arith_.select(arith_.compare(is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT, a, b),
                                  a, b);
    case BinaryOp::kMax:
      return real ? emit_extreme(op, a, b)
                  : arith_.select(arith_.compare(is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT, b, a),
                                  a, b);
    case BinaryOp::kAnd: return integer(llvm::Instruction::And);
    case BinaryOp::kOr: return integer(llvm::Instruction::Or);
    default: break;
  }
  HONE_ICHECK(false) << "no code for " << symbol_of(op->op);
  return nullptr;
}

// A comparison and a choice that give the second operand where the two do not compare: x86 has them as one instruction.
// Its llvm.maximum is seven, since it orders 0 and -0, too. A reduction's value stands second, so that its test is not
// in the chain that waits for the previous value.
Value* ExprEmitter::emit_extreme(const Binary* op, Value* a, Value* b) {
  const bool is_min = op->op == BinaryOp::kMin;
  const DType t = op->dtype.scalar();
  if ((options_.has_nan_extremes && t == f32) || (options_.has_nan_extremes_f64 && t == f64))
    return b_.CreateIntrinsic(is_min ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, {a->getType()}, {a, b});
  const auto of = [&](Value* x, Value* y) {
    return b_.CreateSelect(is_min ? b_.CreateFCmpOLT(x, y) : b_.CreateFCmpOLT(y, x), x, y);
  };
  switch (nan_form(op, options_.assume_finite)) {
    case NanForm::kInOrder: return of(a, b);
    case NanForm::kExchanged: return of(b, a);
    case NanForm::kTested: break;
  }
  return b_.CreateSelect(b_.CreateFCmpUNO(b, b), b, of(b, a));
}

namespace {

// The exponent of a power of two, in each lane.
std::optional<int> exponent_of(const Expr& e) {
  const Broadcast* spread = as<Broadcast>(e);
  const IntImm* i = as<IntImm>(spread ? spread->value : e);
  if (!i || i->value < 1 || !std::has_single_bit(static_cast<uint64_t>(i->value))) return std::nullopt;
  return std::countr_zero(static_cast<uint64_t>(i->value));
}

// The operands of e = a (op) 2^exponent.
std::optional<std::pair<Expr, int>> by_power(const Binary* e, BinaryOp op) {
  const auto exponent = e && e->op == op ? exponent_of(e->b) : std::nullopt;
  return exponent ? std::optional(std::pair(e->a, *exponent)) : std::nullopt;
}

}  // namespace

// x / 2^p % 2^q * 2^p of an unsigned x are bits of it where they lie: one mask, where LLVM shifts vectors there and
// back.
Value* ExprEmitter::emit_masked(const Binary* op) {
  if (op->dtype.code != TypeCode::kUInt) return nullptr;
  const auto product = by_power(op, BinaryOp::kMul);
  const auto rest = product ? by_power(as<Binary>(product->first), BinaryOp::kFloorMod) : std::nullopt;
  const auto quotient = rest ? by_power(as<Binary>(rest->first), BinaryOp::kFloorDiv) : std::nullopt;
  if (!quotient || quotient->second != product->second || product->second + rest->second > op->dtype.bits)
    return nullptr;
  const uint64_t mask = ((uint64_t{1} << rest->second) - 1) << product->second;
  Value* x = emit(quotient->first);
  return b_.CreateAnd(x, llvm::ConstantInt::get(x->getType(), mask));
}

Value* ExprEmitter::emit_integer_division(const Binary* op, Value* a, Value* b) {
  const bool divides = op->op == BinaryOp::kFloorDiv,
             is_signed = op->dtype.code == TypeCode::kInt && !(is_nonnegative(op->a) && is_nonnegative(op->b));
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(b);
      constant && (is_signed ? constant->getValue().isStrictlyPositive() : !constant->isZero()))
    return divide_by_constant(a, b, divides, is_signed);
  // A masked lane may divide by zero; the machine must not.
  if ((active_.lanes || active_.any) && !llvm::isa<llvm::Constant>(b)) {
    Value* wanted = b->getType()->isVectorTy() && active_.lanes ? active_.lanes : wanted_at_all();
    b = b_.CreateSelect(wanted, b, llvm::ConstantInt::get(b->getType(), 1));
  }
  if (!is_signed) return divides ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
  Value* rest = b_.CreateSRem(a, b);
  Value* zero = llvm::Constant::getNullValue(a->getType());
  // Rounds towards minus infinity: a remainder whose sign is not the divisor's moves one divisor up, the quotient one
  // down.
  Value* off = b_.CreateAnd(b_.CreateICmpNE(rest, zero), b_.CreateICmpSLT(b_.CreateXor(rest, b), zero));
  if (!divides) return b_.CreateSelect(off, b_.CreateAdd(rest, b), rest);
  return b_.CreateAdd(b_.CreateSDiv(a, b), b_.CreateSExt(off, a->getType()));
}

// For scalars and a positive constant divisor: the division cannot trap, so it may move out of loops.
Value* ExprEmitter::divide_by_constant(Value* a, Value* b, bool divides, bool is_signed) {
  using Op = llvm::Instruction;
  if (!is_signed) return arith_.binary(divides ? Op::UDiv : Op::URem, a, b);
  const llvm::APInt& divisor = llvm::cast<llvm::ConstantInt>(b)->getValue();
  llvm::Type* type = a->getType();
  // Shifts and masks round towards minus infinity by themselves.
  if (divisor.isPowerOf2())
    return divides ? arith_.binary(Op::AShr, a, llvm::ConstantInt::get(type, divisor.logBase2()))
                   : arith_.binary(Op::And, a, llvm::ConstantInt::get(type, divisor - 1));
  Value *zero = llvm::ConstantInt::get(type, 0), *one = llvm::ConstantInt::get(type, 1);
  Value* rest = arith_.binary(Op::SRem, a, b);
  Value* below = arith_.compare(llvm::CmpInst::ICMP_SLT, rest, zero);
  if (!divides) return arith_.select(below, arith_.binary(Op::Add, rest, b), rest);
  return arith_.binary(Op::Sub, arith_.binary(Op::SDiv, a, b), arith_.select(below, one, zero));
}

// ramp(base, 1) < n and the like: one scalar limit and a comparison of small lane numbers, instead of vectors of 64-bit
// indices.
Value* ExprEmitter::emit_ramp_compare(const Binary* op) {
  if ((op->op != BinaryOp::kLt && op->op != BinaryOp::kLe) || options_.simt) return nullptr;
  const Ramp *left = as<Ramp>(op->a), *right = as<Ramp>(op->b);
  const Broadcast* limit = as<Broadcast>(left ? op->b : op->a);
  const Ramp* ramp = left ? left : right;
  if (!ramp || !limit || !is_const(ramp->stride, 1) || ramp->base->dtype != kIndex) return nullptr;
  const int lanes = ramp->dtype.lanes;
  // left: lane < limit - base (+1 for <=); right: lane >= limit - base (+1 for <)
  const bool plus_one = left ? op->op == BinaryOp::kLe : op->op == BinaryOp::kLt;
  // Saturated, because a program may compare with any number and the verifier relies on the comparison.
  Value* n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, emit(limit->value), emit(ramp->base));
  if (plus_one) n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, n, index_constant(1));
  n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, index_constant(0));
  n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, n, index_constant(lanes));
  const int bits = lanes <= 16 ? 32 : lanes <= 32 ? 16 : 8;
  Value* limits = b_.CreateVectorSplat(lanes, b_.CreateIntCast(n, b_.getIntNTy(static_cast<unsigned>(bits)), false));
  return left ? b_.CreateICmpULT(iota(lanes, bits), limits) : b_.CreateICmpUGE(iota(lanes, bits), limits);
}

Value* ExprEmitter::emit_compare(const Binary* op) {
  if (Value* v = emit_ramp_compare(op)) return v;
  Value *a = emit(op->a), *b = emit(op->b);
  const DType t = op->a->dtype;
  const bool is_signed = t.code == TypeCode::kInt;
  using Op = llvm::CmpInst;
  switch (op->op) {
    case BinaryOp::kEq: return t.is_float() ? b_.CreateFCmpOEQ(a, b) : arith_.compare(Op::ICMP_EQ, a, b);
    case BinaryOp::kNe: return t.is_float() ? b_.CreateFCmpUNE(a, b) : arith_.compare(Op::ICMP_NE, a, b);
    case BinaryOp::kLt:
      return t.is_float() ? b_.CreateFCmpOLT(a, b) : arith_.compare(is_signed ? Op::ICMP_SLT : Op::ICMP_ULT, a, b);
    default:
      return t.is_float() ? b_.CreateFCmpOLE(a, b) : arith_.compare(is_signed ? Op::ICMP_SLE : Op::ICMP_ULE, a, b);
  }
}

// The mask of lanes that are active where `condition` (i1 or <N x i1>) holds too.
ExprEmitter::Active ExprEmitter::narrowed(Value* condition) {
  Active out = active_;
  if (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(condition->getType())) {
    out.lanes = out.lanes ? b_.CreateAnd(out.lanes, condition)
                : out.any ? b_.CreateAnd(condition, b_.CreateVectorSplat(type->getNumElements(), out.any))
                          : condition;
    out.any = nullptr;
    if (auto* known = llvm::dyn_cast<llvm::Constant>(out.lanes); known && known->isAllOnesValue()) out.lanes = nullptr;
    return out;
  }
  if (!out.lanes) {
    out.any = out.any ? b_.CreateAnd(out.any, condition) : condition;
    return out;
  }
  const unsigned n = llvm::cast<llvm::FixedVectorType>(out.lanes->getType())->getNumElements();
  out.any = b_.CreateAnd(wanted_at_all(), condition);
  out.lanes = b_.CreateAnd(out.lanes, b_.CreateVectorSplat(n, condition));
  return out;
}

// Whether any lane is active (i1); null when all are.
Value* ExprEmitter::wanted_at_all() {
  if (!active_.any && active_.lanes) active_.any = any_of(active_.lanes);
  return active_.any;
}

// Both sides are computed, each with only its own lanes' loads active: no branch splits the block in which accumulators
// live.
Value* ExprEmitter::emit_select(const Select* op) {
  const Broadcast* uniform = as<Broadcast>(op->condition);
  Value* condition = emit(uniform ? uniform->value : op->condition);
  const Active outer = active_;
  active_ = narrowed(condition);
  Value* t = emit(op->on_true);
  active_ = outer;
  active_ = narrowed(b_.CreateNot(condition));
  Value* f = emit(op->on_false);
  active_ = outer;
  return b_.CreateSelect(condition, t, f);
}

namespace {

std::optional<double> whole_number(const Expr& e) {
  const Broadcast* spread = as<Broadcast>(e);
  const FloatImm* imm = as<FloatImm>(spread ? spread->value : e);
  constexpr double kExact = 0x1p20;  // f32 has these, and differences of them
  return imm && std::rint(imm->value) == imm->value && std::abs(imm->value) <= kExact ? std::optional(imm->value)
                                                                                      : std::nullopt;
}

// max(min(x, most), least) of numbers that are whole; with `round`, of rint(x) + zero.
struct Bounded {
  Expr x;
  double least, most;
  bool rounds = false;
  double zero = 0;
};
std::optional<Bounded> bounded(const Expr& e) {
  const Binary* above = as<Binary>(e);
  const Binary* below = above && above->op == BinaryOp::kMax ? as<Binary>(above->a) : nullptr;
  if (!below || below->op != BinaryOp::kMin) return std::nullopt;
  const auto least = whole_number(above->b), most = whole_number(below->b);
  if (!least || !most) return std::nullopt;
  Bounded out{below->a, *least, *most};
  const auto rounded = [&](const Expr& x) {
    const Call* call = as<Call>(x);
    if (!call || call->function != Intrinsic::kRint) return false;
    out.x = call->args[0], out.rounds = true;
    return true;
  };
  if (rounded(below->a)) return out;
  const Binary* sum = as<Binary>(below->a);
  if (const auto zero = sum && sum->op == BinaryOp::kAdd ? whole_number(sum->b) : std::nullopt; zero && rounded(sum->a))
    out.zero = *zero;
  return out;
}

}  // namespace

// A cast that saturates to a type of 8 or 16 bits: its bounds make the conversion safe, and a rounding before it is
// part of the conversion. Null: another cast.
Value* ExprEmitter::emit_saturated(const Cast* op) {
  const DType from = op->value->dtype, to = op->dtype;
  if (from.scalar() != f32 || !to.is_integer() || to.lane_bytes() > 2 || !to.is_vector()) return nullptr;
  const auto bounds = bounded(op->value);
  const bool is_signed = to.code == TypeCode::kInt;
  const int digits = 8 * to.lane_bytes() - (is_signed ? 1 : 0);
  if (!bounds || bounds->least < (is_signed ? -std::ldexp(1, digits) : 0) || bounds->most > std::ldexp(1, digits) - 1)
    return nullptr;
  Value* v = emit(bounds->x);
  // Integral bounds of a rounded value are bounds of the value before, and a zero point is added to integers.
  const auto constant = [&](double x) { return llvm::ConstantFP::get(v->getType(), x - bounds->zero); };
  // A NaN becomes 0, as in every cast: the lower bound where that is 0.
  if (bounds->least != 0) v = b_.CreateSelect(b_.CreateFCmpORD(v, v), v, constant(0));
  v = b_.CreateSelect(b_.CreateFCmpOLT(constant(bounds->least), v), v, constant(bounds->least));
  v = b_.CreateSelect(b_.CreateFCmpOLT(v, constant(bounds->most)), v, constant(bounds->most));
  llvm::Type* wide = type_of(i32.with_lanes(to.lanes));
  const bool is_x86 = options_.dot.kind == DotProduct::kVnni || options_.dot.kind == DotProduct::kPairs;
  if (!bounds->rounds) {
    v = b_.CreateFPToSI(v, wide);
  } else if (is_x86 && to.lanes == 16 && options_.dot.bits >= 512) {
    constexpr uint32_t kAsTheMachine = 4;  // _MM_FROUND_CUR_DIRECTION
    v = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512, {},
                           {v, llvm::Constant::getNullValue(wide), b_.getInt16(0xffff), b_.getInt32(kAsTheMachine)});
  } else if (is_x86 && (to.lanes == 8 || to.lanes == 4)) {
    v = b_.CreateIntrinsic(to.lanes == 8 ? llvm::Intrinsic::x86_avx_cvt_ps2dq_256 : llvm::Intrinsic::x86_sse2_cvtps2dq,
                           {}, {v});
  } else {
    v = b_.CreateFPToSI(b_.CreateIntrinsic(llvm::Intrinsic::rint, {v->getType()}, {v}), wide);
  }
  if (bounds->zero != 0)
    v = b_.CreateAdd(v, llvm::ConstantInt::get(wide, static_cast<uint64_t>(static_cast<int64_t>(bounds->zero)), true));
  return b_.CreateTrunc(v, type_of(to));
}

Value* ExprEmitter::emit_cast(const Cast* op) {
  if (Value* saturated = emit_saturated(op)) return saturated;
  if (Value* number = mantissa(op)) return number;
  const DType from = op->value->dtype, to = op->dtype;
  Value* v = emit(op->value);
  if (to.is_bool()) {
    if (from.code == TypeCode::kBFloat) v = emit_conversion(v, from, f32.with_lanes(from.lanes));
    return from.is_float() ? b_.CreateFCmpUNE(v, llvm::Constant::getNullValue(v->getType())) : b_.CreateIsNotNull(v);
  }
  // Between integers and bf16 by way of f32.
  if (from.is_float() != to.is_float() && (from.code == TypeCode::kBFloat || to.code == TypeCode::kBFloat)) {
    const DType wide = f32.with_lanes(to.lanes);
    return emit_conversion(emit_conversion(v, from, wide), wide, to);
  }
  return emit_conversion(v, from, to);
}

Value* ExprEmitter::round_to_bf16(Value* v, int lanes) {
  const auto one = [&](Value* x) {
    return b_.CreateBitCast(b_.CreateIntrinsic(llvm::Intrinsic::nvvm_f2bf16_rn, {}, {x}), b_.getInt16Ty());
  };
  if (lanes == 1) return one(v);
  Value* out = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(lanes)));
  for (uint64_t i = 0; i < static_cast<uint64_t>(lanes); ++i)
    out = b_.CreateInsertElement(out, one(b_.CreateExtractElement(v, i)), i);
  return out;
}

// bf16 is the upper half of an f32, rounded to the nearest.
Value* ExprEmitter::emit_bf16_cast(Value* v, DType from, DType to) {
  const auto of = [&](DType t) { return llvm_type(b_, t.with_lanes(to.lanes)); };
  if (from.code == TypeCode::kBFloat) {
    Value* wide = b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(v, of(u32)), 16), of(f32));
    return to.code == TypeCode::kBFloat ? v : b_.CreateFPCast(wide, of(to.scalar()));
  }
  Value* value = b_.CreateFPCast(v, of(f32));
  if (options_.has_bf16_rounding) return round_to_bf16(value, to.lanes);
  Value* bits = b_.CreateBitCast(value, of(u32));
  const auto constant = [&](uint32_t x) { return llvm::ConstantInt::get(of(u32), x); };
  Value* up = b_.CreateAdd(constant(0x7fff), b_.CreateAnd(b_.CreateLShr(bits, 16), constant(1)));
  Value* rounded = b_.CreateLShr(b_.CreateAdd(bits, up), 16);
  Value* nan = b_.CreateOr(b_.CreateLShr(bits, 16), constant(0x40));
  return b_.CreateTrunc(b_.CreateSelect(b_.CreateFCmpUNO(value, value), nan, rounded), of(bf16));
}

Value* ExprEmitter::emit_conversion(Value* v, DType from, DType to) {
  llvm::Type* type = type_of(to);
  if (from.is_float() && to.is_float())
    return from.code == to.code && from.code == TypeCode::kFloat ? b_.CreateFPCast(v, type)
                                                                 : emit_bf16_cast(v, from, to);
  // Values out of range become the nearest value of the type, and NaN 0. LLVM converts vectors to types of less than 32
  // bits lane by lane: these go by way of 32.
  if (from.is_float() && to.is_integer() && to.lane_bytes() < 4 && to.is_vector()) {
    const bool is_signed = to.code == TypeCode::kInt;
    const int bits = 8 * to.lane_bytes();
    const double least = is_signed ? -std::ldexp(1, bits - 1) : 0, most = std::ldexp(1, bits - is_signed) - 1;
    const auto constant = [&](double x) { return llvm::ConstantFP::get(v->getType(), x); };
    if (is_signed) v = b_.CreateSelect(b_.CreateFCmpORD(v, v), v, constant(0));
    v = b_.CreateSelect(b_.CreateFCmpOGT(v, constant(least)), v, constant(least));
    v = b_.CreateSelect(b_.CreateFCmpOLT(v, constant(most)), v, constant(most));
    return b_.CreateTrunc(b_.CreateFPToSI(v, type_of(i32.with_lanes(to.lanes))), type);
  }
  if (from.is_float())
    return b_.CreateIntrinsic(to.code == TypeCode::kInt ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                              {type, v->getType()}, {v});
  const bool is_signed = from.code == TypeCode::kInt;
  if (to.is_float()) return is_signed ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
  return b_.CreateIntCast(v, type, is_signed);
}

Value* ExprEmitter::emit_call(const Call* op) {
  if (is_dot(op->function)) return emit_dot(op, nullptr);
  std::vector<Value*> args;
  for (const Expr& a : op->args) args.push_back(emit(a));
  llvm::Type* type = args[0]->getType();
  if (is_transcendental(op->function)) return emit_math(b_, op->function, args[0], options_.math_units);
  switch (op->function) {
    case Intrinsic::kRint: return b_.CreateIntrinsic(llvm::Intrinsic::rint, {type}, args);
    case Intrinsic::kSqrt: return b_.CreateIntrinsic(llvm::Intrinsic::sqrt, {type}, args);
    case Intrinsic::kFma:
      if (!op->dtype.is_float()) return b_.CreateAdd(b_.CreateMul(args[0], args[1]), args[2]);
      return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, args);
    case Intrinsic::kAbs:
      if (op->dtype.is_float()) return b_.CreateIntrinsic(llvm::Intrinsic::fabs, {type}, args);
      if (op->dtype.code != TypeCode::kInt) return args[0];
      return b_.CreateIntrinsic(llvm::Intrinsic::abs, {type}, {args[0], b_.getFalse()});
    default: break;
  }
  return nullptr;
}

}  // namespace hone
