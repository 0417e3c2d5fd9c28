#include "compiler/lower/flatten_buffers.h"

#include "compiler/arith/linear.h"
#include "compiler/ir/mutator.h"

namespace hone {
namespace {

class Flattener final : public Mutator {
 public:
  Flattener() : Mutator(Sharing::kKept) {}
  Buffer flat(const Buffer& b) {
    for (const auto& [from, to] : buffers_)
      if (from.same_as(b)) return to;
    int64_t size = 1;
    for (const Expr& e : b->shape) {
      const auto n = as_const_int(e);
      HONE_ICHECK(n) << "buffer '" << b->name << "' has no constant shape";
      size *= *n;
    }
    buffers_.emplace_back(b, make_buffer(b->name, b->dtype, std::vector<int64_t>{size}, b->scope));
    return buffers_.back().second;
  }

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override { return load(flat(op->buffer), index(op->buffer, op->indices)); }
  Stmt visit(const Store* op) override {
    return make_store(flat(op->buffer), index(op->buffer, op->indices), (*this)(op->value), (*this)(op->mask));
  }
  Stmt visit(const Prefetch* op) override { return make_prefetch(flat(op->buffer), index(op->buffer, op->indices)); }
  Stmt visit(const Allocate* op) override { return make_allocate(flat(op->buffer), op->offset, (*this)(op->body)); }

 private:
  std::vector<Expr> index(const Buffer& b, const std::vector<Expr>& indices) {
    Linear sum;
    int64_t stride = 1;
    bool fits = true;
    for (size_t d = indices.size(); d-- > 0;) {
      fits = fits && accumulate(&sum, (*this)(indices[d]), stride) &&
             !__builtin_mul_overflow(stride, *as_const_int(b->shape[d]), &stride);
    }
    HONE_ICHECK(fits) << "index of '" << b->name << "' overflows";
    return {sum.to_expr()};
  }

  std::vector<std::pair<Buffer, Buffer>> buffers_;
};

}  // namespace

Function flatten_buffers(const Function& f) {
  Flattener flatten;
  Function out;
  out.name = f.name;
  out.shape_vars = f.shape_vars;
  for (const Buffer& b : f.params) out.params.push_back(flatten.flat(b));
  out.body = flatten(f.body);
  return out;
}

}  // namespace hone
