// Pooling on GPUs: each thread a few outputs (window_tile.h).
#include "compiler/ops/definition.h"
#include "compiler/ops/templates/gpu/window_tile.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/windows/pooling.h"

namespace hone {

void pool_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  // A maximum does not change when elements of its window replace the border. A dilated window may not contain the
  // nearest element.
  const bool may_be_nearest = may_read_nearest(w);
  const bool nearest =
      knobs.choice("nearest", may_be_nearest ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}, 1) != 0;
  const WindowTile tile = choose_window_tile(knobs, target, w);
  if (!out) return;

  const Definition d = pooling(w, nearest ? PoolBorder::kNearest : PoolBorder::kPadded);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  if (!nearest) s.compute_inline(s.block("pad"));
  const auto [pool, writer] = begin_tile(s, d);
  schedule_window(s, tile, writer, pool, "c", {"kh", "kw"});
  lay_out_activations(s, w, d);
}

}  // namespace hone
