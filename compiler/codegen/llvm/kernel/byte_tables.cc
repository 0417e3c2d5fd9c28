#include "compiler/codegen/llvm/kernel/byte_tables.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <vector>

#include "compiler/codegen/llvm/machine/x86_features.h"

namespace hone {
namespace {

using llvm::Value;

constexpr int kEntries = 256;

int lanes_of(Value* v) { return static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements()); }

// Lanes `first` to `first + count` of v; those behind its end are poison.
Value* lanes_from(llvm::IRBuilderBase& b, Value* v, int first, int count) {
  if (first == 0 && count == lanes_of(v)) return v;
  std::vector<int> from;
  for (int i = first; i < first + count; ++i) from.push_back(i < lanes_of(v) ? i : llvm::PoisonMaskElem);
  return b.CreateShuffleVector(v, from);
}

// The `count` bytes of the table from number `first` on.
Value* entries(llvm::IRBuilderBase& b, Value* table, int first, int count) {
  return b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getInt8Ty(), static_cast<unsigned>(count)),
                             b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), table, static_cast<uint64_t>(first)),
                             llvm::Align(1));
}

Value* splat(llvm::IRBuilderBase& b, int lanes, int byte) {
  return b.CreateVectorSplat(static_cast<unsigned>(lanes), b.getInt8(static_cast<uint8_t>(byte)));
}

// Looks up in both halves of the table; the highest bit of an index selects the half.
Value* by_vbmi(llvm::IRBuilderBase& b, Value* table, Value* indices) {
  const auto half = [&](int first) {
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_qi_512, {},
                             {entries(b, table, first, 64), indices, entries(b, table, first + 64, 64)});
  };
  Value* is_high = b.CreateICmpSLT(indices, splat(b, 64, 0));
  return b.CreateSelect(is_high, half(128), half(0));
}

// Sixteen entries after the other. An index outside of them is made one of 128 or more, for which pshufb gives 0.
Value* by_pshufb(llvm::IRBuilderBase& b, Value* table, Value* indices) {
  constexpr int kTogether = 16;
  const int lanes = lanes_of(indices);
  const llvm::Intrinsic::ID pshufb = lanes == 64   ? llvm::Intrinsic::x86_avx512_pshuf_b_512
                                     : lanes == 32 ? llvm::Intrinsic::x86_avx2_pshuf_b
                                                   : llvm::Intrinsic::x86_ssse3_pshuf_b_128;
  Value* found = nullptr;
  for (int first = 0; first < kEntries; first += kTogether) {
    std::vector<int> repeated;
    for (int i = 0; i < lanes; ++i) repeated.push_back(i % kTogether);
    Value* part = b.CreateShuffleVector(entries(b, table, first, kTogether), repeated);
    Value* within = b.CreateXor(indices, splat(b, lanes, first));
    Value* marked = b.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_sat, within, splat(b, lanes, 0x70));
    Value* here = b.CreateIntrinsic(pshufb, {}, {part, marked});
    found = found ? b.CreateOr(found, here) : here;
  }
  return found;
}

// tbx leaves a lane as it is where the index is outside of its entries.
Value* by_tbl(llvm::IRBuilderBase& b, Value* table, Value* indices) {
  constexpr int kTogether = 64, kLanes = 16;
  Value* found = nullptr;
  for (int first = 0; first < kEntries; first += kTogether) {
    std::vector<Value*> arguments;
    if (found) arguments.push_back(found);
    for (int row = 0; row < kTogether; row += kLanes) arguments.push_back(entries(b, table, first + row, kLanes));
    arguments.push_back(b.CreateSub(indices, splat(b, kLanes, first)));
    found = b.CreateIntrinsic(found ? llvm::Intrinsic::aarch64_neon_tbx4 : llvm::Intrinsic::aarch64_neon_tbl4,
                              {indices->getType()}, arguments);
  }
  return found;
}

}  // namespace

TableUnit table_unit(const Target& target, int vector_bits) {
  if (target.kind != "llvm") return {};
  if (target.arch == "aarch64") return {TableLookup::kTbl, 16};
  if (has_x86_features(target, {"avx512vbmi"})) return {TableLookup::kVbmi, 64};
  if (vector_bits >= 512 && has_x86_features(target, {"avx512bw"})) return {TableLookup::kPshufb, 64};
  if (vector_bits >= 256 && has_x86_features(target, {"avx2"})) return {TableLookup::kPshufb, 32};
  return has_x86_features(target, {"ssse3"}) ? TableUnit{TableLookup::kPshufb, 16} : TableUnit{};
}

Value* emit_table_lookup(llvm::IRBuilderBase& b, const TableUnit& unit, Value* table, Value* indices) {
  const int lanes = lanes_of(indices);
  Value* out = nullptr;
  for (int first = 0; first < lanes; first += unit.bytes) {
    Value* part = lanes_from(b, indices, first, unit.bytes);
    part = unit.kind == TableLookup::kVbmi     ? by_vbmi(b, table, part)
           : unit.kind == TableLookup::kPshufb ? by_pshufb(b, table, part)
                                               : by_tbl(b, table, part);
    if (!out) {
      out = lanes_from(b, part, 0, lanes);
      continue;
    }
    std::vector<int> from;
    for (int i = 0; i < lanes; ++i) from.push_back(i < first ? i : lanes + std::min(i - first, unit.bytes - 1));
    out = b.CreateShuffleVector(out, lanes_from(b, part, 0, lanes), from);
  }
  return out;
}

}  // namespace hone
