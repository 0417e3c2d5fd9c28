#include "compiler/frontend/lowering/ragged_extents.h"

#include <algorithm>

namespace hone::frontend {

ValueId same_number(const GraphBuilder& b, ValueId numbers, int64_t at) {
  ValueId same = kNoValue;
  for (ValueId v = numbers;;) {
    const TensorType& type = b.type(v);
    if (type == TensorType{i64, {1}}) same = v;
    const auto made = std::find_if(b.nodes().rbegin(), b.nodes().rend(),
                                   [&](const Node& n) { return n.outputs.size() == 1 && n.outputs[0] == v; });
    if (made == b.nodes().rend()) return same;
    const bool is_row = type.shape.size() == 1 && b.type(made->inputs[0]).shape.size() == 1;
    v = made->inputs[0];
    if (is<ops::Reshape>(*made)) continue;
    if (!is_row) return same;
    if (is<ops::Concat>(*made)) {
      size_t part = 0;
      for (; at >= b.type(made->inputs[part]).shape[0]; ++part) at -= b.type(made->inputs[part]).shape[0];
      v = made->inputs[part];
    } else if (is<ops::Gather>(*made) && b.constant_of(made->inputs[1])) {
      const int64_t n = b.type(v).shape[0];
      at = b.constant_of(made->inputs[1])->numbers().at(static_cast<size_t>(at));
      at = std::clamp<int64_t>(at < 0 ? at + n : at, 0, n - 1);  // as gather has it
    } else if (is<ops::Slice>(*made)) {
      const Attributes& a = made->workload.attributes;
      at = a.get<std::vector<int64_t>>("begin").at(0) + at * a.get<std::vector<int64_t>>("step").at(0);
    } else {
      return same;
    }
  }
}

void agree(std::optional<Ragged>* known, const std::optional<Ragged>& more) {
  if (!more) return;
  HONE_USER_CHECK(!*known || **known == *more)
      << "extents that are known only when it runs meet, and may be different ones";
  *known = more;
}

std::optional<Ragged> on_axis(std::optional<Ragged> r, int64_t by) {
  if (r) r->axis = static_cast<size_t>(static_cast<int64_t>(r->axis) + by);
  return r;
}

std::optional<size_t> open_axis(const Operand& numbers) {
  if (!numbers.least) return std::nullopt;
  const std::vector<int64_t> least = numbers.least->numbers(), most = numbers.known->numbers();
  std::optional<size_t> axis;
  for (size_t d = 0; d < most.size(); ++d) {
    if (least[d] == most[d]) continue;
    HONE_USER_CHECK(!axis) << "two extents are known only when it runs";
    axis = d;
  }
  return axis;
}

}  // namespace hone::frontend
