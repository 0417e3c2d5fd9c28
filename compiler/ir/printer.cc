#include "compiler/ir/printer.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <unordered_map>

namespace hone {
namespace {

// How tightly an operator binds; an operand that binds less stands in parentheses.
enum Precedence { kLoosest, kOrLevel, kAndLevel, kCompareLevel, kAddLevel, kMulLevel, kUnaryLevel };

Precedence precedence_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kOr: return kOrLevel;
    case BinaryOp::kAnd: return kAndLevel;
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe: return kCompareLevel;
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return kAddLevel;
    case BinaryOp::kMul:
    case BinaryOp::kDiv: return kMulLevel;
    default: return kUnaryLevel;  // printed as a function
  }
}

class Printer {
 public:
  std::string out;

  void print(const Expr& e, Precedence around = kLoosest) {
    if (!e) {
      out += "<null>";
      return;
    }
    switch (e->kind) {
      case ExprKind::kIntImm: return print_int(as<IntImm>(e));
      case ExprKind::kFloatImm: return print_float(as<FloatImm>(e));
      case ExprKind::kVar: out += name_of_var(as<VarNode>(e)); return;
      case ExprKind::kCast: out += to_string(e->dtype); return print_call("", {as<Cast>(e)->value});
      case ExprKind::kBinary: return print_binary(as<Binary>(e), around);
      case ExprKind::kNot: out += '!'; return print(as<Not>(e)->value, kUnaryLevel);
      case ExprKind::kSelect: {
        const Select* op = as<Select>(e);
        return print_call("select", {op->condition, op->on_true, op->on_false});
      }
      case ExprKind::kLoad: return print_access(as<Load>(e)->buffer, as<Load>(e)->indices);
      case ExprKind::kRamp: {
        const Ramp* op = as<Ramp>(e);
        return print_call("ramp", {op->base, op->stride, make_int(e->dtype.lanes)});
      }
      case ExprKind::kBroadcast: return print_call("broadcast", {as<Broadcast>(e)->value, make_int(e->dtype.lanes)});
      case ExprKind::kCall: return print_call(name_of(as<Call>(e)->function), as<Call>(e)->args);
    }
  }

  void print(const Stmt& s) {
    if (!s) return line("<null>");
    switch (s->kind) {
      case StmtKind::kFor: return print_for(as<For>(s));
      case StmtKind::kStore: return print_store(as<Store>(s));
      case StmtKind::kSeq: {
        const Seq* op = as<Seq>(s);
        if (op->stmts.empty()) line("pass");
        for (const Stmt& child : op->stmts) print(child);
        return;
      }
      case StmtKind::kIf: {
        const If* op = as<If>(s);
        begin_line();
        out += "if (";
        print(op->condition);
        out += ")";
        block(op->then_case);
        if (op->else_case) {
          out.pop_back();  // the line's end: else stands behind the brace
          out += " else";
          block(op->else_case);
        }
        return;
      }
      case StmtKind::kAllocate: {
        const Allocate* op = as<Allocate>(s);
        begin_line();
        out += "alloc ";
        print_declaration(op->buffer);
        out += ' ';
        out += name_of(op->buffer->scope);
        if (op->offset != -1) out += fmt::format(" @ {}", op->offset);
        return block(op->body);
      }
      case StmtKind::kPrefetch:
        begin_line();
        out += "prefetch ";
        print_access(as<Prefetch>(s)->buffer, as<Prefetch>(s)->indices);
        out += '\n';
        return;
      case StmtKind::kBarrier:
        begin_line();
        out += "barrier\n";
        return;
    }
  }

  void print(const Function& f) {
    begin_line();
    out += fmt::format("func {}(", f.name);
    const char* separator = "";
    for (const Var& v : f.shape_vars) {
      out += separator + name_of_var(v.get()) + ": " + to_string(v->dtype);
      separator = ", ";
    }
    for (const Buffer& b : f.params) {
      out += separator;
      print_declaration(b);
      separator = ", ";
    }
    out += ")";
    block(f.body);
  }

 private:
  void print_int(const IntImm* imm) {
    if (imm->dtype == kIndex)
      out += fmt::format("{}", imm->value);
    else if (imm->dtype.is_bool())
      out += imm->value ? "true" : "false";
    else
      out += fmt::format("{}({})", to_string(imm->dtype), imm->value);
  }

