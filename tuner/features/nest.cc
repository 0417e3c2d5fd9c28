#include "tuner/features/nest.h"

#include <algorithm>
#include <cmath>

namespace hone::nest {
namespace {

constexpr double kLineBytes = 64;
constexpr double kUnknownExtent = 64;  // of a shape variable

class Walker {
 public:
  Nests run(const Module& m) {
    for (const Function& f : m.kernels) walk(f.body);
    return std::move(out_);
  }

 private:
  void walk(const Stmt& s) {
    if (!s) return;
    switch (s->kind) {
      case StmtKind::kSeq:
        for (const Stmt& x : as<Seq>(s)->stmts) walk(x);
        return;
      case StmtKind::kAllocate: {
        const Allocate* a = as<Allocate>(s);
        if (a->buffer->scope == BufferScope::kStack)
          out_.stack_bytes += bytes_of(*a->buffer), launch_stack_ += bytes_of(*a->buffer);
        if (a->buffer->scope == BufferScope::kShared) launch_shared_ += bytes_of(*a->buffer);
        return walk(a->body);
      }
      case StmtKind::kIf: return walk_if(as<If>(s));
      case StmtKind::kFor: return walk_for(as<For>(s));
      case StmtKind::kStore: return add_statement(as<Store>(s));
      case StmtKind::kPrefetch:
      case StmtKind::kBarrier: return;
    }
  }

  void walk_for(const For* loop) {
    Loop l;
    l.var = loop->var.get();
    l.kind = loop->loop;
    const Affine low = affine(loop->min), extent = affine(loop->extent);
    l.extent = std::max(1.0, extent.high);
    l.low = low.low;
    l.high = low.high + l.extent - 1;
    ++out_.loops;
    if (l.kind == LoopKind::kParallel) ++out_.parallel_loops;
    if (l.kind == LoopKind::kThread) add_thread_nest();
    const double unrolled_before = unrolled_;
    if (l.kind == LoopKind::kUnroll) unrolled_ *= l.extent;
    const bool launch = l.kind == LoopKind::kBlock && (stack_.empty() || stack_.back().kind != LoopKind::kBlock);
    if (launch) launch_stack_ = launch_shared_ = 0;
    stack_.push_back(l);
    walk(loop->body);
    stack_.pop_back();
    if (launch) {
      out_.block_stack_bytes = std::max(out_.block_stack_bytes, launch_stack_);
      out_.block_shared_bytes = std::max(out_.block_shared_bytes, launch_shared_);
    }
    unrolled_ = unrolled_before;
  }

  void add_thread_nest() {
    double times = 1;
    for (const Loop& l : stack_) {
      if (l.kind == LoopKind::kThread) return;  // a part of one
      if (l.kind != LoopKind::kBlock) times *= l.extent;
    }
    out_.thread_nests += times;
  }

  void walk_if(const If* op) {
    const double guards_before = guards_, waste_before = waste_;
    add_guards(op->condition);
    walk(op->then_case);
    waste_ = waste_before;
    walk(op->else_case);
    guards_ = guards_before;
  }

  // Counts the conditions of a conjunction; `a < b` gives the number of a's values that pass.
  void add_guards(const Expr& e) {
    const Binary* b = as<Binary>(e);
    if (b && b->op == BinaryOp::kAnd) {
      add_guards(b->a);
      return add_guards(b->b);
    }
    ++guards_;
    if (!b || (b->op != BinaryOp::kLt && b->op != BinaryOp::kLe)) return;
    const Affine left = affine(b->a), right = affine(b->b);
    const double values = left.high - left.low + 1 + right.high - right.low;
    const double passing = right.high - left.low + (b->op == BinaryOp::kLe ? 1 : 0);
    if (passing > 0 && passing < values) waste_ *= std::min(values / passing, 1e6);
  }

  void add_statement(const Store* store) {
    out_.statements_unrolled += unrolled_;
    Statement s;
    const size_t dropped = stack_.size() > kMaxLoops ? stack_.size() - kMaxLoops : 0;
    for (size_t i = 0; i < stack_.size(); ++i) {
      s.executions *= stack_[i].extent;
      if (i >= dropped) s.loops[static_cast<size_t>(s.depth++)] = stack_[i];
    }
    const double guards_before = guards_;
    s.accesses.reserve(4);
    statement_ = &s;
    add_access(store->buffer, store->indices);
    add_value(store->value);
    if (store->mask) add_guards(store->mask);
    s.guards = guards_;
    s.waste = waste_;
    guards_ = guards_before;
    out_.statements.push_back(std::move(s));
  }

