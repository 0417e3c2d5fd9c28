#include "compiler/codegen/c/emit_expr.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>

#include "base/narrow_floats.h"
#include "compiler/ir/nan.h"
#include "compiler/ir/queries.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

std::string float_text(double value, DType t) {
  if (t == f16) value = static_cast<double>(float_of_f16(f16_of_float(static_cast<float>(value))));
  if (t == bf16) value = static_cast<double>(float_of_bf16(bf16_of_float(static_cast<float>(value))));
  const bool is_wide = t.bits == 64;
  if (std::isnan(value)) return is_wide ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (std::isinf(value)) return fmt::format("({}__builtin_inf{}())", value < 0 ? "-" : "", is_wide ? "" : "f");
  const std::string text = is_wide ? fmt::format("{:a}", value) : fmt::format("{:a}f", static_cast<float>(value));
  return std::signbit(value) ? "(" + text + ")" : text;
}

std::string int_text(int64_t value, DType t) {
  if (t.code == TypeCode::kUInt && t.bits == 64) return fmt::format("{}ull", static_cast<uint64_t>(value));
  if (t.code == TypeCode::kUInt && t.bits == 32) return fmt::format("{}u", static_cast<uint32_t>(value));
  if (value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807ll - 1)";
  const std::string text =
      value >= INT32_MIN && value <= INT32_MAX ? fmt::format("{}", value) : fmt::format("{}ll", value);
  return value < 0 ? "(" + text + ")" : text;
}

bool is_trivial(const Expr& e) {
  if (const Broadcast* b = as<Broadcast>(e)) return is_trivial(b->value);
  return as<VarNode>(e) || as<IntImm>(e) || as<FloatImm>(e);
}

// How often each node is used; nodes below a shared node are counted once.
class Uses final : public Visitor {
 public:
  explicit Uses(std::unordered_map<const ExprNode*, int>& out) : out_(out) {}

 protected:
  using Visitor::visit;
  void visit(const Cast* op) override { use(op); }
  void visit(const Binary* op) override { use(op); }
  void visit(const Not* op) override { use(op); }
  void visit(const Select* op) override { use(op); }
  void visit(const Load* op) override { use(op); }
  void visit(const Ramp* op) override { use(op); }
  void visit(const Broadcast* op) override { use(op); }
  void visit(const Call* op) override { use(op); }

 private:
  template <class T>
  void use(const T* op) {
    if (++out_[op] == 1) Visitor::visit(op);
  }
  std::unordered_map<const ExprNode*, int>& out_;
};

// The exponent of a power of two, in each lane.
std::optional<int> exponent_of(const Expr& e) {
  const Broadcast* spread = as<Broadcast>(e);
  const IntImm* i = as<IntImm>(spread ? spread->value : e);
  if (!i || i->value < 1 || !std::has_single_bit(static_cast<uint64_t>(i->value))) return std::nullopt;
  return std::countr_zero(static_cast<uint64_t>(i->value));
}

std::optional<int64_t> number_of(const Expr& e) {
  const Broadcast* spread = as<Broadcast>(e);
  return as_const_int(spread ? spread->value : e);
}

// Whether it ends like the name of a helper function, `exp_f32x8`, which a variable would hide.
bool looks_like_function(std::string_view name) {
  const size_t type = name.rfind('_');
  if (type == std::string_view::npos || type + 1 == name.size()) return false;
  const std::string_view rest = name.substr(type + 1);
  return std::string_view("iuf").find(rest[0]) != std::string_view::npos &&
         std::all_of(rest.begin() + 1, rest.end(), [](char c) { return c == 'x' || (c >= '0' && c <= '9'); });
}

bool is_unsigned(DType t) { return t.code == TypeCode::kUInt; }
DType unsigned_of(DType t) { return DType{TypeCode::kUInt, t.bits, t.lanes}; }

}  // namespace

std::string CExprWriter::legal(const void* node, const std::string& name) {
  return names_.give(node, looks_like_function(name) ? name + "_" : name);
}

