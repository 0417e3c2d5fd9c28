#include "compiler/codegen/gpu/private_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/arith/bounds.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/visitor.h"

namespace hone {

ThreadNest ThreadNest::of(const For* outermost) {
  ThreadNest nest;
  for (const For* loop = outermost; loop && loop->loop == LoopKind::kThread; loop = as<For>(nest.body)) {
    HONE_USER_CHECK(is_const(loop->min, 0) && as_const_int(loop->extent))
        << "thread loop '" << loop->var->name << "' does not run from 0 to a constant";
    nest.loops.push_back(loop);
    nest.body = loop->body;
  }
  return nest;
}

std::vector<int64_t> ThreadNest::shape() const {
  std::vector<int64_t> extents;
  for (const For* loop : loops) extents.push_back(*as_const_int(loop->extent));
  return extents;
}

int64_t ThreadNest::threads() const {
  int64_t n = 1;
  for (const int64_t extent : shape()) n *= extent;
  return n;
}

namespace {

// A thread variable's position in the indices of a buffer: thread t owns the elements in [t * stride, (t + 1) *
// stride), modulo stride * extent.
struct Digit {
  size_t position;  // position among the nest's loops
  int64_t stride, extent;
};

// The element's index without this digit: the digits above move down.
int64_t elements_without(int64_t elements, const Digit& digit) {
  return ceil_div(elements, digit.stride * digit.extent) * digit.stride;
}

// The index without this digit: high * (stride * extent) + thread * stride + low   ->   high * stride + low. Nothing
// where some of the `width` elements from there on belong to another thread.
std::optional<Linear> without_digit(const Linear& index, const VarNode* thread, const Digit& digit, int width,
                                    const Facts& facts) {
  Linear out, low;
  const int64_t period = digit.stride * digit.extent;
  for (const Linear::Term& t : index.terms) {
    if (as<VarNode>(t.atom) == thread) continue;
    if (t.coefficient % period == 0) {
      out.terms.push_back({t.atom, t.coefficient / digit.extent});
    } else {
      out.terms.push_back(t);
      low.terms.push_back(t);
    }
  }
  low.constant = floor_mod(index.constant, period);
  out.constant = floor_div(index.constant, period) * digit.stride + low.constant;
  if (!facts.bounds(low).within(0, digit.stride - width)) return std::nullopt;
  return out;
}

bool uses_thread(const Expr& e, const ThreadNest& nest) {
  return std::any_of(nest.loops.begin(), nest.loops.end(),
                     [&](const For* loop) { return uses_var(e, loop->var.get()); });
}

class Privatizer final : public Mutator {
 public:
  explicit Privatizer(const Buffer& buffer) : buffer_(buffer) {}

  Stmt run(const Stmt& body, Buffer* own) {
    Stmt out = (*this)(body);
    *own = own_ ? own_ : buffer_;
    return out;
  }

 protected:
  using Mutator::visit;
  Stmt visit(const For* op) override {
    const bool opens = op->loop == LoopKind::kThread && !nest_;
    if (opens) nest_ = ThreadNest::of(op);
    facts_.push_loop(op->var.get(), op->min, op->extent);
    Stmt body = (*this)(op->body);
    facts_.pop_range();
    if (opens) nest_.reset();
    return body.same_as(op->body) ? Stmt(op) : make_for(op->var, op->min, op->extent, op->loop, std::move(body));
  }
  Expr visit(const Load* op) override {
    std::vector<Expr> indices;
    mutate_all(op->indices, &indices);
    if (!op->buffer.same_as(buffer_)) return load(op->buffer, std::move(indices));
    indices = {own_index(indices.at(0))};
    return load(own_, std::move(indices));
  }
  Stmt visit(const Store* op) override {
    std::vector<Expr> indices;
    mutate_all(op->indices, &indices);
    Expr value = (*this)(op->value), mask = (*this)(op->mask);
    if (!op->buffer.same_as(buffer_))
      return make_store(op->buffer, std::move(indices), std::move(value), std::move(mask));
    indices = {own_index(indices.at(0))};
    return make_store(own_, std::move(indices), std::move(value), std::move(mask));
  }
  Stmt visit(const Prefetch*) override { return make_seq({}); }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw UserError(
        fmt::format("stack buffer '{}' of a block cannot be divided among its threads: {}", buffer_->name, why));
  }

