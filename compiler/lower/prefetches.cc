#include "compiler/lower/prefetches.h"

#include <algorithm>

#include "compiler/arith/simplify.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

constexpr int64_t kLineBytes = 64;

class BufferFinder final : public Visitor {
 public:
  std::vector<Buffer> found;

 protected:
  using Visitor::visit;
  void visit(const Load* op) override {
    if (std::none_of(found.begin(), found.end(), [&](const Buffer& b) { return b.same_as(op->buffer); }))
      found.push_back(op->buffer);
    Visitor::visit(op);
  }
};

// How far a line reaches in each dimension: through the last one and, where the region has a dimension as a whole, on
// through the one outside of it.
std::vector<int64_t> line_steps(const Region& region, const Buffer& buffer) {
  std::vector<int64_t> steps(region.extent.size(), 1);
  int64_t rest = std::max<int64_t>(1, kLineBytes / buffer->dtype.bytes());  // elements of a line
  for (size_t d = steps.size(); d-- > 0 && rest > 1;) {
    steps[d] = rest;
    const bool is_whole = as_const_int(buffer->shape[d]) == std::optional(region.extent[d]);
    rest = is_whole ? rest / region.extent[d] : 1;
  }
  return steps;
}

// Steps through `region` one cache line at a time, last dimension fastest.
std::vector<Stmt> lines_of(const Region& region, const PlacedBuffer& placed, const Facts& facts) {
  const size_t rank = region.extent.size();
  const std::vector<int64_t> steps = line_steps(region, placed.buffer);
  std::vector<int64_t> at(rank, 0);
  std::vector<Stmt> out;
  while (static_cast<int64_t>(out.size()) < kMaxPrefetchLines) {
    std::vector<Expr> indices;
    for (size_t d = 0; d < rank; ++d) {
      const Expr i = region.min[d] + at[d];
      indices.push_back(simplify(placed.min.empty() ? i : i - placed.min[d], facts));
    }
    out.push_back(make_prefetch(placed.buffer, std::move(indices)));
    size_t d = rank;
    while (d-- > 0) {
      at[d] += steps[d];
      if (at[d] < region.extent[d]) break;
      at[d] = 0;
    }
    if (d >= rank) break;  // all dimensions wrapped around: the end
  }
  return out;
}

}  // namespace

std::vector<Stmt> prefetches_of(TreeNode* loop, const Facts& facts,
                                const std::function<std::optional<PlacedBuffer>(const Buffer&)>& position) {
  BufferFinder reads;
  for_each_block(loop, [&](Block& b, TreeNode*) { reads(b.value); });
  std::vector<Stmt> out;
  for (const Buffer& buffer : reads.found) {
    const auto placed =
        loop->prefetch_of.empty() || loop->prefetch_of == buffer->name ? position(buffer) : std::nullopt;
    if (!placed) continue;
    Region region = region_of(accesses_below(loop, buffer, false), loop, buffer);
    bool moves = false;
    for (Expr& min : region.min) {
      moves |= uses_var(min, loop->var.get());
      min = substitute(min, {{loop->var.get(), Expr(loop->var) + loop->prefetch}});
    }
    if (!moves) continue;
    auto lines = lines_of(region, *placed, facts);
    out.insert(out.end(), lines.begin(), lines.end());
  }
  return out;
}

}  // namespace hone