void CExprWriter::begin(const std::vector<Expr>& used) {
  uses_.clear();
  known_.clear();
  active_ = {};
  Uses uses(uses_);
  for (const Expr& e : used)
    if (e) uses(e);
}

std::string CExprWriter::kept(DType t, const std::string& value) {
  const std::string name = temporary();
  lines_.add(fmt::format("const {} {} = {};", helpers_.type(t), name, value));
  return name;
}

std::string CExprWriter::text(const Expr& e) {
  if (is_trivial(e)) return compute(e);
  for (auto k = known_.rbegin(); k != known_.rend(); ++k)
    if (k->first == e.get()) return k->second;
  const auto uses = uses_.find(e.get());
  if (uses == uses_.end() || uses->second < 2) return compute(e);
  std::string name = kept(e->dtype, compute(e));
  known_.emplace_back(e.get(), name);
  return name;
}

std::string CExprWriter::compute(const Expr& e) {
  switch (e->kind) {
    case ExprKind::kIntImm: return int_text(as<IntImm>(e)->value, e->dtype);
    case ExprKind::kFloatImm: return float_text(as<FloatImm>(e)->value, e->dtype);
    case ExprKind::kVar: return name_of(as<VarNode>(e));
    case ExprKind::kCast: return cast_text(as<Cast>(e));
    case ExprKind::kBinary: return binary(as<Binary>(e));
    case ExprKind::kNot: return fmt::format("({}{})", e->dtype.is_vector() ? "~" : "!", text(as<Not>(e)->value));
    case ExprKind::kSelect: return selected(as<Select>(e));
    case ExprKind::kLoad: return loaded(as<Load>(e));
    case ExprKind::kRamp: {
      const Ramp* op = as<Ramp>(e);
      return fmt::format("{}({}, {})", helpers_.function("ramp", e->dtype), text(op->base), text(op->stride));
    }
    case ExprKind::kBroadcast: {
      const Expr& value = as<Broadcast>(e)->value;
      const std::string one = text(value), splat = helpers_.function("splat", e->dtype);
      return value->dtype.is_bool() ? fmt::format("{}(-({}))", splat, one) : fmt::format("{}({})", splat, one);
    }
    case ExprKind::kCall:
      if (std::string dot = dot_added(e, nullptr); !dot.empty()) return dot;
      return called(as<Call>(e));
  }
  throw InternalError("an expression of unknown kind");
}

std::string CExprWriter::mask_of(const std::string& comparison, DType compared) {
  if (!compared.is_vector()) return comparison;
  const DType t = value_type(compared), lanes{TypeCode::kInt, t.bits, t.lanes};
  return fmt::format("{}(({}){})", helpers_.function("mask", t), helpers_.type(lanes), comparison);
}

std::string CExprWriter::cast_text(const Cast* op) {
  const DType from = op->value->dtype, to = op->dtype;
  const std::string value = text(op->value);
  if (to.is_bool()) return from.is_bool() ? value : mask_of(fmt::format("({} != 0)", value), from);
  // A mask's lanes are 0 or -1.
  if (from.is_bool())
    return from.is_vector()
               ? fmt::format("{}({} & 1)", helpers_.conversion(i32.with_lanes(from.lanes), value_type(to)), value)
               : fmt::format("(({}){})", helpers_.type(to), value);
  const DType source = value_type(from), result = value_type(to);
  if (from.is_float() && to.is_integer()) return fmt::format("{}({})", helpers_.saturation(source, to), value);
  std::string converted = value;
  if (source != result)
    converted = result.is_vector() ? fmt::format("{}({})", helpers_.conversion(source, result), value)
                                   : fmt::format("(({}){})", helpers_.type(to), value);
  if (to.is_narrow_float() && from != to)
    return fmt::format("{}({})", helpers_.function(to.scalar() == f16 ? "round_f16" : "round_bf16", result), converted);
  return converted;
}

