// Statements, kernels and entries as LLVM IR.
#include "compiler/codegen/llvm/kernel/emit.h"

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstddef>

#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/llvm/kernel/c_data.h"
#include "compiler/codegen/llvm/kernel/checked_accesses.h"
#include "compiler/codegen/llvm/kernel/emit_blocks.h"
#include "compiler/codegen/llvm/kernel/emit_stmt.h"
#include "compiler/codegen/llvm/kernel/emit_tiles.h"
#include "compiler/codegen/llvm/kernel/thread_mode.h"
#include "compiler/codegen/llvm/machine/x86_features.h"
#include "compiler/ir/captures.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/ir/visitor.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {
namespace {

constexpr int64_t kBufferAlignment = 64;  // bytes, of workspaces and of tensors in the layouts of kernels

using llvm::Value;

int64_t rounded_bytes(const BufferNode* b) { return ceil_div(elements_of(b) * b->dtype.lane_bytes(), 64) * 64; }

class ModuleEmitter {
 public:
  ModuleEmitter(llvm::LLVMContext& context, const Module& m, const Target& target, const CodegenOptions& options)
      : context_(context), source_(m), target_(target), options_(options), module_(new_module()) {
    dot_ = dot_units(target);
    vector_bits_ = m.vector_bits > 0 ? std::min(m.vector_bits, target.vector_bits) : target.vector_bits;
    math_units_ = math_units(target, vector_bits_);
    tables_ = table_unit(target, vector_bits_);
    has_masked_loads_ = has_x86_features(target, {"avx2"});
    has_masked_stores_ = has_x86_features(target, {"avx512f", "avx512vl"});
    has_tiles_ = has_nests(m, target, MatrixUnit::Registers::kTiles);
    has_blocks_ = has_nests(m, target, MatrixUnit::Registers::kVectors);
  }

  std::unique_ptr<llvm::Module> emit() {
    emit_kernels();
    for (size_t i = 0; i < source_.prepacks.size(); ++i) emit_prepack(i);
    return verified(std::move(module_));
  }

  std::unique_ptr<llvm::Module> emit_layer(const std::string& symbol, const std::vector<int64_t>& alignment,
                                           const std::optional<InPlace>& in_place) {
    alignment_ = &alignment;
    in_place_ = in_place;
    std::vector<llvm::Function*> kernels;
    for (size_t k = 0; k < source_.kernels.size(); ++k)
      kernels.push_back(emit_kernel(source_.kernels[k], symbol + "." + std::to_string(k)));
    llvm::Function* f = make_function(symbol, kernels.front()->getFunctionType()->params(), Linkage::kHidden, *module_);
    llvm::IRBuilder<> b(context_);
    b.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", f));
    std::vector<Value*> args;
    for (llvm::Argument& a : f->args()) args.push_back(&a);
    for (llvm::Function* kernel : kernels) {
      Value* code = b.CreateCall(kernel, args);
      auto* next = llvm::BasicBlock::Create(context_, "next", f);
      auto* failed = llvm::BasicBlock::Create(context_, "failed", f);
      b.CreateCondBr(b.CreateIsNull(code), next, failed);
      b.SetInsertPoint(failed);
      b.CreateRet(code);
      b.SetInsertPoint(next);
    }
    b.CreateRet(b.getInt32(HONE_OK));
    return verified(std::move(module_));
  }

  std::vector<Piece> emit_pieces(const std::function<bool(const std::string&)>& known) {
    HONE_ICHECK(!options_.element_aligned && !source_.assume_finite)
        << "the keys of pieces do not say how tensors are aligned, nor what NaNs are";
    known_ = &known;
    emit_kernels();
    known_ = nullptr;
    std::vector<Piece> out;
    out.push_back({"", verified(std::move(module_))});
    for (Piece& loop : loops_)
      out.push_back({std::move(loop.key), loop.module ? verified(std::move(loop.module)) : nullptr});
    for (size_t i = 0; i < source_.prepacks.size(); ++i) {
      Piece piece{key_of(prepack_name(i), source_.prepacks[i].function), nullptr};
      if (!known(piece.key)) {
        module_ = new_module();
        emit_prepack(i);
        piece.module = verified(std::move(module_));
      }
      out.push_back(std::move(piece));
    }
    return out;
  }

