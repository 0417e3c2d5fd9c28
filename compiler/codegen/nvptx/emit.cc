#include "compiler/codegen/nvptx/emit.h"

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/arith/simplify.h"
#include "compiler/codegen/gpu/emit_expr.h"
#include "compiler/codegen/gpu/select_instructions.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/llvm/kernel/emit_stmt.h"
#include "compiler/codegen/llvm/kernel/pipeline.h"
#include "compiler/codegen/nvptx/emit_copies.h"
#include "compiler/codegen/nvptx/emit_warp.h"
#include "compiler/codegen/nvptx/machine.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

using llvm::Value;

enum AddressSpace : unsigned { kGlobal = 1, kShared = 3 };

// emit_gpu promises this alignment of every buffer.
constexpr int64_t kAlignment = 16;
constexpr uint32_t kWarp = 32;
// Compute capabilities, times ten, that an instruction needs.
constexpr int kLeastAsyncCopies = 80, kLeastNanExtremes = 80, kLeastBf16Rounding = 80, kLeastDot4 = 61;

// Buffers that statements load from. Refuses statements that PTX does not have.
std::set<const BufferNode*> loaded_buffers(const GpuKernel& kernel) {
  class Collector final : public Visitor {
   public:
    std::set<const BufferNode*> out;

   protected:
    using Visitor::visit;
    void visit(const Load* op) override {
      out.insert(op->buffer.get());
      Visitor::visit(op);
    }
    void visit(const Call* op) override {
      HONE_USER_CHECK(!is_transcendental(op->function) || op->dtype.scalar() != f64)
          << "PTX by LLVM has no " << name_of(op->function) << " of f64; NVRTC has";
      Visitor::visit(op);
    }
  } collector;
  collector(kernel.body);
  return std::move(collector.out);
}

// A kernel as it is emitted, its unrolled loops unrolled, and the instructions for its warp loops and copies.
struct Selected {
  Selection instructions;
  std::vector<PlainLoop> plain;
};

// Selected behind unrolling: LLVM finds code of one tile's nest again where tiles share it.
Selected select_for_ptx(const GpuKernel& kernel, int compute_capability) {
  const std::set<const BufferNode*> stored = stored_buffers(kernel);
  const InstructionSet can{.products = true,
                           .shuffles = true,
                           .async_copies = compute_capability >= kLeastAsyncCopies,
                           .compute_capability = compute_capability};
  GpuKernel unrolled = kernel;
  const auto select = [&](const Stmt& body) {
    unrolled.body = simplify(unroll_loops(body));
    return select_instructions(unrolled, stored, can);
  };
  Selected out{select(kernel.body), {}};
  out.plain = out.instructions.plain;
  if (out.instructions.products.empty() && out.instructions.sums.empty())
    out.instructions = select(plain_warp_loops(kernel.body));
  // Warp loops that no instruction carries out became unrolled loops.
  while (!out.instructions.plain.empty()) out.instructions = select(out.instructions.body);
  return out;
}

class KernelEmitter final : public StmtEmitter {
 public:
  KernelEmitter(llvm::Function* f, const GpuProgram& program, const GpuKernel& kernel, const Selection& selected,
                bool narrow, int compute_capability, bool assume_finite)
      : StmtEmitter(f, nullptr,
                    {.dot = {compute_capability >= kLeastDot4 ? DotProduct::kDp4a : DotProduct::kNone, 0},
                     .index_bits = narrow ? 32 : 64,
                     .base_alignment = kAlignment,
                     .simt = true,
                     .has_nan_extremes = compute_capability >= kLeastNanExtremes,
                     .has_bf16_rounding = compute_capability >= kLeastBf16Rounding,
                     .assume_finite = assume_finite},
                    /*keeps_facts=*/true),
        program_(program),
        kernel_(kernel),
        selected_(selected),
        pairs_(pair_tiles(selected.body, selected.products)),
        warp_(b_, expr_, lane_, compute_capability) {}