// Signed overflow is undefined in C, and compilers draw conclusions from that. Unsigned arithmetic wraps around, as the
// IR's does.
bool CExprWriter::may_wrap(const Binary* op) const {
  if (op->dtype.code != TypeCode::kInt) return false;
  if (op->dtype.scalar() != kIndex || op->dtype.is_vector()) return true;
  const Interval range = facts_.bounds(Expr(op));
  return range.lo == Interval::kMin || range.hi == Interval::kMax;
}

std::string CExprWriter::arithmetic(const Binary* op, const char* symbol) {
  const std::string a = text(op->a), b = text(op->b);
  const DType t = op->dtype;
  std::string plain = fmt::format("({} {} {})", a, symbol, b);
  if (t.is_narrow_float())
    return fmt::format("{}{}", helpers_.function(t.scalar() == f16 ? "round_f16" : "round_bf16", t), plain);
  if (t.is_float()) return plain;
  if (may_wrap(op) || (t.bits < 32 && !t.is_vector())) {
    // C promotes narrower types to int, in which a product of two of 16 bits may overflow.
    const std::string type = helpers_.type(t),
                      wraps = helpers_.type(t.is_vector() || t.bits >= 32 ? unsigned_of(t) : u32);
    return fmt::format("({0})(({1}){2} {3} ({1}){4})", type, wraps, a, symbol, b);
  }
  return plain;
}

std::string CExprWriter::divided(const Binary* op) {
  const bool divides = op->op == BinaryOp::kFloorDiv;
  const std::string a = text(op->a);
  const DType t = op->dtype;
  // Shifts and masks round towards minus infinity by themselves.
  if (const auto exponent = exponent_of(op->b)) {
    if (divides) return fmt::format("({} >> {})", a, *exponent);
    const DType bits = unsigned_of(t);
    const std::string mask = fmt::format("{}", (uint64_t{1} << *exponent) - 1);
    if (t.bits == 64) return fmt::format("(({})({} & {}ll))", helpers_.type(t), a, mask);
    return fmt::format("(({})(({}){} & {}u))", helpers_.type(t), helpers_.type(bits), a, mask);
  }
  const std::string b = text(op->b);
  const auto number = number_of(op->b);
  const bool is_positive = number && *number > 0;
  if (is_positive && !t.is_vector() && (is_unsigned(t) || facts_.bounds(op->a).lo >= 0))
    return fmt::format("(({})({} {} {}))", helpers_.type(t), a, divides ? "/" : "%", b);
  if (is_positive && is_unsigned(t)) return fmt::format("({} {} {})", a, divides ? "/" : "%", b);
  return fmt::format("{}({}, {})", helpers_.function(divides ? "floordiv" : "floormod", t), a, b);
}

std::string CExprWriter::compare(const Binary* op) {
  const char* symbol = op->op == BinaryOp::kEq   ? "=="
                       : op->op == BinaryOp::kNe ? "!="
                       : op->op == BinaryOp::kLt ? "<"
                                                 : "<=";
  return mask_of(fmt::format("({} {} {})", text(op->a), symbol, text(op->b)),
                 op->a->dtype.is_bool() ? i32.with_lanes(op->a->dtype.lanes) : op->a->dtype);
}

std::string CExprWriter::binary(const Binary* op) {
  const bool is_bool = op->a->dtype.is_bool(), is_mask = is_bool && op->dtype.is_vector();
  const auto logical = [&](const char* of_masks, const char* of_one) {
    const std::string a = text(op->a);
    return fmt::format("({} {} {})", a, is_mask ? of_masks : of_one, text(op->b));
  };
  switch (op->op) {
    case BinaryOp::kAdd:
      if (std::string sum = dot_added(op->b, &op->a); !sum.empty()) return sum;
      return arithmetic(op, "+");
    case BinaryOp::kSub: return arithmetic(op, "-");
    case BinaryOp::kMul: return arithmetic(op, "*");
    case BinaryOp::kDiv: return arithmetic(op, "/");
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: return divided(op);
    case BinaryOp::kMin:
    case BinaryOp::kMax: {
      const bool is_min = op->op == BinaryOp::kMin;
      if (is_bool) return is_min ? logical("&", "&&") : logical("|", "||");
      const std::string a = text(op->a), b = text(op->b);
      const NanForm form = op->dtype.is_float() ? nan_form(op, assume_finite_) : NanForm::kInOrder;
      if (form == NanForm::kTested)
        return fmt::format("{}({}, {})", helpers_.function(is_min ? "minimum" : "maximum", op->dtype), a, b);
      const bool in_order = form == NanForm::kInOrder;
      return fmt::format("{}({}, {})", helpers_.function(is_min ? "min" : "max", op->dtype), in_order ? a : b,
                         in_order ? b : a);
    }
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe: return compare(op);
    case BinaryOp::kAnd: return logical("&", "&&");
    case BinaryOp::kOr: return logical("|", "||");
  }
  throw InternalError("an operator of unknown kind");
}

