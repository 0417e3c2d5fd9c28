#include "compiler/codegen/gpu/emit.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <set>
#include <unordered_map>

#include "compiler/arith/bounds.h"
#include "compiler/arith/simplify.h"
#include "compiler/codegen/gpu/emit_expr.h"
#include "compiler/codegen/gpu/select_instructions.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

constexpr int64_t kSharedAlignment = 16;
constexpr std::string_view kAwaitCopies = "await_copies();", kCommitCopies = "commit_copies();",
                           kAwaitEarlierCopies = "await_copies_but";  // of asynchronous copies

// One instruction moves at most four f32.
constexpr int kVectorBits = 128;

// The features of a program that decide how its text begins.
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
    void visit(const For* op) override {
      out.tensor |= op->loop == LoopKind::kWarp;
      Visitor::visit(op);
    }
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

// The statements of one kernel, by the instructions that were selected for it.
class KernelWriter {
 public:
  KernelWriter(const DialectWords& words, const GpuKernel& kernel, const Selection& selected, Names names,
               bool assume_finite)
      : words_(words),
        kernel_(kernel),
        selected_(selected),
        exprs_(words, std::move(names), selected, index_fits_i32(kernel), assume_finite) {}

  std::string write(std::string_view name, const GpuProgram& program, const Needs& needs, bool dynamic) {
    out_ += fmt::format(fmt::runtime(words_.kernel), kernel_.thread_count());
    out_ += fmt::format(" {}(", name);
    const char* separator = "";
    for (const Buffer& b : program.params) {
      const bool stored = needs.stored.count(b.get()) > 0;
      out_ += fmt::format("{}{}{}{}* {} {}", separator, words_.global, stored ? "" : "const ", memory_type(b->dtype),
                          words_.restricted, exprs_.name_of(b.get()));
      separator = ", ";
    }
    if (!program.workspace.empty()) out_ += fmt::format("{}{}u8* workspace", separator, words_.global);
    out_ += ") {\n";
    ++depth_;
    for (const GpuProgram::WorkspaceBuffer& w : program.workspace)
      line(fmt::format("{0}{1}* {2} = ({0}{1}*)(workspace + {3});", words_.global, memory_type(w.buffer->dtype),
                       exprs_.name_of(w.buffer.get()), w.offset));
    int64_t offset = 0;
    if (dynamic) line(std::string(words_.block_memory));
    for (const Buffer& b : kernel_.shared) {
      if (!dynamic) continue;
      line(fmt::format("{0}* const {1} = ({0}*)(block_memory + {2});", memory_type(b->dtype), exprs_.name_of(b.get()),
                       offset));
      offset += ceil_div(*as_const_int(b->shape[0]) * b->dtype.bytes(), kSharedAlignment) * kSharedAlignment;
    }
    for (const Buffer& b : kernel_.shared)
      if (!dynamic)
        line(fmt::format("{} HONE_ALIGN(16) {} {}[{}];", words_.shared, memory_type(b->dtype), exprs_.name_of(b.get()),
                         *as_const_int(b->shape[0])));
    axes(kernel_.blocks, words_.block);
    axes(kernel_.threads, words_.thread);
    statement(selected_.body);
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
        line(fmt::format("{} {}[{}];", memory_type(op->buffer->dtype), exprs_.name_of(op->buffer.get()),
                         *as_const_int(op->buffer->shape[0])));
        statement(op->body);
        --depth_;
        return line("}");
      }
      case StmtKind::kStore: return store(as<Store>(s));
      case StmtKind::kBarrier:
        if (selected_.copies_ahead) line(std::string(kAwaitCopies));
        return line(std::string(words_.barrier));
      case StmtKind::kPrefetch: return;
    }
  }

  void loop(const For* op) {
    if (const auto sum = selected_.sums.find(op); sum != selected_.sums.end()) return warp_sum(sum->second);
    if (const auto product = selected_.products.find(op); product != selected_.products.end())
      return tensor_product(product->second);
    HONE_ICHECK(op->loop != LoopKind::kWarp) << "warp loop '" << op->var->name << "' has no instruction";
    if (selected_.copies_ahead)
      if (const auto pipeline = pipeline_of(kernel_, op)) return pipelined_loop(op, *pipeline);
    open_loop(op);
    statement(op->body);
    close_loop();
  }

  void pipelined_loop(const For* op, const Pipeline& pipeline) {
    for (int64_t i = 0; i < pipeline.ahead; ++i) line(std::string(kCommitCopies));
    open_loop(op);
    for (size_t i = 0; i < pipeline.body->stmts.size(); ++i) {
      const Stmt& s = pipeline.body->stmts[i];
      if (s->kind == StmtKind::kBarrier && i < pipeline.copies) {
        line(fmt::format("{}<{}>();", kAwaitEarlierCopies, pipeline.ahead - 1));
        line(std::string(words_.barrier));
        continue;
      }
      statement(s);
      if (i == pipeline.copies) line(std::string(kCommitCopies));
    }
    close_loop();
  }

  void open_loop(const For* op, int64_t step = 1) {
    const std::string var = exprs_.name_of(op->var.get()), low = exprs_.text(op->min);
    if (op->loop == LoopKind::kUnroll) line("#pragma unroll");
    line(fmt::format("for ({0} {1} = {2}; {1} < {3}; {4}) {{", exprs_.index_type(), var, low,
                     exprs_.text(op->min + op->extent), step == 1 ? "++" + var : fmt::format("{} += {}", var, step)));
    exprs_.facts().push_loop(op->var.get(), op->min, op->extent);
    const Interval range = exprs_.facts().range_of(op->var.get());
    HONE_USER_CHECK(range.lo != Interval::kMin && range.hi != Interval::kMax)
        << "loop '" << op->var->name << "' may leave int64, where C's numbers end";
    ++depth_;
  }

  void close_loop() {
    --depth_;
    exprs_.facts().pop_range();
    line("}");
  }

  void close_loops(const std::vector<const For*>& loops) {
    for (size_t i = 0; i < loops.size(); ++i) close_loop();
  }

  // --- loops that a warp executes together ---

  void warp_sum(const WarpSum& sum) {
    const std::string t = memory_type(sum.result->dtype),
                      to = fmt::format("{}[{}]", exprs_.name_of(sum.result.get()), exprs_.text(sum.index));
    const auto combined = [&](const std::string& a, const std::string& b) {
      if (sum.op == BinaryOp::kAdd) return fmt::format("{} + {}", a, b);
      const bool tests = sum.result->dtype.is_float() && !exprs_.assume_finite();
      return fmt::format("{}{}_{}({}, {})", sum.op == BinaryOp::kMin ? "min" : "max", tests ? "imum" : "", t, a, b);
    };
    line("{");
    ++depth_;
    line(fmt::format("{} part = {}[{} + ({} & {})];", t, exprs_.name_of(sum.source.get()), exprs_.text(sum.first),
                     words_.thread, sum.threads - 1));
    for (int64_t apart = sum.threads / 2; apart > 0; apart /= 2)
      line(fmt::format("part = {};", combined("part", fmt::format(fmt::runtime(words_.shuffle), "part", apart))));
    line(fmt::format("{} = {};", to, combined(to, "part")));
    --depth_;
    line("}");
  }

  void tensor_product(const TensorProduct& product) {
    line(fmt::format(fmt::runtime(words_.since), 10 * product.nest.least_sm));
    tensor_core_product(product);
    line("#else");
    statement(product.plain);
    line("#endif");
  }

  void tensor_core_product(const TensorProduct& product) {
    const TensorNest& nest = product.nest;
    const std::vector<const For*>&rows = product.rows, &columns = product.columns;
    const bool rounds = nest.types == "tf32";
    const int64_t half = 16 / nest.a.buffer->dtype.bytes();  // of a tile's k
    Expr tile = make_int(0);
    for (const For* l : columns) tile = tile * *as_const_int(l->extent) + Expr(l->var);
    line("{");
    ++depth_;
    line(fmt::format("const i32 lane = {} & 31;", words_.thread));
    line(fmt::format("u32 b_parts[{}];", 2 * product.tiles));
    const bool pairs = product.pairs > 0;
    for (const For* l : columns) open_loop(l, pairs && l == columns.back() ? 2 : 1);
    const std::string second = pairs ? fmt::format(" + (lane >> 4) * {}", product.pairs) : "";
    const std::string position = nest.b.stride_k == 1
                                     ? fmt::format("(lane & 7) * {} + (lane >> 3 & 1) * {}", nest.b.stride, half)
                                     : fmt::format("(lane & 15) * {}", nest.b.stride_k);
    line(fmt::format("read_{}_{}(b_parts + 2 * {}, {} + {} + {}{});", nest.b.stride_k == 1 ? "rows" : "columns",
                     pairs ? 4 : 2, exprs_.text(tile), exprs_.name_of(nest.b.buffer.get()), exprs_.text(nest.b.tile),
                     position, second));
    close_loops(columns);
    if (rounds) line(fmt::format("round_tf32(b_parts, {});", 2 * product.tiles));
    for (const For* l : rows) open_loop(l);
    line("u32 a_parts[4];");
    line(fmt::format("read_rows_4(a_parts, {} + {} + (lane & 15) * {} + (lane >> 4) * {});",
                     exprs_.name_of(nest.a.buffer.get()), exprs_.text(nest.a.tile), nest.a.stride, half));
    if (rounds) line("round_tf32(a_parts, 4);");
    for (const For* l : columns) open_loop(l);
    const std::string c = exprs_.name_of(nest.c.get());
    const auto element = [&](int64_t h, int64_t column) {
      return fmt::format("{}[{}]", c,
                         exprs_.text(nest.c_index + make_int(h * nest.c_stride_h + column * nest.c_stride_c)));
    };
    line(fmt::format("mma_{}({}, {}, {}, {}, a_parts, b_parts + 2 * {});", nest.types, element(0, 0), element(0, 1),
                     element(1, 0), element(1, 1), exprs_.text(tile)));
    close_loops(columns);
    close_loops(rows);
    --depth_;
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

  void copy_ahead(const Store* op, const AsyncCopy& copy) {
    const auto element = [&](const Buffer& b, const Expr& index) {
      return index->dtype.is_vector() ? exprs_.vector_at(b, index)
                                      : fmt::format("{}[{}]", exprs_.name_of(b.get()), exprs_.text(index));
    };
    const std::string to = element(op->buffer, op->indices[0]),
                      source = element(copy.from->buffer, copy.from->indices[0]);
    line(copy.condition
             ? fmt::format("copy_{}_where({}, &{}, &{});", copy.bytes, exprs_.text(copy.condition), to, source)
             : fmt::format("copy_{}(&{}, &{});", copy.bytes, to, source));
  }

  void store(const Store* op) {
    if (const auto copy = selected_.copies.find(op); copy != selected_.copies.end())
      return copy_ahead(op, copy->second);
    const int lanes = op->value->dtype.lanes;
    const std::string name = exprs_.name_of(op->buffer.get());
    const auto to = [&](int lane) { return fmt::format("{}[{}]", name, exprs_.text(op->indices[0], lane)); };
    if (lanes == 1 && !op->mask)
      return line(fmt::format("{} = {};", to(0), exprs_.stored(op->value, op->buffer->dtype)));
    const std::string vector =
        selected_.vector_stores.count(op) ? exprs_.vector_at(op->buffer, op->indices[0]) : std::string();
    if (const Load* copied = as<Load>(op->value);
        copied && !vector.empty() && copied->buffer->dtype == op->buffer->dtype && selected_.vector_loads.count(copied))
      return line(fmt::format("{} = {};", vector, exprs_.vector_at(copied->buffer, copied->indices[0])));
    line("{");
    ++depth_;
    // All lanes are computed before the first is stored: they may read the stored elements.
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
      for (int lane = 0; lane < lanes; ++lane)
        line(fmt::format("v.{} = v{};", ExprWriter::lane_name(op->buffer->dtype, lane), lane));
      line(fmt::format("{} = v;", vector));
    } else {
      for (int lane = 0; lane < lanes; ++lane)
        line(fmt::format("{}{} = v{};", op->mask ? fmt::format("if ({}) ", exprs_.text(op->mask, lane)) : "", to(lane),
                         lane));
    }
    --depth_;
    line("}");
  }

  const DialectWords& words_;
  const GpuKernel& kernel_;
  const Selection& selected_;
  ExprWriter exprs_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::vector<Pass<Stmt>> gpu_passes() {
  return {
      {"simplify", [](const Stmt& s) { return simplify(s); }},
      {"hoist_conditions", &hoist_conditions},
      {"vectorize_loops", [](const Stmt& s) { return vectorize_loops(s, kVectorBits); }, /*is_needed=*/true},
      {"simplify_vectors", [](const Stmt& s) { return simplify(s); }},
  };
}

