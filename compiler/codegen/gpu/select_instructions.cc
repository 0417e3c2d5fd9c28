#include "compiler/codegen/gpu/select_instructions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// Whether one instruction moves the elements of `buffer` at `index`: they are neighbours in memory, together 4 bytes
// (elements of less), 8 or 16, and their address is a multiple of that.
bool moves_as_vector(const Buffer& buffer, const Expr& index) {
  const Ramp* ramp = as<Ramp>(index);
  const int lanes = index->dtype.lanes;
  const DType t = buffer->dtype;
  if (!ramp || !is_const(ramp->stride, 1) || buffer->scope == BufferScope::kStack) return false;
  const bool is_word = t == f32 || t == i32 || t == f64, is_part = t.bits < 32 && !t.is_bool();
  const int64_t bytes = lanes * t.bytes();
  if (!(is_word && lanes > 1 && (bytes == 8 || bytes == 16)) && !(is_part && (bytes == 4 || bytes == 8 || bytes == 16)))
    return false;
  const auto form = linear_of(ramp->base);
  const auto aligned = [&](int64_t n) { return n % lanes == 0; };
  return form && aligned(form->constant) &&
         std::all_of(form->terms.begin(), form->terms.end(),
                     [&](const Linear::Term& term) { return aligned(term.coefficient); });
}

class Selector final : public Mutator {
 public:
  Selector(const GpuKernel& kernel, const std::set<const BufferNode*>& stored, const InstructionSet& can)
      : kernel_(kernel), stored_(stored), can_(can) {}

  Selection select() {
    out_.body = (*this)(kernel_.body);
    return std::move(out_);
  }

 protected:
  using Mutator::visit;

  Stmt visit(const For* op) override {
    if (const Stmt made = special(op); made) return made;
    if (op->loop == LoopKind::kWarp) return (*this)(plain_warp_loops(Stmt(op)));
    const bool diverges = differs(op->min) || differs(op->extent);
    divergent_ += diverges;
    Stmt body = (*this)(op->body);
    divergent_ -= diverges;
    return body.same_as(op->body) ? Stmt(op) : make_for(op->var, op->min, op->extent, op->loop, std::move(body));
  }

  Stmt visit(const If* op) override {
    const bool diverges = differs(op->condition);
    divergent_ += diverges;
    Stmt then_case = (*this)(op->then_case), else_case = op->else_case ? (*this)(op->else_case) : nullptr;
    divergent_ -= diverges;
    if (then_case.same_as(op->then_case) && (!op->else_case || else_case.same_as(op->else_case))) return Stmt(op);
    return Stmt(new If(op->condition, std::move(then_case), std::move(else_case)));
  }

  Stmt visit(const Store* op) override {
    if (!op->mask && moves_as_vector(op->buffer, op->indices[0])) out_.vector_stores.insert(op);
    class Loads final : public Visitor {
     public:
      explicit Loads(std::unordered_set<const Load*>* out) : out_(*out) {}

     protected:
      using Visitor::visit;
      void visit(const Load* op) override {
        if (op->dtype.is_vector() && moves_as_vector(op->buffer, op->indices[0])) out_.insert(op);
        Visitor::visit(op);
      }

     private:
      std::unordered_set<const Load*>& out_;
    };
    Loads (&out_.vector_loads)(op->value);
    copy_ahead(op);
    return Stmt(op);
  }

 private:
  bool differs(const Expr& e) const { return differs_in_warp(e, kernel_.threads); }

  // `op` as a loop that one instruction carries out; null when no instruction does. A node may stand in several places,
  // some of which diverge: each position gets a node of its own.
  Stmt special(const For* op) {
    const auto alone = [&] { return make_for(op->var, op->min, op->extent, op->loop, op->body); };
    std::optional<WarpSum> sum = op->loop == LoopKind::kWarp ? match_warp_sum(op, kernel_.threads) : std::nullopt;
    if (sum && can_.shuffles && divergent_ == 0) {
      Stmt made = alone();
      out_.sums.emplace(as<For>(made), *std::move(sum));
      return made;
    }
    std::optional<TensorProduct> product = match_product(op);
    if (product && has_product(*product) && divergent_ == 0) {
      Stmt made = alone();
      product->plain = (*this)(plain_warp_loops(Stmt(op)));
      out_.products.emplace(as<For>(made), *std::move(product));
      return made;
    }
    if (op->loop == LoopKind::kWarp)
      out_.plain.push_back({op->var->name, !sum && !product ? PlainLoop::Why::kOtherForm
                                           : divergent_ > 0 ? PlainLoop::Why::kDiverges
                                                            : PlainLoop::Why::kNoInstruction});
    return nullptr;
  }

