#include "compiler/codegen/gpu/form_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "compiler/arith/simplify.h"
#include "compiler/arith/unproved_accesses.h"
#include "compiler/codegen/gpu/private_buffers.h"
#include "compiler/codegen/gpu/touched.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/queries.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// All bits are zero.
bool is_zero(const Expr& e) {
  const Expr& one = as<Broadcast>(e) ? as<Broadcast>(e)->value : e;
  const FloatImm* zero = as<FloatImm>(one);
  return is_const(one, 0) || (zero && zero->value == 0 && !std::signbit(zero->value));
}

// The thread nests of a block, in program order.
std::vector<ThreadNest> nests_of(const Stmt& s) {
  class Collector final : public Visitor {
   public:
    std::vector<ThreadNest> nests;

   protected:
    using Visitor::visit;
    void visit(const For* op) override {
      if (op->loop != LoopKind::kThread) return Visitor::visit(op);
      nests.push_back(ThreadNest::of(op));
      HONE_USER_CHECK(!holds_loop(nests.back().body, LoopKind::kThread))
          << "thread loop '" << op->var->name << "' holds another that does not fill it";
    }
  } collector;
  collector(s);
  return std::move(collector.nests);
}

// The block's program without its shared buffers, which go to `shared`: they live as long as the block.
class SharedCollector final : public Mutator {
 public:
  explicit SharedCollector(std::vector<Buffer>* shared) : shared_(*shared) {}

 protected:
  using Mutator::visit;
  Stmt visit(const Allocate* op) override {
    if (op->buffer->scope != BufferScope::kShared) return Mutator::visit(op);
    shared_.push_back(op->buffer);
    return (*this)(op->body);
  }

 private:
  std::vector<Buffer>& shared_;
};

// The program of one block, as one of its threads sees it.
class BlockFormer {
 public:
  GpuKernel form(std::vector<GpuAxis> blocks, const Stmt& block) {
    kernel_.blocks = std::move(blocks);
    const Stmt body = privatize_buffers(SharedCollector(&kernel_.shared)(block));
    for (const GpuAxis& axis : kernel_.blocks) facts_.push_range(axis.var.get(), 0, axis.extent - 1);
    choose_threads(nests_of(body));
    choose_staged(body);
    Stmt mine = convert(body);
    for (auto b = private_.rbegin(); b != private_.rend(); ++b) mine = make_allocate(*b, -1, mine);
    kernel_.body = simplified(std::move(mine));
    return std::move(kernel_);
  }

 private:
  // A block has as many threads as its largest nest. The axes are those of the nest whose indices matter most, the last
  // of the largest ones (usually its reduction); other nests compute their axes from the thread's number.
  void choose_threads(const std::vector<ThreadNest>& nests) {
    for (const ThreadNest& nest : nests) most_ = std::max(most_, nest.threads());
    const ThreadNest* best = nullptr;
    for (const ThreadNest& nest : nests)
      if (nest.threads() == most_ && (!best || nest.loops.size() >= best->loops.size())) best = &nest;
    if (!best) return;
    for (const For* loop : best->loops) kernel_.threads.push_back({Var(loop->var->name), *as_const_int(loop->extent)});
  }

  // The shared buffers that are only copied to from parameters, and that no nest both writes and reads: a barrier
  // always separates their copies from their reads.
  void choose_staged(const Stmt& body) {
    if (most_ == 1) return;
    std::set<const BufferNode*> others;
    for (const ThreadNest& nest : nests_of(body)) {
      const Touched touched = touched_by(nest.body, Facts());
      for (const Buffer& b : kernel_.shared)
        if (touched.reads(b) && touched.writes(b)) others.insert(b.get());
    }
    class Copies final : public Visitor {
     public:
      std::set<const BufferNode*> filled, computed;

     protected:
      using Visitor::visit;
      void visit(const Store* op) override {
        const bool fills = in_nest_ && (copied_from(op) || (sides_ > 0 && is_zero(op->value)));
        (fills ? filled : computed).insert(op->buffer.get());
      }
      // Zeros in the other branch of a copy: a border.
      void visit(const If* op) override {
        sides_ += static_cast<bool>(op->else_case);
        Visitor::visit(op);
        sides_ -= static_cast<bool>(op->else_case);
      }
      void visit(const For* op) override {
        const bool outer = in_nest_;
        in_nest_ |= op->loop == LoopKind::kThread;
        Visitor::visit(op);
        in_nest_ = outer;
      }

     private:
      bool in_nest_ = false;
      int sides_ = 0;
    } copies;
    copies(body);
    for (const Buffer& b : kernel_.shared)
      if (copies.filled.count(b.get()) && !copies.computed.count(b.get()) && !others.count(b.get()))
        kernel_.staged.push_back(b);
  }