 private:
  friend class BodyEmitter;
  enum class Linkage : uint8_t { kInternal, kHidden, kExported };

  std::unique_ptr<llvm::Module> new_module() const { return std::make_unique<llvm::Module>(options_.name, context_); }

  static std::unique_ptr<llvm::Module> verified(std::unique_ptr<llvm::Module> module) {
    std::string error;
    llvm::raw_string_ostream text(error);
    HONE_ICHECK(!llvm::verifyModule(*module, &text)) << "emitted invalid LLVM IR: " << error;
    return module;
  }

  void emit_kernels() {
    if (options_.with_entry) emit_main_entry();
    if (options_.json.empty()) return;
    llvm::Constant* text = llvm::ConstantDataArray::getString(context_, options_.json);
    new llvm::GlobalVariable(*module_, text->getType(), true, llvm::GlobalValue::ExternalLinkage, text,
                             options_.name + "_json");
  }

  void emit_main_entry() {
    const ThreadMode mode{options_.denormals != Denormals::kKeep, has_tiles_, options_.tile_code};
    if (!mode.is_any()) return void(emit_entry(options_.name, source_.kernels));
    llvm::Function* inside = emit_entry(options_.name, source_.kernels, Linkage::kInternal);
    inside->setName(options_.name + ".inside");
    emit_entry_in_mode(make_function(options_.name, inside->getFunctionType()->params(), Linkage::kExported, *module_),
                       inside, target_, mode);
  }

  std::string prepack_name(size_t i) const { return options_.name + "_prepack" + std::to_string(i); }
  void emit_prepack(size_t i) { emit_entry(prepack_name(i), {source_.prepacks[i].function}); }

  // The key of a function that is compiled by itself: its code, and the number of workers and the way that they claim
  // work, if it uses these.
  std::string key_of(const std::string& name, const Function& f) const {
    std::string key = fmt::format("{}\n{}\n{} bits\n", name, to_string(target_), vector_bits_);
    if (holds_loop(f.body, LoopKind::kParallel))
      key += fmt::format("{} workers, {}\n", source_.workers, name_of(source_.partition));
    return key + canonical_bytes(f);
  }

  // Collects the functions of parallel loops that become pieces of their own.
  struct Home {
    std::string symbol;              // key of the body; empty when it is part of this module
    llvm::Module* module = nullptr;  // null: an object for its code is known
  };
  Home home_of(const For* loop, const std::vector<const VarNode*>& vars,
               const std::vector<const BufferNode*>& buffers) {
    if (!known_ || is_checked_) return {};
    Function f;
    for (const VarNode* v : vars) f.shape_vars.emplace_back(v);
    for (const BufferNode* b : buffers) f.params.emplace_back(b);
    // Its arguments say which iterations it runs.
    f.body = make_for(loop->var, make_int(0), make_int(1), LoopKind::kSerial, loop->body);
    std::string key =
        key_of(StmtEmitter::end_of(loop) == StmtEmitter::LoopEnd::kInside ? "loop" : "loop that may wrap", f);
    const std::string symbol = "hone_loop_" + hash_bytes(key).hex();
    if (module_->getFunction(symbol)) {
      const bool same = std::any_of(loops_.begin(), loops_.end(), [&](const Piece& p) { return p.key == key; });
      return same ? Home{symbol, nullptr} : Home{};  // another loop of the same hash stays in this module
    }
    loops_.push_back({std::move(key), nullptr});
    if (!(*known_)(loops_.back().key)) loops_.back().module = new_module();
    return {symbol, loops_.back().module.get()};
  }

