#include "compiler/ops/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/split_text.h"

namespace hone {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 32;
constexpr size_t kMaxAxes = 8, kMaxFunctions = 16;

Expr constant(double v, const Expr& like) { return make_const(v, like->dtype); }
Expr negative(const Expr& x) { return constant(-0.0, x) - x; }
Expr sigmoid(const Expr& x) { return constant(1, x) / (constant(1, x) + call(Intrinsic::kExp, {negative(x)})); }
Expr hard_sigmoid(const Expr& x) {
  return max(min(x * constant(1.0 / 6, x) + constant(0.5, x), constant(1, x)), constant(0, x));
}
Expr gelu(const Expr& x) {
  constexpr double kHalfRoot = 0.70710678118654752;
  return x * constant(0.5, x) * (constant(1, x) + call(Intrinsic::kErf, {x * constant(kHalfRoot, x)}));
}

int64_t whole_number(std::string_view attribute, std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  HONE_USER_CHECK(error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
      << attribute << ": '" << text << "' is not a whole number from " << least << " to " << most;
  return value;
}

std::vector<int64_t> parse_shape(std::string_view attribute, std::string_view text) {
  HONE_USER_CHECK(text.find('?') == std::string_view::npos)
      << attribute << "=" << text << ": unknown extents are not supported yet";
  std::vector<int64_t> shape;
  for (const std::string& extent : split_text(text, 'x'))
    shape.push_back(whole_number(attribute, extent, 1, kMaxExtent));
  HONE_USER_CHECK(shape.size() <= kMaxAxes)
      << attribute << "=" << text << " has " << shape.size() << " axes; at most " << kMaxAxes;
  element_count(shape);
  return shape;
}

std::vector<const ElementwiseFunction*> parse_functions(std::string_view text) {
  std::vector<const ElementwiseFunction*> out;
  for (const std::string& name : split_text(text, '+')) {
    const auto& all = elementwise_functions();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const ElementwiseFunction& f) { return f.name == name; });
    if (found == all.end()) {
      std::string names;
      for (const ElementwiseFunction& f : all) names += fmt::format("{}{}", names.empty() ? "" : " ", f.name);
      throw UserError(fmt::format("op={}: '{}' is unknown; allowed, joined by +: {}", text, name, names));
    }
    out.push_back(&*found);
  }
  HONE_USER_CHECK(out.size() <= kMaxFunctions)
      << "op=" << text << " has " << out.size() << " functions; at most " << kMaxFunctions;
  return out;
}

std::vector<std::vector<int64_t>> parse_operands(std::string_view text, const std::vector<int64_t>& shape) {
  if (text == "none") return {};
  std::vector<std::vector<int64_t>> out;
  for (const std::string& part : split_text(text, ':')) {
    out.push_back(part == "same" ? shape : parse_shape("operands", part));
    bool fits = out.back().size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) fits = out.back()[d] == shape[d] || out.back()[d] == 1;
    HONE_USER_CHECK(fits) << "operands=" << text << ": " << part
                          << " does not fit shape=" << fmt::format("{}", fmt::join(shape, "x"))
                          << "; each extent is the shape's or 1";
  }
  return out;
}

std::string* attribute(Workload* w, std::string_view name) {
  for (auto& [attribute_name, value] : w->attributes)
    if (attribute_name == name) return &value;
  HONE_ICHECK(false) << w->task << " has no attribute " << name;
  return nullptr;
}

std::vector<int64_t> parse_axes(const std::string& text, int64_t rank) {
  std::vector<int64_t> axes;
  if (text == "all") {
    for (int64_t a = 0; a < rank; ++a) axes.push_back(a);
    return axes;
  }
  for (const std::string& part : split_text(text, ':')) {
    const int64_t axis = whole_number("axes", part, -rank, rank - 1);
    axes.push_back(axis < 0 ? axis + rank : axis);
  }
  std::sort(axes.begin(), axes.end());
  HONE_USER_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end())
      << "axes=" << text << " names an axis twice";
  return axes;
}

}  // namespace

