#include "compiler/ir/structural_hash.h"

#include <bit>
#include <cmath>
#include <unordered_map>

namespace hone {
namespace {

// Writes nodes in pre-order, each as its kind, its own fields and its operands: no two programs give the same bytes.
// Sharing of nodes does not show. A new byte layout needs a new kFormat, because hashes are database keys.
constexpr uint8_t kFormat = 1;

class Encoder {
 public:
  std::string out;

  void byte(uint8_t v) { out += static_cast<char>(v); }

  void number(uint64_t v) {
    for (; v >= 0x80; v >>= 7) byte(static_cast<uint8_t>(v) | 0x80);
    byte(static_cast<uint8_t>(v));
  }

  void integer(int64_t v) { number(static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63)); }

  void dtype(DType t) {
    byte(static_cast<uint8_t>(t.code));
    byte(t.bits);
    number(t.lanes);
  }

  void function(const Function& f) {
    vars_.clear();
    buffers_.clear();
    number(f.shape_vars.size());
    for (const Var& v : f.shape_vars) {
      bind(v.get());
      dtype(v->dtype);
    }
    number(f.params.size());
    for (const Buffer& b : f.params) declare(b);
    stmt(f.body);
  }

 private:
  void floating(DType t, double v) {
    if (t.bits == 32) v = static_cast<float>(v);  // operands
    uint64_t bits = std::isnan(v) ? 0x7ff8000000000000ULL : std::bit_cast<uint64_t>(v);
    for (int i = 0; i < 8; ++i, bits >>= 8) byte(static_cast<uint8_t>(bits));
  }

  void bind(const VarNode* v) { vars_[v] = next_var_++; }

  void variable(const VarNode* v) {
    const auto [it, is_new] = vars_.try_emplace(v, next_var_);
    next_var_ += is_new;
    number(it->second);
  }

  void declare(const Buffer& b) {
    buffers_[b.get()] = next_buffer_++;
    dtype(b->dtype);
    byte(static_cast<uint8_t>(b->scope));
    exprs(b->shape);
  }

  // A buffer that nothing declares is written as a number past the last: such a program is malformed, but must not
  // crash the hash.
  void buffer(const Buffer& b) {
    const auto it = buffers_.find(b.get());
    number(it == buffers_.end() ? next_buffer_ : it->second);
  }

  void exprs(const std::vector<Expr>& list) {
    number(list.size());
    for (const Expr& e : list) expr(e);
  }

  void expr(const Expr& e) {
    if (!e) return byte(0xff);
    byte(static_cast<uint8_t>(e->kind));
    dtype(e->dtype);
    switch (e->kind) {
      case ExprKind::kIntImm: return integer(as<IntImm>(e)->value);
      case ExprKind::kFloatImm: return floating(e->dtype, as<FloatImm>(e)->value);
      case ExprKind::kVar: return variable(as<VarNode>(e));
      case ExprKind::kCast: return expr(as<Cast>(e)->value);
      case ExprKind::kBinary:
        byte(static_cast<uint8_t>(as<Binary>(e)->op));
        expr(as<Binary>(e)->a);
        return expr(as<Binary>(e)->b);
      case ExprKind::kNot: return expr(as<Not>(e)->value);
      case ExprKind::kSelect:
        expr(as<Select>(e)->condition);
        expr(as<Select>(e)->on_true);
        return expr(as<Select>(e)->on_false);
      case ExprKind::kLoad: buffer(as<Load>(e)->buffer); return exprs(as<Load>(e)->indices);
      case ExprKind::kRamp: expr(as<Ramp>(e)->base); return expr(as<Ramp>(e)->stride);
      case ExprKind::kBroadcast: return expr(as<Broadcast>(e)->value);
      case ExprKind::kCall: byte(static_cast<uint8_t>(as<Call>(e)->function)); return exprs(as<Call>(e)->args);
    }
  }

  void stmt(const Stmt& s) {
    if (!s) return byte(0xff);
    byte(static_cast<uint8_t>(s->kind));
    switch (s->kind) {
      case StmtKind::kFor: {
        const For* op = as<For>(s);
        expr(op->min);
        expr(op->extent);
        byte(static_cast<uint8_t>(op->loop));
        bind(op->var.get());
        dtype(op->var->dtype);
        return stmt(op->body);
      }
      case StmtKind::kStore: {
        const Store* op = as<Store>(s);
        buffer(op->buffer);
        exprs(op->indices);
        expr(op->value);
        return expr(op->mask);
      }
      case StmtKind::kSeq:
        number(as<Seq>(s)->stmts.size());
        for (const Stmt& child : as<Seq>(s)->stmts) stmt(child);
        return;
      case StmtKind::kIf:
        expr(as<If>(s)->condition);
        stmt(as<If>(s)->then_case);
        return stmt(as<If>(s)->else_case);
      case StmtKind::kAllocate:
        declare(as<Allocate>(s)->buffer);
        integer(as<Allocate>(s)->offset);
        return stmt(as<Allocate>(s)->body);
      case StmtKind::kPrefetch: buffer(as<Prefetch>(s)->buffer); return exprs(as<Prefetch>(s)->indices);
      case StmtKind::kBarrier: return;
    }
  }

  uint64_t next_var_ = 0, next_buffer_ = 0;
  std::unordered_map<const VarNode*, uint64_t> vars_;
  std::unordered_map<const BufferNode*, uint64_t> buffers_;
};

}  // namespace

std::string canonical_bytes(const Function& f) {
  Encoder e;
  e.byte(kFormat);
  e.function(f);
  return std::move(e.out);
}

Hash128 content_hash(const Module& m) {
  Encoder e;
  e.byte(kFormat);
  e.number(m.params.size());
  for (const Param& p : m.params) {
    e.byte(static_cast<uint8_t>(p.role));
    e.dtype(p.dtype);
    e.number(p.shape.size());
    for (int64_t n : p.shape) e.integer(n);
    e.number(p.layout.dims.size());
    for (const LayoutDim& d : p.layout.dims) {
      e.integer(d.axis);
      e.integer(d.stride);
      e.integer(d.extent);
    }
  }
  e.number(m.kernels.size());
  for (const Function& f : m.kernels) e.function(f);
  e.number(m.prepacks.size());
  for (const Prepack& p : m.prepacks) {
    e.integer(p.param);
    e.function(p.function);
  }
  e.integer(m.workspace_bytes);
  e.integer(m.workers);
  e.integer(m.vector_bits);
  // Written last: the encoding of a module without it ends here.
  if (m.partition != Partition::kStatic) e.integer(static_cast<int64_t>(m.partition));
  return hash_bytes(e.out);
}

}  // namespace hone
