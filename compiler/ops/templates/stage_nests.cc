#include "compiler/ops/templates/stage_nests.h"

#include <algorithm>
#include <vector>

#include "compiler/ops/templates/common.h"

namespace hone {
namespace {

constexpr double kWorthThreads = 16384;  // operations

// Loops of a nest: those whose iterations are independent, and the others, which follow each other.
struct StageLoops {
  std::vector<LoopRef> free, ordered;
  bool ends_free = false;  // the last axis is one of the free
};

StageLoops loops_of(const Schedule& s, const TensorNode& t) {
  const std::vector<LoopRef> loops = s.loops(s.block(t.name));
  StageLoops out;
  for (size_t i = 0; i < loops.size(); ++i) {
    const bool is_free = i < t.axes.size() && t.scan_axis != i;
    (is_free ? out.free : out.ordered).push_back(loops[i]);
  }
  out.ends_free = !t.axes.empty() && t.scan_axis != t.axes.size() - 1;
  return out;
}

std::vector<LoopRef> joined(const std::vector<LoopRef>& a, const std::vector<LoopRef>& b) {
  std::vector<LoopRef> out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

double operations_of(const TensorNode& t) {
  double n = 1;
  for (const auto* axes : {&t.axes, &t.reduce_axes})
    for (const Axis& a : *axes) n *= static_cast<double>(a.extent);
  return n;
}

// The largest power of two up to `width` that divides `extent`.
int64_t width_for(int64_t extent, int64_t width) {
  while (extent % width != 0) width /= 2;
  return width;
}

}  // namespace

bool reads_stored_elements(const Definition& d) {
  const std::vector<const TensorNode*> stages = stages_of(d);
  return std::any_of(stages.begin(), stages.end(), [](const TensorNode* t) {
    const bool reads_inlined = std::any_of(t->inputs.begin(), t->inputs.end(), [](const auto& in) {
      return !in->is_placeholder() && in->reduce == ReduceKind::kNone;
    });
    return t->scan_axis || (t->compares_bits && reads_inlined);
  });
}

void stage_nests_cpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const int64_t lanes = target.vector_bits / 32;
  const int64_t block = knobs.choice("block", {1, lanes, 2 * lanes}, lanes);
  const bool parallel =
      knobs.thread_choice("parallel", target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}, 1) !=
      0;
  if (!out) return;
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  for (const TensorNode* t : stages_of(d)) {
    auto [free, ordered, ends_free] = loops_of(s, *t);
    const int64_t width = ends_free ? width_for(t->shape.back(), block) : 1;
    if (width > 1) {
      const auto [outer, inner] = s.split(free.back(), width);
      free.back() = outer;
      ordered.push_back(inner);
      s.reorder(joined(free, ordered));
      s.vectorize(inner);
    } else if (!free.empty()) {
      s.reorder(joined(free, ordered));
    }
    if (!free.empty() && parallel && operations_of(*t) >= kWorthThreads) s.parallel(fuse_all(s, free));
  }
}

void stage_nests_gpu(const Definition& d, const Target& /*target*/, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const int64_t threads = knobs.choice("threads", {32, 64, 128, 256}, 64);
  if (!out) return;
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  for (const TensorNode* t : stages_of(d)) {
    const StageLoops l = loops_of(s, *t);
    if (l.free.empty()) continue;
    s.reorder(joined(l.free, l.ordered));
    const auto [blocks, inside] = s.split(fuse_all(s, l.free), threads);
    s.bind(blocks, LoopKind::kBlock);
    s.bind(inside, LoopKind::kThread);
  }
}

}  // namespace hone
