#include "compiler/codegen/gpu/emit_expr.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/narrow_floats.h"
#include "compiler/arith/linear.h"
#include "compiler/codegen/legalize/dot_words.h"
#include "compiler/ir/nan.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// Brings a float of the C type `type` into the range of the narrow integer type `to`: C leaves conversions of other
// values undefined, the IR gives the nearest number. (A NaN becomes the least number here, 0 in the IR.)
std::string clamped(const std::string& value, const std::string& type, DType to) {
  const bool is_signed = to.code == TypeCode::kInt;
  const int64_t values = int64_t{1} << to.bits, least = is_signed ? -values / 2 : 0, most = least + values - 1;
  const char* suffix = type == "f32" ? ".0f" : ".0";
  return fmt::format("min_{0}(max_{0}({1}, {2}{4}), {3}{4})", type, value, least, most, suffix);
}

uint16_t bits_of(double value, DType t) {
  return t == f16 ? f16_of_float(static_cast<float>(value)) : bf16_of_float(static_cast<float>(value));
}

std::string float_text(double value, DType t) {
  if (t.is_narrow_float())
    return float_text(t == f16 ? float_of_f16(bits_of(value, t)) : float_of_bf16(bits_of(value, t)), f32);
  const char* type = t.bits == 32 ? "f32" : "f64";
  if (std::isnan(value)) return fmt::format("nan_{}", type);
  if (std::isinf(value)) return fmt::format("({}inf_{})", value < 0 ? "-" : "", type);
  const std::string text = t.bits == 32 ? fmt::format("{:a}f", static_cast<float>(value)) : fmt::format("{:a}", value);
  return value < 0 ? "(" + text + ")" : text;
}

std::string int_text(int64_t value, DType t, bool narrow) {
  if (t.scalar() == kIndex && narrow) return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
  if (value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807ll - 1)";
  if (t.bits == 64 && t.code == TypeCode::kUInt) return fmt::format("((u64){}ul)", static_cast<uint64_t>(value));
  if (t.bits == 64) return fmt::format("((i64){}l)", value);
  return fmt::format("(({}){})", memory_type(t), value);
}

}  // namespace

// --- names ---

Names names_of(const GpuProgram& program, const GpuKernel& kernel) {
  Names out;
  for (const Buffer& b : program.params) out.give(b.get(), b->name);
  for (const GpuProgram::WorkspaceBuffer& w : program.workspace) out.give(w.buffer.get(), w.buffer->name);
  for (const Buffer& b : kernel.shared) out.give(b.get(), b->name);
  return out;
}

// --- width of indices ---

bool index_fits_i32(const GpuKernel& kernel) {
  class Checker final : public Visitor {
   public:
    Facts facts;
    bool fits = true;
    void check(const Expr& e) {
      if (e && e->dtype.scalar() == kIndex) fits = fits && facts.bounds(e).within(INT32_MIN, INT32_MAX);
    }

   protected:
    using Visitor::visit;
    void visit(const IntImm* op) override {
      fits = fits && (op->dtype.scalar() != kIndex || (op->value >= INT32_MIN && op->value <= INT32_MAX));
    }
    void visit(const Binary* op) override {
      check(Expr(op));
      Visitor::visit(op);
    }
    void visit(const Select* op) override {
      check(Expr(op));
      Visitor::visit(op);
    }
    void visit(const Ramp* op) override {
      check(op->base + op->stride * static_cast<int64_t>(op->dtype.lanes - 1));
      Visitor::visit(op);
    }
    void visit(const Cast* op) override {
      check(Expr(op));
      Visitor::visit(op);
    }
    void visit(const Load* op) override {
      fits = fits && op->buffer->dtype != kIndex;  // data, not an index
      Visitor::visit(op);
    }
    void visit(const For* op) override {
      check(op->min);
      check(op->min + op->extent);
      if (!fits) return;
      facts.push_loop(op->var.get(), op->min, op->extent);
      Visitor::visit(op);
      facts.pop_range();
    }
  } checker;
  int64_t blocks = 1, threads = 1;
  for (const auto* axes : {&kernel.blocks, &kernel.threads})
    for (const GpuAxis& a : *axes) {
      checker.facts.push_range(a.var.get(), 0, a.extent - 1);
      (axes == &kernel.blocks ? blocks : threads) *= a.extent;
    }
  checker(kernel.body);
  return checker.fits && blocks <= INT32_MAX;
}

