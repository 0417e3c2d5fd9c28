// Instructions selected for kernels: products on tensor cores, shuffles, asynchronous copies, vectors; and why not.
#include "compiler/codegen/gpu/select_instructions.h"

#include <gmock/gmock.h>

#include "compiler/build/build.h"
#include "compiler/codegen/gpu/emit.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The first launch of the default config.
struct Chosen {
  GpuKernel kernel;
  Selection is;
};
Chosen select(const std::string& workload, const InstructionSet& can) {
  const Workload w = parse_workload(workload);
  const Target target = Target::parse("cuda -arch=sm_80");
  const Space space = make_space(w, target);
  Chosen out;
  out.kernel = gpu_program(lower_config(w, target, space, space.default_config()).kernels[0]).kernels.at(0);
  out.is = select_instructions(out.kernel, stored_buffers(out.kernel), can);
  return out;
}

constexpr InstructionSet kAll{.products = true, .shuffles = true, .async_copies = true};

TEST(Selection, OfAProductHasFragmentsForAllRowsAndColumns) {
  const Chosen c = select("dense(m=128,n=128,k=64,dtype=f16)", kAll);
  ASSERT_THAT(c.is.products, SizeIs(1));
  const TensorProduct& product = c.is.products.begin()->second;
  EXPECT_EQ(product.nest.types, "f16");
  EXPECT_FALSE(product.rows.empty());
  int64_t tiles = 1;
  for (const For* l : product.columns) tiles *= *as_const_int(l->extent);
  EXPECT_EQ(product.tiles, tiles);
  EXPECT_GT(product.pairs, 0);
  EXPECT_TRUE(product.plain);
  EXPECT_THAT(c.is.sums, IsEmpty());
  EXPECT_THAT(c.is.plain, IsEmpty());
  EXPECT_TRUE(c.is.copies_ahead);
  for (const auto& [store, copy] : c.is.copies) {
    EXPECT_EQ(copy.bytes, 16);
    EXPECT_EQ(copy.bytes, store->value->dtype.lanes * store->buffer->dtype.bytes());
    EXPECT_EQ(copy.from->buffer->scope, BufferScope::kParam);
  }
}

TEST(Selection, OfARowsSumIsAShuffle) {
  const Chosen c = select("reduce(op=sum,shape=64x4096,axes=1)", kAll);
  ASSERT_THAT(c.is.sums, SizeIs(1));
  EXPECT_EQ(c.is.sums.begin()->second.op, BinaryOp::kAdd);
  EXPECT_THAT(c.is.products, IsEmpty());
}

TEST(Selection, SaysWhyAWarpLoopIsPlain) {
  for (const char* workload : {"dense(m=128,n=128,k=64,dtype=f16)", "reduce(op=sum,shape=64x4096,axes=1)"}) {
    const Chosen none = select(workload, {});
    EXPECT_THAT(none.is.products, IsEmpty());
    EXPECT_THAT(none.is.sums, IsEmpty());
    EXPECT_THAT(none.is.copies, IsEmpty());
    EXPECT_FALSE(none.is.copies_ahead);
    ASSERT_THAT(none.is.plain, SizeIs(1)) << workload;
    EXPECT_EQ(none.is.plain[0].why, PlainLoop::Why::kNoInstruction);
    EXPECT_THAT(to_string(none.is.plain[0]), HasSubstr("is a plain sum: there is no instruction for it here"));
  }
  InstructionSet old = kAll;
  old.compute_capability = 70;
  EXPECT_THAT(select("dense(m=128,n=128,k=64,dtype=f16)", old).is.products, IsEmpty());
}

TEST(Selection, LeavesAloneWhatHasNoInstruction) {
  const Chosen c = select("elementwise(op=add,shape=64x64)", kAll);
  EXPECT_TRUE(c.is.body.same_as(c.kernel.body));
  EXPECT_THAT(c.is.plain, IsEmpty());
  EXPECT_FALSE(c.is.vector_loads.empty());
  EXPECT_FALSE(c.is.vector_stores.empty());
}

}  // namespace
}  // namespace hone
