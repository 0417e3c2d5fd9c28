#include "compiler/codegen/gpu/emit.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <set>
#include <unordered_map>

#include "compiler/arith/bounds.h"
#include "compiler/arith/simplify.h"
#include "compiler/codegen/gpu/emit_expr.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// Four f32: what one instruction moves.
constexpr int kVectorBits = 128;

// What of a program decides how its text begins.
struct Needs : GpuNeeds {
  std::set<const BufferNode*> stored;
};

Needs needs_of(const GpuProgram& program) {
  class Collector final : public Visitor {
   public:
    Needs out;

    void type(DType t) {
      out.f64 |= t.scalar() == hone::f64;
      out.f16 |= t.scalar() == hone::f16;
      out.bf16 |= t.scalar() == hone::bf16;
    }

   protected:
    using Visitor::visit;
    void visit(const Load* op) override {
      type(op->dtype);
      Visitor::visit(op);
    }
    void visit(const Cast* op) override {
      type(op->dtype);
      Visitor::visit(op);
    }
    void visit(const FloatImm* op) override { type(op->dtype); }
    void visit(const Call* op) override {
      out.dot4 |= op->function == Intrinsic::kDot4;
      Visitor::visit(op);
    }
    void visit(const Store* op) override {
      type(op->buffer->dtype);
      out.stored.insert(op->buffer.get());
      Visitor::visit(op);
    }
  } collector;
  for (const GpuKernel& k : program.kernels) collector(k.body);
  for (const Buffer& b : program.params) collector.type(b->dtype);
  return std::move(collector.out);
}

// The statements of one kernel.
class KernelWriter {
 public:
  KernelWriter(const DialectWords& words, const GpuKernel& kernel, Names names) : words_(words), kernel_(kernel), exprs_(words, std::move(names), index_fits_i32(kernel)) {}

  std::string write(std::string_view name, const GpuProgram& program, const Needs& needs) {
    out_ += fmt::format(fmt::runtime(words_.kernel), kernel_.thread_count());
    out_ += fmt::format(" {}(", name);
    const char* separator = "";
    for (const Buffer& b : program.params) {
      const bool stored = needs.stored.count(b.get()) > 0;
      out_ += fmt::format("{}{}{}{}* {} {}", separator, words_.global, stored ? "" : "const ", memory_type(b->dtype), words_.restricted, exprs_.name_of(b.get()));
      separator = ", ";
    }
    if (!program.workspace.empty()) out_ += fmt::format("{}{}u8* workspace", separator, words_.global);
    out_ += ") {\n";
    ++depth_;
    for (const GpuProgram::WorkspaceBuffer& w : program.workspace)
      line(fmt::format("{0}{1}* {2} = ({0}{1}*)(workspace + {3});", words_.global, memory_type(w.buffer->dtype), exprs_.name_of(w.buffer.get()), w.offset));
    for (const Buffer& b : kernel_.shared) line(fmt::format("{} HONE_ALIGN(16) {} {}[{}];", words_.shared, memory_type(b->dtype), exprs_.name_of(b.get()), *as_const_int(b->shape[0])));
    axes(kernel_.blocks, words_.block);
    axes(kernel_.threads, words_.thread);
    statement(kernel_.body);
    --depth_;
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_ += std::string(2 * static_cast<size_t>(depth_), ' ') + text + "\n"; }

  // Each axis is a digit of the one number that the device gives.
  void axes(const std::vector<GpuAxis>& list, std::string_view number) {
    int64_t below = 1;
    for (const GpuAxis& a : list) below *= a.extent;
    for (const GpuAxis& a : list) {
      below /= a.extent;
      std::string value(number);
      if (below > 1) value = fmt::format("{} / {}", value, below);
      if (&a != &list.front()) value = fmt::format("({}) % {}", value, a.extent);
      line(fmt::format("const {} {} = {};", exprs_.index_type(), exprs_.name_of(a.var.get()), value));
      exprs_.facts().push_range(a.var.get(), 0, a.extent - 1);
    }
  }

