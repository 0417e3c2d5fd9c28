#include "compiler/codegen/llvm/kernel/half_products.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "compiler/codegen/llvm/kernel/lane_loads.h"

namespace hone {
namespace {

constexpr int kLanes = 4;

bool is_type(const llvm::Value* v, const llvm::Type* element, unsigned lanes) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return type && type->getElementType() == element && type->getNumElements() == lanes;
}

// The halves that were widened to the four floats `v`: a vector, or one for all lanes. Null when v is neither.
llvm::Value* halves_of(llvm::Value* v) {
  llvm::Type* half = llvm::Type::getHalfTy(v->getContext());
  if (const auto* zero = llvm::dyn_cast<llvm::Constant>(v); zero && zero->isNullValue())  // of padding
    return llvm::Constant::getNullValue(half);
  if (const auto* wide = llvm::dyn_cast<llvm::FPExtInst>(v))
    return is_type(wide->getOperand(0), half, kLanes) ? wide->getOperand(0) : nullptr;
  const auto* splat = llvm::dyn_cast<llvm::ShuffleVectorInst>(v);
  const auto* insert =
      splat && splat->isZeroEltSplat() ? llvm::dyn_cast<llvm::InsertElementInst>(splat->getOperand(0)) : nullptr;
  const auto* lane = insert ? llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2)) : nullptr;
  const auto* wide = lane && lane->isZero() ? llvm::dyn_cast<llvm::FPExtInst>(insert->getOperand(1)) : nullptr;
  return wide && wide->getOperand(0)->getType() == half ? wide->getOperand(0) : nullptr;
}

// A register of eight halves; an instruction takes its lower or its upper four.
struct Halves {
  llvm::Value* eight;
  bool is_upper;
};

class HalfMultiplier {
 public:
  explicit HalfMultiplier(llvm::Function& f) : f_(f) {}

  bool run() {
    std::vector<Product> products;
    for (llvm::BasicBlock& block : f_)
      for (llvm::Instruction& i : block)
        if (auto* sum = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
            sum && sum->getIntrinsicID() == llvm::Intrinsic::fmuladd &&
            is_type(sum, llvm::Type::getFloatTy(f_.getContext()), kLanes)) {
          llvm::Value *a = halves_of(sum->getOperand(0)), *b = halves_of(sum->getOperand(1));
          if (a && b && !a->getType()->isVectorTy()) std::swap(a, b);  // it is the second factor whose lanes are taken
          if (a && b) products.push_back({sum, a, b});
        }
    if (products.empty()) return false;
    for (llvm::BasicBlock& block : f_) join_loads(block);
    llvm::SmallVector<llvm::WeakTrackingVH> widened;
    for (const Product& p : products) {
      for (const unsigned factor : {0u, 1u}) widened.emplace_back(p.sum->getOperand(factor));
      replace(p);
    }
    llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(widened);
    for (const auto& [load, four] : replaced_) load->eraseFromParent();
    return true;
  }

 private:
  struct Product {
    llvm::IntrinsicInst* sum;
    llvm::Value *a, *b;
  };

  // Two loads of four halves, one behind the other in memory and no write between them: one load of eight.
  void join_loads(llvm::BasicBlock& block) {
    const llvm::DataLayout& layout = f_.getDataLayout();
    std::map<std::pair<llvm::Value*, int64_t>, llvm::LoadInst*> open;
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
      if (writes_memory(i)) open.clear();
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
      if (!load || !load->isSimple() || !is_type(load, llvm::Type::getHalfTy(f_.getContext()), kLanes)) continue;
      llvm::APInt offset(layout.getIndexTypeSizeInBits(load->getPointerOperandType()), 0);
      llvm::Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
      constexpr int64_t kBytes = 2 * kLanes;
      const auto lower = open.find({base, offset.getSExtValue() - kBytes});
      if (lower == open.end()) {
        open[{base, offset.getSExtValue()}] = load;
        continue;
      }
      llvm::IRBuilder<> b(lower->second);
      llvm::Value* eight = b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getHalfTy(), 2 * kLanes),
                                               lower->second->getPointerOperand(), lower->second->getAlign());
      for (const bool is_upper : {false, true}) {
        llvm::LoadInst* part = is_upper ? load : lower->second;
        std::vector<int> lanes(kLanes);
        std::iota(lanes.begin(), lanes.end(), is_upper ? kLanes : 0);
        llvm::Value* four = b.CreateShuffleVector(eight, lanes);
        part->replaceAllUsesWith(four);
        known_[four] = {eight, is_upper};
        replaced_[part] = four;
      }
      open.erase(lower);
    }
  }

  Halves in_register(llvm::Value* halves) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(halves))
      if (const auto it = replaced_.find(load); it != replaced_.end()) halves = it->second;
    if (const auto it = known_.find(halves); it != known_.end()) return it->second;
    llvm::IRBuilder<> b(f_.getContext());
    if (auto* made = llvm::dyn_cast<llvm::Instruction>(halves))
      b.SetInsertPoint(*made->getInsertionPointAfterDef());
    else
      b.SetInsertPoint(&*f_.getEntryBlock().getFirstInsertionPt());
    llvm::Value* eight = nullptr;
    if (halves->getType()->isVectorTy()) {
      std::vector<int> lanes(2 * kLanes, -1);
      std::iota(lanes.begin(), lanes.begin() + kLanes, 0);
      eight = b.CreateShuffleVector(halves, lanes);
    } else {
      eight = b.CreateVectorSplat(2 * kLanes, halves);
    }
    return known_[halves] = {eight, false};
  }

  void replace(const Product& p) {
    Halves x = in_register(p.a), y = in_register(p.b);
    const bool is_upper = x.is_upper || y.is_upper;
    llvm::IRBuilder<> b(p.sum);
    // One number is in all lanes; of two vectors both must be in the same half.
    const auto beside = [&](Halves h, const llvm::Value* halves) {
      if (h.is_upper == is_upper || !halves->getType()->isVectorTy()) return h.eight;
      std::vector<int> lanes(2 * kLanes);
      std::iota(lanes.begin(), lanes.end(), 0);
      std::rotate(lanes.begin(), lanes.begin() + kLanes, lanes.end());
      return b.CreateShuffleVector(h.eight, lanes);
    };
    llvm::Value *left = beside(x, p.a), *right = beside(y, p.b), *sum = p.sum->getOperand(2);
    const auto id = is_upper ? llvm::Intrinsic::aarch64_neon_fmlal2 : llvm::Intrinsic::aarch64_neon_fmlal;
    p.sum->replaceAllUsesWith(b.CreateIntrinsic(id, {p.sum->getType(), left->getType()}, {sum, left, right}));
    p.sum->eraseFromParent();
  }

  llvm::Function& f_;
  std::map<llvm::Value*, Halves> known_;              // by the result of halves_of()
  std::map<llvm::LoadInst*, llvm::Value*> replaced_;  // loads and their replacements
};

}  // namespace

llvm::PreservedAnalyses MultiplyHalves::run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
  return HalfMultiplier(f).run() ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace hone
