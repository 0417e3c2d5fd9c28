// acc[x + v*14] with v in a vector loop   ->   acc[x*32 + v]
#include <algorithm>

#include "compiler/arith/linear.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// How the vector loops of a statement walk through one stack buffer.
class StrideFinder final : public Visitor {
 public:
  explicit StrideFinder(const BufferNode* buffer) : buffer_(buffer) {}
  int64_t stride = 0;  // the one stride of all vector accesses; 0: none seen
  bool mixed = false;  // more than one, or one that is not constant, or accesses through an alias

 protected:
  using Visitor::visit;
  void visit(const For* op) override {
    const VarNode* outer = vector_var_;
    if (op->loop == LoopKind::kVectorize) vector_var_ = op->var.get();
    Visitor::visit(op);
    vector_var_ = outer;
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
    if (buffer != buffer_) {
      // A checked access goes through an alias of the same name; its index must not change.
      mixed |= buffer->name == buffer_->name && buffer->scope == BufferScope::kStack;
      return;
    }
    if (!vector_var_ || indices.size() != 1 || !uses_var(indices[0], vector_var_)) return;
    const auto form = linear_of(indices[0]);
    int64_t found = form ? form->coefficient_of(vector_var_) : 0;
    if (form)
      for (const Linear::Term& t : form->terms)
        if (t.atom.get() != vector_var_ && uses_var(t.atom, vector_var_)) found = 0;
    mixed |= found <= 0 || (stride != 0 && stride != found);
    stride = found;
  }
  const BufferNode* buffer_;
  const VarNode* vector_var_ = nullptr;
};

// index -> (index floormod stride) * rows + index floordiv stride, in every access to one buffer.
class Transposer final : public Mutator {
 public:
  Transposer(const BufferNode* buffer, int64_t stride, int64_t rows) : buffer_(buffer), stride_(stride), rows_(rows) {}

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    Expr walked = Mutator::visit(op);
    const Load* l = as<Load>(walked);
    return l->buffer.get() == buffer_ ? load(l->buffer, {moved(l->indices[0])}) : walked;
  }
  Stmt visit(const Store* op) override {
    Stmt walked = Mutator::visit(op);
    const Store* s = as<Store>(walked);
    return s->buffer.get() == buffer_ ? make_store(s->buffer, {moved(s->indices[0])}, s->value, s->mask) : walked;
  }

 private:
  Expr moved(const Expr& index) const { return floor_mod(index, stride_) * rows_ + floor_div(index, stride_); }
  const BufferNode* buffer_;
  const int64_t stride_, rows_;
};

class StackRelayouter final : public Mutator {
 protected:
  using Mutator::visit;
  Stmt visit(const Allocate* op) override {
    Stmt walked = Mutator::visit(op);
    const BufferNode* buffer = op->buffer.get();
    const auto size = buffer->shape.size() == 1 ? as_const_int(buffer->shape[0]) : std::nullopt;
    if (buffer->scope != BufferScope::kStack || !size) return walked;
    StrideFinder finder(buffer);
    finder(walked);
    if (finder.mixed || finder.stride <= 1 || *size % finder.stride != 0) return walked;
    return Transposer(buffer, finder.stride, *size / finder.stride)(walked);
  }
};

}  // namespace

Stmt relayout_stack(const Stmt& s) { return StackRelayouter()(s); }

}  // namespace hone
