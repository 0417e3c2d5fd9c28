#include "compiler/driver/place/build_place.h"

#include <fmt/format.h>

#include <utility>

#include "base/cpus.h"
#include "base/exit_code.h"
#include "compiler/build/denormals.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/codegen/llvm/machine/parse_target.h"

namespace hone {

bool BuildPlace::is_here() const {
  if (remote) return false;
  return target.is_gpu() ? gpu.device() != nullptr : target.arch == here.arch && target.mcpu == here.mcpu;
}

StatusOr<BuildPlace> find_build_place(const BuildRequest& r, const Events& events) {
  BuildPlace p;
  p.threads = r.threads.empty() ? usable_cpu_count() : r.threads[0];
  p.here = host_target(p.threads);
  p.target = parse_target(r.target);
  if (r.remote) {
    HONE_ASSIGN_OR_RETURN(p.remote, r.remote(r.target, r.threads.empty() ? 0 : p.threads));
    p.target = p.remote->target();
    p.no_gpu = "kernels run on " + p.remote->name();
    events.tell(fmt::format("device: {} ({})", p.remote->name(), to_string(p.target)));
  } else if (p.target.is_gpu()) {
    HONE_ASSIGN_OR_RETURN(p.gpu, open_build_gpu(p.target, r.runs()));
    p.target = p.gpu.target;
    // An operator explains itself without a device, too.
    if (r.explain && r.model.empty() && !p.gpu.device()) {
      auto found = open_local_gpu(p.target);
      if (found.ok())
        p.gpu.local = *std::move(found);
      else
        p.no_gpu = message_of(found.status());
    }
  }
  if (p.target.is_gpu()) {
    if (r.threads.size() > 1)
      return usage_error(fmt::format("--threads {}: a model for a GPU has one variant", threads_text(r.threads)));
  } else {
    if (!p.target.is_complete()) p.target = p.target.completed_by(p.here);
    if (!r.threads.empty()) p.target.threads = p.threads;
  }
  HONE_ASSIGN_OR_RETURN(p.host, gpu_host(r, p.target, p.here));
  p.denormals = denormals_for(r.denormals, p.target);
  return p;
}

StatusOr<Target> gpu_host(const BuildRequest& o, const Target& target, const Target& here) {
  if (o.host.empty()) return here;
  if (!target.is_gpu())
    return usage_error(
        fmt::format("--host {}: only an artifact for a GPU has a host; for another CPU use --target", o.host));
  const Target host = parse_target(o.host);
  if (host.is_gpu())
    return usage_error(fmt::format("--host {}: that is not a CPU; llvm -mtriple=… -mcpu=… is", o.host));
  if (!host.is_complete()) return host.completed_by(here);
  if (o.runs_artifact() && (host.arch != here.arch || host.mcpu != here.mcpu))
    return no_device_error(fmt::format("--host {}: cannot check, time or run code for another CPU here, which is '{}'",
                                       o.host, to_string(here)));
  return host;
}

}  // namespace hone