  void statement(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kSeq:
        for (const Stmt& part : as<Seq>(s)->stmts) statement(part);
        return;
      case StmtKind::kFor: return loop(as<For>(s));
      case StmtKind::kIf: return branch(as<If>(s));
      case StmtKind::kAllocate: {
        const Allocate* op = as<Allocate>(s);
        line("{");
        ++depth_;
        line(fmt::format("{} {}[{}];", memory_type(op->buffer->dtype), exprs_.name_of(op->buffer.get()), *as_const_int(op->buffer->shape[0])));
        statement(op->body);
        --depth_;
        return line("}");
      }
      case StmtKind::kStore: return store(as<Store>(s));
      case StmtKind::kBarrier: return line(std::string(words_.barrier));
      case StmtKind::kPrefetch: return;
    }
  }

  void loop(const For* op) {
    const std::string var = exprs_.name_of(op->var.get()), low = exprs_.text(op->min);
    if (op->loop == LoopKind::kUnroll) line("#pragma unroll");
    line(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", exprs_.index_type(), var, low, exprs_.text(op->min + op->extent)));
    const Interval first = exprs_.facts().bounds(op->min), count = exprs_.facts().bounds(op->extent);
    const bool known = first.lo > INT32_MIN && count.hi < INT32_MAX && first.hi < INT32_MAX;
    if (known) exprs_.facts().push_range(op->var.get(), first.lo, first.hi + count.hi - 1);
    ++depth_;
    statement(op->body);
    --depth_;
    if (known) exprs_.facts().pop_range();
    line("}");
  }

  void branch(const If* op) {
    line(fmt::format("if ({}) {{", exprs_.text(op->condition)));
    ++depth_;
    const int n = exprs_.facts().push_condition(op->condition);
    statement(op->then_case);
    exprs_.facts().pop_facts(n);
    --depth_;
    if (op->else_case) {
      line("} else {");
      ++depth_;
      const int m = exprs_.facts().push_negation(op->condition);
      statement(op->else_case);
      exprs_.facts().pop_facts(m);
      --depth_;
    }
    line("}");
  }

  void store(const Store* op) {
    const int lanes = op->value->dtype.lanes;
    const std::string name = exprs_.name_of(op->buffer.get());
    const auto to = [&](int lane) { return fmt::format("{}[{}]", name, exprs_.text(op->indices[0], lane)); };
    if (lanes == 1 && !op->mask) return line(fmt::format("{} = {};", to(0), exprs_.stored(op->value, op->buffer->dtype)));
    const std::string vector = op->mask ? "" : exprs_.vector_access(op->buffer, op->indices[0]);
    if (const Load* copied = as<Load>(op->value); copied && !vector.empty() && copied->buffer->dtype == op->buffer->dtype) {
      const std::string from = exprs_.vector_access(copied->buffer, copied->indices[0]);
      if (!from.empty()) return line(fmt::format("{} = {};", vector, from));
    }
    line("{");
    ++depth_;
    // All lanes are computed before the first is stored: they may read what is written.
    if (!op->mask)
      for (const std::string& declaration : exprs_.take_vectors(op->value)) line(declaration);
    for (int lane = 0; lane < lanes; ++lane) {
      const std::string value = exprs_.stored(op->value, op->buffer->dtype, lane);
      if (op->mask) {
        line(fmt::format("{} v{} = 0;", memory_type(op->buffer->dtype), lane));
        line(fmt::format("if ({}) v{} = {};", exprs_.text(op->mask, lane), lane, value));
      } else {
        line(fmt::format("const {} v{} = {};", memory_type(op->buffer->dtype), lane, value));
      }
    }
    exprs_.drop_vectors();
    if (!vector.empty()) {
      line(fmt::format("{}x{} v;", memory_type(op->buffer->dtype), lanes));
      for (int lane = 0; lane < lanes; ++lane) line(fmt::format("v.{} = v{};", ExprWriter::lane_name(op->buffer->dtype, lane), lane));
      line(fmt::format("{} = v;", vector));
    } else {
      for (int lane = 0; lane < lanes; ++lane) line(fmt::format("{}{} = v{};", op->mask ? fmt::format("if ({}) ", exprs_.text(op->mask, lane)) : "", to(lane), lane));
    }
    --depth_;
    line("}");
  }

  const DialectWords& words_;
  const GpuKernel& kernel_;
  ExprWriter exprs_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

GpuProgram gpu_program(const Function& kernel) {
  Function f = kernel;
  f.body = simplify(vectorize_loops(hoist_conditions(simplify(f.body)), kVectorBits));
  return form_threads(f);
}

std::vector<GpuProgram> gpu_programs(const Module& m) {
  HONE_USER_CHECK(m.prepacks.empty()) << "GPU code has no prepacks yet";
  std::vector<GpuProgram> out;
  for (const Function& kernel : m.kernels) {
    out.push_back(gpu_program(kernel));
    // Every kernel takes the same arguments: those of a module without workspace buffers here take none.
    if (out.back().workspace.empty() && m.workspace_bytes > 0) out.back().workspace.push_back({make_buffer("unused", u8, {1}, BufferScope::kWorkspace), 0});
  }
  return out;
}

std::string gpu_kernel_name(size_t kernel, size_t launch) { return fmt::format("hone_kernel_{}_{}", kernel, launch); }

std::set<const BufferNode*> stored_buffers(const GpuKernel& kernel) {
  class Collector final : public Visitor {
   public:
    std::set<const BufferNode*> out;

   protected:
    using Visitor::visit;
    void visit(const Store* op) override {
      out.insert(op->buffer.get());
      Visitor::visit(op);
    }
  } collector;
  collector(kernel.body);
  return std::move(collector.out);
}

GpuSource emit_gpu(const Module& m, GpuDialect dialect) {
  const DialectWords& words = words_of(dialect);
  GpuSource out;
  std::string kernels;
  GpuNeeds all;
  const std::vector<GpuProgram> programs = gpu_programs(m);
  for (size_t i = 0; i < programs.size(); ++i) {
    const GpuProgram& program = programs[i];
    const Needs needs = needs_of(program);
    all.f64 |= needs.f64;
    all.f16 |= needs.f16;
    all.bf16 |= needs.bf16;
    all.dot4 |= needs.dot4;
    for (size_t k = 0; k < program.kernels.size(); ++k) {
      const GpuKernel& kernel = program.kernels[k];
      const std::string name = gpu_kernel_name(i, k);
      kernels += "\n" + KernelWriter(words, kernel, Names(program, kernel)).write(name, program, needs);
      out.launches.push_back({name, kernel.block_count(), kernel.thread_count(), kernel.shared_bytes()});
    }
  }
  out.text = std::string(words.prelude);
  if (all.f64) out.text += words.prelude_f64;
  if (all.f16) out.text += words.prelude_f16;
  if (all.bf16) out.text += words.prelude_bf16;
  out.text += helper_functions(all);
  out.text += kernels;
  return out;
}

}  // namespace hone