  std::vector<int64_t> shape() const {
    std::vector<int64_t> extents;
    for (const GpuAxis& axis : kernel_.threads) extents.push_back(axis.extent);
    return extents;
  }

  // The thread's number in its block.
  Expr number() const {
    Expr n = make_int(0);
    for (const GpuAxis& axis : kernel_.threads) n = n * axis.extent + Expr(axis.var);
    return n;
  }

  // The nest's body for one thread.
  Stmt of_thread(const ThreadNest& nest) const {
    VarMap map;
    if (nest.shape() == shape()) {
      for (size_t i = 0; i < nest.loops.size(); ++i)
        map.emplace_back(nest.loops[i]->var.get(), Expr(kernel_.threads[i].var));
      return substitute(nest.body, map);
    }
    Expr rest = number();
    for (size_t i = nest.loops.size(); i-- > 0;) {
      const int64_t extent = *as_const_int(nest.loops[i]->extent);
      map.emplace_back(nest.loops[i]->var.get(), i == 0 ? rest : floor_mod(rest, extent));
      rest = floor_div(rest, extent);
    }
    Stmt body = substitute(nest.body, map);
    return nest.threads() < most_ ? make_if(lt(number(), nest.threads()), std::move(body)) : body;
  }

  // `part`, with a barrier in front where it needs one.
  Stmt ordered(const Stmt& source, Stmt part) {
    const Touched now = touched_by(source, facts_);
    if (most_ == 1 || !since_barrier_.orders(now)) {
      since_barrier_.add(now);
      return part;
    }
    since_barrier_ = now;
    return make_seq({make_barrier(), std::move(part)});
  }

  Stmt convert(const Stmt& s) {
    const For* loop = as<For>(s);
    if (loop && loop->loop == LoopKind::kThread)
      return ordered(s, serial_where_shared_is_written(of_thread(ThreadNest::of(loop))));
    if (const Allocate* op = as<Allocate>(s); op && holds_loop(s, LoopKind::kThread)) {
      private_.push_back(op->buffer);
      return convert(op->body);
    }
    if (const Seq* op = as<Seq>(s)) {
      std::vector<Stmt> parts;
      for (const Stmt& part : op->stmts) parts.push_back(convert(part));
      return make_seq(std::move(parts));
    }
    if (s->kind == StmtKind::kPrefetch) return make_seq({});
    if (!holds_loop(s, LoopKind::kThread)) return ordered(s, most_ == 1 ? s : make_if(eq(number(), make_int(0)), s));
    if (loop) return convert_loop(loop);
    return convert_if(as<If>(s));
  }

  // Accesses that the end of an iteration leaves unordered meet those of the beginning of the next.
  Stmt convert_loop(const For* loop) {
    HONE_USER_CHECK(loop->loop == LoopKind::kSerial || loop->loop == LoopKind::kUnroll)
        << name_of(loop->loop) << " loop '" << loop->var->name << "' stands around thread loops inside a block";
    const Touched before = since_barrier_;
    const std::vector<Buffer> own = private_;
    facts_.push_loop(loop->var.get(), loop->min, loop->extent);
    convert(loop->body);
    private_ = own;
    since_barrier_.shift(loop->var.get());
    since_barrier_.add(before);
    Stmt body = convert(loop->body);
    if (const int64_t ahead = filled_ahead(loop); ahead > 1) kernel_.pipelines[loop->var.get()] = ahead;
    since_barrier_.forget(loop->var.get());
    since_barrier_.add(before);  // a loop that runs no iteration passes no barrier
    facts_.pop_range();
    return make_for(loop->var, loop->min, loop->extent, loop->loop, std::move(body));
  }

