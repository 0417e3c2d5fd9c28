#include "compiler/ops/templates/gpu/common_gpu.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
bool is_planar(const LayoutChoice& choice) { return choice.in == "NCHW" || choice.in == "NCHWc"; }

int64_t neighbouring_channels(int64_t block, int64_t channels) {
  return block > 0 ? std::min(block, channels) : channels;
}

void require_room(Knobs& knobs, const Target& target, const BlockNeeds& block) {
  const int64_t warps = resident_warps(target, block);
  knobs.require("a block fits a multiprocessor: threads, registers, shared memory", warps > 0);
  knobs.require("a multiprocessor has warps for its schedulers", warps >= least_warps(target));
}

void lay_out_activations(Schedule& s, const Workload& w, const Definition& d) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  if (is_planar(layout)) return;
  lay_out_first_input(s, d, activation_layout(layout, layout.in_block, {c.n, c.ci, c.h, c.w}));
  lay_out_like(s, d, activation_layout(layout, layout.out_block, {c.n, c.co, c.oh, c.ow}));
}

}  // namespace hone
