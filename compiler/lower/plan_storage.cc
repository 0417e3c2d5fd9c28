#include "compiler/lower/plan_storage.h"

#include <algorithm>

#include "compiler/ir/mutator.h"

namespace hone {
namespace {

constexpr int64_t kAlignment = 64;

class Planner final : public Mutator {
 public:
  explicit Planner(int workers) : workers_(workers) {}
  int64_t most = 0;

 protected:
  using Mutator::visit;
  Stmt visit(const For* op) override {
    const bool outer = in_parallel_;
    in_parallel_ = outer || op->loop == LoopKind::kParallel;
    Stmt body = (*this)(op->body);
    in_parallel_ = outer;
    return body.same_as(op->body) ? Stmt(op) : make_for(op->var, op->min, op->extent, op->loop, std::move(body));
  }
  Stmt visit(const Store* op) override { return Stmt(op); }
  Stmt visit(const Allocate* op) override {
    if (op->buffer->scope != BufferScope::kWorkspace) return Mutator::visit(op);
    const int64_t size =
        ceil_div(*as_const_int(op->buffer->shape[0]) * op->buffer->dtype.bytes(), kAlignment) * kAlignment;
    const int64_t offset = top_;
    top_ += size * (in_parallel_ ? workers_ : 1);
    most = std::max(most, top_);
    Stmt body = (*this)(op->body);
    top_ = offset;
    return make_allocate(op->buffer, offset, std::move(body));
  }

 private:
  int workers_;
  int64_t top_ = 0;
  bool in_parallel_ = false;
};

}  // namespace

Function plan_storage(const Function& f, int workers, int64_t* bytes) {
  Planner plan(workers);
  Function out = f;
  out.body = plan(f.body);
  *bytes = plan.most;
  return out;
}

}  // namespace hone
