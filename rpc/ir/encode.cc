#include "rpc/ir/encode.h"

#include <bit>
#include <unordered_map>

#include "ir.pb.h"
#include "rpc/ir/decode.h"

namespace hone {
namespace {

uint32_t code_of(DType t) {
  return static_cast<uint32_t>(t.code) << 24 | static_cast<uint32_t>(t.bits) << 16 | t.lanes;
}

class Encoder {
 public:
  explicit Encoder(proto::IrModule* out) : out_(*out) {}

  uint32_t function(const Function& f) {
    proto::IrFunction message;
    message.set_name(f.name);
    for (const Var& v : f.shape_vars) message.add_shape_vars(variable(v.get()));
    for (const Buffer& b : f.params) message.add_params(buffer(b));
    message.set_body(stmt(f.body ? f.body : make_seq({})));
    *out_.add_functions() = std::move(message);
    return static_cast<uint32_t>(out_.functions_size()) - 1;
  }

 private:
  uint32_t variable(const VarNode* v) {
    const auto [it, is_new] = vars_.try_emplace(v, static_cast<uint32_t>(out_.vars_size()));
    if (is_new) {
      proto::IrVar* message = out_.add_vars();
      message->set_name(v->name);
      message->set_dtype(code_of(v->dtype));
    }
    return it->second;
  }

  uint32_t buffer(const Buffer& b) {
    if (const auto it = buffers_.find(b.get()); it != buffers_.end()) return it->second;
    proto::IrBuffer message;
    message.set_name(b->name);
    message.set_dtype(code_of(b->dtype));
    message.set_scope(static_cast<uint32_t>(b->scope));
    for (const Expr& n : b->shape) message.add_shape(expr(n));
    *out_.add_buffers() = std::move(message);
    return buffers_[b.get()] = static_cast<uint32_t>(out_.buffers_size()) - 1;
  }

  uint32_t expr(const Expr& e) {
    if (const auto it = seen_.find(e.get()); it != seen_.end()) return it->second;
    proto::IrExpr m;
    m.set_kind(static_cast<uint32_t>(e->kind));
    m.set_dtype(code_of(e->dtype));
    const auto operand = [&](const Expr& x) { m.add_operands(expr(x)); };
    switch (e->kind) {
      case ExprKind::kIntImm: m.set_int_value(as<IntImm>(e)->value); break;
      case ExprKind::kFloatImm: m.set_float_value(as<FloatImm>(e)->value); break;
      case ExprKind::kVar: m.set_ref(variable(as<VarNode>(e))); break;
      case ExprKind::kCast: operand(as<Cast>(e)->value); break;
      case ExprKind::kBinary:
        m.set_op(static_cast<uint32_t>(as<Binary>(e)->op));
        operand(as<Binary>(e)->a);
        operand(as<Binary>(e)->b);
        break;
      case ExprKind::kNot: operand(as<Not>(e)->value); break;
      case ExprKind::kSelect:
        operand(as<Select>(e)->condition);
        operand(as<Select>(e)->on_true);
        operand(as<Select>(e)->on_false);
        break;
      case ExprKind::kLoad:
        m.set_ref(buffer(as<Load>(e)->buffer));
        for (const Expr& i : as<Load>(e)->indices) operand(i);
        break;
      case ExprKind::kRamp:
        operand(as<Ramp>(e)->base);
        operand(as<Ramp>(e)->stride);
        break;
      case ExprKind::kBroadcast: operand(as<Broadcast>(e)->value); break;
      case ExprKind::kCall:
        m.set_op(static_cast<uint32_t>(as<Call>(e)->function));
        for (const Expr& a : as<Call>(e)->args) operand(a);
        break;
    }
    return seen_[e.get()] = unique(std::move(m));
  }

  // The index of an equal expression, or of `m` appended.
  uint32_t unique(proto::IrExpr m) {
    std::string key;
    const auto add = [&](uint64_t v) { key.append(reinterpret_cast<const char*>(&v), sizeof(v)); };
    add(uint64_t{m.kind()} << 32 | m.dtype());
    add(static_cast<uint64_t>(m.int_value()));
    add(std::bit_cast<uint64_t>(m.float_value()));
    add(uint64_t{m.op()} << 32 | m.ref());
    for (uint32_t o : m.operands()) add(o);
    const auto [it, is_new] = indices_.try_emplace(std::move(key), static_cast<uint32_t>(out_.exprs_size()));
    if (is_new) *out_.add_exprs() = std::move(m);
    return it->second;
  }