  llvm::Function* make_function(const std::string& name, llvm::ArrayRef<llvm::Type*> params, Linkage linkage,
                                llvm::Module& module) {
    auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context_), params, false);
    auto* f = llvm::Function::Create(
        type, linkage == Linkage::kInternal ? llvm::Function::InternalLinkage : llvm::Function::ExternalLinkage, name,
        module);
    if (linkage == Linkage::kHidden) f->setVisibility(llvm::Function::HiddenVisibility);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr(llvm::Attribute::NoInline);
    f->addFnAttr("target-cpu", target_.mcpu);
    if (!target_.mattr.empty()) f->addFnAttr("target-features", target_.mattr);
    f->addFnAttr("prefer-vector-width", std::to_string(vector_bits_));
    f->addFnAttr("no-trapping-math", "true");
    return f;
  }

  // Bytes.
  int64_t argument_alignment(DType t) const { return options_.element_aligned ? t.bytes() : kBufferAlignment; }
  void set_alignment(llvm::Function* f, unsigned param, int64_t bytes) const {
    const llvm::Align align(static_cast<uint64_t>(bytes > 0 ? bytes : kBufferAlignment));
    f->addParamAttr(param, llvm::Attribute::getWithAlignment(context_, align));
  }

  // Whether nothing else lies in the memory of a parameter of the kernel that is being emitted.
  bool is_apart(const BufferNode* param) const {
    return !in_place_ ||
           (kernel_->params[in_place_->input].get() != param && kernel_->params[in_place_->output].get() != param);
  }

  llvm::Function* emit_kernel(const Function& f, const std::string& name);
  llvm::Function* emit_entry(const std::string& name, const std::vector<Function>& kernels,
                             Linkage linkage = Linkage::kExported);

  llvm::LLVMContext& context_;
  const Module& source_;
  const Target& target_;
  const CodegenOptions& options_;
  std::unique_ptr<llvm::Module> module_;
  const std::function<bool(const std::string&)>* known_ = nullptr;  // where it is set, parallel loops become pieces
  std::vector<Piece> loops_;
  const std::vector<int64_t>* alignment_ = nullptr;  // of each argument, in bytes; null: argument_alignment() says
  std::optional<InPlace> in_place_;
  const Function* kernel_ = nullptr;  // that is being emitted
  bool is_checked_ = false;           // the kernel that is being emitted has run-time checks
  int vector_bits_ = 0;
  DotUnits dot_;
  MathUnits math_units_;
  TableUnit tables_;
  bool has_masked_loads_ = false, has_masked_stores_ = false;
  bool has_tiles_ = false;   // some loops are nests that may run on tiles
  bool has_blocks_ = false;  // or on vector registers of 2 x 2 sums
};

// The body of one LLVM function: a kernel's, or a parallel loop's.
class BodyEmitter final : public StmtEmitter {
 public:
  BodyEmitter(ModuleEmitter& m, llvm::Function* f, const CheckedAccesses& checked)
      : StmtEmitter(f, fault_block(f),
                    {.dot = m.dot_,
                     .math_units = m.math_units_,
                     .tables = m.tables_,
                     .has_masked_loads = m.has_masked_loads_,
                     .has_masked_stores = m.has_masked_stores_,
                     .far_back = m.target_.arch != "aarch64",
                     .has_nan_extremes = m.target_.arch == "aarch64",
                     .has_nan_extremes_f64 = m.target_.arch == "aarch64",
                     .assume_finite = m.source_.assume_finite}),
        m_(m),
        checked_(checked) {}

  void bind(const BufferNode* buffer, BufferSlot slot) override {
    expr_.bind(buffer, slot);
    for (const auto& [alias, original] : checked_.aliases)
      if (original.get() == buffer) {
        slot.checked = true;
        expr_.bind(alias.get(), slot);
      }
  }

  /// Ends the function; `entry_` holds the code that dominates all other blocks.
  void finish() {
    b_.CreateRet(b_.getInt32(HONE_OK));
    close_entry();
  }

  Value* workspace = nullptr;
  Value* runtime = nullptr;  ///< of a kernel's body
  Value* worker = nullptr;   ///< of a parallel loop's body: i32

 private:
  static llvm::BasicBlock* fault_block(llvm::Function* f) {
    auto* block = llvm::BasicBlock::Create(f->getContext(), "fault", f);
    llvm::IRBuilder<> b(block);
    b.CreateRet(b.getInt32(HONE_FAULT));
    return block;
  }

  void emit_serial(const For* op) override {
    if (nests_) {
      nests_->forget();
      StmtEmitter::emit_serial(op);
      return nests_->forget();
    }
    emit_region_or_loop(op);
  }

