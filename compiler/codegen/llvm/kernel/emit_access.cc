// Loads and stores: addresses, masked lanes, run-time checks.
#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <numeric>

#include "base/small_vector.h"
#include "compiler/arith/linear.h"
#include "compiler/codegen/llvm/kernel/emit_expr.h"
#include "compiler/codegen/llvm/kernel/lane_offsets.h"
#include "compiler/ir/visitor.h"

namespace hone {

using llvm::Value;

namespace {

DType memory_type(DType t) { return t.is_bool() ? u8.with_lanes(t.lanes) : t; }

// The part of a negative displacement (a convolution's border, rows before an element) that goes into the pointer, so
// that the rest fits an instruction: AArch64 subtracts at most 256. In steps, so that neighbours share the pointer.
int64_t far_back(int64_t bytes) {
  constexpr int64_t kMost = 256, kStep = 4096;
  return bytes >= -kMost ? 0 : bytes / kStep * kStep - (bytes % kStep != 0 ? kStep : 0);
}

// The largest power of two, at most `base`, that divides every byte offset of a linear index.
int64_t alignment_of(const Linear& index, int64_t element_bytes, int64_t base) {
  int64_t g = base;
  for (const Linear::Term& t : index.terms) g = std::gcd(g, t.coefficient % 64 * element_bytes);
  return std::gcd(g, index.constant % 64 * element_bytes);
}

// At most two vectors of eight results: they fit the registers together with their operands.
constexpr size_t kMostTogether = 16;

// Elements in memory that become neighbouring lanes: up to this stride, whole vectors are read and shuffled.
constexpr int64_t kMostStride = 4;
constexpr int kLeastStridedLanes = 4;
// Buffers of the frame, which registers hold: a tile of at most this many columns is transposed by halving it.
constexpr int64_t kMostColumns = 16;

bool reads(const Expr& e, const BufferNode* buffer) {
  class Reader final : public Visitor {
   public:
    explicit Reader(const BufferNode* buffer) : buffer_(buffer) {}
    bool found = false;

   protected:
    using Visitor::visit;
    void visit(const Load* op) override {
      // By name: a checked access goes through an alias of its buffer that has the same one.
      found |= op->buffer->name == buffer_->name;
      Visitor::visit(op);
    }

   private:
    const BufferNode* buffer_;
  } reader(buffer);
  reader(e);
  return reader.found;
}

}  // namespace

Value* ExprEmitter::walked(Value* base, const Linear& form, int64_t element_bytes) {
  // Terms of outer loops come first: one pointer for each loop; the innermost one adds its own terms.
  Value* pointer = base;
  if (!options_.simt) {
    for (const Term& t : emit_terms(form, element_bytes)) pointer = arith_.walk(pointer, t.value, t.factor);
    return pointer;
  }
  const std::vector<Term> terms = emit_terms(form, 1);
  for (auto t = terms.begin(); t != terms.end();) {
    const auto end = std::find_if(
        t, terms.end(), [&](const Term& other) { return arith_.level_of(other.value) != arith_.level_of(t->value); });
    std::vector<Term> others;
    for (; t != end; ++t) {
      if (arith_.is_loop_variable(t->value))
        pointer =
            arith_.walk(pointer, t->value,
                        static_cast<int64_t>(static_cast<uint64_t>(t->factor) * static_cast<uint64_t>(element_bytes)));
      else
        others.push_back(*t);
    }
    if (Value* sum = sum_of(others)) pointer = arith_.walk(pointer, sum, element_bytes);
  }
  return pointer;
}

ExprEmitter::Address ExprEmitter::address(const BufferSlot& slot, const Expr& index, int64_t element_bytes) {
  const auto form = linear_of(index);
  const int64_t base_alignment = slot.alignment > 0 ? slot.alignment : options_.base_alignment;
  if (!form)
    return {arith_.walk(slot.base, emit(index), element_bytes), std::gcd<int64_t>(element_bytes, base_alignment)};
  // The constant comes last: neighbouring accesses of an unrolled body share the rest and differ in the displacement.
  const auto bytes = static_cast<int64_t>(static_cast<uint64_t>(form->constant) * static_cast<uint64_t>(element_bytes));
  const int64_t back = options_.far_back ? 0 : far_back(bytes);
  Value* base = back == 0 ? slot.base : arith_.offset(slot.base, b_.getInt64(static_cast<uint64_t>(back)));
  return {arith_.displaced(walked(base, *form, element_bytes), bytes - back),
          alignment_of(*form, element_bytes, base_alignment)};
}

Value* ExprEmitter::element_pointer(const BufferNode* buffer, const Expr& index) {
  return address(slot(buffer), index, buffer->dtype.lane_bytes()).pointer;
}

Value* ExprEmitter::lane_addresses(const BufferSlot& slot, const Expr& index, int64_t element_bytes) {
  Value* offsets = emit(index);
  offsets = b_.CreateSExt(offsets, offsets->getType()->getWithNewBitWidth(64));
  return b_.CreateGEP(
      b_.getInt8Ty(), slot.base,
      b_.CreateMul(offsets, llvm::ConstantInt::get(offsets->getType(), static_cast<uint64_t>(element_bytes))));
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

Value* ExprEmitter::to_memory(Value* v, DType t) {
  if (t.is_bool()) return b_.CreateZExt(v, llvm_type(b_, memory_type(t)));
  return t.scalar() == kIndex ? b_.CreateSExt(v, llvm_type(b_, t)) : v;
}
Value* ExprEmitter::from_memory(Value* v, DType t) { return t.is_bool() ? b_.CreateIsNotNull(v) : v; }

// A GPU's compiler turns a branch around one load into a predicate.
Value* ExprEmitter::load_if(Value* wanted, llvm::Type* type, const Address& at) {
  const llvm::Align align(static_cast<uint64_t>(at.alignment));
  if (!wanted) return b_.CreateAlignedLoad(type, at.pointer, align);
  llvm::Function* f = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock *before = b_.GetInsertBlock(), *then = llvm::BasicBlock::Create(b_.getContext(), "load", f),
                   *after = llvm::BasicBlock::Create(b_.getContext(), "loaded", f);
  b_.CreateCondBr(wanted, then, after);
  b_.SetInsertPoint(then);
  Value* loaded = b_.CreateAlignedLoad(type, at.pointer, align);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* phi = b_.CreatePHI(type, 2);
  phi->addIncoming(loaded, then);
  phi->addIncoming(llvm::Constant::getNullValue(type), before);
  return phi;
}

Value* ExprEmitter::load_lanes(const BufferSlot& slot, const Load* op) {
  const int64_t bytes = op->dtype.lane_bytes();
  llvm::Type* type = llvm_type(b_, memory_type(op->dtype));
  const Ramp* ramp = as<Ramp>(op->indices[0]);
  Value* indices = ramp ? nullptr : emit(op->indices[0]);
  Value* out = llvm::PoisonValue::get(type);
  for (int i = 0; i < op->dtype.lanes; ++i) {
    const auto lane = static_cast<uint64_t>(i);
    Value* pointer = ramp ? address(slot, ramp->base + ramp->stride * make_int(i), bytes).pointer
                          : arith_.walk(slot.base, b_.CreateExtractElement(indices, lane), bytes);
    Value* wanted = active_.lanes ? b_.CreateExtractElement(active_.lanes, lane) : active_.any;
    out = b_.CreateInsertElement(out, load_if(wanted, type->getScalarType(), {pointer, bytes}), lane);
  }
  return out;
}

// The mask of those of the elements `begin` .. `begin` + `lanes` - 1 of a strided access that may be read. Null: all.
// Memory between two active lanes of a known mask belongs to the buffer, so it may be read, too.
Value* ExprEmitter::strided_mask(Value* mask, int64_t stride, int64_t begin, int64_t lanes) {
  if (!mask) return nullptr;
  if (auto* known = llvm::dyn_cast<llvm::Constant>(mask)) {
    const auto is_active = [&](int64_t lane) {
      const llvm::Constant* bit = known->getAggregateElement(static_cast<unsigned>(lane));
      return bit && bit->isOneValue();
    };
    int64_t first = 0, last = lanes - 1;
    while (first < lanes && !is_active(first)) ++first;
    while (last > first && !is_active(last)) --last;
    std::vector<llvm::Constant*> readable;
    for (int64_t e = begin; e < begin + lanes; ++e)
      readable.push_back(b_.getInt1(first < lanes && e >= first * stride && e <= last * stride));
    llvm::Constant* out = llvm::ConstantVector::get(readable);
    return out->isAllOnesValue() ? nullptr : out;
  }
  std::vector<int> from;
  for (int64_t e = begin; e < begin + lanes; ++e)
    from.push_back(static_cast<int>(e % stride == 0 ? e / stride : lanes));
  return b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), from);
}

