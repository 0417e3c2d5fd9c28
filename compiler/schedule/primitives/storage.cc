// storage_align, double_buffer: how a stage's buffer lies in memory. Here they are noted; lowering carries them out.
// With more than two parts, say 4, A[0..2] are filled in front of the loop, A[(k + 3) % 4] in it.
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {

void Schedule::storage_align(BlockRef ref, int dimension, int64_t factor, int64_t offset) {
  Block& block = *live_block(ref, "storage_align")->block;
  const std::string what = fmt::format("storage_align: '{}' of stage '{}'", block.out->name, block.name);
  HONE_USER_CHECK(block.out->scope != BufferScope::kParam) << what << " is the caller's";
  const int rank = static_cast<int>(block.out->shape.size());
  HONE_USER_CHECK(dimension >= 0 && dimension + 1 < rank)
      << what << ": dimension " << dimension << " is none of its " << rank << " but the last";
  HONE_USER_CHECK(factor >= 1 && factor <= 4096 && offset >= 0 && offset < factor)
      << what << ": offset " << offset << " is not less than factor " << factor << ", or that is not from 1 to 4096";
  block.alignment = {dimension, factor, offset};
  record(Primitive::kStorageAlign, {ref.id, dimension, factor, offset}, "",
         fmt::format("storage_align({}, {}, {}, {})", block.name, dimension, factor, offset));
}

void Schedule::double_buffer(BlockRef ref, int64_t parts) {
  constexpr int64_t kMostParts = 8;
  TreeNode* leaf = live_block(ref, "double_buffer");
  Block& block = *leaf->block;
  const std::string what = fmt::format("double_buffer: stage '{}'", block.name);
  HONE_USER_CHECK(block.out->scope != BufferScope::kParam) << what << " writes the output '" << block.out->name << "'";
  HONE_USER_CHECK(block.parts == 1) << what << " has " << (block.parts == 2 ? "two" : "several") << " buffers already";
  HONE_USER_CHECK(parts >= 2 && parts <= kMostParts) << what << ": " << parts << " parts: not 2 to " << kMostParts;
  HONE_USER_CHECK(!block.is_scan()) << what << " is a scan, which reads what it wrote";
  HONE_USER_CHECK(block.reduce == ReduceKind::kNone)
      << what << " is a reduction; what is staged is copied or computed in one step";
  TreeNode* loop = own_nest(leaf)->parent;
  HONE_USER_CHECK(loop->is_loop() && loop->loop == LoopKind::kSerial && loop->extent > 1)
      << what << " does not stand in a serial loop that runs more than once; compute_at comes first";
  HONE_USER_CHECK(loop->prefetch == 0) << what << ": " << describe(loop) << " has a prefetch";
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    const bool touches = b.out.same_as(block.out) || reads(b, block.out);
    HONE_USER_CHECK(!touches || loop->contains(n))
        << what << ": stage '" << b.name << "' touches '" << block.out->name << "' outside of " << describe(loop);
    HONE_USER_CHECK(n == leaf || !b.out.same_as(block.out))
        << what << ": stage '" << b.name << "' writes '" << block.out->name << "' too";
    HONE_USER_CHECK(!loop->contains(n) || n == leaf || !reads(block, b.out))
        << what << " reads '" << b.out->name << "', which stage '" << b.name << "' makes in the same iteration";
  });
  block.parts = parts;
  if (parts == 2)
    record(Primitive::kDoubleBuffer, {ref.id}, "", fmt::format("double_buffer({})", block.name));
  else
    record(Primitive::kDoubleBuffer, {ref.id, parts}, "", fmt::format("double_buffer({}, {})", block.name, parts));
}

}  // namespace hone
