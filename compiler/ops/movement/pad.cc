// pad: x with elements around it, as ONNX's Pad has them.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/narrow_floats.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

constexpr int64_t kMostPad = int64_t{1} << 32;

enum class PadMode { kConstant, kReflect, kEdge, kWrap };

struct PadShape {
  std::vector<int64_t> shape, before, out;
  PadMode mode = PadMode::kConstant;
  Expr value;             ///< of the output's type
  std::string canonical;  ///< the text that `value` has in every workload
};

template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// A number; its type is known when all attributes are.
AttributeParser any_number() {
  return [](std::string_view text, const AttributeContext& context) {
    HONE_USER_CHECK(number_in<double>(text)) << context.name << "=" << text << " is not a number";
    return ParsedAttribute{std::string(text), std::string(text)};
  };
}

// `text` as a constant of type `t` and the shortest text of that constant; UserError where there is none.
void read_value(const std::string& text, DType t, PadShape* s) {
  const auto fail = [&] { throw UserError(fmt::format("pad: value={} is no {}", text, to_string(t))); };
  const double number = *number_in<double>(text);
  if (t == f64) {
    s->value = make_float(number, t);
    s->canonical = std::isnan(number) ? "nan" : fmt::format("{}", number);
  } else if (t.is_float()) {
    auto rounded = static_cast<float>(number);
    if (t == f16) rounded = float_of_f16(f16_of_float(rounded));
    if (t == bf16) rounded = float_of_bf16(bf16_of_float(rounded));
    if (std::isfinite(number) && !std::isfinite(rounded)) fail();
    s->value = make_float(rounded, t);
    s->canonical = std::isnan(rounded) ? "nan" : fmt::format("{}", rounded);
  } else {
    // Whole numbers of 64 bits do not all fit a double, and those of u64 are constants with the same bits.
    std::optional<int64_t> whole = number_in<int64_t>(text);
    bool is_large = false;
    if (const auto unsigned_whole = number_in<uint64_t>(text); !whole && unsigned_whole) {
      whole = static_cast<int64_t>(*unsigned_whole);
      is_large = true;
    }
    if (!whole && number == std::floor(number) && std::fabs(number) < 0x1p62) whole = static_cast<int64_t>(number);
    const int bits = t.is_bool() ? 1 : t.bits;
    const bool is_signed = t.code == TypeCode::kInt;
    if (!whole || (is_large && t != u64) || (!is_signed && *whole < 0 && !is_large)) fail();
    if (bits < 64) {
      const int64_t end = int64_t{1} << (is_signed ? bits - 1 : bits);
      if (*whole >= end || *whole < (is_signed ? -end : 0)) fail();
    }
    s->value = make_int(*whole, t);
    s->canonical = is_large ? fmt::format("{}", static_cast<uint64_t>(*whole)) : fmt::format("{}", *whole);
  }
}

PadShape shape_of_pad(const Attributes& a) {
  const auto &before = a.get<std::vector<int64_t>>("before"), &after = a.get<std::vector<int64_t>>("after");
  const auto& mode = a.get<std::string>("mode");
  PadShape s;
  s.shape = a.get<std::vector<int64_t>>("shape");
  s.before = before;
  s.mode = mode == "constant"  ? PadMode::kConstant
           : mode == "reflect" ? PadMode::kReflect
           : mode == "edge"    ? PadMode::kEdge
                               : PadMode::kWrap;
  for (size_t d = 0; d < s.shape.size(); ++d) {
    const int64_t most = std::max(before[d], after[d]);
    HONE_USER_CHECK(s.mode != PadMode::kReflect || most < s.shape[d])
        << "pad: mode=reflect has " << s.shape[d] - 1 << " elements to mirror along axis " << d << ", not " << most;
    s.out.push_back(before[d] + s.shape[d] + after[d]);
  }
  s.out = checked_shape("pad: the output", s.out);
  read_value(a.get<std::string>("value"), a.get<DTypes>("dtype").in, &s);
  return s;
}

// The canonical spelling of a pad: one text for each number, and value 0 in modes that read no value.
std::optional<Spelling> respelled_pad(const Attributes& a) {
  const PadShape s = shape_of_pad(a);
  const std::string value = s.mode == PadMode::kConstant ? s.canonical : "0";
  if (value == a.text("value")) return std::nullopt;
  Spelling spelling{"pad", {}};
  for (const Attributes::Item& item : a)
    spelling.attributes.emplace_back(item.name, item.name == "value" ? value : item.text);
  return spelling;
}

// The index of the element that stands for index `j`, before the first or behind the last of `extent`. The clamp
// changes no j that occurs; it proves that reads stay inside.
Expr stand_in(PadMode mode, const Expr& j, int64_t extent) {
  if (mode == PadMode::kWrap) return floor_mod(j, extent);
  const Expr last = make_int(extent - 1), zero = make_int(0);
  if (mode == PadMode::kEdge) return max(min(j, last), zero);
  const Expr positive = max(j, zero - j);
  return max(min(min(positive, make_int(2 * (extent - 1)) - positive), last), zero);
}

Definition padded(const Workload& w) {
  const auto& s = w.shape_as<PadShape>();
  return moved(w, s.out, [&](const Tensor& x, const std::vector<Expr>& i) {
    std::vector<Expr> at, border;
    Expr is_inside = make_bool(true);
    for (size_t d = 0; d < i.size(); ++d) {
      const int64_t end = s.before[d] + s.shape[d];
      at.push_back(i[d] - s.before[d]);
      border.push_back(s.out[d] == s.shape[d] ? at[d] : stand_in(s.mode, at[d], s.shape[d]));
      if (s.before[d] > 0) is_inside = logical_and(is_inside, ge(i[d], s.before[d]));
      if (end < s.out[d]) is_inside = logical_and(is_inside, lt(i[d], end));
    }
    // Inside, where most elements are, neighbours are read as neighbours.
    return select(is_inside, x.at(at), s.mode == PadMode::kConstant ? s.value : x.at(border));
  });
}

}  // namespace

Operator pad_operator() {
  Operator op;
  op.name = "pad";
  op.summary =
      "x with elements around it: before=0:0:1:1,after=0:0:1:1,mode=constant,value=0; one number is for all axes";
  op.attributes = {{"shape", "1x64x56x56", extents()},
                   {"before", "0", number_each(0, kMostPad)},
                   {"after", "0", number_each(0, kMostPad)},
                   {"mode", "constant", one_of({"constant", "reflect", "edge", "wrap"})},
                   {"value", "0", any_number()},
                   {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_pad(a)); };
  op.infer = &infer_shape_and_dtype;
  op.define = &padded;
  op.flops = &elements_moved;
  op.respell = &respelled_pad;
  return op;
}

}  // namespace hone