Value* ExprEmitter::load_strided(const BufferSlot& slot, const Load* op, int64_t stride, Value* mask) {
  const Ramp* ramp = as<Ramp>(op->indices[0]);
  const int64_t bytes = op->dtype.lane_bytes(), lanes = op->dtype.lanes, last = stride * (lanes - 1);
  llvm::Type* type = llvm_type(b_, memory_type(op->dtype));
  const llvm::Align align(static_cast<uint64_t>(bytes));
  Value* out = nullptr;
  for (int64_t part = 0; part < stride; ++part) {
    // The last vector ends with the last lane's element: nothing behind it is read.
    const int64_t begin = std::min(part * lanes, last + 1 - lanes);
    Value* pointer = address(slot, ramp->base + make_int(begin), bytes).pointer;
    Value* readable = strided_mask(mask, stride, begin, lanes);
    Value* read = readable ? b_.CreateMaskedLoad(type, pointer, align, readable, llvm::Constant::getNullValue(type))
                           : static_cast<Value*>(b_.CreateAlignedLoad(type, pointer, align));
    std::vector<int> from;
    for (int64_t i = 0; i < lanes; ++i) {
      const bool is_here = std::min(i * stride / lanes, stride - 1) == part;
      from.push_back(static_cast<int>(is_here ? (out ? lanes : 0) + i * stride - begin : out ? i : 0));
    }
    out = out ? b_.CreateShuffleVector(out, read, from) : b_.CreateShuffleVector(read, from);
  }
  return out;
}

