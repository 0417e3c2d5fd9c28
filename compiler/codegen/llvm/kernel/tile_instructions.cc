#include "compiler/codegen/llvm/kernel/tile_instructions.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <array>

#include "base/check.h"

namespace hone {
namespace {

using llvm::Value;

// Values of hone.tiles.
constexpr uint32_t kAllowed = 1, kRefused = 2;
// arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): Linux, Documentation/arch/x86/xstate.rst.
constexpr int64_t kArchPrctl = 158, kRequestPermission = 0x1023, kTileData = 18;

struct Product {
  std::string_view name;
  llvm::Intrinsic::ID instruction;
};
constexpr Product kProducts[] = {
    {"tdpbf16ps", llvm::Intrinsic::x86_tdpbf16ps}, {"tdpfp16ps", llvm::Intrinsic::x86_tdpfp16ps},
    {"tdpbusd", llvm::Intrinsic::x86_tdpbusd},     {"tdpbsud", llvm::Intrinsic::x86_tdpbsud},
    {"tdpbssd", llvm::Intrinsic::x86_tdpbssd},     {"tdpbuud", llvm::Intrinsic::x86_tdpbuud},
};

}  // namespace

llvm::Module& TileInstructions::module() { return *b_.GetInsertBlock()->getModule(); }

Value* TileInstructions::number(int tile) { return b_.getInt8(static_cast<uint8_t>(tile)); }

void TileInstructions::call(llvm::Intrinsic::ID instruction, const char* name, llvm::ArrayRef<Value*> args) {
  if (code_ == TileCode::kInstructions) return void(b_.CreateIntrinsic(instruction, {}, args));
  std::vector<Value*> passed;
  std::vector<llvm::Type*> types;
  for (Value* arg : args) {
    passed.push_back(arg->getType()->isIntegerTy(8) ? b_.CreateZExt(arg, b_.getInt32Ty()) : arg);
    types.push_back(passed.back()->getType());
  }
  b_.CreateCall(module().getOrInsertFunction(std::string("hone_model_") + name,
                                             llvm::FunctionType::get(b_.getVoidTy(), types, false)),
                passed);
}

void TileInstructions::store_config(Value* to) { call(llvm::Intrinsic::x86_sttilecfg, "sttilecfg", {to}); }
void TileInstructions::load_config(Value* from) { call(llvm::Intrinsic::x86_ldtilecfg, "ldtilecfg", {from}); }
void TileInstructions::release() { call(llvm::Intrinsic::x86_tilerelease, "tilerelease", {}); }

void TileInstructions::load(int tile, Value* from, Value* stride) {
  call(llvm::Intrinsic::x86_tileloadd64, "tileloadd", {number(tile), from, stride});
}

void TileInstructions::store(int tile, Value* to, Value* stride) {
  call(llvm::Intrinsic::x86_tilestored64, "tilestored", {number(tile), to, stride});
}

void TileInstructions::fill_with_zeros(int tile) { call(llvm::Intrinsic::x86_tilezero, "tilezero", {number(tile)}); }

void TileInstructions::multiply(const MatrixUnit& unit, int c, int a, int b) {
  for (const Product& p : kProducts)
    if (p.name == unit.product) return call(p.instruction, p.name.data(), {number(c), number(a), number(b)});
  HONE_ICHECK(false) << "no instruction of tiles is called " << unit.product;
}

llvm::Constant* TileInstructions::full_tiles() {
  constexpr size_t kColumnBytes = 16, kRows = 48;  // where the table of each begins; behind palette and start row
  constexpr size_t kTiles = 8;
  std::array<uint8_t, kTileConfigBytes> bytes{};
  bytes[0] = 1;
  for (size_t t = 0; t < kTiles; ++t) {
    bytes[kColumnBytes + 2 * t] = kTileRowBytes;
    bytes[kRows + t] = 16;
  }
  llvm::Module& m = module();
  if (llvm::GlobalVariable* known = m.getNamedGlobal("hone.full_tiles")) return known;
  auto* content = llvm::ConstantDataArray::get(m.getContext(), bytes);
  auto* config = new llvm::GlobalVariable(m, content->getType(), true, llvm::GlobalValue::PrivateLinkage, content,
                                          "hone.full_tiles");
  config->setAlignment(llvm::Align(64));
  return config;
}

// One for all objects of an artifact: 0 until the kernel was asked.
llvm::GlobalVariable* TileInstructions::state() {
  llvm::Module& m = module();
  if (llvm::GlobalVariable* known = m.getNamedGlobal("hone.tiles")) return known;
  auto* state = new llvm::GlobalVariable(m, b_.getInt32Ty(), false, llvm::GlobalValue::LinkOnceODRLinkage,
                                         b_.getInt32(0), "hone.tiles");
  state->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return state;
}

Value* TileInstructions::permitted() {
  llvm::LoadInst* said = b_.CreateLoad(b_.getInt32Ty(), state());
  said->setAtomic(llvm::AtomicOrdering::Monotonic);
  return b_.CreateICmpEQ(said, b_.getInt32(kAllowed));
}

Value* TileInstructions::ask_permission() {
  llvm::Module& m = module();
  llvm::Function* f = m.getFunction("hone.ask_for_tiles");
  if (!f) {
    llvm::GlobalVariable* const said = state();
    f = llvm::Function::Create(llvm::FunctionType::get(b_.getInt1Ty(), false), llvm::GlobalValue::InternalLinkage,
                               "hone.ask_for_tiles", m);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    const auto block = [&](const char* name) { return llvm::BasicBlock::Create(m.getContext(), name, f); };
    llvm::BasicBlock *entry = block("entry"), *ask = block("ask"), *done = block("done");
    b_.SetInsertPoint(entry);
    llvm::LoadInst* before = b_.CreateLoad(b_.getInt32Ty(), said);
    before->setAtomic(llvm::AtomicOrdering::Monotonic);
    b_.CreateCondBr(b_.CreateIsNull(before), ask, done);
    b_.SetInsertPoint(ask);
    Value* result = nullptr;
    if (code_ == TileCode::kModel) {
      result = b_.CreateCall(
          m.getOrInsertFunction("hone_model_permission", llvm::FunctionType::get(b_.getInt64Ty(), false)));
    } else {
      auto* type = llvm::FunctionType::get(b_.getInt64Ty(), {b_.getInt64Ty(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
      auto* syscall = llvm::InlineAsm::get(type, "syscall", "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory}",
                                           /*hasSideEffects=*/true);
      result = b_.CreateCall(type, syscall,
                             {b_.getInt64(kArchPrctl), b_.getInt64(kRequestPermission), b_.getInt64(kTileData)});
    }
    Value* answer = b_.CreateSelect(b_.CreateIsNull(result), b_.getInt32(kAllowed), b_.getInt32(kRefused));
    b_.CreateStore(answer, said)->setAtomic(llvm::AtomicOrdering::Monotonic);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    llvm::PHINode* now = b_.CreatePHI(b_.getInt32Ty(), 2);
    now->addIncoming(before, entry);
    now->addIncoming(answer, ask);
    b_.CreateRet(b_.CreateICmpEQ(now, b_.getInt32(kAllowed)));
  }
  return b_.CreateCall(f);
}

}  // namespace hone
