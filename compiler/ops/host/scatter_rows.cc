// scatter_rows: a tensor with some of its rows replaced, or combined with others, at positions that a call says.
#include <algorithm>
#include <iterator>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/host_function.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

// In the order of HONE_SCATTER_NONE to _MIN.
constexpr std::string_view kReductions[] = {"none", "add", "mul", "max", "min"};

AttributeParser reduction() {
  return [](std::string_view text, const AttributeContext& c) {
    const auto* at = std::find(std::begin(kReductions), std::end(kReductions), text);
    HONE_USER_CHECK(at != std::end(kReductions))
        << c.op << ": reduction=" << text << " is not supported; allowed: none, add, mul, max, min";
    return ParsedAttribute{std::string(text), static_cast<int64_t>(at - std::begin(kReductions))};
  };
}

std::optional<HostFunction> scatter_rows(const Workload& w) {
  const Attributes& a = w.attributes;
  const int64_t n = a.number("n"), rows = a.number("rows"), row = a.number("row");
  const DType t = dtypes_of(w).in;
  const TensorType x{t, {rows, row}};
  return HostFunction{"scatter_rows",
                      {n, rows, row, a.number("reduction"), order_code(t), t.bytes() * 8},
                      {x, {i64, {n}}, {t, {n, row}}},
                      {x},
                      0,
                      &hone_internal_scatter_rows};
}

AttributeTexts infer_scatter_rows(std::span<const TensorType> inputs) {
  const TensorType &x = input_of_rank(inputs, 0, "x", 2), &positions = input_of_rank(inputs, 1, "places", 1);
  return {{"n", std::to_string(positions.shape[0])},
          {"rows", std::to_string(x.shape[0])},
          {"row", std::to_string(x.shape[1])},
          {"dtype", to_string(x.dtype)}};
}

}  // namespace

Operator scatter_rows_operator() {
  Operator op;
  op.name = "scatter_rows";
  op.summary =
      "x with n of its rows replaced by updates, or with reduction=add (mul, max, min) combined, in order; updates "
      "whose "
      "place is none are left out (in models; no tuning)";
  op.attributes = {{"n", "100", whole_number()},
                   {"rows", "1000", whole_number()},
                   {"row", "64", whole_number()},
                   {"reduction", "none", reduction()},
                   {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) {
    checked_shape("scatter_rows: x", {a.number("rows"), a.number("row")});
    checked_shape("scatter_rows: the updates", {a.number("n"), a.number("row")});
    const DType t = a.get<DTypes>("dtype").in;
    HONE_USER_CHECK(a.number("reduction") == 0 || (!t.is_narrow_float() && !t.is_bool()))
        << "scatter_rows: reduction=" << a.text("reduction") << " of " << to_string(t) << " is not supported";
    return std::any();
  };
  op.infer = &infer_scatter_rows;
  op.flops = [](const Workload& w) {
    const Attributes& a = w.attributes;
    return static_cast<double>(a.number("rows") + a.number("n")) * static_cast<double>(a.number("row"));
  };
  op.host = &scatter_rows;
  return op;
}

}  // namespace hone