  void emit_kernel() {
    const std::set<const BufferNode*> stored = stored_buffers(kernel_), loaded = loaded_buffers(kernel_);
    unsigned i = 0;
    for (const Buffer& p : program_.params) {
      f_->addParamAttr(i, llvm::Attribute::getWithAlignment(context_, llvm::Align(kAlignment)));
      // noalias. Not where other threads write data that this one reads again: that would promise too much.
      if (!stored.count(p.get()) || !loaded.count(p.get())) f_->addParamAttr(i, llvm::Attribute::NoAlias);
      if (!stored.count(p.get())) f_->addParamAttr(i, llvm::Attribute::ReadOnly);
      bind(p.get(), {f_->getArg(i), elements_of(p.get()), false, false});
      ++i;
    }
    llvm::IRBuilder<> first(entry_);
    for (const GpuProgram::WorkspaceBuffer& w : program_.workspace) {
      Value* base = first.CreateGEP(first.getInt8Ty(), f_->getArg(i), first.getInt64(static_cast<uint64_t>(w.offset)),
                                    w.buffer->name);
      expr_.arithmetic().define_everywhere(base);
      bind(w.buffer.get(), {base, elements_of(w.buffer.get()), false, false});
    }
    int64_t offset = 0;
    for (const Buffer& s : kernel_.shared) {
      Value* base = dynamic() ? first.CreateConstGEP1_64(first.getInt8Ty(), block_memory(),
                                                         static_cast<uint64_t>(offset), s->name)
                              : shared(s);
      if (dynamic()) expr_.arithmetic().define_everywhere(base);
      bind(s.get(), {base, elements_of(s.get()), false, false});
      offset += ceil_div(elements_of(s.get()) * s->dtype.bytes(), kAlignment) * kAlignment;
    }
    axes(kernel_.blocks, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, first);
    axes(kernel_.threads, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, first);
    if (!selected_.products.empty() || !selected_.sums.empty()) number_lanes(first);
    require_proved(kernel_, selected_.body);
    emit(selected_.body);
    b_.CreateRetVoid();
    close_entry();
  }

 private:
  void emit_barrier() override {
    if (selected_.copies_ahead) await_copies(b_);
    b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  }
  void emit_serial(const For* op) override {
    const auto pipeline = selected_.copies_ahead ? pipeline_of(kernel_, op) : std::nullopt;
    if (!pipeline) return StmtEmitter::emit_serial(op);
    for (int64_t i = 0; i < pipeline->ahead; ++i) commit_copies(b_);
    const std::optional<Pipeline> outer = std::exchange(pipeline_, pipeline);
    StmtEmitter::emit_serial(op);
    pipeline_ = outer;
  }
  void emit_all(const Seq* op) override {
    const bool is_pipelined = pipeline_ && op == pipeline_->body;
    const auto is_copy = [&](const Stmt& s) { return selected_.copies.count(as<Store>(s)) > 0; };
    if (!is_pipelined && std::none_of(op->stmts.begin(), op->stmts.end(), is_copy)) return StmtEmitter::emit_all(op);
    for (size_t i = 0; i < op->stmts.size(); ++i) {
      const Stmt& s = op->stmts[i];
      if (is_pipelined && i < pipeline_->copies && s->kind == StmtKind::kBarrier) {
        await_copies_but(b_, pipeline_->ahead - 1);
        b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
        continue;
      }
      emit(s);
      if (is_pipelined && i == pipeline_->copies) commit_copies(b_);
    }
  }
  void emit_store(const Store* op) override {
    const auto copy = selected_.copies.find(op);
    copy == selected_.copies.end() ? StmtEmitter::emit_store(op) : emit_copy(b_, expr_, op, copy->second);
  }
  void emit_prefetch(const Prefetch*) override {}
  void emit_warp_loop(const For* op) override {
    if (const auto sum = selected_.sums.find(op); sum != selected_.sums.end()) return warp_.emit_sum(sum->second);
    const auto product = selected_.products.find(op);
    HONE_ICHECK(product != selected_.products.end()) << "warp loop '" << op->var->name << "' has no instruction";
    const auto pair = pairs_.find(op);
    warp_.emit_product(product->second.nest, pair == pairs_.end() ? nullptr : &pair->second);
  }
  BufferSlot position(const Allocate* op) override {
    HONE_ICHECK(false) << "buffer '" << op->buffer->name << "' is a thread's, and not on its stack";
    return {};
  }

  bool dynamic() const { return kernel_.shared_bytes() > kMostDeclaredShared; }

  // The shared memory that a launch asks for; one name for all kernels.
  Value* block_memory() {
    if (llvm::GlobalVariable* known = f_->getParent()->getGlobalVariable("block_memory")) return known;
    auto* variable = new llvm::GlobalVariable(*f_->getParent(), llvm::ArrayType::get(b_.getInt8Ty(), 0), false,
                                              llvm::GlobalValue::ExternalLinkage, nullptr, "block_memory", nullptr,
                                              llvm::GlobalValue::NotThreadLocal, kShared);
    variable->setAlignment(llvm::Align(kAlignment));
    return variable;
  }

  Value* shared(const Buffer& s) {
    auto* type = llvm::ArrayType::get(llvm_type(b_, s->dtype.is_bool() ? u8 : s->dtype),
                                      static_cast<uint64_t>(elements_of(s.get())));
    auto* variable = new llvm::GlobalVariable(
        *f_->getParent(), type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
        fmt::format("{}_{}", f_->getName().str(), s->name), nullptr, llvm::GlobalValue::NotThreadLocal, kShared);
    variable->setAlignment(llvm::Align(kAlignment));
    return variable;
  }