  void emit_all(const Seq* op) override {
    if (nests_) return StmtEmitter::emit_all(op);
    const std::vector<Stmt>& all = op->stmts;
    for (auto s = all.begin(); (m_.has_tiles_ || m_.has_blocks_) && s != all.end(); ++s) {
      std::optional<TileRegion> region = region_of(*s);
      if (!region) continue;
      // As many statements as are one region: their sums stay in registers from one to the next.
      auto end = s + 1;
      for (; end != all.end(); ++end) {
        std::optional<TileRegion> longer = region_of(make_seq({s, end + 1}));
        if (!longer) break;
        region = std::move(longer);
      }
      // Zeros are filled into the tiles themselves.
      const bool is_behind_zeros = region->unit().has_tiles() && s != all.begin() && fills_with_zeros(s[-1], *region);
      const Stmt* zeros = is_behind_zeros ? &s[-1] : nullptr;
      if (const auto before = zeros ? s - 1 : s; before != all.begin()) emit(make_seq({all.begin(), before}));
      emit_region(make_seq({s, end}), *region, zeros);
      if (end != all.end()) emit(make_seq({end, all.end()}));
      return;
    }
    StmtEmitter::emit_all(op);
  }

  void emit_warp_loop(const For* op) override {
    if (nests_) return nests_->emit_nest(region_->nests.at(op));
    emit_region_or_loop(op);
  }

  void emit_region_or_loop(const For* op) {
    const Stmt s(op);
    if (const auto region = region_of(s)) return emit_region(s, *region);
    StmtEmitter::emit_serial(op);
  }

  // Nothing where `s` is no statement that a unit of matrices executes.
  std::optional<TileRegion> region_of(const Stmt& s) const {
    if ((!m_.has_tiles_ && !m_.has_blocks_) || in_vectors_) return std::nullopt;
    std::optional<TileRegion> region = match_tile_region(s, m_.target_);
    if (region && is_checked(*region)) region.reset();
    return region;
  }

  // Whether an access of it is checked at run time, which registers are not.
  bool is_checked(const TileRegion& region) const {
    const auto has_check = [&](const TileNest::Operand& o) { return expr_.slot(o.buffer.get()).checked; };
    return std::any_of(region.nests.begin(), region.nests.end(), [&](const auto& nest) {
      return has_check(nest.second.a) || has_check(nest.second.b) || has_check(nest.second.c);
    });
  }

  void emit_nests(const Stmt& s, const TileRegion& region, NestEmitter& nests) {
    nests_ = &nests, region_ = &region;
    nests.begin(region);
    emit(s);
    nests.end();
    nests_ = nullptr, region_ = nullptr;
  }

  // `zeros`: a statement before it that fills the sums, of tiles, with zeros, where there is one.
  void emit_region(const Stmt& s, const TileRegion& region, const Stmt* zeros = nullptr) {
    if (region.unit().has_tiles()) return emit_on_tiles(s, region, zeros);
    BlockEmitter blocks(b_, expr_);
    emit_nests(s, region, blocks);
  }

  // On tiles, or in vectors where the process may not use them.
  void emit_on_tiles(const Stmt& s, const TileRegion& region, const Stmt* zeros) {
    TileEmitter tiles(b_, expr_, m_.options_.tile_code, zeros != nullptr);
    llvm::BasicBlock *on_tiles = block("tiles"), *otherwise = block("vectors"), *after = block("after");
    llvm::Instruction* branch =
        b_.CreateCondBr(TileInstructions(b_, m_.options_.tile_code).permitted(), on_tiles, otherwise);
    emit_case(branch, on_tiles, after, [&] { emit_nests(s, region, tiles); });
    emit_case(branch, otherwise, after, [&] {
      in_vectors_ = true;
      if (zeros) emit(*zeros);
      emit(region_in_vectors(s, region));
      in_vectors_ = false;
    });
    b_.SetInsertPoint(after);
  }

  // A GPU's blocks and threads run in turn here.
  void emit_concurrent(const For* op) override {
    op->loop == LoopKind::kParallel && !in_parallel_ ? emit_parallel(op) : emit_serial(op);
  }