  // How many iterations before they are read a loop copies to all the staged buffers that it touches; 0 where it does
  // not copy to all alike, first of all, at a distance that double_buffer() makes.
  int64_t filled_ahead(const For* loop) const {
    const Seq* seq = as<Seq>(loop->body);
    const If* fill = seq ? as<If>(seq->stmts[0]) : nullptr;
    const Binary* less = fill && !fill->else_case ? as<Binary>(fill->condition) : nullptr;
    const auto first = less && less->op == BinaryOp::kLt ? linear_of(less->a) : std::nullopt;
    if (!first || first->terms.size() != 1 || first->coefficient_of(loop->var.get()) != 1 ||
        loop->loop != LoopKind::kSerial)
      return 0;
    constexpr int64_t kFarthest = 7;
    const int64_t ahead = first->constant;
    if (ahead < 1 || ahead > kFarthest) return 0;
    const Touched copies = touched_by(seq->stmts[0], facts_);
    Touched rest;
    for (size_t i = 1; i < seq->stmts.size(); ++i) rest.add(touched_by(seq->stmts[i], facts_));
    bool copies_any = false;
    for (const Buffer& b : kernel_.staged) {
      copies_any |= copies.writes(b);
      if (copies.reads(b) || rest.writes(b) || !copies.all_in_part(b, true, loop->var.get(), ahead, ahead + 1) ||
          !rest.all_in_part(b, false, loop->var.get(), 0, ahead + 1))
        return 0;
    }
    return copies_any ? ahead : 0;
  }

  Stmt convert_if(const If* op) {
    HONE_USER_CHECK(!reads_memory(op->condition))
        << "a condition around thread loops reads memory: threads might not agree on it";
    // A barrier that one branch needs is put in front of the If, where all threads meet it; that serves the other
    // branch too.
    const bool waits = most_ > 1 && since_barrier_.orders(touched_by(Stmt(op), facts_));
    if (waits) since_barrier_ = {};
    const Touched before = since_barrier_;
    Stmt then_case = convert(op->then_case);
    Touched after = since_barrier_;
    since_barrier_ = before;
    Stmt else_case = op->else_case ? convert(op->else_case) : nullptr;
    since_barrier_.add(after);
    Stmt out = make_if(op->condition, std::move(then_case), std::move(else_case));
    return waits ? make_seq({make_barrier(), std::move(out)}) : out;
  }

  // Makes warp loops serial where a nest writes the shared memory that it reads. A thread may then read its own
  // elements without a barrier, but a tensor core hands them to the whole warp.
  Stmt serial_where_shared_is_written(const Stmt& nest) const {
    if (!holds_loop(nest, LoopKind::kWarp)) return nest;
    const Touched touched = touched_by(nest, facts_);
    class Demoter final : public Mutator {
     protected:
      using Mutator::visit;
      Stmt visit(const For* op) override {
        return make_for(op->var, op->min, op->extent, op->loop == LoopKind::kWarp ? LoopKind::kSerial : op->loop,
                        (*this)(op->body));
      }
    };
    const bool early = std::any_of(kernel_.shared.begin(), kernel_.shared.end(),
                                   [&](const Buffer& b) { return touched.writes(b) && touched.reads(b); });
    return early ? Demoter()(nest) : nest;
  }

  // Index arithmetic in terms of the axes, with their ranges known.
  Stmt simplified(Stmt body) const {
    size_t axes = 0;
    for (const auto* list : {&kernel_.threads, &kernel_.blocks})
      for (auto a = list->rbegin(); a != list->rend(); ++a, ++axes)
        body = make_for(a->var, make_int(0), make_int(a->extent),
                        list == &kernel_.threads ? LoopKind::kThread : LoopKind::kBlock, body);
    body = simplify(body);
    for (; axes > 0; --axes) {
      const For* loop = as<For>(body);
      HONE_ICHECK(loop) << "an axis was simplified away";
      body = loop->body;
    }
    return body;
  }

  GpuKernel kernel_;
  std::vector<Buffer> private_;
  Facts facts_;            // ranges of blocks and of loops around
  Touched since_barrier_;  // accesses since the last barrier that every path has passed
  int64_t most_ = 1;
};