  uint32_t stmt(const Stmt& s) {
    proto::IrStmt m;
    m.set_kind(static_cast<uint32_t>(s->kind));
    switch (s->kind) {
      case StmtKind::kFor: {
        const For* op = as<For>(s);
        m.set_loop_kind(static_cast<uint32_t>(op->loop));
        m.set_ref(variable(op->var.get()));
        m.add_exprs(expr(op->min));
        m.add_exprs(expr(op->extent));
        m.add_stmts(stmt(op->body));
        break;
      }
      case StmtKind::kStore: {
        // The value first, then the mask where there is one: told apart by loop_kind, which a Store has no other use
        // for.
        const Store* op = as<Store>(s);
        m.set_ref(buffer(op->buffer));
        m.set_loop_kind(op->mask ? 1 : 0);
        m.add_exprs(expr(op->value));
        if (op->mask) m.add_exprs(expr(op->mask));
        for (const Expr& i : op->indices) m.add_exprs(expr(i));
        break;
      }
      case StmtKind::kSeq:
        for (const Stmt& child : as<Seq>(s)->stmts) m.add_stmts(stmt(child));
        break;
      case StmtKind::kIf: {
        const If* op = as<If>(s);
        m.add_exprs(expr(op->condition));
        m.add_stmts(stmt(op->then_case));
        if (op->else_case) m.add_stmts(stmt(op->else_case));
        break;
      }
      case StmtKind::kAllocate: {
        const Allocate* op = as<Allocate>(s);
        m.set_ref(buffer(op->buffer));
        m.set_offset(op->offset);
        m.add_stmts(stmt(op->body));
        break;
      }
      case StmtKind::kPrefetch:
        m.set_ref(buffer(as<Prefetch>(s)->buffer));
        for (const Expr& i : as<Prefetch>(s)->indices) m.add_exprs(expr(i));
        break;
      case StmtKind::kBarrier: HONE_ICHECK(false) << "a barrier is not part of loop form"; break;
    }
    *out_.add_stmts() = std::move(m);
    return static_cast<uint32_t>(out_.stmts_size()) - 1;
  }

  proto::IrModule& out_;
  std::unordered_map<const VarNode*, uint32_t> vars_;
  std::unordered_map<const BufferNode*, uint32_t> buffers_;
  std::unordered_map<const ExprNode*, uint32_t> seen_;
  std::unordered_map<std::string, uint32_t> indices_;
};

}  // namespace

std::string encode(const Module& m) {
  proto::IrModule out;
  out.set_version(kIrVersion);
  Encoder encoder(&out);
  for (const Function& f : m.kernels) out.add_kernels(encoder.function(f));
  for (const Prepack& p : m.prepacks) {
    const uint32_t function = encoder.function(p.function);
    proto::IrPrepack* message = out.add_prepacks();
    message->set_param(static_cast<uint32_t>(p.param));
    message->set_function(function);
  }
  for (const Param& p : m.params) {
    proto::IrParam* message = out.add_params();
    message->set_name(p.name);
    message->set_role(static_cast<uint32_t>(p.role));
    message->set_dtype(code_of(p.dtype));
    for (int64_t n : p.shape) message->add_shape(n);
    for (const LayoutDim& d : p.layout.dims) {
      proto::IrLayoutDim* dim = message->add_layout();
      dim->set_axis(static_cast<uint32_t>(d.axis));
      dim->set_stride(d.stride);
      dim->set_extent(d.extent);
    }
  }
  out.set_workspace_bytes(m.workspace_bytes);
  out.set_workers(static_cast<uint32_t>(m.workers));
  out.set_vector_bits(static_cast<uint32_t>(m.vector_bits));
  out.set_partition(static_cast<uint32_t>(m.partition));
  return out.SerializeAsString();
}

}  // namespace hone