  BufferSlot position(const Allocate* op) override {
    HONE_USER_CHECK(op->offset >= 0) << "workspace buffer '" << op->buffer->name
                                     << "' has no offset: plan_storage has not run";
    return {workspace_slot(op->buffer.get(), op->offset), elements_of(op->buffer.get()), false, false};
  }

  // Computed where the function begins, so that addresses in the buffer can move out of loops.
  Value* workspace_slot(const BufferNode* buffer, int64_t at) {
    llvm::IRBuilder<> first(entry_);
    Value* offset = first.getInt64(static_cast<uint64_t>(at));
    if (worker)
      offset = first.CreateAdd(offset, first.CreateMul(first.CreateSExt(worker, first.getInt64Ty()),
                                                       first.getInt64(static_cast<uint64_t>(rounded_bytes(buffer)))));
    Value* base = first.CreateGEP(first.getInt8Ty(), workspace, offset, buffer->name);
    expr_.arithmetic().define_everywhere(base);
    return base;
  }

  // The loop becomes a function of its own over a chunk of iterations, and a call of the runtime's parallel_for.
  void emit_parallel(const For* op) {
    const Captures captured = captures_of(op, [this](const BufferNode* b) { return checked_.original(b); });
    std::vector<Value*> values{workspace};
    for (const VarNode* v : captured.vars) values.push_back(expr_.value_of(v));
    for (const BufferNode* v : captured.buffers) values.push_back(expr_.slot(v).base);
    std::vector<llvm::Type*> types{b_.getInt64Ty(), b_.getInt64Ty(), b_.getInt32Ty()};
    for (Value* v : values) types.push_back(v->getType());
    const std::string name = f_->getName().str() + ".loop" + std::to_string(loops_++);
    llvm::StructType* closure_type =
        llvm::StructType::get(context_, std::vector<llvm::Type*>(types.begin() + 3, types.end()));
    const auto [body, chunk] = emit_functions_of(op, captured, name, types, closure_type);

    Value* lo = expr_.emit(op->min);
    Value* extent = expr_.emit(op->extent);
    // An empty chunk runs nothing.
    if (end_of(op) == LoopEnd::kMayWrap)
      extent = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent, b_.getInt64(0));
    llvm::BasicBlock *inline_block = block("inline"), *ask = block("ask"), *call = block("call"),
                     *joined = block("joined"), *after = block("after");
    b_.CreateCondBr(b_.CreateOr(b_.CreateIsNull(runtime), b_.getInt1(m_.source_.workers <= 1)), inline_block, ask);
    b_.SetInsertPoint(ask);
    b_.CreateCondBr(b_.CreateICmpSLE(field(b_.getInt32Ty(), offsetof(HoneRuntime, workers)), b_.getInt32(1)),
                    inline_block, call);
    b_.SetInsertPoint(inline_block);
    std::vector<Value*> args{lo, b_.CreateAdd(lo, extent), b_.getInt32(0)};
    args.insert(args.end(), values.begin(), values.end());
    Value* inline_code = b_.CreateCall(body, args);
    b_.CreateBr(joined);
    b_.SetInsertPoint(call);
    // The chunk's iterations count from 0; the loop's first value travels in the closure.
    llvm::StructType* full_type = closure_with_min(closure_type);
    Value* closure = llvm::IRBuilder<>(entry_, entry_->begin()).CreateAlloca(full_type, nullptr, "closure");
    b_.CreateStore(lo, b_.CreateStructGEP(full_type, closure, 0));
    for (size_t i = 0; i < values.size(); ++i)
      b_.CreateStore(values[i], b_.CreateStructGEP(full_type, closure, static_cast<unsigned>(i + 1)));
    auto* type = llvm::FunctionType::get(
        b_.getInt32Ty(),
        {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty(), b_.getInt32Ty(), b_.getInt64Ty()}, false);
    Value* code = b_.CreateCall(type, field(b_.getPtrTy(), offsetof(HoneRuntime, parallel_for)),
                                {field(b_.getPtrTy(), offsetof(HoneRuntime, self)), chunk, closure, extent,
                                 b_.getInt32(static_cast<uint32_t>(m_.source_.workers)), grain_of(extent)});
    b_.CreateBr(joined);
    b_.SetInsertPoint(joined);
    llvm::PHINode* result = b_.CreatePHI(b_.getInt32Ty(), 2);
    result->addIncoming(inline_code, inline_block);
    result->addIncoming(code, call);
    llvm::BasicBlock* failed = block("failed");
    b_.CreateCondBr(b_.CreateIsNull(result), after, failed);
    b_.SetInsertPoint(failed);
    b_.CreateRet(result);
    b_.SetInsertPoint(after);
  }

  // How many iterations a worker claims at a time; 0 for equal shares. A sixteenth of a share leaves little to wait for
  // at the end and makes claims rare.
  Value* grain_of(Value* extent) {
    if (m_.source_.partition == Partition::kStatic) return b_.getInt64(0);
    const uint64_t claims = 16 * static_cast<uint64_t>(m_.source_.workers);
    return b_.CreateUDiv(b_.CreateAdd(extent, b_.getInt64(claims - 1)), b_.getInt64(claims));
  }

  Value* field(llvm::Type* type, size_t offset) {
    return b_.CreateLoad(type, b_.CreateGEP(b_.getInt8Ty(), runtime, b_.getInt64(offset)));
  }

  llvm::StructType* closure_with_min(llvm::StructType* values) {
    std::vector<llvm::Type*> types{b_.getInt64Ty()};
    types.insert(types.end(), values->element_begin(), values->element_end());
    return llvm::StructType::get(context_, types);
  }

  // The body of a parallel loop and the function that unpacks its closure, as this function calls them.
  std::pair<llvm::Function*, llvm::Function*> emit_functions_of(const For* op, const Captures& captured,
                                                                const std::string& name,
                                                                llvm::ArrayRef<llvm::Type*> types,
                                                                llvm::StructType* closure_type) {
    using Linkage = ModuleEmitter::Linkage;
    llvm::Type* chunk_types[] = {b_.getInt64Ty(), b_.getInt64Ty(), b_.getInt32Ty(), b_.getPtrTy()};
    const ModuleEmitter::Home home = m_.home_of(op, captured.vars, captured.buffers);
    const bool here = home.symbol.empty();
    const std::string& symbol = here ? name : home.symbol;
    const auto functions_in = [&](llvm::Module& module) {
      const auto function = [&](const std::string& n, llvm::ArrayRef<llvm::Type*> t) {
        llvm::Function* known = module.getFunction(n);
        return known ? known : m_.make_function(n, t, here ? Linkage::kInternal : Linkage::kHidden, module);
      };
      llvm::Function* body = function(symbol, types);
      return std::pair(body, function(symbol + ".chunk", chunk_types));
    };
    const auto called = functions_in(*m_.module_);
    if (here || home.module) {
      const auto [body, chunk] = here ? called : functions_in(*home.module);
      emit_parallel_body(op, body, captured);
      emit_chunk(chunk, body, closure_type);
    }
    return called;
  }

  // int32 body(int64 begin, int64 end, int32 worker, workspace, captured variables, captured buffers)
  void emit_parallel_body(const For* op, llvm::Function* body, const Captures& captured) {
    BodyEmitter inner(m_, body, checked_);
    inner.in_parallel_ = true;
    inner.worker = body->getArg(2);
    inner.workspace = body->getArg(3);
    unsigned i = 4;
    for (const VarNode* v : captured.vars) inner.expr_.bind(v, body->getArg(i++));
    for (const BufferNode* buffer : captured.buffers) {
      BufferSlot slot = expr_.slot(buffer);
      slot.base = body->getArg(i);
      // Workspace buffers may share memory once one is dead: only parameters are known to be apart from everything
      // else.
      if (buffer->scope == BufferScope::kParam && m_.is_apart(buffer)) body->addParamAttr(i, llvm::Attribute::NoAlias);
      m_.set_alignment(body, i, slot.alignment);
      inner.bind(buffer, slot);
      ++i;
    }
    const LoopEnd end = end_of(op);
    Value *begin = body->getArg(0), *stop = body->getArg(1);
    Value* enters = end == LoopEnd::kInside ? inner.b_.CreateICmpSLT(begin, stop) : inner.b_.CreateICmpNE(begin, stop);
    inner.emit_loop(op->var.get(), begin, stop, enters, end, op->body);
    inner.finish();
  }

  // int32 chunk(int64 begin, int64 end, int32 worker, closure*): unpacks the closure and calls the body.
  void emit_chunk(llvm::Function* f, llvm::Function* body, llvm::StructType* values) {
    llvm::IRBuilder<> b(context_);
    f->addFnAttr(llvm::Attribute::OptimizeNone);  // straight-line glue: compile time is worth more
    b.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", f));
    llvm::StructType* type = closure_with_min(values);
    Value* lo = b.CreateLoad(b.getInt64Ty(), b.CreateStructGEP(type, f->getArg(3), 0));
    std::vector<Value*> args{b.CreateAdd(lo, f->getArg(0)), b.CreateAdd(lo, f->getArg(1)), f->getArg(2)};
    for (unsigned i = 0; i < values->getNumElements(); ++i)
      args.push_back(b.CreateLoad(values->getElementType(i), b.CreateStructGEP(type, f->getArg(3), i + 1)));
    b.CreateRet(b.CreateCall(body, args));
  }

  ModuleEmitter& m_;
  const CheckedAccesses& checked_;
  bool in_parallel_ = false;
  int loops_ = 0;
  NestEmitter* nests_ = nullptr;  // inside of a region that runs on a unit of matrices
  const TileRegion* region_ = nullptr;
  bool in_vectors_ = false;  // inside of its other form
};

