#include "compiler/frontend/onnx/ragged_node.h"

namespace hone::onnx {

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

}  // namespace hone::onnx