  void add_access(const Buffer& buffer, const std::vector<Expr>& indices) {
    Access a;
    a.buffer = buffer.get();
    if (indices.size() == 1) a.at = indices[0].get();
    double scale = 1;
    for (size_t i = indices.size(); i-- > 0;) {
      add_affine(indices[i], scale, &a.index);
      statement_->ops.address += count_address(indices[i]);
      if (i > 0 && i < buffer->shape.size()) scale *= std::max(1.0, affine(buffer->shape[i]).high);
    }
    for (int l = 0; l < statement_->depth; ++l)
      if (a.index.coefficient[static_cast<size_t>(l)] != 0)
        a.by_stride[static_cast<size_t>(a.strided++)] = static_cast<uint8_t>(l);
    std::sort(a.by_stride.begin(), a.by_stride.begin() + a.strided, [&](uint8_t x, uint8_t y) {
      const float cx = std::fabs(a.index.coefficient[static_cast<size_t>(x)]),
                  cy = std::fabs(a.index.coefficient[static_cast<size_t>(y)]);
      return cx != cy ? cx < cy : x > y;
    });
    statement_->accesses.push_back(a);
  }

  // Operations and loads of a stored value.
  void add_value(const Expr& e) {
    if (!e) return;
    Operations& ops = statement_->ops;
    switch (e->kind) {
      case ExprKind::kIntImm:
      case ExprKind::kFloatImm:
      case ExprKind::kVar:
      case ExprKind::kRamp: return;
      case ExprKind::kBroadcast: return add_value(as<Broadcast>(e)->value);
      case ExprKind::kNot: ++ops.compare; return add_value(as<Not>(e)->value);
      case ExprKind::kCast: ++ops.cast; return add_value(as<Cast>(e)->value);
      case ExprKind::kLoad: {
        const Load* l = as<Load>(e);
        ++ops.load;
        return add_access(l->buffer, l->indices);
      }
      case ExprKind::kSelect: {
        const Select* s = as<Select>(e);
        ++ops.compare;
        ++guards_;
        add_value(s->condition);
        add_value(s->on_true);
        return add_value(s->on_false);
      }
      case ExprKind::kCall: {
        const Call* c = as<Call>(e);
        if (c->function == Intrinsic::kDot4)
          ops.integer += 7;  // four products, three sums
        else if (c->function == Intrinsic::kDot2)
          ops.float_fma += 2;
        else
          (c->function == Intrinsic::kFma ? ops.float_fma : ops.float_other) += 1;
        for (const Expr& a : c->args) add_value(a);
        return;
      }
      case ExprKind::kBinary: return add_binary(as<Binary>(e));
    }
  }

  void add_binary(const Binary* op) {
    Operations& ops = statement_->ops;
    if (op->dtype.is_bool()) {
      ++ops.compare;
    } else if (!op->dtype.is_float()) {
      ++ops.integer;
    } else if (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub) {
      const auto is_product = [](const Expr& x) { return as<Binary>(x) && as<Binary>(x)->op == BinaryOp::kMul; };
      if (is_product(op->a) || is_product(op->b)) {
        ++ops.float_fma;
        --ops.float_mul;  // the product below is part of it
      } else {
        ++ops.float_add;
      }
    } else if (op->op == BinaryOp::kMul) {
      ++ops.float_mul;
    } else {
      ++ops.float_other;
    }
    add_value(op->a);
    add_value(op->b);
  }

  static double count_address(const Expr& e) {
    const Binary* b = as<Binary>(e);
    return b ? 1 + count_address(b->a) + count_address(b->b) : 0;
  }

  Affine affine(const Expr& e) {
    Affine out;
    add_affine(e, 1, &out);
    return out;
  }

  static void add_range(double low, double high, double scale, Affine* out) {
    out->low += scale * (scale < 0 ? high : low);
    out->high += scale * (scale < 0 ? low : high);
  }

  // out += scale * e
  void add_affine(const Expr& e, double scale, Affine* out) {
    if (!e) return;
    switch (e->kind) {
      case ExprKind::kIntImm:
        return add_range(static_cast<double>(as<IntImm>(e)->value), static_cast<double>(as<IntImm>(e)->value), scale,
                         out);
      case ExprKind::kVar: {
        const size_t dropped = stack_.size() > kMaxLoops ? stack_.size() - kMaxLoops : 0;
        for (size_t i = stack_.size(); i-- > 0;)
          if (stack_[i].var == e.get()) {
            if (i >= dropped) out->coefficient[i - dropped] += static_cast<float>(scale);
            return add_range(stack_[i].low, stack_[i].high, scale, out);
          }
        return add_range(kUnknownExtent, kUnknownExtent, scale, out);
      }
      case ExprKind::kRamp: return add_affine(as<Ramp>(e)->base, scale, out);
      case ExprKind::kBroadcast: return add_affine(as<Broadcast>(e)->value, scale, out);
      case ExprKind::kCast: return add_affine(as<Cast>(e)->value, scale, out);
      case ExprKind::kSelect: return add_affine(as<Select>(e)->on_true, scale, out);
      case ExprKind::kBinary: return add_affine_binary(as<Binary>(e), scale, out);
      default: return;
    }
  }

