#include "compiler/ops/movement/movement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ir/layout.h"
#include "compiler/ops/attributes/split_text.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

constexpr int64_t kMostProduct = int64_t{1} << 62;

}  // namespace

std::vector<int64_t> parse_numbers(std::string_view what, std::string_view text, size_t count, int64_t least,
                                   int64_t most) {
  std::vector<int64_t> numbers;
  for (const std::string& part : split_text(text, ':')) numbers.push_back(parse_number(what, part, least, most));
  if (numbers.size() == 1) numbers.resize(count, numbers[0]);
  HONE_USER_CHECK(numbers.size() == count)
      << what << "=" << text << " are " << numbers.size() << " numbers, not " << count;
  return numbers;
}

std::string text_of_numbers(const std::vector<int64_t>& numbers) { return fmt::format("{}", fmt::join(numbers, ":")); }

AttributeParser number_each(int64_t least, int64_t most) {
  return [least, most](std::string_view text, const AttributeContext& context) {
    const size_t rank = context.before.get<std::vector<int64_t>>("shape").size();
    std::vector<int64_t> value = parse_numbers(context.name, text, rank, least, most);
    return ParsedAttribute{text_of_numbers(value), std::move(value)};
  };
}

AttributeParser axis_of(std::function<size_t(const Attributes& before)> rank_of) {
  return [rank_of = std::move(rank_of)](std::string_view text, const AttributeContext& context) {
    const auto rank = static_cast<int64_t>(rank_of(context.before));
    const int64_t given = parse_number(context.name, text, -rank, rank - 1);
    const int64_t axis = given < 0 ? given + rank : given;
    return ParsedAttribute{fmt::format("{}", axis), axis};
  };
}

std::vector<int64_t> checked_shape(std::string_view what, std::vector<int64_t> shape) {
  if (shape.empty()) shape.push_back(1);
  return parse_extents(what, text_of_extents(shape));
}

int64_t checked_product(std::string_view what, int64_t a, int64_t b) {
  int64_t n = 0;
  HONE_USER_CHECK(!__builtin_mul_overflow(a, b, &n) && n > -kMostProduct && n < kMostProduct)
      << what << ": " << a << " times " << b << " is too large";
  return n;
}

AttributeTexts infer_shape_and_dtype(std::span<const TensorType> inputs) {
  const TensorType& x = input_at(inputs, 0, "x");
  return {{"shape", text_of_extents(x.shape)}, {"dtype", to_string(x.dtype)}};
}

bool only_moves(const Workload& w) {
  const auto* const operations = w.op->flops.target<double (*)(const Workload&)>();
  if (!operations || *operations != &elements_moved) return false;
  return !w.attributes.has("epilogue") || w.attributes.text("epilogue") == "none";
}

double elements_moved(const Workload& w) { return static_cast<double>(element_count(define(w).output()->shape)); }

Definition moved(const Workload& w, const std::vector<int64_t>& shape,
                 const std::function<Expr(const Tensor& x, const std::vector<Expr>& i)>& body) {
  const Tensor x = placeholder("x", w.attributes.get<std::vector<int64_t>>("shape"), dtypes_of(w).in);
  Definition d;
  d.inputs = {{x, ParamRole::kInput}};
  d.outputs = {
      compute("out", shape, axis_names(shape.size()), {x}, [&](const std::vector<Expr>& i) { return body(x, i); })};
  return d;
}

// The element, clamped to -extent .. extent - 1, modulo the extent: negative indices count from the end. The result's
// range is known whatever the element is; no other form of this has a proof.
Expr index_within(const Expr& element, int64_t extent) {
  return floor_mod(min(max(cast(kIndex, element), make_int(-extent)), make_int(extent - 1)), extent);
}

AttributeParser indices_of_gather() {
  return [](std::string_view text, const AttributeContext& context) {
    HONE_USER_CHECK(text != "scalar") << context.op
                                      << ": indices=scalar is not supported; give them a dimension of one element";
    std::vector<int64_t> value = parse_extents(context.name, text);
    return ParsedAttribute{text_of_extents(value), std::move(value)};
  };
}

AttributeTexts infer_gather(std::span<const TensorType> inputs) {
  const TensorType &data = input_at(inputs, 0, "data"), &indices = input_at(inputs, 1, "indices");
  return {{"shape", text_of_extents(data.shape)},
          {"indices", indices.shape.empty() ? "scalar" : text_of_extents(indices.shape)},
          {"index", to_string(indices.dtype)},
          {"dtype", to_string(data.dtype)}};
}

}  // namespace hone
