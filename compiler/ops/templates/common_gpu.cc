#include "compiler/ops/templates/common_gpu.h"
#include "compiler/ops/conv_shape.h"
#include "compiler/ops/epilogue.h"

namespace hone {
namespace {

void lay_out(Schedule& s, std::string_view buffer, const LayoutChoice& choice, int64_t block,
             const std::vector<int64_t>& shape) {
  if (!is_planar(choice)) s.transform_layout(buffer, activation_layout(choice, block, shape));
}

}  // namespace

bool is_planar(const LayoutChoice& choice) { return choice.in == "NCHW" || choice.in == "NCHWc"; }

int64_t neighbouring_channels(int64_t block, int64_t channels) {
  return block > 0 ? std::min(block, channels) : channels;
}

void require_room(Knobs& knobs, const Target& target, const BlockNeeds& block) {
  const int64_t warps = resident_warps(target, block);
  knobs.require("a block fits a multiprocessor: threads, registers, shared memory", warps > 0);
  knobs.require("a multiprocessor has warps for its schedulers", warps >= least_warps(target));
}

void lay_out_activations(Schedule& s, const Workload& w, std::string_view output) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  const std::vector<int64_t> out_shape{c.n, c.co, c.oh, c.ow};
  lay_out(s, "data", layout, layout.in_block, {c.n, c.ci, c.h, c.w});
  lay_out(s, output, layout, layout.out_block, out_shape);
  if (w.attributes.has("epilogue") && epilogue_of(w).has("add"))
    lay_out(s, "residual", layout, layout.out_block, out_shape);
}

}  // namespace hone