const std::vector<ElementwiseFunction>& elementwise_functions() {
  static const std::vector<ElementwiseFunction> kFunctions = {
      {"relu", false, 1, [](const Expr& x, const Expr&) { return max(x, constant(0, x)); }},
      {"relu6", false, 2, [](const Expr& x, const Expr&) { return min(max(x, constant(0, x)), constant(6, x)); }},
      {"leaky_relu", false, 2, [](const Expr& x, const Expr&) { return max(x, x * constant(0.01, x)); }},
      {"abs", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kAbs, {x}); }},
      {"neg", false, 1, [](const Expr& x, const Expr&) { return negative(x); }},
      {"square", false, 1, [](const Expr& x, const Expr&) { return x * x; }},
      {"sqrt", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kSqrt, {x}); }},
      {"rsqrt", false, 2, [](const Expr& x, const Expr&) { return constant(1, x) / call(Intrinsic::kSqrt, {x}); }},
      {"reciprocal", false, 1, [](const Expr& x, const Expr&) { return constant(1, x) / x; }},
      {"exp", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kExp, {x}); }},
      {"log", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kLog, {x}); }},
      {"tanh", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kTanh, {x}); }},
      {"erf", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kErf, {x}); }},
      {"sigmoid", false, 4, [](const Expr& x, const Expr&) { return sigmoid(x); }},
      {"silu", false, 5, [](const Expr& x, const Expr&) { return x * sigmoid(x); }},
      {"gelu", false, 5, [](const Expr& x, const Expr&) { return gelu(x); }},
      {"hard_sigmoid", false, 4, [](const Expr& x, const Expr&) { return hard_sigmoid(x); }},
      {"hard_swish", false, 5, [](const Expr& x, const Expr&) { return x * hard_sigmoid(x); }},
      {"add", true, 1, [](const Expr& x, const Expr& y) { return x + y; }},
      {"sub", true, 1, [](const Expr& x, const Expr& y) { return x - y; }},
      {"mul", true, 1, [](const Expr& x, const Expr& y) { return x * y; }},
      {"div", true, 1, [](const Expr& x, const Expr& y) { return x / y; }},
      {"max", true, 1, [](const Expr& x, const Expr& y) { return max(x, y); }},
      {"min", true, 1, [](const Expr& x, const Expr& y) { return min(x, y); }},
  };
  return kFunctions;
}

ElementwiseShape elementwise_shape(const Workload& w) {
  ElementwiseShape s;
  s.functions = parse_functions(w.text("op"));
  s.shape = parse_shape("shape", w.text("shape"));
  s.operands = parse_operands(w.text("operands"), s.shape);
  return s;
}

ReduceShape reduce_shape(const Workload& w) {
  ReduceShape s;
  s.op = w.text("op");
  s.shape = parse_shape("shape", w.text("shape"));
  s.axes = parse_axes(w.text("axes"), static_cast<int64_t>(s.shape.size()));
  const bool keep = w.text("keepdims") == "1";
  for (size_t d = 0; d < s.shape.size(); ++d) {
    const bool reduced = std::find(s.axes.begin(), s.axes.end(), static_cast<int64_t>(d)) != s.axes.end();
    if (reduced) s.length *= s.shape[d];
    if (!reduced || keep) s.out.push_back(reduced ? 1 : s.shape[d]);
  }
  if (s.out.empty()) s.out.push_back(1);
  return s;
}

void canonicalise_elementwise(Workload* w) {
  const auto functions = parse_functions(*attribute(w, "op"));
  const auto shape = parse_shape("shape", *attribute(w, "shape"));
  *attribute(w, "shape") = fmt::format("{}", fmt::join(shape, "x"));
  const auto wanted =
      static_cast<size_t>(std::count_if(functions.begin(), functions.end(), [](const auto* f) { return f->binary; }));
  std::string* text = attribute(w, "operands");
  auto operands = parse_operands(*text, shape);
  // `same` alone stands for all of them, however many.
  if (*text == "same") operands.assign(wanted, shape);
  HONE_USER_CHECK(operands.size() == wanted)
      << "operands=" << *text << " are " << operands.size() << ", but op=" << w->text("op") << " takes " << wanted;
  std::string canonical;
  for (const auto& o : operands)
    canonical +=
        fmt::format("{}{}", canonical.empty() ? "" : ":", o == shape ? "same" : fmt::format("{}", fmt::join(o, "x")));
  *text = canonical.empty() ? "none" : canonical;
}

void canonicalise_reduce(Workload* w) {
  const std::string& op = *attribute(w, "op");
  HONE_USER_CHECK(op == "sum" || op == "mean" || op == "max" || op == "min")
      << "op=" << op << " is unknown; allowed: sum, mean, max, min";
  const auto shape = parse_shape("shape", *attribute(w, "shape"));
  *attribute(w, "shape") = fmt::format("{}", fmt::join(shape, "x"));
  *attribute(w, "axes") =
      fmt::format("{}", fmt::join(parse_axes(*attribute(w, "axes"), static_cast<int64_t>(shape.size())), ":"));
  const std::string& keep = *attribute(w, "keepdims");
  HONE_USER_CHECK(keep == "0" || keep == "1") << "keepdims=" << keep << " is neither 0 nor 1";
}

}  // namespace hone
