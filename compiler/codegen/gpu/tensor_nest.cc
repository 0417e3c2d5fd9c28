#include "compiler/codegen/gpu/tensor_nest.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/linear.h"
#include "compiler/codegen/gpu/touched.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/queries.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

constexpr int64_t kWarpRows = 8, kWarpColumns = 4;  // 8 x 4 threads of a warp
constexpr int64_t kBytesOfK = 32;                   // bytes of k that one mma takes
constexpr int64_t kRowBytes = 16;                   // bytes that ldmatrix reads of a row, and their alignment

bool linear_in_vars(const Linear& form, const std::vector<const VarNode*>& vars) {
  return std::none_of(form.terms.begin(), form.terms.end(), [&](const Linear::Term& t) {
    return !as<VarNode>(t.atom) &&
           std::any_of(vars.begin(), vars.end(), [&](const VarNode* v) { return uses_var(t.atom, v); });
  });
}

Linear without(const Linear& form, const std::vector<const VarNode*>& vars) {
  Linear out;
  out.constant = form.constant;
  for (const Linear::Term& t : form.terms)
    if (std::none_of(vars.begin(), vars.end(), [&](const VarNode* v) { return t.atom.get() == v; }))
      out.terms.push_back(t);
  return out;
}

// The load that is a factor: x, or x widened to another type, cast(t, x).
const Load* factor_of(const Expr& e) {
  const Cast* widened = as<Cast>(e);
  return as<Load>(widened ? widened->value : e);
}

struct Axes {
  const VarNode *g, *q, *h, *c, *k;
  std::vector<const VarNode*> all() const { return {g, q, h, c, k}; }
};

// The operand whose rows (columns) are indexed by `lane`, an axis of the warp, in steps of `lane_step`, and by `own`,
// in steps of `own_step`; nothing when the load is not of that form.
std::optional<TensorNest::Operand> operand_of(const Load* load, const Axes& x, const VarNode* lane, int64_t lane_step,
                                              const VarNode* own, int64_t own_step) {
  if (load->buffer->scope != BufferScope::kShared || load->indices.size() != 1 || load->dtype.is_vector())
    return std::nullopt;
  const auto form = linear_of(load->indices[0]);
  if (!form || !linear_in_vars(*form, x.all())) return std::nullopt;
  TensorNest::Operand out{load->buffer, nullptr, form->coefficient_of(own) / own_step, form->coefficient_of(x.k)};
  if (form->coefficient_of(own) != out.stride * own_step || form->coefficient_of(lane) != out.stride * lane_step)
    return std::nullopt;
  for (const VarNode* v : x.all())
    if (v != lane && v != own && v != x.k && form->coefficient_of(v) != 0) return std::nullopt;
  const int64_t bytes = load->dtype.bytes(), apart = out.stride_k == 1 ? out.stride : out.stride_k;
  // k is contiguous in a row, or rows are contiguous in k: the latter is transposed by ldmatrix, in pairs of 16 bits
  // only.
  if (!(out.stride_k == 1 && out.stride > 1) && !(out.stride == 1 && out.stride_k > 1 && bytes == 2))
    return std::nullopt;
  const Linear tile = without(*form, x.all());
  const auto aligned = [&](int64_t elements) { return elements * bytes % kRowBytes == 0; };
  if (!aligned(apart) || !aligned(tile.constant) ||
      !std::all_of(tile.terms.begin(), tile.terms.end(), [&](const Linear::Term& t) { return aligned(t.coefficient); }))
    return std::nullopt;
  out.tile = tile.to_expr();
  return out;
}

bool set_types(DType a, DType b, DType c, TensorNest* nest) {
  if (c == f32 && a == b && (a == f16 || a == bf16 || a == f32)) {
    nest->types = a == f32 ? "tf32" : to_string(a);
    nest->least_sm = a == f16 ? 75 : 80;
    return true;
  }
  if (c != i32 || b != i8 || (a != i8 && a != u8)) return false;
  nest->types = a == i8 ? "s8s8" : "u8s8";
  return true;
}

}  // namespace

std::optional<WarpSum> match_warp_sum(const For* loop, const std::vector<GpuAxis>& threads) {
  const auto extent = as_const_int(loop->extent);
  const Store* store = as<Store>(loop->body);
  int64_t count = 1;
  for (const GpuAxis& a : threads) count *= a.extent;
  if (threads.empty() || count % 32 != 0 || loop->loop != LoopKind::kWarp || !is_const(loop->min, 0) || !extent ||
      *extent < 2 || *extent > 32 || (*extent & (*extent - 1)) != 0)
    return std::nullopt;
  const GpuAxis& lanes = threads.back();
  if (lanes.extent % *extent != 0 || !store || store->mask || store->indices.size() != 1 ||
      store->buffer->scope != BufferScope::kStack || uses_var(store->indices[0], loop->var.get()))
    return std::nullopt;
  const Binary* sum = as<Binary>(store->value);
  const Load *old = sum ? as<Load>(sum->a) : nullptr, *part = sum ? as<Load>(sum->b) : nullptr;
  if (!old || !part || (sum->op != BinaryOp::kAdd && sum->op != BinaryOp::kMin && sum->op != BinaryOp::kMax))
    return std::nullopt;
  const DType t = store->buffer->dtype;
  if ((t != f32 && t != i32 && t != f64) || !old->buffer.same_as(store->buffer) ||
      !equal(old->indices.at(0), store->indices[0]))
    return std::nullopt;
  if (part->buffer->scope != BufferScope::kShared || part->indices.size() != 1 || part->dtype != t) return std::nullopt;
  const auto form = linear_of(part->indices[0]);
  if (!form || form->coefficient_of(loop->var.get()) != 1) return std::nullopt;
  Linear first;
  first.constant = form->constant;
  for (const Linear::Term& term : form->terms) {
    if (term.atom.get() == loop->var.get()) continue;
    // The source must be the same for the whole group: of the innermost axis only the group's number may occur.
    const Binary* groups = as<Binary>(term.atom);
    const auto size = groups && groups->op == BinaryOp::kFloorDiv && groups->a.get() == lanes.var.get()
                          ? as_const_int(groups->b)
                          : std::nullopt;
    const bool counts_groups = size && *size % *extent == 0;
    if (!counts_groups &&
        (uses_var(term.atom, lanes.var.get()) || uses_var(term.atom, loop->var.get()) || reads_memory(term.atom)))
      return std::nullopt;
    first.terms.push_back(term);
  }
  return WarpSum{*extent, sum->op, part->buffer, store->buffer, first.to_expr(), store->indices[0]};
}