// int32 kernel(param pointers, workspace, runtime)
llvm::Function* ModuleEmitter::emit_kernel(const Function& source, const std::string& name) {
  HONE_USER_CHECK(source.shape_vars.empty())
      << "function '" << source.name << "': shape variables are not supported yet";
  kernel_ = &source;
  CheckedAccesses marked = mark_checked_accesses(source.body, options_.checked_accesses);
  const Stmt legalized = legalize(marked.body, vector_bits_);
  const CheckedAccesses checked = with_late_checks(std::move(marked), legalized);
  // A check depends on its surroundings: a loop that contains one is not compiled by itself.
  is_checked_ = !checked.aliases.empty();
  auto* pointer = llvm::PointerType::get(context_, 0);
  llvm::Function* f =
      make_function(name, std::vector<llvm::Type*>(source.params.size() + 2, pointer), Linkage::kInternal, *module_);
  BodyEmitter emitter(*this, f, checked);
  unsigned i = 0;
  for (const Buffer& p : source.params) {
    if (is_apart(p.get())) f->addParamAttr(i, llvm::Attribute::NoAlias);
    const int64_t alignment = alignment_ ? (*alignment_)[i] : argument_alignment(p->dtype);
    set_alignment(f, i, alignment);
    emitter.bind(p.get(), BufferSlot{f->getArg(i), elements_of(p.get()), false, false, alignment});
    ++i;
  }
  f->addParamAttr(i, llvm::Attribute::NoAlias);
  set_alignment(f, i, kBufferAlignment);
  emitter.workspace = f->getArg(i);
  emitter.runtime = f->getArg(i + 1);
  emitter.emit(checked.body);
  emitter.finish();
  return f;
}