bool ExprEmitter::is_column(const BufferSlot& slot, const Ramp* index, int64_t columns) {
  const auto base = as_const_int(index->base);
  if (!slot.on_stack || !base || columns < 2 || columns > kMostColumns || (columns & (columns - 1)) != 0) return false;
  return *base >= 0 && (*base / columns + index->dtype.lanes) * columns <= slot.elements;
}

// A tile's rows lie behind each other. A column is found by halving: the elements at even or at odd positions, and so
// on. Columns share the steps that their paths have in common.
Value* ExprEmitter::load_column(const BufferSlot& slot, const Load* op, int64_t columns) {
  const Ramp* ramp = as<Ramp>(op->indices[0]);
  const int64_t bytes = op->dtype.lane_bytes(), lanes = op->dtype.lanes, first = as_const_int(ramp->base).value();
  llvm::Type* type = llvm_type(b_, memory_type(op->dtype));
  std::vector<Value*> parts;
  for (int64_t part = 0; part < columns; ++part)
    parts.push_back(
        b_.CreateAlignedLoad(type, address(slot, make_int(first / columns * columns + part * lanes), bytes).pointer,
                             llvm::Align(static_cast<uint64_t>(bytes))));
  for (int64_t position = first % columns; parts.size() > 1; position /= 2) {
    std::vector<int> taken;
    for (int64_t i = 0; i < lanes; ++i) taken.push_back(static_cast<int>(2 * i + position % 2));
    for (size_t pair = 0; pair < parts.size() / 2; ++pair)
      parts[pair] = b_.CreateShuffleVector(parts[2 * pair], parts[2 * pair + 1], taken);
    parts.resize(parts.size() / 2);
  }
  return parts[0];
}

Value* ExprEmitter::load_entries(const BufferSlot& slot, const Load* op) {
  constexpr int64_t kEntries = 256;
  constexpr int kLeastLanes = 8;
  const Cast* byte = as<Cast>(op->indices[0]);
  if (options_.tables.kind == TableLookup::kNone || slot.elements != kEntries || op->dtype.lane_bytes() != 1 ||
      op->dtype.lanes < kLeastLanes || !byte || byte->value->dtype.scalar() != u8)
    return nullptr;
  return emit_table_lookup(b_, options_.tables, slot.base, emit(byte->value));
}

