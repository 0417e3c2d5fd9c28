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

Module lower(const Schedule& schedule, const LowerOptions& options) {
  Module m;
  m.workers = options.workers;
  const auto done = [&](std::string_view pass, const Function& f) {
    if (options.after_pass) options.after_pass(pass, f);
  };
  const auto to_loop_form = [&](Function f, int64_t* workspace_bytes) {
    done("lower_blocks", f);
    f = flatten_buffers(f);
    done("flatten_buffers", f);
    f.body = simplify(f.body);
    done("simplify", f);
    f = plan_storage(f, options.workers, workspace_bytes);
    done("plan_storage", f);
    return f;
  };
  Function kernel = to_loop_form(lower_blocks(schedule, Storage::kCompact), &m.workspace_bytes);
  for (const PrepackNest& nest : schedule.prepacks()) {
    int64_t workspace_bytes = 0;
    m.prepacks.push_back({nest.param, to_loop_form(lower_blocks(nest, Storage::kCompact), &workspace_bytes)});
    HONE_ICHECK(workspace_bytes == 0) << "prepack of '" << nest.logical->name << "' needs a workspace";
  }
  for (const ScheduledParam& p : schedule.params()) m.params.push_back(param_of(p));
  m.vector_bits = static_cast<int>(schedule.annotation("vector_bits", 0));
  m.partition = static_cast<Partition>(schedule.annotation("partition", 0));
  m.kernels.push_back(std::move(kernel));
  return m;
}

}  // namespace hone