std::string CExprWriter::selected(const Select* op) {
  const DType t = op->dtype;
  const Broadcast* uniform = as<Broadcast>(op->condition);
  const size_t outside = known_.size();
  if (!op->condition->dtype.is_vector() || uniform) {
    // One condition: declarations that a side needs stand behind it.
    const std::string condition = text(uniform ? uniform->value : op->condition);
    ++lines_.depth();
    std::string values[2], before[2];
    for (const bool side : {true, false}) {
      lines_.hold();
      values[side] = text(side ? op->on_true : op->on_false);
      before[side] = lines_.release();
      known_.resize(outside);
    }
    --lines_.depth();
    // Two constants are an int in C, whatever type they have here.
    if (before[0].empty() && before[1].empty())
      return fmt::format("(({})({} ? {} : {}))", helpers_.type(t), condition, values[1], values[0]);
    const std::string name = temporary();
    lines_.add(fmt::format("{} {};", helpers_.type(t), name));
    lines_.open(fmt::format("if ({}) {{", condition));
    lines_.add_text(before[1]);
    lines_.add(fmt::format("{} = {};", name, values[1]));
    --lines_.depth();
    lines_.open("} else {");
    lines_.add_text(before[0]);
    lines_.add(fmt::format("{} = {};", name, values[0]));
    lines_.close();
    return name;
  }
  const DType masks = boolean.with_lanes(t.lanes);
  const std::string condition = kept(masks, text(op->condition));
  const Active before = active_;
  std::string values[2];
  for (const bool side : {true, false}) {
    const Expr& value = side ? op->on_true : op->on_false;
    if (reads_memory(value)) {  // which an unwanted lane may not
      const std::string own = side ? condition : "~" + condition;
      const std::string both = before.lanes.empty() ? own : fmt::format("{} & {}", before.lanes, own);
      active_ = {both == condition ? both : kept(masks, both), value_type(masks)};
    }
    values[side] = text(value);
    active_ = before;
    known_.resize(outside);
  }
  return fmt::format("{}({}, {}, {})", helpers_.function("select", t), condition, values[1], values[0]);
}

std::string CExprWriter::element(const BufferNode* buffer, const Expr& index) {
  return fmt::format("{}[{}]", name_of(buffer), text(index));
}

std::string CExprWriter::pointer(const BufferNode* buffer, const Expr& index) {
  return is_const(index, 0) ? name_of(buffer) : fmt::format("{} + {}", name_of(buffer), text(index));
}