  void print_float(const FloatImm* imm) {
    // The shortest text that reads back as the same number of that type.
    std::string text =
        imm->dtype.bits == 64 ? fmt::format("{}", imm->value) : fmt::format("{}", static_cast<float>(imm->value));
    if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
    out += text;
    if (imm->dtype.bits == 32) out += 'f';
    if (imm->dtype.bits == 16) out += imm->dtype.code == TypeCode::kBFloat ? "b" : "h";
  }

  void print_binary(const Binary* op, Precedence around) {
    const Precedence own = precedence_of(op->op);
    if (own == kUnaryLevel) return print_call(symbol_of(op->op), {op->a, op->b});
    const bool parentheses = own < around;
    if (parentheses) out += '(';
    // Left-associative: the right operand needs parentheses at the same level, comparisons on both sides.
    print(op->a, own == kCompareLevel ? kAddLevel : own);
    out += fmt::format(" {} ", symbol_of(op->op));
    print(op->b, static_cast<Precedence>(own + 1));
    if (parentheses) out += ')';
  }

  void print_call(std::string_view function, const std::vector<Expr>& args) {
    out += function;
    out += '(';
    print_list(args);
    out += ')';
  }

  void print_list(const std::vector<Expr>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i) out += ", ";
      print(list[i]);
    }
  }

  void print_access(const Buffer& b, const std::vector<Expr>& indices) {
    out += name_of_buffer(b.get());
    out += '[';
    print_list(indices);
    out += ']';
  }

  void print_declaration(const Buffer& b) {
    out += name_of_buffer(b.get()) + ": " + to_string(b->dtype) + "[";
    print_list(b->shape);
    out += ']';
  }

  void print_store(const Store* op) {
    begin_line();
    print_access(op->buffer, op->indices);
    out += " = ";
    print(op->value);
    if (op->mask) {
      out += " where ";
      print(op->mask);
    }
    out += '\n';
  }

  void print_for(const For* op) {
    begin_line();
    out += "for ";
    out += name_of_var(op->var.get());
    out += " in ";
    print(op->min, kAddLevel);
    out += "..";
    print(op->min && op->extent && op->min->dtype == op->extent->dtype ? op->min + op->extent : op->extent, kAddLevel);
    if (op->loop != LoopKind::kSerial) {
      out += ' ';
      out += name_of(op->loop);
    }
    block(op->body);
  }

  void block(const Stmt& body) {
    out += " {\n";
    ++depth_;
    print(body);
    --depth_;
    line("}");
  }

  void begin_line() { out.append(2 * static_cast<size_t>(depth_), ' '); }
  void line(std::string_view text) {
    begin_line();
    out += text;
    out += '\n';
  }

  const std::string& name_of_var(const VarNode* v) { return unique_name(v, v->name.empty() ? "v" : v->name); }
  const std::string& name_of_buffer(const BufferNode* b) { return unique_name(b, b->name.empty() ? "b" : b->name); }

  const std::string& unique_name(const void* node, const std::string& wanted) {
    auto [it, inserted] = names_.try_emplace(node);
    if (!inserted) return it->second;
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    return it->second = std::move(name);
  }

  int depth_ = 0;
  std::unordered_map<const void*, std::string> names_;
  std::set<std::string> taken_;
};

void print_param(const Param& p, std::string* out) {
  *out += fmt::format("param {}: {} {}[{}]", p.name, name_of(p.role), to_string(p.dtype), fmt::join(p.shape, ", "));
  if (p.layout != Layout::identity(p.shape)) {
    *out += " layout";
    for (const LayoutDim& d : p.layout.dims) *out += fmt::format(" ({},{},{})", d.axis, d.stride, d.extent);
  }
  *out += '\n';
}

}  // namespace

std::string to_string(const Expr& e) {
  Printer printer;
  printer.print(e);
  return std::move(printer.out);
}

std::string to_string(const Stmt& s) {
  Printer printer;
  printer.print(s);
  return std::move(printer.out);
}

std::string to_string(const Function& f) {
  Printer printer;
  printer.print(f);
  return std::move(printer.out);
}

std::string to_string(const Module& m) {
  std::string out = fmt::format("module workers={} workspace={}", m.workers, m.workspace_bytes);
  if (m.vector_bits) out += fmt::format(" vector_bits={}", m.vector_bits);
  if (m.partition != Partition::kStatic) out += fmt::format(" partition={}", name_of(m.partition));
  out += '\n';
  for (const Param& p : m.params) print_param(p, &out);
  for (const Prepack& p : m.prepacks) out += fmt::format("prepack of param {}: ", p.param) + to_string(p.function);
  for (const Function& f : m.kernels) out += to_string(f);
  return out;
}

}  // namespace hone
