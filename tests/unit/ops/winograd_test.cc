#include "compiler/ops/winograd.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/ir/interp.h"

namespace hone {
namespace {

std::vector<double> times(const Matrix& m, const std::vector<double>& x) {
  std::vector<double> out;
  for (const auto& row : m) {
    out.push_back(0);
    for (size_t k = 0; k < row.size(); ++k) out.back() += row[k] * x[k];
  }
  return out;
}

TEST(Winograd, MatricesFilter) {
  std::mt19937_64 rng(1);
  const auto draw = [&] { return static_cast<double>(rng() % 2001) / 1000 - 1; };
  for (const int m : {2, 4, 6}) {
    const WinogradMatrices w = winograd_matrices(m, 3);
    std::vector<double> d(static_cast<size_t>(w.alpha)), g(3);
    for (double& x : d) x = draw();
    for (double& x : g) x = draw();
    std::vector<double> products = times(w.g, g);
    const std::vector<double> tile = times(w.b_t, d);
    for (size_t i = 0; i < products.size(); ++i) products[i] *= tile[i];
    const std::vector<double> y = times(w.a_t, products);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], d[i] * g[0] + d[i + 1] * g[1] + d[i + 2] * g[2], 1e-12) << "F(" << m << ", 3) output " << i;
  }
}

}  // namespace
}  // namespace hone