std::string CExprWriter::loaded(const Load* op) {
  HONE_ICHECK(op->indices.size() == 1) << "access to " << op->buffer->name << " is not flat";
  const BufferNode* buffer = op->buffer.get();
  const Expr& index = op->indices[0];
  const DType t = op->dtype;
  const std::string& lanes = active_.lanes;
  const auto constant_inside = [&](const Expr& at, int count) {
    const auto first = as_const_int(at);
    const auto elements = buffer->shape.size() == 1 ? as_const_int(buffer->shape[0]) : std::nullopt;
    return buffer->scope == BufferScope::kStack && first && elements && *first >= 0 && *first + count <= *elements;
  };
  const auto value = [&](const std::string& element) {
    if (t.is_bool()) return mask_of(fmt::format("({} != 0)", element), u8.with_lanes(t.lanes));
    if (!t.is_narrow_float()) return element;
    return fmt::format("{}({})", helpers_.memory_function(t.scalar() == f16 ? "value_f16" : "value_bf16", t), element);
  };
  if (!t.is_vector()) {
    const std::string element = this->element(buffer, index);
    if (lanes.empty() || constant_inside(index, 1)) return value(element);
    // Where no lane is wanted, it may not be there.
    return value(fmt::format("({}({}) ? {} : 0)", helpers_.function("any", active_.type), lanes, element));
  }
  const std::string where = lanes.empty() ? "" : "_where", first = lanes.empty() ? "" : lanes + ", ";
  const Ramp* ramp = as<Ramp>(index);
  if (ramp && is_const(ramp->stride, 1)) {
    const std::string at = pointer(buffer, ramp->base);
    if (lanes.empty() || constant_inside(ramp->base, t.lanes))
      return value(fmt::format("{}({})", helpers_.memory_function("load", t), at));
    return value(fmt::format("{}({}, {})", helpers_.memory_function("load_where", t), lanes, at));
  }
  if (ramp) {
    const std::string at = pointer(buffer, ramp->base);
    return value(
        fmt::format("{}({}{}, {})", helpers_.memory_function("strided" + where, t), first, at, text(ramp->stride)));
  }
  return value(
      fmt::format("{}({}{}, {})", helpers_.memory_function("gather" + where, t), first, name_of(buffer), text(index)));
}

// Half of the arguments of dot4, from `first` on, where they are neighbours in memory: a word in each lane. Empty: they
// are not.
std::string CExprWriter::words(const Call* op, size_t first) {
  constexpr size_t kCount = 4;
  const Load* start = nullptr;
  Expr base;
  bool is_spread = false;
  if (!active_.lanes.empty()) return "";
  for (size_t t = 0; t < kCount; ++t) {
    const Broadcast* spread = as<Broadcast>(op->args[first + t]);
    const Load* l = as<Load>(spread ? spread->value : op->args[first + t]);
    if (!l || l->indices.size() != 1) return "";
    const Ramp* ramp = as<Ramp>(l->indices[0]);
    if (l->dtype.is_vector() && (!ramp || !is_const(ramp->stride, static_cast<int64_t>(kCount)))) return "";
    const Expr at = ramp ? ramp->base : l->indices[0];
    if (t == 0) {
      start = l, base = at, is_spread = spread != nullptr;
      continue;
    }
    const auto one = linear_of(at), other = linear_of(base);
    if (!l->buffer.same_as(start->buffer) || (spread != nullptr) != is_spread || !one || !other) return "";
    const auto apart = add(*one, *other, -1);
    if (!apart || !apart->is_constant() || apart->constant != static_cast<int64_t>(t)) return "";
  }
  const DType type = u32.with_lanes(op->dtype.lanes);
  const bool is_one = is_spread || !type.is_vector();
  const std::string word =
      fmt::format("{}({})", helpers_.memory_function("words", is_one ? u32 : type), pointer(start->buffer.get(), base));
  return is_spread ? fmt::format("{}({})", helpers_.function("splat", type), word) : word;
}

// `sum` (null: 0) and the dot4 of words that `e` is, which processors have in one instruction. Empty: it is none.
std::string CExprWriter::dot_added(const Expr& e, const Expr* sum) {
  const Call* op = as<Call>(e);
  if (!op || op->function != Intrinsic::kDot4) return "";
  const std::string a = words(op, 0), b = words(op, 4);
  if (a.empty() || b.empty()) return "";
  const std::string first = sum ? text(*sum) : fmt::format("{}(0)", helpers_.function("splat", op->dtype));
  return fmt::format("{}({}, {}, {})", helpers_.function("dot4_words", op->dtype), first, a, b);
}

