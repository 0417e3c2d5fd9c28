#include "compiler/lower/lower.h"

#include "compiler/arith/simplify.h"
#include "compiler/lower/flatten_buffers.h"
#include "compiler/lower/lower_blocks.h"
#include "compiler/lower/plan_storage.h"

namespace hone {

namespace {

// Loop form has no tensor without dimensions: flatten_buffers has made buffers of one element of those.
Param param_of(const ScheduledParam& p) {
  if (!p.shape.empty()) return {p.name, p.role, p.buffer->dtype, p.shape, p.layout};
  return {p.name, p.role, p.buffer->dtype, {1}, Layout::identity({1})};
}

}  // namespace

std::vector<Pass<Function>> lower_passes(int workers, int64_t* workspace_bytes) {
  return {
      {"flatten_buffers", &flatten_buffers, /*is_needed=*/true},
      {"simplify",
       [](Function f) {
         f.body = simplify(f.body);
         return f;
       }},
      {"plan_storage", [=](const Function& f) { return plan_storage(f, workers, workspace_bytes); },
       /*is_needed=*/true},
  };
}

Module lower(const Schedule& schedule, const LowerOptions& options) {
  Module m;
  m.workers = options.workers;
  const auto to_loop_form = [&](const Function& blocks, int64_t* workspace_bytes) {
    return run_passes(lower_passes(options.workers, workspace_bytes), blocks, options.hooks);
  };
  const auto blocks_of = [&](const auto& scheduled) {
    Function blocks = lower_blocks(scheduled, Allocation::kCompact);
    if (options.hooks.after) options.hooks.after(kLowerBlocks, blocks, 0);
    return blocks;
  };
  Function kernel = to_loop_form(blocks_of(schedule), &m.workspace_bytes);
  for (const PrepackNest& nest : schedule.prepacks()) {
    int64_t workspace_bytes = 0;
    m.prepacks.push_back({nest.param, to_loop_form(blocks_of(nest), &workspace_bytes)});
    HONE_ICHECK(workspace_bytes == 0) << "prepack of '" << nest.logical->name << "' needs a workspace";
  }
  for (const ScheduledParam& p : schedule.params()) m.params.push_back(param_of(p));
  m.vector_bits = static_cast<int>(schedule.annotation("vector_bits", 0));
  m.partition = static_cast<Partition>(schedule.annotation("partition", 0));
  m.kernels.push_back(std::move(kernel));
  return m;
}

}  // namespace hone
