#include "compiler/frontend/lowering/operators/scatter.h"

#include <algorithm>

#include "compiler/ir/layout.h"

namespace hone::frontend {

// Each row of the result is the data's or an update's, so it is gathered from both.
Operand scattered(Lowering& l, const Operand& data, const Operand& updates, const std::vector<int64_t>& target,
                  const std::string& reduction, int64_t row) {
  const int64_t count = element_count(data.type.shape) / row;
  HONE_USER_CHECK(l.may_make(element_count({count, 8}))) << to_string(data.type) << " is too large";
  const auto by_rows = [&](int64_t n) { return row == 1 ? Extents{n} : Extents{n, row}; };
  const Operand flat = l.reshape(data, by_rows(count)),
                news = l.reshape(updates, by_rows(element_count(updates.type.shape) / row));
  const auto gathered = [&](const Operand& from, const std::vector<int64_t>& at) {
    return l.add("gather", {{"axis", "0"}}, {l.value(from), l.value(l.numbers(at))});
  };
  if (reduction == "none") {
    std::vector<int64_t> at(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) at[static_cast<size_t>(i)] = i;
    for (size_t u = 0; u < target.size(); ++u) at[static_cast<size_t>(target[u])] = count + static_cast<int64_t>(u);
    return l.reshape(gathered(l.concat({flat, news}, 0), at), data.type.shape);
  }
  const char* function = reduction == "add"   ? "add"
                         : reduction == "mul" ? "mul"
                         : reduction == "max" ? "maximum"
                         : reduction == "min" ? "minimum"
                                              : nullptr;
  HONE_USER_CHECK(function) << "reduction=" << reduction << " is not supported";
  // Other reductions update only the written elements, in rounds: one update of each in a round.
  std::vector<int64_t> written = target;
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  std::vector<std::vector<int64_t>> rounds;
  std::vector<size_t> taken(written.size(), 0);
  for (size_t u = 0; u < target.size(); ++u) {
    const auto at = static_cast<size_t>(std::lower_bound(written.begin(), written.end(), target[u]) - written.begin());
    const size_t round = taken[at]++;
    constexpr size_t kMostRounds = 64;
    HONE_USER_CHECK(round < kMostRounds) << "more than " << kMostRounds << " updates of one element are not supported";
    if (round == rounds.size()) {
      HONE_USER_CHECK(l.may_make(static_cast<int64_t>(written.size()) * 16)) << "its updates are too many";
      rounds.emplace_back(written.size(), -1);
    }
    rounds[round][at] = static_cast<int64_t>(u);
  }
  const auto elements = static_cast<int64_t>(written.size());
  Operand out = gathered(flat, written);
  for (std::vector<int64_t>& at : rounds) {
    std::string takes;
    for (int64_t& u : at) {
      takes += u >= 0 ? '\1' : '\0';
      u = std::max<int64_t>(u, 0);
    }
    const Operand mask =
        l.constant(TensorData({boolean, row == 1 ? Extents{elements} : Extents{elements, 1}}, std::move(takes)));
    out = l.pointwise("where", {l.pointwise(function, {out, gathered(news, at)}), mask, out});
  }
  return scattered(l, data, out, written, "none", row);
}

Operand scattered_rows(Lowering& l, const Operand& data, const Operand& updates, const Operand& positions, int64_t rows,
                       int64_t row, const std::string& reduction) {
  const int64_t n = element_count(positions.type.shape);
  HONE_USER_CHECK(updates.type.dtype == data.type.dtype && element_count(updates.type.shape) == n * row)
      << to_string(updates.type) << " into " << to_string(data.type);
  // 16-bit floats are combined as f32, and rounded once.
  const DType t = reduction != "none" && data.type.dtype.is_narrow_float() ? f32 : data.type.dtype;
  const Operand out = l.add(
      "scatter_rows", {{"reduction", reduction}},
      {l.as(l.cast(data, t), {rows, row}), l.as(positions, {n}), l.as(l.cast(updates, t), {n, row})}, data.type.shape);
  return l.cast(out, data.type.dtype);
}

}  // namespace hone::frontend