Stmt plain_warp_loops(const Stmt& s) {
  class Plain final : public Mutator {
   protected:
    using Mutator::visit;
    Stmt visit(const For* op) override {
      if (op->loop != LoopKind::kWarp) return Mutator::visit(op);
      class Stored final : public Visitor {
       public:
        explicit Stored(const VarNode* var) : var_(var) {}
        bool moves = false;

       protected:
        using Visitor::visit;
        void visit(const Store* store) override { moves |= uses_var(store->indices.at(0), var_); }

       private:
        const VarNode* var_;
      } stored(op->var.get());
      stored(op->body);
      const bool unrolls = stored.moves && as_const_int(op->extent);
      return make_for(op->var, op->min, op->extent, unrolls ? LoopKind::kUnroll : LoopKind::kSerial, (*this)(op->body));
    }
  };
  return Plain()(s);
}

bool differs_in_warp(const Expr& e, const std::vector<GpuAxis>& threads) {
  class Finder final : public Visitor {
   public:
    explicit Finder(const std::vector<GpuAxis>& threads) : threads_(threads) {}
    bool found = false;

   protected:
    using Visitor::visit;
    void visit(const VarNode* op) override {
      for (size_t i = threads_.size() < 2 ? 0 : threads_.size() - 2; i < threads_.size(); ++i)
        found |= threads_[i].var.get() == op;
    }
    void visit(const Load*) override { found = true; }

   private:
    const std::vector<GpuAxis>& threads_;
  } finder(threads);
  finder(e);
  return finder.found;
}

std::optional<TensorNest> match_tensor_nest(const For* outermost, const std::vector<GpuAxis>& threads) {
  if (threads.size() < 2 || threads.back().extent != kWarpColumns || threads[threads.size() - 2].extent != kWarpRows)
    return std::nullopt;
  std::vector<const For*> loops;
  Stmt body;
  for (const For* l = outermost; l && l->loop == LoopKind::kWarp; l = as<For>(body)) {
    loops.push_back(l);
    body = l->body;
    if (!is_const(l->min, 0)) return std::nullopt;
  }
  const Store* store = as<Store>(body);
  if (loops.size() != 3 || !is_const(loops[0]->extent, 2) || !is_const(loops[1]->extent, 2) || !store || store->mask ||
      store->indices.size() != 1 || store->buffer->scope != BufferScope::kStack)
    return std::nullopt;
  const Axes x{threads[threads.size() - 2].var.get(), threads.back().var.get(), loops[0]->var.get(),
               loops[1]->var.get(), loops[2]->var.get()};

  // C[i] = C[i] + A * B
  const Binary* sum = as<Binary>(store->value);
  const Load* old = sum && sum->op == BinaryOp::kAdd ? as<Load>(sum->a) : nullptr;
  const Binary* product = old ? as<Binary>(sum->b) : nullptr;
  const auto c = linear_of(store->indices[0]),
             c_old = old && old->indices.size() == 1 ? linear_of(old->indices[0]) : std::nullopt;
  if (!product || product->op != BinaryOp::kMul || product->dtype != store->buffer->dtype ||
      !old->buffer.same_as(store->buffer) || !c || !c_old ||
      !(c->to_expr().same_as(c_old->to_expr()) || equal(c->to_expr(), c_old->to_expr())))
    return std::nullopt;
  if (!linear_in_vars(*c, x.all()) || c->coefficient_of(x.g) != 0 || c->coefficient_of(x.q) != 0 ||
      c->coefficient_of(x.k) != 0)
    return std::nullopt;
  const Load *a = factor_of(product->a), *b = factor_of(product->b);
  if (!a || !b || a->buffer.same_as(store->buffer) || b->buffer.same_as(store->buffer)) return std::nullopt;
  if (uses_var(a->indices.at(0), x.c)) std::swap(a, b);

  TensorNest nest;
  if (!set_types(a->buffer->dtype, b->buffer->dtype, store->buffer->dtype, &nest) ||
      !is_const(loops[2]->extent, kBytesOfK / a->dtype.bytes()))
    return std::nullopt;
  const auto rows = operand_of(a, x, x.g, 1, x.h, kWarpRows), columns = operand_of(b, x, x.q, 2, x.c, 1);
  if (!rows || !columns || rows->stride_k != 1) return std::nullopt;
  nest.a = *rows;
  nest.b = *columns;
  nest.c = store->buffer;
  nest.c_index = without(*c, x.all()).to_expr();
  nest.c_stride_h = c->coefficient_of(x.h);
  nest.c_stride_c = c->coefficient_of(x.c);
  return nest;
}

}  // namespace hone
