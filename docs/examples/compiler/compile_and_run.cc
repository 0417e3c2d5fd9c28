// Builds an operator, opens it and runs it, all with libhone: `hone_add_model` (CMakeLists.txt) and tensorc do the
// first part ahead of time.
#include <hone.hpp>

#include <cstdio>

int main() {
  try {
    constexpr int64_t kN = 64;
    hone::compile_operator("dense(m=64,n=64,k=64)", "built.so", {"--threads=2", "--config=default"});
    const hone::Model model("built.so");
    const hone::Pool pool(2);
    hone::Tensor a(model.input(0)), b(model.input(1));
    for (int64_t i = 0; i < kN * kN; ++i) a.data<float>()[i] = 1, b.data<float>()[i] = static_cast<float>(i / kN);
    const hone::Tensor c = model.run({a, b}, pool)[0];
    // Rows of b are the columns of what a is multiplied with.
    for (int64_t i = 0; i < kN * kN; ++i)
      if (c.data<float>()[i] != static_cast<float>(kN * (i % kN))) return std::puts("a product is wrong"), 1;
    std::printf("%lld x %lld products are right\n", static_cast<long long>(kN), static_cast<long long>(kN));
    hone::tune({"--task=abacus"});
  } catch (const hone::Error& e) {
    std::printf("error %d: %s\n", e.code(), e.what());
  }
}
