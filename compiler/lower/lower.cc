#include "compiler/lower/lower.h"

#include "compiler/arith/simplify.h"
#include "compiler/lower/flatten_buffers.h"
#include "compiler/lower/lower_blocks.h"
#include "compiler/lower/plan_storage.h"

namespace hone {

Module lower(const Schedule& schedule, const LowerOptions& options) {
  Module m;
  m.workers = options.workers;
  const auto done = [&](std::string_view pass, const Function& f) {
    if (options.after_pass) options.after_pass(pass, f);
  };
  Function f = lower_blocks(schedule, Storage::kCompact);
  done("lower_blocks", f);
  f = flatten_buffers(f);
  done("flatten_buffers", f);
  f.body = simplify(f.body);
  done("simplify", f);
  f = plan_storage(f, options.workers, &m.workspace_bytes);
  done("plan_storage", f);
  for (const ScheduledParam& p : schedule.params()) m.params.push_back({p.name, p.role, p.buffer->dtype, p.shape, p.layout});
  m.vector_bits = static_cast<int>(schedule.annotation("vector_bits", 0));
  m.kernels.push_back(std::move(f));
  return m;
}

}  // namespace hone