// --- expressions ---

namespace {

// min and max give the second operand where the two do not compare; these a NaN where one of them is.
std::string nan_extremes(std::string_view t) {
  constexpr std::string_view kText =
      "HONE_FUNCTION {0} minimum_{0}({0} a, {0} b) {{ return a < b || a != a ? a : b; }}\n"
      "HONE_FUNCTION {0} maximum_{0}({0} a, {0} b) {{ return a > b || a != a ? a : b; }}\n";
  constexpr std::string_view kOneInstruction =
      "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\n"
      "HONE_FUNCTION f32 minimum_f32(f32 a, f32 b) { f32 v; asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(v) : \"f\"(a), "
      "\"f\"(b)); return v; }\n"
      "HONE_FUNCTION f32 maximum_f32(f32 a, f32 b) { f32 v; asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(v) : \"f\"(a), "
      "\"f\"(b)); return v; }\n"
      "#else\n";
  const std::string text = fmt::format(kText, t);
  return t == "f32" ? std::string(kOneInstruction) + text + "#endif\n" : text;
}

}  // namespace

std::string helper_functions(const GpuNeeds& needs) {
  std::string out;
  for (const auto& [t, bytes] : {std::pair("u16", 2), {"i16", 2}, {"u8", 1}, {"i8", 1}})
    for (const int size : {4, 8, 16})
      out += fmt::format("typedef struct HONE_ALIGN({0}) {{ {1} e[{2}]; }} {1}x{2};\n", size, t, size / bytes);
  for (const char* t : {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"}) {
    if (std::string_view(t) == "f64" && !needs.f64) continue;
    out += fmt::format(
        "HONE_FUNCTION {0} min_{0}({0} a, {0} b) {{ return a < b ? a : b; }}\nHONE_FUNCTION {0} max_{0}({0} a, {0} b) "
        "{{ return a > b ? a : b; }}\n",
        t);
    if (*t == 'f') out += nan_extremes(t);
  }
  for (const char* t : {"i8", "i16", "i32", "i64"}) {
    out += fmt::format("HONE_FUNCTION {0} abs_{0}({0} a) {{ return a < 0 ? ({0})(0 - (u{1})a) : a; }}\n", t, t + 1);
    out += fmt::format(
        "HONE_FUNCTION {0} floordiv_{0}({0} a, {0} b) {{ return a / b - (a % b != 0 && (a < 0) != (b < 0)); }}\n", t);
    out += fmt::format(
        "HONE_FUNCTION {0} floormod_{0}({0} a, {0} b) {{ return a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b; "
        "}}\n",
        t);
  }
  for (const char* t : {"f16", "bf16"})
    if (std::string_view(t) == "f16" ? needs.f16 : needs.bf16)
      out += fmt::format("HONE_FUNCTION f32 round_{0}(f32 x) {{ return value_{0}(bits_{0}(x)); }}\n", t);
  if (needs.dot4)
    out +=
        "HONE_FUNCTION u32 word_of(u8 a, u8 b, u8 c, u8 d) {\n"
        "  return (u32)a | (u32)b << 8 | (u32)c << 16 | (u32)d << 24;\n}\n"
        "HONE_FUNCTION i32 dot4(u32 a, u32 b, i32 sum) {\n"
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 610\n"
        "  i32 v; asm(\"dp4a.u32.s32 %0, %1, %2, %3;\" : \"=r\"(v) : \"r\"(a), \"r\"(b), \"r\"(sum)); return v;\n"
        "#else\n"
        "  u32 v = (u32)sum;\n"
        "  for (i32 t = 0; t < 32; t += 8) v += (u32)((i32)(a >> t & 255u) * (i32)(i8)(b >> t));\n"
        "  return (i32)v;\n"
        "#endif\n}\n";
  return out;
}

std::string ExprWriter::text(const Expr& e, int lane) {
  switch (e->kind) {
    case ExprKind::kIntImm:
      return e->dtype.is_bool() ? (as<IntImm>(e)->value ? "true" : "false")
                                : int_text(as<IntImm>(e)->value, e->dtype, narrow_);
    case ExprKind::kFloatImm: return float_text(as<FloatImm>(e)->value, e->dtype);
    case ExprKind::kVar: return name_of(as<VarNode>(e));
    case ExprKind::kCast: {
      const Cast* op = as<Cast>(e);
      if (e->dtype.is_bool()) return fmt::format("({} != 0)", text(op->value, lane));
      std::string value = text(op->value, lane);
      if (op->value->dtype.is_float() && e->dtype.is_integer() && e->dtype.bits < 32)
        value = clamped(value, type_of(op->value->dtype), e->dtype);
      const std::string converted = fmt::format("(({}){})", type_of(e->dtype), value);
      return e->dtype.is_narrow_float() ? rounded(converted, e->dtype) : converted;
    }
    case ExprKind::kBinary: return binary(as<Binary>(e), lane);
    case ExprKind::kNot: return fmt::format("(!{})", text(as<Not>(e)->value, lane));
    case ExprKind::kSelect: {
      const Select* op = as<Select>(e);
      return fmt::format("({} ? {} : {})", text(op->condition, lane), text(op->on_true, lane),
                         text(op->on_false, lane));
    }
    case ExprKind::kLoad: {
      const Load* op = as<Load>(e);
      const std::string element = element_of(op, lane);
      if (e->dtype.is_narrow_float()) return fmt::format("value_{}({})", to_string(e->dtype.scalar()), element);
      return op->buffer->dtype.is_bool() ? fmt::format("({} != 0)", element) : element;
    }
    case ExprKind::kRamp: {
      const Ramp* op = as<Ramp>(e);
      if (lane == 0) return text(op->base);
      return fmt::format("({} + {})", text(op->base), text(op->stride * static_cast<int64_t>(lane)));
    }
    case ExprKind::kBroadcast: return text(as<Broadcast>(e)->value);
    case ExprKind::kCall: return call(as<Call>(e), lane);
  }
  throw InternalError("an expression of unknown kind");
}

std::string ExprWriter::element_of(const Load* op, int lane) {
  if (const auto vector = vectors_.find(op); vector != vectors_.end())
    return fmt::format("{}.{}", vector->second, lane_name(op->buffer->dtype, lane));
  return fmt::format("{}[{}]", name_of(op->buffer.get()), text(op->indices[0], lane));
}

std::string ExprWriter::lane_name(DType t, int lane) {
  return t.bits < 32 ? fmt::format("e[{}]", lane) : std::string(1, "xyzw"[lane]);
}

std::string ExprWriter::stored(const Expr& e, DType t, int lane) {
  if (t.is_bool()) return fmt::format("((u8){})", text(e, lane));
  if (!t.is_narrow_float()) return text(e, lane);
  // A value that is only copied stays in its 16 bits.
  if (const Load* op = as<Load>(e)) return element_of(op, lane);
  if (const FloatImm* op = as<FloatImm>(e)) return fmt::format("((u16){})", bits_of(op->value, t));
  if (const Broadcast* op = as<Broadcast>(e)) return stored(op->value, t);
  if (const Select* op = as<Select>(e))
    return fmt::format("({} ? {} : {})", text(op->condition, lane), stored(op->on_true, t, lane),
                       stored(op->on_false, t, lane));
  const Cast* op = as<Cast>(e);
  return fmt::format("bits_{}({})", to_string(t), op ? fmt::format("(f32){}", text(op->value, lane)) : text(e, lane));
}

std::string ExprWriter::rounded(const std::string& value, DType t) {
  return fmt::format("round_{}({})", to_string(t.scalar()), value);
}

// Signed overflow is undefined in C, and compilers draw conclusions from that about conditions that proofs rest on.
// Unsigned arithmetic wraps around, as the IR's does.
bool ExprWriter::may_wrap(const Binary* op) const {
  if (op->dtype.code != TypeCode::kInt || op->dtype.bits < 32) return false;
  if (op->dtype.scalar() != kIndex) return true;
  // Every step of narrow indices is proved to fit.
  const Interval range = narrow_ ? Interval{0, 0} : facts_.bounds(Expr(op));
  return range.lo == Interval::kMin || range.hi == Interval::kMax;
}

std::string ExprWriter::binary(const Binary* op, int lane) {
  if (op->op == BinaryOp::kAdd)
    for (const bool second : {true, false})
      if (const Call* dot = as<Call>(second ? op->b : op->a); dot && dot->function == Intrinsic::kDot4)
        return dot4(dot, text(second ? op->a : op->b, lane), lane);
  const std::string a = text(op->a, lane), b = text(op->b, lane), type = type_of(op->a->dtype);
  // Narrow integers wrap in their own type, where C computes in int.
  const auto arithmetic = [&](const char* symbol) {
    const std::string plain = fmt::format("({} {} {})", a, symbol, b);
    if (op->dtype.is_narrow_float()) return rounded(plain, op->dtype);
    if (may_wrap(op)) return fmt::format("(({0})((u{1}){2} {3} (u{1}){4}))", type, op->dtype.bits, a, symbol, b);
    return op->dtype.is_integer() && op->dtype.bits < 32 ? fmt::format("(({}){})", type, plain) : plain;
  };
  const auto rounds_up = [&] {
    return !op->a->dtype.is_vector() && op->a->dtype.code == TypeCode::kInt &&
           !(facts_.bounds(op->a).lo >= 0 && facts_.bounds(op->b).lo >= 1);
  };
  const bool is_bool = op->a->dtype.is_bool();
  switch (op->op) {
    case BinaryOp::kAdd: return arithmetic("+");
    case BinaryOp::kSub: return arithmetic("-");
    case BinaryOp::kMul: return arithmetic("*");
    case BinaryOp::kDiv: return arithmetic("/");
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: {
      const bool division = op->op == BinaryOp::kFloorDiv;
      const bool plain = op->a->dtype.code == TypeCode::kUInt || (!op->a->dtype.is_vector() && !rounds_up());
      return plain ? fmt::format("({} {} {})", a, division ? "/" : "%", b)
                   : fmt::format("{}_{}({}, {})", division ? "floordiv" : "floormod", type, a, b);
    }
    case BinaryOp::kMin: return is_bool ? fmt::format("({} && {})", a, b) : extreme(op, a, b);
    case BinaryOp::kMax: return is_bool ? fmt::format("({} || {})", a, b) : extreme(op, a, b);
    case BinaryOp::kEq: return fmt::format("({} == {})", a, b);
    case BinaryOp::kNe: return fmt::format("({} != {})", a, b);
    case BinaryOp::kLt: return fmt::format("({} < {})", a, b);
    case BinaryOp::kLe: return fmt::format("({} <= {})", a, b);
    case BinaryOp::kAnd: return fmt::format("({} && {})", a, b);
    case BinaryOp::kOr: return fmt::format("({} || {})", a, b);
  }
  throw InternalError("an operator of unknown kind");
}

std::string ExprWriter::extreme(const Binary* op, const std::string& a, const std::string& b) const {
  const std::string type = type_of(op->a->dtype), name = op->op == BinaryOp::kMin ? "min" : "max";
  const NanForm form = op->dtype.is_float() ? nan_form(op, assume_finite_) : NanForm::kInOrder;
  if (form == NanForm::kTested) return fmt::format("{}imum_{}({}, {})", name, type, a, b);  // minimum_f32
  const bool in_order = form == NanForm::kInOrder;
  return fmt::format("{}_{}({}, {})", name, type, in_order ? a : b, in_order ? b : a);
}

std::string ExprWriter::call(const Call* op, int lane) {
  if (op->function == Intrinsic::kDot2)
    return fmt::format("({} * {} + {} * {})", text(op->args[0], lane), text(op->args[2], lane), text(op->args[1], lane),
                       text(op->args[3], lane));
  if (op->function == Intrinsic::kDot4) return dot4(op, "0", lane);
  const std::string args =
      absl::StrJoin(op->args, ", ", [&](std::string* out, const Expr& a) { *out += text(a, lane); });
  if (op->function == Intrinsic::kAbs && op->dtype.code == TypeCode::kUInt) return args;
  const std::string value = fmt::format("{}_{}({})", hone::name_of(op->function), type_of(op->dtype), args);
  return op->dtype.is_narrow_float() ? rounded(value, op->dtype) : value;
}

std::string ExprWriter::dot4(const Call* op, const std::string& sum, int lane) {
  return fmt::format("dot4({}, {}, {})", dot_word(op, 0, lane), dot_word(op, 4, lane), sum);
}

// The four arguments from `first` on as a word: that of memory where its address is proved to be a multiple of 4.
std::string ExprWriter::dot_word(const Call* op, size_t first, int lane) {
  const auto words = dot_words(op, first);
  const auto form = words ? linear_of(words->base) : std::nullopt;
  const auto aligned = [](int64_t n) { return n % 4 == 0; };
  if (form && words->first->buffer->scope != BufferScope::kStack && aligned(form->constant) &&
      std::all_of(form->terms.begin(), form->terms.end(),
                  [&](const Linear::Term& term) { return aligned(term.coefficient); })) {
    const Expr index = words->uniform ? words->base : words->base + make_int(4 * lane);
    const std::string word = fmt::format("*({}const u32*)({} + {})", pointer_to(words->first->buffer),
                                         name_of(words->first->buffer.get()), text(index));
    return words->inside ? fmt::format("({} ? {} : {}u)", text(words->inside), word, words->border) : word;
  }
  return fmt::format("word_of({})",
                     absl::StrJoin(op->args.begin() + static_cast<std::ptrdiff_t>(first),
                                   op->args.begin() + static_cast<std::ptrdiff_t>(first + 4), ", ",
                                   [&](std::string* out, const Expr& a) { *out += "(u8)" + text(a, lane); }));
}

// --- vectors ---

std::string ExprWriter::vector_at(const Buffer& buffer, const Expr& index) {
  return fmt::format("*({}{}x{}*)({} + {})", pointer_to(buffer), memory_type(buffer->dtype), index->dtype.lanes,
                     name_of(buffer.get()), text(as<Ramp>(index)->base));
}

std::vector<std::string> ExprWriter::take_vectors(const Expr& e) {
  class Loads final : public Visitor {
   public:
    std::vector<const Load*> all;

   protected:
    using Visitor::visit;
    void visit(const Load* op) override {
      if (op->dtype.is_vector()) all.push_back(op);
      Visitor::visit(op);
    }
    // Only the chosen side's loads are performed.
    void visit(const Select* op) override { (*this)(op->condition); }
  } loads;
  loads(e);
  std::vector<std::string> declarations;
  for (const Load* op : loads.all) {
    if (vectors_.count(op) || !selected_.vector_loads.count(op)) continue;
    const std::string name = fmt::format("r{}", vectors_.size());
    declarations.push_back(fmt::format("const {}x{} {} = {};", memory_type(op->buffer->dtype), op->dtype.lanes, name,
                                       vector_at(op->buffer, op->indices[0])));
    vectors_.emplace(op, name);
  }
  return declarations;
}

}  // namespace hone