// Words of rows 0 to 3 are interleaved in pairs: rows 0 with 2 and 1 with 3, then the two results. Bytes: up to
// eight rows.
Value* ExprEmitter::load_interleaved(const BufferSlot& slot, const Load* op) {
  const std::optional<LaneOffsets> index = lane_offsets(op->indices[0]);
  constexpr int64_t kMostRowsOfBytes = 8;
  const int64_t bytes = op->dtype.lane_bytes();
  const int64_t rows =
      index ? interleaved_rows(index->offsets, bytes == 1 ? kMostRowsOfBytes : int64_t{kMostStride}) : 0;
  if (rows < 2 || (rows & (rows - 1)) != 0) return nullptr;
  const int64_t lanes = op->dtype.lanes / rows;
  if (bytes == 1 && lanes == 2) return load_interleaved_pairs(slot, index->base, index->offsets, rows);
  llvm::Type* type = llvm_type(b_, memory_type(op->dtype).with_lanes(static_cast<int>(lanes)));
  std::vector<Value*> parts;
  for (int64_t row = 0; row < rows; ++row)
    parts.push_back(
        b_.CreateAlignedLoad(type, address(slot, index->base + index->offsets[static_cast<size_t>(row)], bytes).pointer,
                             llvm::Align(static_cast<uint64_t>(bytes))));
  for (int64_t width = lanes; parts.size() > 1; width *= 2) {
    std::vector<int> turns;
    for (int64_t i = 0; i < width; ++i) turns.insert(turns.end(), {static_cast<int>(i), static_cast<int>(width + i)});
    const size_t half = parts.size() / 2;
    for (size_t r = 0; r < half; ++r) parts[r] = b_.CreateShuffleVector(parts[r], parts[half + r], turns);
    parts.resize(half);
  }
  return parts[0];
}

// Rows of two bytes: NEON has no vectors of these, and LLVM would read them byte by byte.
Value* ExprEmitter::load_interleaved_pairs(const BufferSlot& slot, const Expr& base,
                                           const std::vector<int64_t>& offsets, int64_t rows) {
  const auto count = static_cast<unsigned>(rows);
  Value* pairs = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt16Ty(), count));
  std::vector<int> turns(2 * count);
  for (unsigned row = 0; row < count; ++row) {
    Value* pair = b_.CreateAlignedLoad(b_.getInt16Ty(), address(slot, base + offsets[row], 1).pointer, llvm::Align(1));
    pairs = b_.CreateInsertElement(pairs, pair, row);
    turns[row] = static_cast<int>(2 * row), turns[count + row] = static_cast<int>(2 * row + 1);
  }
  Value* bytes = b_.CreateBitCast(pairs, llvm::FixedVectorType::get(b_.getInt8Ty(), 2 * count));
  return b_.CreateShuffleVector(bytes, turns);
}

