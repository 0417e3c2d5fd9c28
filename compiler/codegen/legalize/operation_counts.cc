#include "compiler/codegen/legalize/operation_counts.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/visitor.h"

namespace hone {
namespace {

class OperationCounter final : public Visitor {
 public:
  using Visitor::operator();
  OperationCounts counts;

 protected:
  using Visitor::visit;

  void visit(const Binary* op) override {
    Visitor::visit(op);
    if (index_depth_ > 0 || op->a->dtype.is_bool()) return;
    (op->a->dtype.is_float() ? counts.flops : counts.integer_ops) += times_ * op->a->dtype.lanes;
  }
  void visit(const Call* op) override {
    Visitor::visit(op);
    if (op->dtype.is_float()) counts.flops += times_ * op->dtype.lanes;
  }
  void visit(const Select* op) override {
    ++index_depth_;  // as a rule it compares indices
    (*this)(op->condition);
    --index_depth_;
    const OperationCounts before = counts;
    (*this)(op->on_true);
    const OperationCounts with_true = std::exchange(counts, before);
    (*this)(op->on_false);
    if (with_true.flops + with_true.loaded_bytes > counts.flops + counts.loaded_bytes) counts = with_true;
  }
  void visit(const Load* op) override {
    if (op->buffer->scope != BufferScope::kStack) counts.loaded_bytes += times_ * op->dtype.bytes();
    ++index_depth_;
    Visitor::visit(op);
    --index_depth_;
  }
  void visit(const Store* op) override {
    if (op->buffer->scope != BufferScope::kStack) counts.stored_bytes += times_ * op->value->dtype.bytes();
    (*this)(op->value);
  }
  // In a nest of two versions the first one, without conditions, runs as a rule.
  void visit(const If* op) override { (*this)(op->then_case); }
  void visit(const For* op) override {
    const auto extent = as_const_int(op->extent);
    const double outer = times_;
    times_ *= static_cast<double>(extent.value_or(1));
    (*this)(op->body);
    times_ = outer;
  }
  void visit(const Allocate* op) override {
    int64_t elements = 1;
    for (const Expr& e : op->buffer->shape) elements *= as_const_int(e).value_or(1);
    const int64_t bytes = op->buffer->scope == BufferScope::kStack ? elements * op->buffer->dtype.bytes() : 0;
    alive_ += bytes;
    counts.stack_bytes = std::max(counts.stack_bytes, alive_);
    (*this)(op->body);
    alive_ -= bytes;
  }
  void visit(const Prefetch*) override {}

 private:
  double times_ = 1;
  int index_depth_ = 0;
  int64_t alive_ = 0;
};

}  // namespace

OperationCounts count_operations(const Stmt& legalized) {
  OperationCounter counter;
  counter(legalized);
  return counter.counts;
}

}  // namespace hone
