#include "compiler/codegen/llvm/emit_expr.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <numeric>

namespace hone {

using llvm::Value;

llvm::Type* llvm_type(llvm::IRBuilderBase& b, DType t) {
  llvm::Type* scalar = nullptr;
  switch (t.code) {
    case TypeCode::kInt:
    case TypeCode::kUInt: scalar = b.getIntNTy(t.bits); break;
    case TypeCode::kBool: scalar = b.getInt1Ty(); break;
    case TypeCode::kFloat: scalar = t.bits == 16 ? b.getHalfTy() : t.bits == 32 ? b.getFloatTy() : b.getDoubleTy(); break;
  }
  return t.is_vector() ? llvm::FixedVectorType::get(scalar, t.lanes) : scalar;
}

namespace {

DType memory_type(DType t) { return t.is_bool() ? u8.with_lanes(t.lanes) : t; }

bool is_linear_op(const Binary* op) {
  return op->dtype == kIndex && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub || op->op == BinaryOp::kMul);
}

// The largest power of two, at most 64, that divides every byte offset of a linear index.
int64_t alignment_of(const Linear& index, int64_t element_bytes) {
  int64_t g = 64;
  for (const Linear::Term& t : index.terms) g = std::gcd(g, t.coefficient % 64 * element_bytes);
  return std::gcd(g, index.constant % 64 * element_bytes);
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
  return it->second.value;
}

int ExprEmitter::depth_of(const Expr& e) const {
  switch (e->kind) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm: return 0;
    case ExprKind::kVar: {
      const auto it = vars_.find(as<VarNode>(e));
      return it == vars_.end() ? 0 : it->second.depth;
    }
    case ExprKind::kBinary: return std::max(depth_of(as<Binary>(e)->a), depth_of(as<Binary>(e)->b));
    default: return 1 << 20;
  }
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
  switch (e->kind) {
    case ExprKind::kIntImm: return llvm::ConstantInt::get(llvm_type(b_, e->dtype), static_cast<uint64_t>(as<IntImm>(e)->value), true);
    case ExprKind::kFloatImm: return llvm::ConstantFP::get(llvm_type(b_, e->dtype), as<FloatImm>(e)->value);
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
      Value* steps = b_.CreateMul(iota(lanes, op->dtype.bits), b_.CreateVectorSplat(lanes, emit(op->stride)));
      return b_.CreateAdd(b_.CreateVectorSplat(lanes, emit(op->base)), steps);
    }
  }
  return nullptr;
}

Value* ExprEmitter::emit_linear(Linear form) {
  std::stable_sort(form.terms.begin(), form.terms.end(),
                   [this](const Linear::Term& x, const Linear::Term& y) { return depth_of(x.atom) < depth_of(y.atom); });
  Value* sum = nullptr;
  for (const Linear::Term& t : form.terms) {
    const Binary* op = as<Binary>(t.atom);
    // A product of two variables is an atom of the form: emit its factors, not the form again.
    Value* atom = op && is_linear_op(op) ? b_.CreateMul(emit(op->a), emit(op->b)) : emit(t.atom);
    Value* term = t.coefficient == 1 ? atom : b_.CreateMul(atom, b_.getInt64(static_cast<uint64_t>(t.coefficient)));
    sum = sum ? b_.CreateAdd(sum, term) : term;
  }
  Value* constant = b_.getInt64(static_cast<uint64_t>(form.constant));
  if (!sum) return constant;
  return form.constant == 0 ? sum : b_.CreateAdd(sum, constant);
}