// Most vectors are whole, where the last one of a row is not.
void ExprEmitter::store_masked(const BufferSlot& slot, Value* value, const Address& at, llvm::Align align) {
  llvm::BasicBlock* after = nullptr;
  if (!options_.has_masked_stores && !llvm::isa<llvm::Constant>(active_.lanes)) {
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    llvm::BasicBlock* whole = llvm::BasicBlock::Create(b_.getContext(), "whole", f);
    llvm::BasicBlock* part = llvm::BasicBlock::Create(b_.getContext(), "part", f);
    after = llvm::BasicBlock::Create(b_.getContext(), "stored", f);
    b_.CreateCondBr(b_.CreateAndReduce(active_.lanes), whole, part);
    b_.SetInsertPoint(whole);
    b_.CreateAlignedStore(value, at.pointer, align);
    b_.CreateBr(after);
    b_.SetInsertPoint(part);
  }
  b_.CreateMaskedStore(value, active_.any ? guarded(at.pointer, slot) : at.pointer, align, active_.lanes);
  if (!after) return;
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void ExprEmitter::store_lanes(const BufferSlot& slot, const Expr& index, Value* value, Value* mask,
                              int64_t element_bytes) {
  const Ramp* ramp = as<Ramp>(index);
  Value* indices = ramp ? nullptr : emit(index);
  for (int i = 0; i < index->dtype.lanes; ++i) {
    const auto lane = static_cast<uint64_t>(i);
    llvm::BasicBlock* after = nullptr;
    if (mask) {
      llvm::Function* f = b_.GetInsertBlock()->getParent();
      llvm::BasicBlock* then = llvm::BasicBlock::Create(b_.getContext(), "store", f);
      after = llvm::BasicBlock::Create(b_.getContext(), "stored", f);
      arith_.push(b_.CreateCondBr(b_.CreateExtractElement(mask, lane), then, after));
      b_.SetInsertPoint(then);
    }
    Value* pointer = ramp ? address(slot, ramp->base + ramp->stride * make_int(i), element_bytes).pointer
                          : arith_.walk(slot.base, b_.CreateExtractElement(indices, lane), element_bytes);
    b_.CreateAlignedStore(b_.CreateExtractElement(value, lane), pointer,
                          llvm::Align(static_cast<uint64_t>(element_bytes)));
    if (!after) continue;
    arith_.pop();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
}

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
    if (options_.simt) return from_memory(load_if(safe ? nullptr : wanted_at_all(), type, at), t);
    return from_memory(b_.CreateAlignedLoad(type, safe ? at.pointer : guarded(at.pointer, s),
                                            llvm::Align(static_cast<uint64_t>(at.alignment))),
                       t);
  }
  const Ramp* ramp = as<Ramp>(index);
  if (ramp && is_const(ramp->stride, 1)) {
    const Address at = address(s, ramp->base, bytes);
    const llvm::Align align(static_cast<uint64_t>(at.alignment));
    const bool everything = (!active_.lanes && !active_.any) || (s.on_stack && constant_in_range(s, ramp));
    if (everything) return from_memory(b_.CreateAlignedLoad(type, at.pointer, align), t);
    if (options_.simt && !active_.lanes) return from_memory(load_if(active_.any, type, at), t);
    // Without masked loads, a vector of this width may be read from the start of the buffer instead, if the buffer is
    // that large.
    if (!active_.lanes && s.elements >= t.lanes)
      return from_memory(
          b_.CreateAlignedLoad(type, guarded(at.pointer, s), llvm::Align(static_cast<uint64_t>(at.alignment))), t);
    if (options_.simt) return from_memory(load_lanes(s, op), t);
    Value* mask = active_.lanes ? active_.lanes : b_.CreateVectorSplat(t.lanes, active_.any);
    Value* pointer = active_.any ? guarded(at.pointer, s) : at.pointer;
    return from_memory(b_.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type)), t);
  }
  const llvm::Align align(static_cast<uint64_t>(bytes));
  const int64_t stride = ramp ? as_const_int(ramp->stride).value_or(0) : 0;
  if (!options_.simt && ramp && is_column(s, ramp, stride)) return from_memory(load_column(s, op, stride), t);
  Value* mask = active_.lanes ? active_.lanes : active_.any ? b_.CreateVectorSplat(t.lanes, active_.any) : nullptr;
  const bool reads_vectors = !mask || (options_.has_masked_loads && bytes >= 4);
  if (!options_.simt && reads_vectors && stride > 1 && stride <= kMostStride && t.lanes >= kLeastStridedLanes)
    return from_memory(load_strided(s, op, stride, mask), t);
  if (!options_.simt && !ramp)
    if (Value* found = load_entries(s, op)) return from_memory(found, t);
  if (!options_.simt && !mask && !ramp)
    if (Value* loaded = load_interleaved(s, op)) return from_memory(loaded, t);
  if (options_.simt || (!mask && ramp)) return from_memory(load_lanes(s, op), t);
  return from_memory(
      b_.CreateMaskedGather(type, lane_addresses(s, index, bytes), align, mask, llvm::Constant::getNullValue(type)), t);
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
    arith_.push(b_.CreateCondBr(emit(op->mask), then, after));
    b_.SetInsertPoint(then);
  } else if (op->mask) {
    active_.lanes = emit(op->mask);
    // An access that no lane wants may lie in a page that is not there: a CPU finds that out in hundreds of cycles.
    if (!options_.simt && !llvm::isa<llvm::Constant>(active_.lanes)) active_.any = any_of(active_.lanes);
  }
  Value* value = to_memory(emit(op->value), t);
  check(s, index);
  if (!t.is_vector()) {
    const Address at = address(s, index, bytes);
    b_.CreateAlignedStore(value, at.pointer, llvm::Align(static_cast<uint64_t>(at.alignment)));
    if (after) {
      arith_.pop();
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
      // The frame is private to the thread: reading, selecting and writing keeps the element in a register, which a
      // masked store would not.
      value = b_.CreateSelect(active_.lanes, value, b_.CreateAlignedLoad(value->getType(), at.pointer, align));
      b_.CreateAlignedStore(value, at.pointer, align);
    } else if (active_.lanes && options_.simt) {
      store_lanes(s, index, value, active_.lanes, bytes);
    } else if (active_.lanes) {
      store_masked(s, value, at, align);
    } else {
      b_.CreateAlignedStore(value, at.pointer, align);
    }
  } else if (options_.simt || (ramp && !active_.lanes)) {
    store_lanes(s, index, value, active_.lanes, bytes);
  } else {
    b_.CreateMaskedScatter(value, lane_addresses(s, index, bytes), llvm::Align(static_cast<uint64_t>(bytes)),
                           active_.lanes);
  }
  active_ = {};
}

