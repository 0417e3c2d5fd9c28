#include "compiler/driver/place/build_gpu.h"

#include <fmt/format.h>

#include "base/exit_code.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {

StatusOr<BuildGpu> open_build_gpu(const Target& target, bool is_run) {
  BuildGpu out{target, {}};
  if (target.is_complete() && !is_run) return out;
  auto found = open_local_gpu(target);
  if (!found.ok() && !target.is_complete())
    return no_device_error(fmt::format("--target {}: {}; say for which: {}", target.kind, message_of(found.status()),
                                       gpu_kind(target.kind).example));
  if (!found.ok())
    return no_device_error(fmt::format("cannot check, time or run it here: {}", message_of(found.status())));
  out.local = std::move(*found);
  if (!target.is_complete()) out.target = out.local.target;
  return out;
}

}  // namespace hone
