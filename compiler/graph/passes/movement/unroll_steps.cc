#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/recurrence.h"

namespace hone {
namespace {

using Kind = RepeatedParam::Kind;

constexpr int64_t kMostSteps = 4096;

class StepUnroller {
 public:
  StepUnroller(const Graph& g, const PassContext& context)
      : r_(g, context), b_(r_.builder()), alignment_(context.part_alignment) {}

  Graph run() {
    return r_.run([&](const Node& n) {
      const auto steps = recurrence_of(n.workload);
      if (steps) unroll(n, *steps);
      return steps.has_value();
    });
  }

 private:
  void unroll(const Node& n, const Recurrence& steps) {
    const Repetition& how = steps.how;
    HONE_USER_CHECK(how.count <= kMostSteps)
        << "layer '" << n.origin << "' has " << how.count << " steps, each of which is a launch on a GPU; at most "
        << kMostSteps << " are supported";
    const Inferred types = inferred(steps.step);
    std::vector<ValueId> now, made;
    for (const ValueId v : n.inputs) now.push_back(r_.now(v));
    const std::vector<ValueId> whole = now;
    std::vector<std::vector<ValueId>> parts(n.outputs.size());
    for (int64_t s = 0; s < how.count; ++s) {
      const int64_t part = how.is_backwards ? how.count - 1 - s : s;
      for (size_t i = 0; i < now.size(); ++i) {
        if (how.params[i].kind == Kind::kPart) now[i] = part_of(whole[i], part, types.inputs[i].shape);
        if (how.params[i].kind == Kind::kState && s > 0)
          now[i] = r_.with_shape(made[how.params[i].next - now.size()], types.inputs[i].shape);
      }
      made = b_.add(steps.step, now);
      for (size_t o = 0; o < made.size(); ++o) parts[o].push_back(made[o]);
    }
    for (size_t o = 0; o < made.size(); ++o) {
      const bool is_part = how.params[now.size() + o].kind == Kind::kPart;
      if (is_part && how.is_backwards) std::reverse(parts[o].begin(), parts[o].end());
      r_.stand_in(n.outputs[o], is_part ? b_.concat(std::move(parts[o]), 0) : made[o]);
    }
  }

  // Where a part does not begin where one must, it is copied: by its number, so that all parts share a kernel.
  ValueId part_of(ValueId whole, int64_t part, const Extents& shape) {
    if (const TensorType& t = b_.type(whole); element_count(shape) * t.dtype.bytes() % alignment_ != 0) {
      HONE_ICHECK(shape[0] == 1) << "a step's part of " << shape[0] << " rows";
      return b_.add_one("gather", {{"axis", "0"}}, {whole, b_.constant(TensorData::of_numbers({part}))});
    }
    const size_t rank = shape.size();
    Extents begin(rank, 0);
    begin[0] = part * shape[0];
    return b_.slice(whole, begin, shape);
  }

  Rewriter r_;
  GraphBuilder& b_;
  const int64_t alignment_;
};

}  // namespace

Graph unroll_steps(const Graph& g, const PassContext& context) {
  const auto has_steps = [](const Node& n) { return recurrence_of(n.workload).has_value(); };
  return std::any_of(g.nodes.begin(), g.nodes.end(), has_steps) ? StepUnroller(g, context).run() : g;
}

}  // namespace hone