  // Each axis is a digit of the one number that the device gives.
  void axes(const std::vector<GpuAxis>& list, llvm::Intrinsic::ID id, llvm::IRBuilder<>& first) {
    int64_t below = 1;
    for (const GpuAxis& a : list) below *= a.extent;
    if (list.empty()) return;
    llvm::CallInst* number = first.CreateIntrinsic(id, {}, {});
    llvm::Metadata* range[] = {llvm::ConstantAsMetadata::get(first.getInt32(0)),
                               llvm::ConstantAsMetadata::get(first.getInt32(static_cast<uint32_t>(below)))};
    if (below <= INT32_MAX) number->setMetadata(llvm::LLVMContext::MD_range, llvm::MDNode::get(context_, range));
    for (const GpuAxis& a : list) {
      below /= a.extent;
      Value* digit = number;
      if (below > 1) digit = first.CreateUDiv(digit, first.getInt32(static_cast<uint32_t>(below)));
      if (&a != &list.front()) digit = first.CreateURem(digit, first.getInt32(static_cast<uint32_t>(a.extent)));
      if (a.extent == 1) digit = first.getInt32(0);
      digit = first.CreateZExt(digit, expr_.type_of(kIndex), a.var->name);
      expr_.arithmetic().define_everywhere(digit);
      expr_.bind(a.var.get(), digit);
      facts_.push_range(a.var.get(), 0, a.extent - 1);
    }
  }

  // The thread's number in its warp.
  void number_lanes(llvm::IRBuilder<>& first) {
    Value* number = first.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
    Value* lane = first.CreateZExt(first.CreateAnd(number, first.getInt32(kWarp - 1)), expr_.type_of(kIndex), "lane");
    expr_.arithmetic().define_everywhere(lane);
    expr_.bind(lane_.get(), lane);
    facts_.push_range(lane_.get(), 0, kWarp - 1);
  }

  const GpuProgram& program_;
  const GpuKernel& kernel_;
  const Selection& selected_;
  const std::unordered_map<const For*, TilePair> pairs_;
  std::optional<Pipeline> pipeline_;  // whose body is being emitted
  const Var lane_{"lane"};
  WarpEmitter warp_;
};

struct Emitted {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  std::vector<GpuLaunch> launches;
  std::vector<std::string> notes;
};

void annotate(llvm::Module& module, llvm::Function* f, const char* what, int64_t value) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Metadata* parts[] = {llvm::ConstantAsMetadata::get(f), llvm::MDString::get(context, what),
                             llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context),
                                                                                  static_cast<uint64_t>(value)))};
  module.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, parts));
}

void emit(const Module& m, const Target& target, Emitted* out) {
  out->machine = make_ptx_machine(target);
  out->module = std::make_unique<llvm::Module>("hone", out->context);
  out->module->setTargetTriple(out->machine->getTargetTriple().str());
  out->module->setDataLayout(out->machine->createDataLayout());
  const int compute_capability = ptx_capability(target);
  const std::vector<GpuProgram> programs = gpu_programs(m);
  for (size_t i = 0; i < programs.size(); ++i) {
    const GpuProgram& program = programs[i];
    for (size_t k = 0; k < program.kernels.size(); ++k) {
      const GpuKernel& kernel = program.kernels[k];
      const std::string name = gpu_kernel_name(i, k);
      const std::vector<llvm::Type*> params(program.params.size() + (program.workspace.empty() ? 0 : 1),
                                            llvm::PointerType::get(out->context, kGlobal));
      auto* f = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(out->context), params, false),
                                       llvm::Function::ExternalLinkage, name, *out->module);
      f->addFnAttr(llvm::Attribute::NoUnwind);
      annotate(*out->module, f, "kernel", 1);
      annotate(*out->module, f, "maxntidx", kernel.thread_count());
      const Selected selected = select_for_ptx(kernel, compute_capability);
      for (const PlainLoop& loop : selected.plain) out->notes.push_back(name + ": " + to_string(loop));
      KernelEmitter(f, program, kernel, selected.instructions, index_fits_i32(kernel), compute_capability,
                    m.assume_finite)
          .emit_kernel();
      out->launches.push_back(launch_of(name, kernel, kernel.shared_bytes() > kMostDeclaredShared));
    }
  }
  std::string error;
  llvm::raw_string_ostream text(error);
  HONE_ICHECK(!llvm::verifyModule(*out->module, &text)) << "emitted invalid LLVM IR: " << error;
  Optimizer(*out->machine).run(*out->module);
}

}  // namespace

GpuSource emit_ptx(const Module& m, const Target& target) {
  Emitted e;
  emit(m, target, &e);
  return {generate_ptx(*e.module, *e.machine), std::move(e.launches), std::move(e.notes)};
}

std::string emit_ptx_llvm_text(const Module& m, const Target& target) {
  Emitted e;
  emit(m, target, &e);
  std::string out;
  llvm::raw_string_ostream stream(out);
  e.module->print(stream, nullptr);
  return out;
}

}  // namespace hone
