#include "compiler/codegen/llvm/lane_loads.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <map>
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

// A scalar of which nothing but splats are made.
bool is_for_splats(const llvm::LoadInst& load) {
  return load.isSimple() && (load.getType()->isFloatTy() || load.getType()->isHalfTy()) && !load.use_empty() &&
         llvm::all_of(load.users(), [&](const llvm::User* u) { return is_splat_of(u, &load); });
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

// Loads of one type whose addresses differ by constants, between two writes: by what is added to the address they
// share.
using Neighbours = std::map<int64_t, llvm::LoadInst*>;

std::vector<Neighbours> neighbours_of(llvm::BasicBlock& loop, const llvm::DataLayout& layout) {
  std::vector<Neighbours> out;
  std::map<std::pair<llvm::Value*, llvm::Type*>, size_t> open;  // which of `out` takes what is read at an address
  for (llvm::Instruction& i : loop) {
    if (writes_memory(i)) open.clear();
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
    if (!load || !is_for_splats(*load)) continue;
    llvm::APInt offset(layout.getIndexTypeSizeInBits(load->getPointerOperandType()), 0);
    llvm::Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    const auto [at, is_new] = open.try_emplace({base, load->getType()}, out.size());
    if (is_new) out.emplace_back();
    out[at->second].try_emplace(offset.getSExtValue(), load);
  }
  return out;
}

using Group = std::vector<llvm::LoadInst*>;

// Elements one behind the other: as many as a register holds, or a smaller power of two.
void append_groups(const Neighbours& loads, std::vector<Group>* groups) {
  const int64_t bytes = bytes_of(loads.begin()->second->getType());
  for (auto at = loads.begin(); at != loads.end();) {
    Group run{at->second};
    auto next = std::next(at);
    while (next != loads.end() && next->first == at->first + bytes * static_cast<int64_t>(run.size()) &&
           8 * bytes * static_cast<int64_t>(run.size()) < kRegisterBits)
      run.push_back(next++->second);
    run.resize(std::bit_floor(run.size()));
    at = std::next(at, static_cast<std::ptrdiff_t>(run.size()));
    if (run.size() > 1) groups->push_back(std::move(run));
  }
}

void read_together(const Group& group) {
  llvm::LoadInst* first = *std::min_element(
      group.begin(), group.end(), [](const llvm::LoadInst* a, const llvm::LoadInst* b) { return a->comesBefore(b); });
  llvm::IRBuilder<> b(first);
  llvm::Value* address = group[0]->getPointerOperand();
  // The lowest element's address may be computed further down than the first load.
  if (auto* made = llvm::dyn_cast<llvm::Instruction>(address);
      made && made->getParent() == first->getParent() && first->comesBefore(made)) {
    const llvm::DataLayout& layout = first->getModule()->getDataLayout();
    llvm::APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
    llvm::Value* base = address->stripAndAccumulateConstantOffsets(layout, offset, true);
    address = b.CreateGEP(b.getInt8Ty(), base, b.getInt64(offset.getZExtValue()));
  }
  auto* type = llvm::FixedVectorType::get(group[0]->getType(), static_cast<unsigned>(group.size()));
  llvm::Value* row = b.CreateAlignedLoad(type, address, group[0]->getAlign());
  for (size_t lane = 0; lane < group.size(); ++lane) {
    std::vector<llvm::Instruction*> dead;
    for (llvm::User* insert : group[lane]->users()) {
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
    group[lane]->eraseFromParent();
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
    // Of the other operand as many vectors as a row has sums are there at a time, and one more is on its way.
    if (rows == 0 || sums + rows + sums / rows + 1 > kRegisters) continue;
    for (const Group& group : groups) read_together(group);
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace hone
