#include "compiler/model/model_data.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/check/inputs.h"

namespace hone {
namespace {

TensorData seeded_input(const Port& p, uint32_t number) {
  std::string bytes(static_cast<size_t>(bytes_of(p.type)), '\0');
  const Status filled = fill_input(bytes.data(), p.type.dtype, element_count(p.type.shape), 1, number);
  HONE_USER_CHECK(filled.ok()) << message_of(filled);
  // Whole numbers are ids more often than not: small ones are in every table.
  if (p.type.dtype.is_integer() && p.type.dtype.bytes() >= 4)
    for (size_t i = 0; i < bytes.size(); ++i)
      if (i % static_cast<size_t>(p.type.dtype.bytes()) != 0) bytes[i] = 0;
  return {p.type, std::move(bytes)};
}

}  // namespace

std::vector<TensorData> seeded_inputs(const Graph& g) {
  std::vector<TensorData> inputs;
  for (const Port& p : g.inputs) inputs.push_back(seeded_input(p, static_cast<uint32_t>(inputs.size())));
  return inputs;
}

std::vector<TensorData> with_most_rows(std::vector<TensorData> inputs, const Graph& g, const Growth& growth) {
  inputs.resize(caller_inputs(g, &growth));
  inputs.push_back(TensorData::of_numbers({growth.most}));
  return inputs;
}

Difference difference(const TensorData& got, const TensorData& wanted) {
  const std::vector<double> a = got.values(), b = wanted.values();
  double most = 0, size = 0, sum = 0, sum_size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) {
      if (std::isfinite(b[i])) size = std::max(size, std::abs(b[i])), sum_size += b[i] * b[i];
      continue;
    }
    const double d = std::abs(a[i] - b[i]);
    if (!std::isfinite(d)) return {INFINITY, INFINITY};
    most = std::max(most, d);
    size = std::max(size, std::abs(b[i]));
    sum += d * d;
    sum_size += b[i] * b[i];
  }
  return {most == 0 ? 0 : most / std::max(size, 1e-30), sum == 0 ? 0 : std::sqrt(sum / std::max(sum_size, 1e-60))};
}

}  // namespace hone
