#include <cblas.h>

#include <memory>
#include <random>

#include "tests/bench/peers.h"

namespace hone::bench {
namespace {

std::vector<float> uniform(size_t count) {
  std::minstd_rand rng(1);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> values(count);
  for (float& v : values) v = draw(rng);
  return values;
}

}  // namespace

std::vector<Contender> openblas_contenders(const Workload& w, int threads) {
  if ((w.operator_name() != "dense" && w.operator_name() != "batch_matmul") || w.attributes.text("dtype") != "f32")
    return {};
  openblas_set_num_threads(threads);
  const bool dense = w.operator_name() == "dense";
  const int b = dense ? 1 : static_cast<int>(w.attributes.number("b")), m = static_cast<int>(w.attributes.number("m")),
            n = static_cast<int>(w.attributes.number("n")), k = static_cast<int>(w.attributes.number("k"));
  struct Operands {
    std::vector<float> a, b, c;
  };
  auto o = std::make_shared<Operands>();
  const auto count = [](int x, int y, int z) {
    return static_cast<size_t>(x) * static_cast<size_t>(y) * static_cast<size_t>(z);
  };
  *o = {uniform(count(b, m, k)), uniform(count(b, k, n)), std::vector<float>(count(b, m, n))};
  return {{"openblas", [=] {
             for (int i = 0; i < b; ++i)
               cblas_sgemm(CblasRowMajor, CblasNoTrans, dense ? CblasTrans : CblasNoTrans, m, n, k, 1,
                           o->a.data() + count(i, m, k), k, o->b.data() + count(i, k, n), dense ? k : n, 0,
                           o->c.data() + count(i, m, n), n);
           }}};
}

std::string openblas_kernels() { return openblas_get_corename(); }

}  // namespace hone::bench
