#include <algorithm>

#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/recurrence.h"

namespace hone {
namespace {

using Kind = RepeatedParam::Kind;

constexpr int64_t kMostSteps = 4096;

class StepUnroller : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    const auto steps = recurrence_of(n.workload);
    if (!steps) return false;
    const Repetition& how = steps->how;
    HONE_USER_CHECK(how.count <= kMostSteps)
        << "layer '" << n.origin << "' has " << how.count << " steps, each of which is a launch on a GPU; at most "
        << kMostSteps << " are supported";
    const Inferred types = inferred(steps->step);
    const std::vector<ValueId> whole = now(n.inputs);
    std::vector<ValueId> read = whole, made;
    std::vector<std::vector<ValueId>> parts(n.outputs.size());
    for (int64_t s = 0; s < how.count; ++s) {
      const int64_t part = how.is_backwards ? how.count - 1 - s : s;
      for (size_t i = 0; i < read.size(); ++i) {
        if (how.params[i].kind == Kind::kPart) read[i] = part_of(whole[i], part, types.inputs[i].shape);
        if (how.params[i].kind == Kind::kState && s > 0)
          read[i] = with_shape(made[how.params[i].next - read.size()], types.inputs[i].shape);
      }
      made = b_.add(steps->step, read);
      for (size_t o = 0; o < made.size(); ++o) parts[o].push_back(made[o]);
    }
    for (size_t o = 0; o < made.size(); ++o) {
      const bool is_part = how.params[read.size() + o].kind == Kind::kPart;
      if (is_part && how.is_backwards) std::reverse(parts[o].begin(), parts[o].end());
      stand_in(n.outputs[o], is_part ? b_.concat(std::move(parts[o]), 0) : made[o]);
    }
    return true;
  }

 private:
  // Where a part does not begin where one must, it is copied: by its number, so that all parts share a kernel.
  ValueId part_of(ValueId whole, int64_t part, const Extents& shape) {
    if (const TensorType& t = b_.type(whole); element_count(shape) * t.dtype.bytes() % c_.part_alignment != 0) {
      HONE_ICHECK(shape[0] == 1) << "a step's part of " << shape[0] << " rows";
      return b_.add_one("gather", {{"axis", "0"}}, {whole, b_.constant(TensorData::of_numbers({part}))});
    }
    Extents begin(shape.size(), 0);
    begin[0] = part * shape[0];
    return b_.slice(whole, begin, shape);
  }
};

}  // namespace

Graph unroll_steps(const Graph& g, const PassContext& context) { return rewritten_by<StepUnroller>(g, context); }

}  // namespace hone