class Launches {
 public:
  explicit Launches(GpuProgram* out) : out_(*out) {}

  void walk(const Stmt& s) {
    if (const Seq* op = as<Seq>(s)) {
      for (const Stmt& part : op->stmts) walk(part);
      return;
    }
    const Allocate* op = as<Allocate>(s);
    if (op && op->buffer->scope == BufferScope::kWorkspace) {
      out_.workspace.push_back({op->buffer, op->offset});
      return walk(op->body);
    }
    std::vector<GpuAxis> blocks;
    Stmt block = s;
    for (const For* loop = as<For>(s); loop && loop->loop == LoopKind::kBlock; loop = as<For>(block)) {
      HONE_USER_CHECK(is_const(loop->min, 0) && as_const_int(loop->extent))
          << "block loop '" << loop->var->name << "' does not run from 0 to a constant";
      // A loop that runs once is no axis; a loop that never runs makes no launch.
      if (is_const(loop->extent, 0)) return;
      blocks.push_back({loop->var, *as_const_int(loop->extent)});
      block = loop->body;
    }
    HONE_USER_CHECK(!holds_loop(block, LoopKind::kBlock))
        << "block loops are not the outermost of their launch, or do not fill each other";
    out_.kernels.push_back(BlockFormer().form(std::move(blocks), block));
  }

 private:
  GpuProgram& out_;
};

int64_t product(const std::vector<GpuAxis>& axes) {
  int64_t n = 1;
  for (const GpuAxis& axis : axes) n *= axis.extent;
  return n;
}

}  // namespace

void require_proved(const GpuKernel& kernel, const Stmt& body) {
  EmissionContext context;
  for (const auto* axes : {&kernel.blocks, &kernel.threads})
    for (const GpuAxis& a : *axes) context.variables.push_back({a.var.get(), {0, a.extent - 1}});
  if (const auto unproved = unproved_accesses(body, context); !unproved.empty()) throw UnprovedAccess(unproved);
}

const Load* copied_from(const Store* store) {
  const Select* chosen = as<Select>(store->value);
  const Expr& value = chosen ? chosen->on_true : store->value;
  if (chosen && !is_zero(chosen->on_false)) return nullptr;
  const Load* from = as<Load>(value);
  return from && !store->mask && from->buffer->scope == BufferScope::kParam &&
                 from->buffer->dtype == store->buffer->dtype
             ? from
             : nullptr;
}

int64_t GpuKernel::block_count() const { return product(blocks); }
int64_t GpuKernel::thread_count() const { return product(threads); }
int64_t GpuKernel::shared_bytes() const {
  int64_t bytes = 0;
  for (const Buffer& b : shared) bytes += ceil_div(*as_const_int(b->shape.at(0)) * b->dtype.bytes(), 16) * 16;
  return bytes;
}

GpuProgram form_threads(const Function& f) {
  HONE_USER_CHECK(f.shape_vars.empty()) << "function '" << f.name
                                        << "' has shape variables; GPU code does not take them yet";
  GpuProgram out;
  out.params = f.params;
  Launches(&out).walk(simplify(f.body));
  return out;
}

Function as_function(const GpuProgram& program, const std::string& name) {
  Function f;
  f.name = name;
  f.params = program.params;
  std::vector<Stmt> launches;
  for (const GpuKernel& k : program.kernels) {
    Stmt s = k.body;
    for (auto a = k.threads.rbegin(); a != k.threads.rend(); ++a)
      s = make_for(a->var, make_int(0), make_int(a->extent), LoopKind::kThread, s);
    for (auto b = k.shared.rbegin(); b != k.shared.rend(); ++b) s = make_allocate(*b, -1, s);
    for (auto a = k.blocks.rbegin(); a != k.blocks.rend(); ++a)
      s = make_for(a->var, make_int(0), make_int(a->extent), LoopKind::kBlock, s);
    launches.push_back(s);
  }
  f.body = make_seq(std::move(launches));
  for (auto w = program.workspace.rbegin(); w != program.workspace.rend(); ++w)
    f.body = make_allocate(w->buffer, w->offset, f.body);
  return f;
}

}  // namespace hone