GpuProgram gpu_program(const Function& kernel) {
  Function f = kernel;
  f.body = run_passes(gpu_passes(), f.body);
  return form_threads(f);
}

std::vector<GpuProgram> gpu_programs(const Module& m) {
  HONE_USER_CHECK(m.prepacks.empty()) << "GPU code has no prepacks yet";
  std::vector<GpuProgram> out;
  for (const Function& kernel : m.kernels) {
    out.push_back(gpu_program(kernel));
    for (const GpuKernel& k : out.back().kernels) require_proved(k, k.body);
    // All kernels take the same arguments; those of a module without workspace buffers take no workspace.
    if (out.back().workspace.empty() && m.workspace_bytes > 0)
      out.back().workspace.push_back({make_buffer("unused", u8, {1}, BufferScope::kWorkspace), 0});
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

GpuLaunch launch_of(const std::string& name, const GpuKernel& kernel, bool dynamic) {
  const int64_t shared = kernel.shared_bytes();
  return {name, {kernel.block_count(), kernel.thread_count(), dynamic ? shared : 0}, dynamic ? 0 : shared};
}

GpuSource emit_gpu(const Module& m, std::string_view kind) {
  const DialectWords& words = words_of(kind);
  const InstructionSet can{.products = !words.prelude_tensor.empty(),
                           .shuffles = !words.shuffle.empty(),
                           .async_copies = !words.prelude_copies.empty()};
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
    all.tensor |= needs.tensor;
    for (size_t k = 0; k < program.kernels.size(); ++k) {
      const GpuKernel& kernel = program.kernels[k];
      const std::string name = gpu_kernel_name(i, k);
      const bool dynamic = !words.block_memory.empty() && kernel.shared_bytes() > kMostDeclaredShared;
      all.staged |= !kernel.staged.empty();
      const Selection selected = select_instructions(kernel, needs.stored, can);
      for (const PlainLoop& loop : selected.plain) out.notes.push_back(name + ": " + to_string(loop));
      KernelWriter writer(words, kernel, selected, names_of(program, kernel), m.assume_finite);
      kernels += "\n" + writer.write(name, program, needs, dynamic);
      out.launches.push_back(launch_of(name, kernel, dynamic));
    }
  }
  out.text = std::string(words.prelude);
  if (all.f64) out.text += words.prelude_f64;
  if (all.f16) out.text += words.prelude_f16;
  if (all.bf16) out.text += words.prelude_bf16;
  out.text += helper_functions(all);
  if (all.staged) out.text += words.prelude_copies;
  if (all.tensor) out.text += words.prelude_tensor;
  out.text += kernels;
  return out;
}

}  // namespace hone
