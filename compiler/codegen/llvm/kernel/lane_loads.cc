#include "compiler/codegen/llvm/kernel/lane_loads.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace hone {
namespace {

constexpr int64_t kRegisterBits = 128, kRegisters = 32;

int64_t bytes_of(const llvm::Type* element) { return element->getPrimitiveSizeInBits().getFixedValue() / 8; }

bool is_splat_of(const llvm::User* user, const llvm::Value* scalar) {
  const auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(user);
  if (!insert || insert->getOperand(1) != scalar || !llvm::isa<llvm::PoisonValue>(insert->getOperand(0))) return false;
  const auto* lane = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
  return lane && lane->isZero() && llvm::all_of(insert->users(), [](const llvm::User* u) {
           const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(u);
           return shuffle && shuffle->isZeroEltSplat();
         });
}

// A scalar load whose value, perhaps widened, is only used in splats.
struct Element {
  llvm::LoadInst* load = nullptr;
  llvm::Instruction* splatted = nullptr;  // the load, or the f32 that it becomes
};

bool is_for_splats(const llvm::Instruction& scalar) {
  return !scalar.use_empty() &&
         llvm::all_of(scalar.users(), [&](const llvm::User* u) { return is_splat_of(u, &scalar); });
}

std::optional<Element> element_of(llvm::LoadInst& load) {
  if (!load.isSimple() || !(load.getType()->isFloatTy() || load.getType()->isHalfTy())) return std::nullopt;
  if (is_for_splats(load)) return Element{&load, &load};
  auto* wide = load.hasOneUse() ? llvm::dyn_cast<llvm::FPExtInst>(*load.user_begin()) : nullptr;
  if (!wide || !wide->getType()->isFloatTy() || wide->getParent() != load.getParent() || !is_for_splats(*wide))
    return std::nullopt;
  return Element{&load, wide};
}

// Registers that the loop's vectors take through its body.
int64_t accumulators(const llvm::BasicBlock& loop) {
  int64_t registers = 0;
  for (const llvm::PHINode& phi : loop.phis())
    if (phi.getType()->isVectorTy())
      registers += (static_cast<int64_t>(phi.getType()->getPrimitiveSizeInBits().getFixedValue()) + kRegisterBits - 1) /
                   kRegisterBits;
  return registers;
}

// Elements of one type whose addresses differ by constants, between two writes: by their distance from the address
// that they share.
using Neighbours = std::map<int64_t, Element>;

std::vector<Neighbours> neighbours_of(llvm::BasicBlock& loop, const llvm::DataLayout& layout) {
  std::vector<Neighbours> out;
  // The index in `out` for loads from an address, of a type, for splats of a type.
  std::map<std::tuple<llvm::Value*, llvm::Type*, llvm::Type*>, size_t> open;
  for (llvm::Instruction& i : loop) {
    if (writes_memory(i)) open.clear();
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
    const auto element = load ? element_of(*load) : std::nullopt;
    if (!element) continue;
    llvm::APInt offset(layout.getIndexTypeSizeInBits(load->getPointerOperandType()), 0);
    llvm::Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    const auto [at, is_new] = open.try_emplace({base, load->getType(), element->splatted->getType()}, out.size());
    if (is_new) out.emplace_back();
    out[at->second].try_emplace(offset.getSExtValue(), *element);
  }
  return out;
}

using Group = std::vector<Element>;

// Elements one behind the other: as many as a register holds, or a smaller power of two.
void append_groups(const Neighbours& loads, std::vector<Group>* groups) {
  const Element& any = loads.begin()->second;
  const int64_t bytes = bytes_of(any.load->getType()), most = kRegisterBits / 8 / bytes_of(any.splatted->getType());
  for (auto at = loads.begin(); at != loads.end();) {
    Group run{at->second};
    auto next = std::next(at);
    while (next != loads.end() && next->first == at->first + bytes * static_cast<int64_t>(run.size()) &&
           static_cast<int64_t>(run.size()) < most)
      run.push_back(next++->second);
    run.resize(std::bit_floor(run.size()));
    at = std::next(at, static_cast<std::ptrdiff_t>(run.size()));
    if (run.size() > 1) groups->push_back(std::move(run));
  }
}

void read_together(const Group& group) {
  llvm::LoadInst* first = std::min_element(group.begin(), group.end(), [](const Element& a, const Element& b) {
                            return a.load->comesBefore(b.load);
                          })->load;
  llvm::IRBuilder<> b(first);
  llvm::Value* address = group[0].load->getPointerOperand();
  // The lowest element's address may be computed further down than the first load.
  if (auto* made = llvm::dyn_cast<llvm::Instruction>(address);
      made && made->getParent() == first->getParent() && first->comesBefore(made)) {
    const llvm::DataLayout& layout = first->getModule()->getDataLayout();
    llvm::APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
    llvm::Value* base = address->stripAndAccumulateConstantOffsets(layout, offset, true);
    address = b.CreateGEP(b.getInt8Ty(), base, b.getInt64(offset.getZExtValue()));
  }
  auto* type = llvm::FixedVectorType::get(group[0].load->getType(), static_cast<unsigned>(group.size()));
  llvm::Value* row = b.CreateAlignedLoad(type, address, group[0].load->getAlign());
  if (group[0].splatted != group[0].load)
    row = b.CreateFPExt(row, llvm::FixedVectorType::get(b.getFloatTy(), static_cast<unsigned>(group.size())));
  for (size_t lane = 0; lane < group.size(); ++lane) {
    std::vector<llvm::Instruction*> dead;
    for (llvm::User* insert : group[lane].splatted->users()) {
      for (llvm::User* user : insert->users()) {
        auto* splat = llvm::cast<llvm::ShuffleVectorInst>(user);
        const auto lanes = llvm::cast<llvm::FixedVectorType>(splat->getType())->getNumElements();
        b.SetInsertPoint(splat);
        splat->replaceAllUsesWith(b.CreateShuffleVector(row, std::vector<int>(lanes, static_cast<int>(lane))));
        dead.push_back(splat);
      }
      dead.push_back(llvm::cast<llvm::Instruction>(insert));
    }
    for (llvm::Instruction* i : dead) i->eraseFromParent();
    if (group[lane].splatted != group[lane].load) group[lane].splatted->eraseFromParent();
    group[lane].load->eraseFromParent();
  }
}

bool is_innermost(const llvm::BasicBlock& block) { return llvm::is_contained(llvm::successors(&block), &block); }

}  // namespace

bool writes_memory(const llvm::Instruction& i) {
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return i.mayWriteToMemory() && !(intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::prefetch);
}

llvm::PreservedAnalyses ReadLanesTogether::run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::BasicBlock& block : f) {
    if (!is_innermost(block)) continue;
    std::vector<Group> groups;
    for (const Neighbours& loads : neighbours_of(block, f.getDataLayout())) append_groups(loads, &groups);
    const int64_t sums = accumulators(block), rows = static_cast<int64_t>(groups.size());
    // The other operand needs as many registers as a row has sums, and one for the next load.
    if (rows == 0 || sums + rows + sums / rows + 1 > kRegisters) continue;
    for (const Group& group : groups) read_together(group);
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace hone
