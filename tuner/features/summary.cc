#include "tuner/features/summary.h"

#include <algorithm>
#include <cmath>

namespace hone::nest {

Summary::Summary(const Statement& statement, const Target& t) : s(statement), target(t), body(statement.depth) {
  for (int l = 0; l < s.depth; ++l) {
    const Loop& loop = loop_at(l);
    by_kind[static_cast<int>(loop.kind)] *= loop.extent;
    if (loop.kind == LoopKind::kVectorize) vector_loop = l;
  }
  const auto has_no_branch = [&](int l) {
    return is(l, LoopKind::kUnroll) || is(l, LoopKind::kVectorize) || loop_at(l).extent == 1 ||
           (is(l, LoopKind::kWarp) && !target.is_gpu());
  };
  while (body > 0 && has_no_branch(body - 1)) --body;
  const double bytes = s.accesses.front().element_bytes();
  const int vector_bytes = target.vector_bits / 8;
  lanes = std::max(1.0, vector_bytes / bytes);
}

double Summary::stride(const Access& a, int l) const {
  return l < 0 ? 0 : std::fabs(a.index.coefficient[static_cast<size_t>(l)]);
}

double Summary::registers(const Access& a) const {
  const double elements = s.touch(a, body).elements;
  return vector_loop >= body && stride(a, vector_loop) == 1
             ? std::ceil(elements / std::min(lanes, loop_at(vector_loop).extent))
             : elements;
}

bool Summary::in_registers(const Access& a) const {
  if (a.buffer->scope != BufferScope::kStack) return false;
  return s.touch(a, 0).elements * a.element_bytes() <= 2.0 * target.vector_registers * target.vector_bits / 8;
}

double Summary::body_products() const {
  const double nest = by_kind[static_cast<int>(LoopKind::kWarp)];
  return nest > 1 && !target.is_gpu() ? s.iterations(body) / nest : 0;
}

const MatrixUnit* Summary::unit() const {
  constexpr size_t kFactors = 2;  // behind the sum, which is stored and loaded
  if (s.accesses.size() != kFactors + 2) return nullptr;
  const auto type = [&](size_t access) { return to_string(s.accesses[access].buffer->dtype); };
  const std::string a = type(kFactors), b = type(kFactors + 1), sums = type(0);
  const MatrixUnit* found = nest_unit(target, a, b, sums);
  return found ? found : nest_unit(target, b, a, sums);
}

double Summary::footprint(int from) const {
  double bytes = 0;
  for (const Access& a : s.accesses)
    if (!in_registers(a)) bytes += 64 * s.touch(a, from).lines;
  return bytes;
}

double Summary::vector_width() const {
  return vector_loop >= body && body < s.depth ? std::min(lanes, loop_at(vector_loop).extent) : 1;
}

double Summary::body_instructions() const { return std::ceil(s.iterations(body) / vector_width()); }

double Summary::body_loads() const {
  double loads = 0;
  for (size_t i = 1; i < s.accesses.size(); ++i)
    if (s.accesses[i].buffer != s.accesses.front().buffer) loads += registers(s.accesses[i]);
  return loads;
}

Summary::Traffic Summary::traffic(double cache_bytes) const {
  Traffic t;
  t.fit = s.depth;
  t.resident = footprint(s.depth);
  for (double outer; t.fit > 0 && (outer = footprint(t.fit - 1)) <= cache_bytes; t.resident = outer) --t.fit;
  t.bytes = t.resident * s.executions / s.iterations(t.fit);
  return t;
}

}  // namespace hone::nest