std::string CExprWriter::called(const Call* op) {
  const DType t = op->dtype;
  std::vector<std::string> args;
  for (const Expr& a : op->args) args.push_back(text(a));
  if (op->function == Intrinsic::kDot2) return fmt::format("({} * {} + {} * {})", args[0], args[2], args[1], args[3]);
  const std::string list = absl::StrJoin(args, ", ");
  if (op->function == Intrinsic::kFma && !t.is_float()) {
    const std::string type = helpers_.type(t), wraps = helpers_.type(unsigned_of(t));
    return fmt::format("({0})(({1}){2} * ({1}){3} + ({1}){4})", type, wraps, args[0], args[1], args[2]);
  }
  std::string value = fmt::format("{}({})", helpers_.function(hone::name_of(op->function), t), list);
  if (t.is_narrow_float())
    value = fmt::format("{}({})", helpers_.function(t.scalar() == f16 ? "round_f16" : "round_bf16", t), value);
  return value;
}

std::string CExprWriter::in_memory(const Expr& e, DType t) {
  const std::string value = text(e);
  if (t.is_bool())
    return e->dtype.is_vector()
               ? fmt::format("{}({} & 1)",
                             helpers_.conversion(i32.with_lanes(e->dtype.lanes), u8.with_lanes(e->dtype.lanes)), value)
               : fmt::format("(u8)({})", value);
  if (!t.is_narrow_float()) return value;
  return fmt::format("{}({})", helpers_.function(t == f16 ? "bits_f16" : "bits_bf16", e->dtype), value);
}

void CExprWriter::store(const Store* op) {
  HONE_ICHECK(op->indices.size() == 1) << "access to " << op->buffer->name << " is not flat";
  begin({op->indices[0], op->value, op->mask});
  const BufferNode* buffer = op->buffer.get();
  const DType t = op->value->dtype;
  const Expr& index = op->indices[0];
  if (!t.is_vector()) {
    if (op->mask) {
      lines_.open(fmt::format("if ({}) {{", text(op->mask)));
      known_.clear();
    }
    const std::string value = in_memory(op->value, buffer->dtype);
    lines_.add(fmt::format("{} = {};", element(buffer, index), value));
    if (op->mask) lines_.close();
    return;
  }
  // Declarations that a statement needs before it go into a block of its own.
  lines_.hold();
  ++lines_.depth();
  if (op->mask) {
    active_ = {kept(boolean.with_lanes(t.lanes), text(op->mask)), i32.with_lanes(t.lanes)};
  }
  const std::string lanes = active_.lanes;
  const std::string value = in_memory(op->value, buffer->dtype);
  active_ = {};
  const std::string where = lanes.empty() ? "" : "_where", first = lanes.empty() ? "" : lanes + ", ";
  const Ramp* ramp = as<Ramp>(index);
  const auto function = [&](const std::string& name) { return helpers_.memory_function(name, t); };
  std::string last;
  if (ramp && is_const(ramp->stride, 1)) {
    last = fmt::format("{}({}{}, {});", function("store" + where), first, pointer(buffer, ramp->base), value);
  } else if (ramp) {
    const std::string at = pointer(buffer, ramp->base);
    last = fmt::format("{}({}{}, {}, {});", function("store_strided" + where), first, at, text(ramp->stride), value);
  } else {
    last = fmt::format("{}({}{}, {}, {});", function("scatter" + where), first, name_of(buffer), text(index), value);
  }
  --lines_.depth();
  const std::string before = lines_.release();
  if (before.empty()) return lines_.add(last);
  lines_.open("{");
  lines_.add_text(before);
  lines_.add(last);
  lines_.close();
}

void CExprWriter::prefetch(const Prefetch* op) {
  begin(op->indices);
  // The element may lie outside of the buffer: no pointer to it is formed.
  lines_.add(fmt::format("__builtin_prefetch((const void*)((uintptr_t){} + (uintptr_t)({}) * {}));",
                         name_of(op->buffer.get()), text(op->indices[0]), op->buffer->dtype.lane_bytes()));
}

}  // namespace hone