  Expr own_index(const Expr& index) {
    if (const Ramp* ramp = as<Ramp>(index)) {
      if (!is_const(ramp->stride, 1)) fail("a vector of it is not contiguous");
      lanes_ = index->dtype.lanes;
      Expr base = own_index(ramp->base);
      lanes_ = 1;
      return Expr(new Ramp(std::move(base), ramp->stride, index->dtype.lanes));
    }
    if (!nest_) fail("it is used outside of thread loops");
    auto form = linear_of(index);
    if (!form) fail(fmt::format("index {} overflows", to_string(index)));
    if (!own_) divide(*form);
    if (nest_->shape() != shape_) fail("the thread loops that use it have different extents");
    for (const Linear::Term& t : form->terms)
      if (!as<VarNode>(t.atom) && uses_thread(t.atom, *nest_))
        fail(fmt::format("index {} is not a sum of digits", to_string(index)));
    for (const Digit& digit : digits_) {
      const VarNode* thread = nest_->loops[digit.position]->var.get();
      if (form->coefficient_of(thread) != digit.stride)
        fail(fmt::format("index {} gives thread loop '{}' another stride", to_string(index), thread->name));
      auto rest = without_digit(*form, thread, digit, lanes_, facts_);
      if (!rest) fail(fmt::format("threads of loop '{}' may meet in index {}", thread->name, to_string(index)));
      form = std::move(rest);
    }
    return form->to_expr();
  }

  // Reads the digits off the first index met, lower ones first: each digit is found once those below it are taken out.
  void divide(const Linear& index) {
    shape_ = nest_->shape();
    int64_t elements = *as_const_int(buffer_->shape.at(0));
    for (size_t i = 0; i < shape_.size(); ++i) {
      const int64_t stride = index.coefficient_of(nest_->loops[i]->var.get());
      if (stride <= 0) fail(fmt::format("threads of loop '{}' share its elements", nest_->loops[i]->var->name));
      digits_.push_back({i, stride, shape_[i]});
    }
    std::sort(digits_.begin(), digits_.end(), [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
    for (size_t i = 0; i < digits_.size(); ++i) {
      const Digit& digit = digits_[i];
      elements = elements_without(elements, digit);
      for (size_t j = i + 1; j < digits_.size(); ++j) {
        if (digits_[j].stride % (digit.stride * digit.extent) != 0)
          fail(fmt::format("thread loops '{}' and '{}' overlap", nest_->loops[digit.position]->var->name,
                           nest_->loops[digits_[j].position]->var->name));
        digits_[j].stride /= digit.extent;
      }
    }
    own_ = make_buffer(buffer_->name, buffer_->dtype, std::vector<int64_t>{elements}, BufferScope::kStack);
  }

  const Buffer& buffer_;
  Buffer own_;
  std::vector<int64_t> shape_;
  std::vector<Digit> digits_;
  std::optional<ThreadNest> nest_;
  Facts facts_;
  int lanes_ = 1;
};

class AllPrivatizer final : public Mutator {
 protected:
  using Mutator::visit;
  // A buffer allocated inside a nest belongs to one thread already.
  Stmt visit(const For* op) override { return op->loop == LoopKind::kThread ? Stmt(op) : Mutator::visit(op); }
  Stmt visit(const Allocate* op) override {
    Stmt body = (*this)(op->body);
    if (op->buffer->scope != BufferScope::kStack || !holds_loop(body, LoopKind::kThread))
      return make_allocate(op->buffer, op->offset, std::move(body));
    Buffer own;
    body = Privatizer(op->buffer).run(body, &own);
    return make_allocate(own, op->offset, std::move(body));
  }
};

}  // namespace

Stmt privatize_buffers(const Stmt& s) { return AllPrivatizer()(s); }

}  // namespace hone
