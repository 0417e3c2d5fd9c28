// non_max_suppression: of boxes that overlap the ones with the best scores.
#include "compiler/ops/host_function.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

struct SuppressionShape {
  int64_t batches = 0, classes = 0, boxes = 0, most = 0;
  std::vector<int64_t> selected;
};

SuppressionShape shape_of_suppression(const Attributes& a) {
  SuppressionShape s{a.number("batches"), a.number("classes"), a.number("boxes"), a.number("most"), {}};
  HONE_USER_CHECK(s.most <= s.boxes) << "most=" << s.most << " of " << s.boxes << " boxes";
  s.selected = checked_shape(
      "non_max_suppression: the output",
      {checked_product("non_max_suppression", checked_product("non_max_suppression", s.batches, s.classes), s.most),
       3});
  return s;
}

std::optional<HostFunction> suppression(const Workload& w) {
  const auto& s = w.shape_as<SuppressionShape>();
  const TensorType count{i64, {1}}, threshold{f32, {1}};
  return HostFunction{
      "non_max_suppression",
      {s.batches, s.classes, s.boxes, s.most, w.attributes.get<bool>("center") ? 1 : 0},
      {{f32, {s.batches, s.boxes, 4}}, {f32, {s.batches, s.classes, s.boxes}}, count, count, threshold, threshold},
      {{i64, s.selected}, count},
      48 * s.boxes + 4080,
      &hone_internal_non_max_suppression};
}

AttributeTexts infer_suppression(std::span<const TensorType> inputs) {
  const TensorType& scores = input_of_rank(inputs, 1, "scores", 3);
  return {{"batches", std::to_string(scores.shape[0])},
          {"classes", std::to_string(scores.shape[1])},
          {"boxes", std::to_string(scores.shape[2])}};
}

}  // namespace

Operator non_max_suppression_operator() {
  Operator op;
  op.name = "non_max_suppression";
  op.summary =
      "of overlapping boxes those with the best scores, at most so many of a class: most=100; center=1: a box is its "
      "center and size, not two corners (in models; no tuning)";
  op.attributes = {{"batches", "1", whole_number()},
                   {"classes", "80", whole_number()},
                   {"boxes", "1000", whole_number()},
                   {"most", "100", whole_number()},
                   {"center", "0", flag()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_suppression(a)); };
  op.infer = &infer_suppression;
  op.flops = [](const Workload& w) {
    const auto& s = w.shape_as<SuppressionShape>();
    return static_cast<double>(s.batches * s.classes) * static_cast<double>(s.boxes) * 16;
  };
  op.host = &suppression;
  return op;
}

}  // namespace hone
