// Interpreter, first half: a function becomes a program over slots. A compiled expression is reused until a scope ends.
#include <unordered_map>

#include "base/narrow_floats.h"
#include "compiler/ir/interp_program.h"

namespace hone::interp {
namespace {

Kind kind_of(DType t) {
  if (!t.is_float()) return Kind::kInt;
  return t.bits <= 32 ? Kind::kF32 : Kind::kF64;
}

Wrap wrap_of(DType t) {
  if (t.is_float()) return {};
  return {static_cast<uint8_t>(64 - t.bits), t.code == TypeCode::kInt};
}

class Compiler {
 public:
  explicit Compiler(const Function& f) : function_(f) {}

  Program run() {
    for (const Var& v : function_.shape_vars) open_scope(v.get());
    for (const Buffer& b : function_.params) declare(b, false);
    if (function_.body) program_.body = compile(function_.body);
    return std::move(program_);
  }

 private:
  struct Scope {
    int32_t slot;
    int open;  // loops over the variable that are open here
  };

  int32_t open_scope(const VarNode* v) {
    auto [it, is_new] = scopes_.try_emplace(v, Scope{program_.var_count, 0});
    if (is_new) ++program_.var_count;
    ++it->second.open;
    return it->second.slot;
  }

  int32_t slot_of(const VarNode* v) {
    const auto it = scopes_.find(v);
    HONE_USER_CHECK(it != scopes_.end() && it->second.open > 0)
        << "variable '" << v->name << "' of function '" << function_.name << "' is used outside its loop";
    return it->second.slot;
  }

  int32_t declare(const Buffer& b, bool tracked) {
    BufferSlot made{b, tracked, {}};
    for (const Expr& n : b->shape) made.extents.push_back(compile(n));
    const auto slot = static_cast<int32_t>(program_.buffers.size());
    program_.buffers.push_back(std::move(made));
    buffer_slots_[b.get()] = slot;
    return slot;
  }

  int32_t buffer_slot(const Buffer& b) {
    const auto it = buffer_slots_.find(b.get());
    HONE_USER_CHECK(it != buffer_slots_.end())
        << "buffer '" << b->name << "' of function '" << function_.name << "' is used outside its allocation";
    return it->second;
  }

  // The position of `list` in the program's lists.
  int32_t add_list(const std::vector<int32_t>& list) {
    const auto first = static_cast<int32_t>(program_.lists.size());
    program_.lists.insert(program_.lists.end(), list.begin(), list.end());
    return first;
  }

  int32_t compile_indices(const Buffer& b, const std::vector<Expr>& indices) {
    HONE_USER_CHECK(indices.size() == b->shape.size() || indices.size() == 1)
        << "buffer '" << b->name << "' of " << b->shape.size() << " dimensions is accessed with " << indices.size()
        << " indices";
    std::vector<int32_t> list;
    for (const Expr& i : indices) list.push_back(compile(i));
    return add_list(list);
  }

  int32_t compile(const Expr& e) {
    if (const auto it = compiled_.find(e.get()); it != compiled_.end()) return it->second;
    ENode n{};
    n.kind = e->kind;
    n.wrap = wrap_of(e->dtype);
    if (e->dtype.is_narrow_float()) {
      const bool is_f16 = e->dtype.code == TypeCode::kFloat;
      n.narrow = is_f16 ? &f16_of_float : &bf16_of_float;
      n.widen = is_f16 ? &float_of_f16 : &float_of_bf16;
    }
    switch (e->kind) {
      case ExprKind::kIntImm: n.int_value = n.wrap(as<IntImm>(e)->value); break;
      case ExprKind::kFloatImm: n.float_value = as<FloatImm>(e)->value; break;
      case ExprKind::kVar: n.a = slot_of(as<VarNode>(e)); break;
      case ExprKind::kCast: {
        const Expr& v = as<Cast>(e)->value;
        n.a = compile(v);
        n.operand_kind = kind_of(v->dtype);
        n.operand_wrap = wrap_of(v->dtype);
        n.to_bool = e->dtype.is_bool();
        break;
      }
      case ExprKind::kBinary: {
        const Binary* op = as<Binary>(e);
        n.op = op->op;
        n.a = compile(op->a);
        n.b = compile(op->b);
        n.operand_kind = kind_of(op->a->dtype);
        n.operand_wrap = wrap_of(op->a->dtype);
        break;
      }
      case ExprKind::kNot: n.a = compile(as<Not>(e)->value); break;
      case ExprKind::kSelect:
        n.a = compile(as<Select>(e)->condition);
        n.b = compile(as<Select>(e)->on_true);
        n.c = compile(as<Select>(e)->on_false);
        break;
      case ExprKind::kLoad: {
        const Load* op = as<Load>(e);
        n.a = buffer_slot(op->buffer);
        n.b = compile_indices(op->buffer, op->indices);
        n.c = static_cast<int32_t>(op->indices.size());
        break;
      }
      case ExprKind::kRamp:
        n.a = compile(as<Ramp>(e)->base);
        n.b = compile(as<Ramp>(e)->stride);
        break;
      case ExprKind::kBroadcast: n.a = compile(as<Broadcast>(e)->value); break;
      case ExprKind::kCall: {
        const Call* op = as<Call>(e);
        n.function = op->function;
        if (is_dot(op->function)) {
          std::vector<int32_t> list;
          for (const Expr& x : op->args) list.push_back(compile(x));
          n.b = add_list(list);
          break;
        }
        n.a = compile(op->args[0]);
        if (op->args.size() > 1) n.b = compile(op->args[1]);
        if (op->args.size() > 2) n.c = compile(op->args[2]);
        break;
      }
    }
    program_.exprs.push_back(n);
    const auto index = static_cast<int32_t>(program_.exprs.size()) - 1;
    compiled_[e.get()] = index;
    return index;
  }