  bool has_product(const TensorProduct& product) const {
    return can_.products && (can_.compute_capability == 0 || can_.compute_capability >= product.nest.least_sm);
  }

  // Loops around a nest for tensor cores, each unrolled and moving through A or through B only: the fragment of the
  // other matrix is loaded once for all of its iterations.
  std::optional<TensorProduct> match_product(const For* op) const {
    std::vector<const For*> around;
    const For* inner = op;
    for (; inner && inner->loop == LoopKind::kUnroll && is_const(inner->min, 0) && as_const_int(inner->extent);
         inner = as<For>(inner->body))
      around.push_back(inner);
    if (!inner || inner->loop != LoopKind::kWarp) return std::nullopt;
    auto nest = match_tensor_nest(inner, kernel_.threads);
    if (!nest) return std::nullopt;
    TensorProduct out;
    for (const For* l : around) {
      const bool in_a = uses_var(nest->a.tile, l->var.get()), in_b = uses_var(nest->b.tile, l->var.get());
      if (in_a == in_b) return std::nullopt;
      (in_a ? out.rows : out.columns).push_back(l);
    }
    for (const For* l : out.columns) out.tiles *= *as_const_int(l->extent);
    // ldmatrix reads the fragments of two neighbouring tiles of B at once, where there are two.
    const auto form = linear_of(nest->b.tile);
    const int64_t next = out.columns.empty() || !form ? 0 : form->coefficient_of(out.columns.back()->var.get());
    if (next > 0 && *as_const_int(out.columns.back()->extent) % 2 == 0) out.pairs = next;
    out.nest = *std::move(nest);
    out.loops = Stmt(op);
    return out;
  }

  void copy_ahead(const Store* op) {
    const auto is_staged = [&](const Buffer& b) { return b.same_as(op->buffer); };
    if (!can_.async_copies || std::none_of(kernel_.staged.begin(), kernel_.staged.end(), is_staged)) return;
    const Load* from = copied_from(op);
    if (!from || stored_.count(from->buffer.get())) return;
    const int lanes = op->value->dtype.lanes;
    const int64_t bytes = lanes * op->buffer->dtype.bytes();
    if (bytes != 4 && bytes != 8 && bytes != 16) return;
    if (lanes > 1 && !(moves_as_vector(op->buffer, op->indices[0]) && moves_as_vector(from->buffer, from->indices[0])))
      return;
    out_.copies_ahead = true;
    AsyncCopy copy{bytes, from, nullptr};
    if (const Select* chosen = as<Select>(op->value)) {
      const Broadcast* same = as<Broadcast>(chosen->condition);
      if (chosen->condition->dtype.is_vector() && !same) return;  // it differs between lanes
      copy.condition = same ? same->value : chosen->condition;
    }
    out_.copies.emplace(op, std::move(copy));
  }

  const GpuKernel& kernel_;
  const std::set<const BufferNode*>& stored_;
  const InstructionSet can_;
  Selection out_;
  int divergent_ = 0;  // how many conditions and loops around may differ between the threads of a warp
};

}  // namespace

std::string to_string(const PlainLoop& loop) {
  const auto why = [&] {
    switch (loop.why) {
      case PlainLoop::Why::kNoInstruction: return "there is no instruction for it here";
      case PlainLoop::Why::kDiverges: return "the threads of a warp may not come there together";
      case PlainLoop::Why::kOtherForm: break;
    }
    return "its strides, alignment, types or extents are not an instruction's";
  };
  return fmt::format("loop '{}' is a plain sum: {}", loop.loop, why());
}

std::optional<Pipeline> pipeline_of(const GpuKernel& kernel, const For* loop) {
  const auto known = kernel.pipelines.find(loop->var.get());
  if (known == kernel.pipelines.end()) return std::nullopt;
  const Seq* body = as<Seq>(loop->body);
  HONE_ICHECK(body) << "loop '" << loop->var->name << "' does not begin with a barrier";
  const auto copies =
      std::find_if(body->stmts.begin(), body->stmts.end(), [](const Stmt& s) { return s->kind == StmtKind::kIf; });
  HONE_ICHECK(copies != body->stmts.end()) << "loop '" << loop->var->name << "' copies nothing ahead";
  return Pipeline{known->second, body, static_cast<size_t>(copies - body->stmts.begin())};
}

Selection select_instructions(const GpuKernel& kernel, const std::set<const BufferNode*>& stored,
                              const InstructionSet& can) {
  return Selector(kernel, stored, can).select();
}

}  // namespace hone