  void add_affine_binary(const Binary* op, double scale, Affine* out) {
    if (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub) {
      add_affine(op->a, scale, out);
      return add_affine(op->b, op->op == BinaryOp::kSub ? -scale : scale, out);
    }
    if (op->op == BinaryOp::kMul) {
      if (const auto c = as_const_int(op->b)) return add_affine(op->a, scale * static_cast<double>(*c), out);
      if (const auto c = as_const_int(op->a)) return add_affine(op->b, scale * static_cast<double>(*c), out);
      const Affine a = affine(op->a), b = affine(op->b);
      return add_range(a.low * b.low, a.high * b.high, scale, out);
    }
    Affine a = affine(op->a);
    const auto c = as_const_int(op->b);
    if (op->op == BinaryOp::kFloorDiv && c && *c > 0) {
      const double d = static_cast<double>(*c);
      for (float& x : a.coefficient) x = static_cast<float>(x / d);
      a.low = std::floor(a.low / d), a.high = std::floor(a.high / d);
    } else if (op->op == BinaryOp::kFloorMod && c && *c > 0) {
      const double d = static_cast<double>(*c);
      for (float& x : a.coefficient) x = static_cast<float>(std::fmod(x, d));
      if (a.high - a.low >= d || std::floor(a.low / d) != std::floor(a.high / d)) a.low = 0, a.high = d - 1;
    } else if (op->op == BinaryOp::kMin || op->op == BinaryOp::kMax) {
      const Affine b = affine(op->b);
      const bool is_min = op->op == BinaryOp::kMin;
      a.low = is_min ? std::min(a.low, b.low) : std::max(a.low, b.low);
      a.high = is_min ? std::min(a.high, b.high) : std::max(a.high, b.high);
    }
    for (size_t i = 0; i < kMaxLoops; ++i) out->coefficient[i] += static_cast<float>(scale * a.coefficient[i]);
    add_range(a.low, a.high, scale, out);
  }

  double bytes_of(const BufferNode& b) {
    double n = static_cast<double>(b.dtype.lane_bytes());
    for (const Expr& e : b.shape) n *= std::max(1.0, affine(e).high);
    return n;
  }

  Nests out_;
  Statement* statement_ = nullptr;
  std::vector<Loop> stack_;
  double unrolled_ = 1, guards_ = 0, waste_ = 1;
  double launch_stack_ = 0, launch_shared_ = 0;  // bytes in the launch that is being walked
};

}  // namespace

Touch Statement::touch(const Access& a, int from) const {
  // Loops by growing stride: while a stride is within the run so far, runs join or overlap; a larger stride separates
  // pieces.
  double run = 1, pieces = 1, lines_apart = 1;
  const double line_elements = kLineBytes / a.element_bytes();
  bool apart = false;
  for (int i = 0; i < a.strided; ++i) {
    const int l = a.by_stride[static_cast<size_t>(i)];
    if (l < from) continue;
    const double stride = std::fabs(a.index.coefficient[static_cast<size_t>(l)]),
                 extent = loops[static_cast<size_t>(l)].extent;
    if (!apart && stride <= run) {
      run += stride * (extent - 1);
    } else {
      apart = true;
      pieces *= extent;
      // Pieces nearer to each other than a line share lines.
      lines_apart *= std::max(1.0, extent * std::min(1.0, stride / line_elements));
    }
  }
  const double span = a.index.high - a.index.low + 1;
  Touch t;
  t.elements = std::max(1.0, std::min(std::floor(run + 0.5) * pieces, std::max(span, 1.0)));
  t.lines = std::max(1.0, std::ceil(run / line_elements) * lines_apart);
  return t;
}

double Statement::iterations(int from) const {
  double n = 1;
  for (int l = std::max(from, 0); l < depth; ++l) n *= loops[static_cast<size_t>(l)].extent;
  return n;
}

Nests nests_of(const Module& m) { return Walker().run(m); }

}  // namespace hone::nest