Value* ExprEmitter::emit_binary(const Binary* op) {
  if (is_linear_op(op))
    if (auto form = linear_of(Expr(op))) return emit_linear(std::move(*form));
  switch (op->op) {
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe: return emit_compare(op);
    default: break;
  }
  Value *a = emit(op->a), *b = emit(op->b);
  const bool real = op->dtype.is_float(), is_signed = op->dtype.code == TypeCode::kInt;
  switch (op->op) {
    case BinaryOp::kAdd: return real ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case BinaryOp::kSub: return real ? b_.CreateFSub(a, b) : b_.CreateSub(a, b);
    case BinaryOp::kMul: return real ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case BinaryOp::kDiv: return b_.CreateFDiv(a, b);
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: return emit_integer_division(op, a, b);
    // The second operand where the two do not compare, as the interpreter says and x86's instructions do.
    case BinaryOp::kMin: return b_.CreateSelect(real ? b_.CreateFCmpOLT(a, b) : is_signed ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b), a, b);
    case BinaryOp::kMax: return b_.CreateSelect(real ? b_.CreateFCmpOLT(b, a) : is_signed ? b_.CreateICmpSLT(b, a) : b_.CreateICmpULT(b, a), a, b);
    case BinaryOp::kAnd: return b_.CreateAnd(a, b);
    case BinaryOp::kOr: return b_.CreateOr(a, b);
    default: break;
  }
  HONE_ICHECK(false) << "no code for " << symbol_of(op->op);
  return nullptr;
}

Value* ExprEmitter::emit_integer_division(const Binary* op, Value* a, Value* b) {
  const bool divides = op->op == BinaryOp::kFloorDiv;
  // A lane that is not wanted may divide by zero; the machine must not.
  if ((active_.lanes || active_.any) && !llvm::isa<llvm::Constant>(b)) {
    Value* wanted = b->getType()->isVectorTy() && active_.lanes ? active_.lanes : wanted_at_all();
    b = b_.CreateSelect(wanted, b, llvm::ConstantInt::get(b->getType(), 1));
  }
  if (op->dtype.code != TypeCode::kInt) return divides ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
  Value* rest = b_.CreateSRem(a, b);
  Value* zero = llvm::Constant::getNullValue(a->getType());
  // Rounds towards minus infinity: a remainder whose sign is not the divisor's moves one divisor up, the quotient one down.
  Value* off = b_.CreateAnd(b_.CreateICmpNE(rest, zero), b_.CreateICmpSLT(b_.CreateXor(rest, b), zero));
  if (!divides) return b_.CreateSelect(off, b_.CreateAdd(rest, b), rest);
  return b_.CreateAdd(b_.CreateSDiv(a, b), b_.CreateSExt(off, a->getType()));
}

// ramp(base, 1) < n and its kin: one scalar limit and a comparison of small lane numbers instead of vectors of 64-bit indices.
Value* ExprEmitter::emit_ramp_compare(const Binary* op) {
  if (op->op != BinaryOp::kLt && op->op != BinaryOp::kLe) return nullptr;
  const Ramp *left = as<Ramp>(op->a), *right = as<Ramp>(op->b);
  const Broadcast* limit = as<Broadcast>(left ? op->b : op->a);
  const Ramp* ramp = left ? left : right;
  if (!ramp || !limit || !is_const(ramp->stride, 1) || ramp->base->dtype != kIndex) return nullptr;
  const int lanes = ramp->dtype.lanes;
  // left: lane < limit - base (+1 for <=); right: lane >= limit - base (+1 for <)
  const bool plus_one = left ? op->op == BinaryOp::kLe : op->op == BinaryOp::kLt;
  Expr distance = limit->value - ramp->base;
  if (plus_one) distance = distance + 1;
  Value* n = emit(distance);
  n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, b_.getInt64(0));
  n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, n, b_.getInt64(static_cast<uint64_t>(lanes)));
  const int bits = lanes <= 16 ? 32 : lanes <= 32 ? 16 : 8;
  Value* limits = b_.CreateVectorSplat(lanes, b_.CreateTrunc(n, b_.getIntNTy(bits)));
  return left ? b_.CreateICmpULT(iota(lanes, bits), limits) : b_.CreateICmpUGE(iota(lanes, bits), limits);
}

