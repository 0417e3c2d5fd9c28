#include "compiler/model/check/oracle_kernels.h"

#include <gmock/gmock.h>

#include "compiler/check/inputs.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/text.h"
#include "compiler/model/model_data.h"
#include "compiler/ops/windows/physical.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

std::vector<TensorData> inputs_of(const Workload& w) {
  std::vector<TensorData> in;
  for (const auto& t : physical_types(w).inputs) {
    std::string bytes(static_cast<size_t>(bytes_of(t.type)), '\0');
    EXPECT_TRUE(
        fill_input(bytes.data(), t.type.dtype, element_count(t.type.shape), 1, static_cast<uint32_t>(in.size())).ok());
    in.emplace_back(t.type, std::move(bytes));
  }
  return in;
}

// Expects the results of the naive program of the same workload.
void expect_as_naive(OracleKernels& oracle, const std::string& text) {
  const Workload w = parse_workload(text);
  const std::vector<TensorData> in = inputs_of(w);
  NaiveKernels naive(host_target(1));
  const auto got = oracle.evaluate(w, in), wanted = naive.evaluate(w, in);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].type(), wanted[0].type());
  EXPECT_LT(difference(got[0], wanted[0]).frobenius, 1e-6) << text;
}

TEST(OracleKernels, ComputeLargeWorkloadsByKernelsThatAreRight) {
  OracleKernels oracle(host_target(1));
  expect_as_naive(oracle, "dense(m=16,n=64,k=32)");
  EXPECT_EQ(oracle.fast(), 0u) << "small";
  expect_as_naive(oracle, "dense(m=256,n=512,k=512,epilogue=bias+relu)");
  EXPECT_EQ(oracle.fast(), 1u);
  expect_as_naive(oracle, "conv2d(n=1,ci=64,h=40,w=40,co=64,kh=3,kw=3,stride=1,pad=1,layout=NCHW)");
  EXPECT_EQ(oracle.fast(), 2u);
}

}  // namespace
}  // namespace hone
