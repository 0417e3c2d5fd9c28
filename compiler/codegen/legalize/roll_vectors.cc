// for a in 0..6 unroll:              for o in 0..2:
//   for v in 0..64 vectorize:    ->    for a in 0..6 unroll:
//     S(a, v)                            for v in 0..32 vectorize: S(a, o*32 + v)
#include <numeric>

#include "compiler/codegen/legalize/conditions.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/legalize/vector_body.h"
#include "compiler/ir/mutator.h"

namespace hone {
namespace {

// A body of fewer copies does not pay for its loop.
constexpr int64_t kMinCopies = 4;
// Vectors of an iteration: with one, stores that are far apart come line by line, which takes a third longer where they
// miss L1.
constexpr int64_t kVectors = 2;

// Whether an element of a stack buffer depends on loops that run at run time. Elements at constant indices, once loops
// are unrolled, are registers.
class MemoryFinder final : public Visitor {
 public:
  explicit MemoryFinder(const BufferNode* buffer) : buffer_(buffer) {}
  bool found = false;

 protected:
  using Visitor::visit;
  void visit(const For* op) override {
    const bool copied = op->loop == LoopKind::kUnroll || op->loop == LoopKind::kVectorize;
    if (copied) copied_.push_back(op->var.get());
    Visitor::visit(op);
    if (copied) copied_.pop_back();
  }
  void visit(const Load* op) override {
    access(op->buffer.get(), op->indices);
    Visitor::visit(op);
  }
  void visit(const Store* op) override {
    access(op->buffer.get(), op->indices);
    Visitor::visit(op);
  }

 private:
  void access(const BufferNode* buffer, const std::vector<Expr>& indices) {
    if (found || buffer != buffer_) return;
    class Vars final : public Visitor {
     public:
      explicit Vars(const std::vector<const VarNode*>& copied) : copied_(copied) {}
      bool others = false;

     protected:
      using Visitor::visit;
      void visit(const VarNode* op) override {
        others |= std::find(copied_.begin(), copied_.end(), op) == copied_.end();
      }
      void visit(const Load*) override { others = true; }

     private:
      const std::vector<const VarNode*>& copied_;
    } vars(copied_);
    for (const Expr& i : indices) vars(i);
    found = vars.others;
  }
  const BufferNode* buffer_;
  std::vector<const VarNode*> copied_;
};

class VectorRoller final : public Mutator {
 public:
  explicit VectorRoller(int vector_bits) : vector_bits_(vector_bits) {}

 protected:
  using Mutator::visit;

  Stmt visit(const Allocate* op) override {
    if (op->buffer->scope != BufferScope::kStack) return Mutator::visit(op);
    MemoryFinder memory(op->buffer.get());
    memory(op->body);
    if (!memory.found) registers_.push_back(op->buffer.get());
    Stmt walked = Mutator::visit(op);
    if (!memory.found) registers_.pop_back();
    return walked;
  }

  Stmt visit(const For* op) override {
    if (op->loop != LoopKind::kUnroll) return Mutator::visit(op);
    std::vector<const For*> unrolled;
    const For* loop = op;
    for (; loop && loop->loop == LoopKind::kUnroll; loop = as<For>(loop->body)) unrolled.push_back(loop);
    if (!loop || loop->loop != LoopKind::kVectorize) return Mutator::visit(op);
    const Stmt rolled = roll(unrolled, loop);
    return rolled ? rolled : Stmt(op);
  }

 private:
  // Null where rolling would change the result, or is not worth it.
  Stmt roll(const std::vector<const For*>& unrolled, const For* vectors) const {
    const auto lo = as_const_int(vectors->min), extent = as_const_int(vectors->extent);
    VectorBody body;
    body(vectors->body);
    const int64_t lanes = kVectors * body.lanes(vector_bits_);
    if (!lo || *lo != 0 || !extent || *extent % lanes != 0 || *extent / lanes < 2 || body.has_inner_scope)
      return Stmt();
    int64_t copies = 1;
    for (const For* u : unrolled) copies = saturating_product(copies, as_const_int(u->extent).value_or(0));
    if (copies < kMinCopies || touches_registers(body) || !may_reorder(body, unrolled, vectors)) return Stmt();
    const Var outer(vectors->var->name, kIndex), inner(vectors->var->name, kIndex);
    Stmt out = make_for(inner, make_int(0), make_int(lanes), LoopKind::kVectorize,
                        substitute(vectors->body, {{vectors->var.get(), Expr(outer) * lanes + Expr(inner)}}));
    for (size_t i = unrolled.size(); i-- > 0;)
      out = make_for(unrolled[i]->var, unrolled[i]->min, unrolled[i]->extent, LoopKind::kUnroll, std::move(out));
    return make_for(outer, make_int(0), make_int(*extent / lanes), LoopKind::kSerial, std::move(out));
  }

  bool touches_registers(const VectorBody& body) const {
    return std::any_of(body.accesses.begin(), body.accesses.end(), [this](const VectorBody::Access& a) {
      // By name: a checked access goes through an alias of its buffer that has the same one.
      return std::any_of(registers_.begin(), registers_.end(),
                         [&](const BufferNode* b) { return b->name == a.buffer->name; });
    });
  }

  // A stored buffer must not be loaded, nor stored twice by different vectors: then their order is free.
  static bool may_reorder(const VectorBody& body, const std::vector<const For*>& unrolled, const For* vectors) {
    for (const auto& store : body.accesses) {
      if (!store.is_store) continue;
      for (const auto& other : body.accesses)
        if (&other != &store && other.buffer->name == store.buffer->name) return false;
      const auto at = strided_in(store.index, vectors->var.get());
      // The elements that one run of the vector loop covers; unrolled loops move it by multiples of `apart`.
      int64_t span, apart = 0;
      if (!at || at->stride <= 0 || __builtin_mul_overflow(at->stride, *as_const_int(vectors->extent), &span))
        return false;
      for (const Linear::Term& t : at->rest.terms)
        for (const For* u : unrolled) {
          if (t.coefficient == INT64_MIN) return false;
          if (t.atom.get() == u->var.get())
            apart = std::gcd(apart, t.coefficient);
          else if (uses_var(t.atom, u->var.get()))
            return false;
        }
      if (apart != 0 && apart < span) return false;
    }
    return true;
  }

  const int vector_bits_;
  std::vector<const BufferNode*> registers_;
};

}  // namespace

Stmt roll_vectors(const Stmt& s, int vector_bits) { return VectorRoller(vector_bits)(s); }

}  // namespace hone