Value* ExprEmitter::emit_compare(const Binary* op) {
  if (Value* v = emit_ramp_compare(op)) return v;
  Value *a = emit(op->a), *b = emit(op->b);
  const DType t = op->a->dtype;
  const bool is_signed = t.code == TypeCode::kInt;
  switch (op->op) {
    case BinaryOp::kEq: return t.is_float() ? b_.CreateFCmpOEQ(a, b) : b_.CreateICmpEQ(a, b);
    case BinaryOp::kNe: return t.is_float() ? b_.CreateFCmpUNE(a, b) : b_.CreateICmpNE(a, b);
    case BinaryOp::kLt: return t.is_float() ? b_.CreateFCmpOLT(a, b) : is_signed ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
    default: return t.is_float() ? b_.CreateFCmpOLE(a, b) : is_signed ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b);
  }
}

// What stays wanted where `condition` (i1 or <N x i1>) holds too.
ExprEmitter::Active ExprEmitter::narrowed(Value* condition) {
  Active out = active_;
  if (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(condition->getType())) {
    out.lanes = out.lanes ? b_.CreateAnd(out.lanes, condition)
                : out.any ? b_.CreateAnd(condition, b_.CreateVectorSplat(type->getNumElements(), out.any))
                          : condition;
    out.any = nullptr;
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

// Whether anything is wanted (i1); null when everything is.
Value* ExprEmitter::wanted_at_all() {
  if (!active_.any && active_.lanes) active_.any = any_of(active_.lanes);
  return active_.any;
}

// Both sides are computed, each with only its own lanes' loads wanted: no branch splits the block in which accumulators live.
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

Value* ExprEmitter::emit_cast(const Cast* op) {
  const DType from = op->value->dtype, to = op->dtype;
  Value* v = emit(op->value);
  llvm::Type* type = llvm_type(b_, to);
  if (to.is_bool()) return from.is_float() ? b_.CreateFCmpUNE(v, llvm::Constant::getNullValue(v->getType())) : b_.CreateIsNotNull(v);
  if (from.is_float() && to.is_float()) return b_.CreateFPCast(v, type);
  if (from.is_float())   // what does not fit becomes the nearest value of the type
    return b_.CreateIntrinsic(to.code == TypeCode::kInt ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat, {type, v->getType()}, {v});
  const bool is_signed = from.code == TypeCode::kInt;
  if (to.is_float()) return is_signed ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
  return b_.CreateIntCast(v, type, is_signed);
}

Value* ExprEmitter::emit_call(const Call* op) {
  std::vector<Value*> args;
  for (const Expr& a : op->args) args.push_back(emit(a));
  llvm::Type* type = args[0]->getType();
  switch (op->function) {
    case Intrinsic::kExp: return b_.CreateIntrinsic(llvm::Intrinsic::exp, {type}, args);
    case Intrinsic::kLog: return b_.CreateIntrinsic(llvm::Intrinsic::log, {type}, args);
    case Intrinsic::kSqrt: return b_.CreateIntrinsic(llvm::Intrinsic::sqrt, {type}, args);
    case Intrinsic::kTanh: return b_.CreateIntrinsic(llvm::Intrinsic::tanh, {type}, args);
    case Intrinsic::kFma:
      if (!op->dtype.is_float()) return b_.CreateAdd(b_.CreateMul(args[0], args[1]), args[2]);
      return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, args);
    case Intrinsic::kAbs:
      if (op->dtype.is_float()) return b_.CreateIntrinsic(llvm::Intrinsic::fabs, {type}, args);
      if (op->dtype.code != TypeCode::kInt) return args[0];
      return b_.CreateIntrinsic(llvm::Intrinsic::abs, {type}, {args[0], b_.getFalse()});
  }
  return nullptr;
}

ExprEmitter::Address ExprEmitter::address(const BufferSlot& slot, const Expr& index, int64_t element_bytes) {
  auto form = linear_of(index);
  if (!form) return {b_.CreateGEP(b_.getInt8Ty(), slot.base, b_.CreateMul(emit(index), b_.getInt64(static_cast<uint64_t>(element_bytes)))), std::gcd<int64_t>(element_bytes, 64)};
  const int64_t alignment = alignment_of(*form, element_bytes);
  const uint64_t bytes = static_cast<uint64_t>(form->constant) * static_cast<uint64_t>(element_bytes);
  form->constant = 0;
  Value* pointer = slot.base;
  if (!form->terms.empty()) {
    // The constant comes last: neighbouring accesses of an unrolled body share the rest and differ in the displacement.
    Value* variable = b_.CreateMul(emit_linear(std::move(*form)), b_.getInt64(static_cast<uint64_t>(element_bytes)));
    pointer = b_.CreateGEP(b_.getInt8Ty(), pointer, variable);
  }
  if (bytes != 0) pointer = b_.CreateGEP(b_.getInt8Ty(), pointer, b_.getInt64(bytes));
  return {pointer, alignment};
}

Value* ExprEmitter::lane_addresses(const BufferSlot& slot, const Expr& index, int64_t element_bytes) {
  Value* offsets = emit(index);
  return b_.CreateGEP(b_.getInt8Ty(), slot.base, b_.CreateMul(offsets, llvm::ConstantInt::get(offsets->getType(), static_cast<uint64_t>(element_bytes))));
}

Value* ExprEmitter::guarded(Value* pointer, const BufferSlot& slot) {
  Value* wanted = wanted_at_all();
  return wanted ? b_.CreateSelect(wanted, pointer, slot.base) : pointer;
}

void ExprEmitter::check(const BufferSlot& slot, const Expr& index) {
  if (!slot.checked) return;
  Value* i = emit(index);
  Value* size = llvm::ConstantInt::get(i->getType(), static_cast<uint64_t>(slot.elements));
  Value* bad = b_.CreateICmpUGE(i, size);
  if (bad->getType()->isVectorTy()) {
    if (active_.lanes) bad = b_.CreateAnd(bad, active_.lanes);
    bad = any_of(bad);
  }
  if (Value* wanted = wanted_at_all()) bad = b_.CreateAnd(bad, wanted);
  llvm::BasicBlock* next = llvm::BasicBlock::Create(b_.getContext(), "checked", b_.GetInsertBlock()->getParent());
  b_.CreateCondBr(bad, fault_, next);
  b_.SetInsertPoint(next);
}

bool ExprEmitter::constant_in_range(const BufferSlot& slot, const Ramp* index) {
  const auto base = as_const_int(index->base);
  return base && *base >= 0 && *base <= slot.elements - index->dtype.lanes;
}

Value* ExprEmitter::to_memory(Value* v, DType t) { return t.is_bool() ? b_.CreateZExt(v, llvm_type(b_, memory_type(t))) : v; }
Value* ExprEmitter::from_memory(Value* v, DType t) { return t.is_bool() ? b_.CreateIsNotNull(v) : v; }

Value* ExprEmitter::emit_load(const Load* op) {
  HONE_ICHECK(op->indices.size() == 1) << "access to " << op->buffer->name << " is not flat";
  const BufferSlot& s = slot(op->buffer.get());
  const Expr& index = op->indices[0];
  const DType t = op->dtype;
  const int64_t bytes = t.lane_bytes();
  llvm::Type* type = llvm_type(b_, memory_type(t));
  check(s, index);
  if (!t.is_vector()) {
    const Address at = address(s, index, bytes);
    const bool safe = s.on_stack && as_const_int(index);
    return from_memory(b_.CreateAlignedLoad(type, safe ? at.pointer : guarded(at.pointer, s), llvm::Align(static_cast<uint64_t>(at.alignment))), t);
  }
  const Ramp* ramp = as<Ramp>(index);
  if (ramp && is_const(ramp->stride, 1)) {
    const Address at = address(s, ramp->base, bytes);
    const llvm::Align align(static_cast<uint64_t>(at.alignment));
    const bool everything = (!active_.lanes && !active_.any) || (s.on_stack && constant_in_range(s, ramp));
    if (everything) return from_memory(b_.CreateAlignedLoad(type, at.pointer, align), t);
    // Without lane masks something as wide as this may be read from the start of the buffer instead, if it is that large.
    if (!active_.lanes && s.elements >= t.lanes)
      return from_memory(b_.CreateAlignedLoad(type, guarded(at.pointer, s), llvm::Align(static_cast<uint64_t>(at.alignment))), t);
    Value* mask = active_.lanes ? active_.lanes : b_.CreateVectorSplat(t.lanes, active_.any);
    return from_memory(b_.CreateMaskedLoad(type, at.pointer, align, mask, llvm::Constant::getNullValue(type)), t);
  }
  const llvm::Align align(static_cast<uint64_t>(bytes));
  if (!active_.lanes && !active_.any && ramp) {
    Value* out = llvm::PoisonValue::get(type);
    for (int i = 0; i < t.lanes; ++i) {
      const Address at = address(s, ramp->base + ramp->stride * make_int(i), bytes);
      out = b_.CreateInsertElement(out, b_.CreateAlignedLoad(type->getScalarType(), at.pointer, align), static_cast<uint64_t>(i));
    }
    return from_memory(out, t);
  }
  Value* mask = active_.lanes ? active_.lanes : active_.any ? b_.CreateVectorSplat(t.lanes, active_.any) : nullptr;
  return from_memory(b_.CreateMaskedGather(type, lane_addresses(s, index, bytes), align, mask, llvm::Constant::getNullValue(type)), t);
}

void ExprEmitter::emit_store(const Store* op) {
  HONE_ICHECK(op->indices.size() == 1) << "access to " << op->buffer->name << " is not flat";
  const BufferSlot& s = slot(op->buffer.get());
  const Expr& index = op->indices[0];
  const DType t = op->value->dtype;
  const int64_t bytes = t.lane_bytes();
  active_ = {};
  llvm::BasicBlock* after = nullptr;
  if (op->mask && !t.is_vector()) {
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    llvm::BasicBlock* then = llvm::BasicBlock::Create(b_.getContext(), "store", f);
    after = llvm::BasicBlock::Create(b_.getContext(), "stored", f);
    b_.CreateCondBr(emit(op->mask), then, after);
    b_.SetInsertPoint(then);
  } else if (op->mask) {
    active_.lanes = emit(op->mask);
  }
  Value* value = to_memory(emit(op->value), t);
  check(s, index);
  if (!t.is_vector()) {
    const Address at = address(s, index, bytes);
    b_.CreateAlignedStore(value, at.pointer, llvm::Align(static_cast<uint64_t>(at.alignment)));
    if (after) {
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
    }
    return;
  }
  const Ramp* ramp = as<Ramp>(index);
  if (ramp && is_const(ramp->stride, 1)) {
    const Address at = address(s, ramp->base, bytes);
    const llvm::Align align(static_cast<uint64_t>(at.alignment));
    if (active_.lanes && s.on_stack && constant_in_range(s, ramp)) {
      // Nobody else sees the frame: read, choose, write keeps the element in a register, which a masked store would not.
      value = b_.CreateSelect(active_.lanes, value, b_.CreateAlignedLoad(value->getType(), at.pointer, align));
      b_.CreateAlignedStore(value, at.pointer, align);
    } else if (active_.lanes) {
      b_.CreateMaskedStore(value, at.pointer, align, active_.lanes);
    } else {
      b_.CreateAlignedStore(value, at.pointer, align);
    }
  } else if (ramp && !active_.lanes) {
    for (int i = 0; i < t.lanes; ++i) {
      const Address at = address(s, ramp->base + ramp->stride * make_int(i), bytes);
      b_.CreateAlignedStore(b_.CreateExtractElement(value, static_cast<uint64_t>(i)), at.pointer, llvm::Align(static_cast<uint64_t>(bytes)));
    }
  } else {
    b_.CreateMaskedScatter(value, lane_addresses(s, index, bytes), llvm::Align(static_cast<uint64_t>(bytes)), active_.lanes);
  }
  active_ = {};
}

void ExprEmitter::emit_prefetch(const Prefetch* op) {
  HONE_ICHECK(op->indices.size() == 1) << "prefetch of " << op->buffer->name << " is not flat";
  active_ = {};
  const Address at = address(slot(op->buffer.get()), op->indices[0], op->buffer->dtype.lane_bytes());
  // For reading, into all levels of the data caches. A processor ignores an address that it cannot reach.
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {at.pointer, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
}

}  // namespace hone