// The artifact's ABI: checks the arguments, calls the kernels, which all take the same, in order.
llvm::Function* ModuleEmitter::emit_entry(const std::string& name, const std::vector<Function>& kernels,
                                          Linkage linkage) {
  HONE_ICHECK(!kernels.empty()) << "the entry '" << name << "' has no kernel";
  const std::vector<Buffer>& params = kernels[0].params;
  llvm::IRBuilder<> b(context_);
  llvm::Function* f =
      make_function(name, {b.getPtrTy(), b.getInt32Ty(), b.getPtrTy(), b.getPtrTy()}, linkage, *module_);
  f->addFnAttr(llvm::Attribute::OptimizeNone);  // runs once a call
  Value *args = f->getArg(0), *workspace = f->getArg(2), *runtime = f->getArg(3);
  llvm::BasicBlock* bad = llvm::BasicBlock::Create(context_, "bad", f);
  llvm::IRBuilder<>(bad).CreateRet(b.getInt32(HONE_BAD_ARGUMENTS));
  const auto require = [&](Value* ok) {
    auto* next = llvm::BasicBlock::Create(context_, "ok", f);
    b.CreateCondBr(ok, next, bad);
    b.SetInsertPoint(next);
  };
  const auto aligned = [&](Value* p, int64_t bytes) {
    const auto rest = static_cast<uint64_t>(bytes - 1);
    return b.CreateIsNull(b.CreateAnd(b.CreatePtrToInt(p, b.getInt64Ty()), b.getInt64(rest)));
  };
  const auto at = [&](Value* p, size_t offset) { return b.CreateGEP(b.getInt8Ty(), p, b.getInt64(offset)); };
  b.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", f, bad));
  require(b.CreateICmpEQ(f->getArg(1), b.getInt32(static_cast<uint32_t>(params.size()))));
  require(aligned(workspace, kBufferAlignment));
  if (source_.workspace_bytes > 0 && name == options_.name) require(b.CreateIsNotNull(workspace));
  auto* versioned = llvm::BasicBlock::Create(context_, "versioned", f);
  auto* start = llvm::BasicBlock::Create(context_, "start", f);
  b.CreateCondBr(b.CreateIsNull(runtime), start, versioned);
  b.SetInsertPoint(versioned);
  Value* version = b.CreateLoad(b.getInt32Ty(), at(runtime, offsetof(HoneRuntime, abi_version)));
  b.CreateCondBr(b.CreateICmpULE(b.CreateSub(version, b.getInt32(HONE_RUNTIME_ABI_OLDEST)),
                                 b.getInt32(HONE_RUNTIME_ABI - HONE_RUNTIME_ABI_OLDEST)),
                 start, bad);
  b.SetInsertPoint(start);
  std::vector<Value*> pointers;
  for (size_t i = 0; i < params.size(); ++i) {
    Value* tensor = b.CreateLoad(b.getPtrTy(), at(args, i * sizeof(void*)));
    require(b.CreateIsNotNull(tensor));
    Value* data = b.CreateLoad(b.getPtrTy(), at(tensor, offsetof(DLTensor, data)));
    require(b.CreateIsNotNull(data));
    require(b.CreateICmpEQ(b.CreateAlignedLoad(b.getInt32Ty(), at(tensor, offsetof(DLTensor, dtype)), llvm::Align(4)),
                           CData(*module_).packed_type(params[i]->dtype)));
    data = b.CreateGEP(b.getInt8Ty(), data, b.CreateLoad(b.getInt64Ty(), at(tensor, offsetof(DLTensor, byte_offset))));
    require(aligned(data, argument_alignment(params[i]->dtype)));
    pointers.push_back(data);
  }
  pointers.push_back(workspace);
  pointers.push_back(runtime);
  for (size_t k = 0; k < kernels.size(); ++k) {
    llvm::Function* kernel = emit_kernel(kernels[k], name + "." + std::to_string(k));
    Value* code = b.CreateCall(kernel, pointers);
    auto* next = llvm::BasicBlock::Create(context_, "next", f);
    auto* failed = llvm::BasicBlock::Create(context_, "failed", f);
    b.CreateCondBr(b.CreateIsNull(code), next, failed);
    b.SetInsertPoint(failed);
    b.CreateRet(code);
    b.SetInsertPoint(next);
  }
  b.CreateRet(b.getInt32(HONE_OK));
  return f;
}

}  // namespace

std::unique_ptr<llvm::Module> emit_llvm(llvm::LLVMContext& context, const Module& m, const Target& target,
                                        const CodegenOptions& options) {
  return ModuleEmitter(context, m, target, options).emit();
}

std::unique_ptr<llvm::Module> emit_layer(llvm::LLVMContext& context, const Module& m, const Target& target,
                                         const std::string& symbol, const std::vector<int64_t>& alignment,
                                         const std::optional<InPlace>& in_place) {
  return ModuleEmitter(context, m, target, {.name = symbol}).emit_layer(symbol, alignment, in_place);
}

std::vector<Piece> emit_pieces(llvm::LLVMContext& context, const Module& m, const Target& target,
                               const CodegenOptions& options,
                               const std::function<bool(const std::string& key)>& known) {
  HONE_ICHECK(options.checked_accesses.empty()) << "checked accesses cannot be told apart by their code";
  return ModuleEmitter(context, m, target, options).emit_pieces(known);
}

}  // namespace hone