size_t ExprEmitter::stores_together(std::span<const Stmt> stmts) const {
  size_t n = 0;
  const BufferNode* written = nullptr;
  for (; n < std::min(stmts.size(), kMostTogether); ++n) {
    const Store* op = as<Store>(stmts[n]);
    if (!op || op->mask || !op->value->dtype.is_vector() || (written && op->buffer.get() != written)) break;
    written = op->buffer.get();
    const Ramp* ramp = as<Ramp>(op->indices[0]);
    if (!ramp || !is_const(ramp->stride, 1) || slot(written).checked || reads(op->value, written) ||
        reads(op->indices[0], written))
      break;
  }
  return n;
}

void ExprEmitter::emit_stores_together(std::span<const Stmt> stores) {
  SmallVector<Value*, kMostTogether> values;
  for (const Stmt& s : stores) values.push_back(to_memory(emit(as<Store>(s)->value), as<Store>(s)->value->dtype));
  for (size_t i = 0; i < stores.size(); ++i) {
    const Store* op = as<Store>(stores[i]);
    const Address at = address(slot(op->buffer.get()), as<Ramp>(op->indices[0])->base, op->value->dtype.lane_bytes());
    b_.CreateAlignedStore(values[i], at.pointer, llvm::Align(static_cast<uint64_t>(at.alignment)));
  }
}

size_t ExprEmitter::stores_of_words(std::span<const Stmt> stmts) const {
  const Store* first = stmts.empty() ? nullptr : as<Store>(stmts[0]);
  const DType type = first ? first->value->dtype : DType{};
  constexpr int kWordBytes = 4;
  if (!first || !type.is_vector() || type.is_bool() || type.lane_bytes() > 2 || slot(first->buffer.get()).checked)
    return 0;
  const auto parts = static_cast<size_t>(kWordBytes / type.lane_bytes());
  const Ramp* word = as<Ramp>(first->indices[0]);
  const auto at = word && stmts.size() >= parts ? linear_of(word->base) : std::nullopt;
  if (!at) return 0;
  for (size_t p = 0; p < parts; ++p) {
    const Store* op = as<Store>(stmts[p]);
    const Ramp* ramp = op && !op->mask && op->buffer.same_as(first->buffer) ? as<Ramp>(op->indices[0]) : nullptr;
    if (!ramp || op->value->dtype != type || !is_const(ramp->stride, static_cast<int64_t>(parts)) ||
        reads(op->value, op->buffer.get()) || reads(op->indices[0], op->buffer.get()))
      return 0;
    const auto own = linear_of(ramp->base), distance = own ? add(*own, *at, -1) : std::nullopt;
    if (!distance || !distance->is_constant() || distance->constant != static_cast<int64_t>(p)) return 0;
  }
  return parts;
}

void ExprEmitter::emit_stores_of_words(std::span<const Stmt> stores) {
  const Store* first = as<Store>(stores[0]);
  const DType type = first->value->dtype;
  llvm::Type* const words = type_of(u32.with_lanes(type.lanes));
  const auto bits = 8 * static_cast<unsigned>(type.lane_bytes());
  llvm::Type* const in_bits = llvm::FixedVectorType::get(b_.getIntNTy(bits), static_cast<unsigned>(type.lanes));
  Value* all = nullptr;
  for (size_t p = 0; p < stores.size(); ++p) {
    Value* part = b_.CreateBitCast(to_memory(emit(as<Store>(stores[p])->value), type), in_bits);
    part = b_.CreateShl(b_.CreateZExt(part, words), uint64_t{bits} * p);
    all = all ? b_.CreateOr(all, part) : part;
  }
  const Address at = address(slot(first->buffer.get()), as<Ramp>(first->indices[0])->base, type.lane_bytes());
  b_.CreateAlignedStore(all, at.pointer, llvm::Align(static_cast<uint64_t>(at.alignment)));
}

void ExprEmitter::emit_prefetch(const Prefetch* op) {
  HONE_ICHECK(op->indices.size() == 1) << "prefetch of " << op->buffer->name << " is not flat";
  active_ = {};
  const Address at = address(slot(op->buffer.get()), op->indices[0], op->buffer->dtype.lane_bytes());
  // For reading, into all levels of the data caches. A processor ignores an address that it cannot reach.
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                     {at.pointer, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
}

}  // namespace hone