  int32_t compile(const Stmt& s) {
    SNode n{};
    n.kind = s->kind;
    std::vector<int32_t> children;
    switch (s->kind) {
      case StmtKind::kFor: {
        const For* op = as<For>(s);
        n.loop = op->loop;
        program_.for_gpu |= op->loop == LoopKind::kBlock || op->loop == LoopKind::kThread;
        n.a = compile(op->min);
        n.b = compile(op->extent);
        n.slot = open_scope(op->var.get());
        children.push_back(compile(op->body));
        --scopes_[op->var.get()].open;
        compiled_.clear();
        break;
      }
      case StmtKind::kStore: {
        const Store* op = as<Store>(s);
        n.slot = buffer_slot(op->buffer);
        n.first = compile_indices(op->buffer, op->indices);
        n.count = static_cast<int32_t>(op->indices.size());
        n.a = compile(op->value);
        if (op->mask) n.b = compile(op->mask);
        n.c = op->value->dtype.lanes;
        HONE_USER_CHECK(op->value->dtype.scalar() == op->buffer->dtype)
            << "a value of type " << to_string(op->value->dtype) << " is stored to buffer '" << op->buffer->name
            << "' of " << to_string(op->buffer->dtype);
        program_.stmts.push_back(n);
        return static_cast<int32_t>(program_.stmts.size()) - 1;
      }
      case StmtKind::kSeq:
        for (const Stmt& child : as<Seq>(s)->stmts) children.push_back(compile(child));
        break;
      case StmtKind::kIf: {
        const If* op = as<If>(s);
        n.a = compile(op->condition);
        children.push_back(compile(op->then_case));
        if (op->else_case) children.push_back(compile(op->else_case));
        break;
      }
      case StmtKind::kAllocate: {
        const Allocate* op = as<Allocate>(s);
        n.slot = declare(op->buffer, true);
        children.push_back(compile(op->body));
        buffer_slots_.erase(op->buffer.get());
        compiled_.clear();
        break;
      }
      case StmtKind::kPrefetch:  // names and types are looked at, nothing is done
        buffer_slot(as<Prefetch>(s)->buffer);
        compile_indices(as<Prefetch>(s)->buffer, as<Prefetch>(s)->indices);
        break;
      case StmtKind::kBarrier: n.has_barrier = true; break;
    }
    for (const int32_t child : children) n.has_barrier |= program_.stmts[static_cast<size_t>(child)].has_barrier;
    n.first = add_list(children);
    n.count = static_cast<int32_t>(children.size());
    program_.stmts.push_back(n);
    return static_cast<int32_t>(program_.stmts.size()) - 1;
  }

  const Function& function_;
  Program program_;
  std::unordered_map<const VarNode*, Scope> scopes_;
  std::unordered_map<const BufferNode*, int32_t> buffer_slots_;
  std::unordered_map<const ExprNode*, int32_t> compiled_;  // since the last scope ended, whose names may be gone
};

}  // namespace

Program compile(const Function& f) { return Compiler(f).run(); }

}  // namespace hone::interp
