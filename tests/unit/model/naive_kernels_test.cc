#include "compiler/model/check/naive_kernels.h"

#include <gtest/gtest.h>

#include "compiler/check/inputs.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

// Whole numbers, whose sums are exact in any order; so the bytes are the same.
TEST(NaiveKernels, ComputeWhatTheInterpreterDoes) {
  NaiveKernels naive(host_target(2));
  for (const char* text : {"dense(m=16,n=96,k=96,dtype=u8:s8:s32:s32,epilogue=none)",
                           "conv2d(n=1,ci=8,h=14,w=14,co=16,kh=3,kw=3,pad=1,layout=NCHW8c:8c,dtype=u8:s8:s32:s32)",
                           "transpose(shape=300x500,perm=1:0,dtype=f32)", "elementwise(op=relu,shape=400x1000)"}) {
    SCOPED_TRACE(text);
    const Workload w = parse_workload(text);
    std::vector<TensorData> inputs;
    for (const auto& t : physical_types(w).inputs) {
      std::string bytes(static_cast<size_t>(bytes_of(t.type)), '\0');
      ASSERT_TRUE(fill_input(bytes.data(), t.type.dtype, element_count(t.type.shape), 1, 0).ok());
      inputs.emplace_back(t.type, std::move(bytes));
    }
    const std::vector<TensorData> wanted = evaluate(w, inputs);
    for (int turn = 0; turn < 2; ++turn) {
      const std::vector<TensorData> got = naive.evaluate(w, inputs);
      ASSERT_EQ(got.size(), wanted.size());
      EXPECT_EQ(got[0].type(), wanted[0].type());
      EXPECT_TRUE(std::equal(got[0].bytes().begin(), got[0].bytes().end(), wanted[0].bytes().begin()));
    }
  }
}

}  // namespace
}  // namespace hone
