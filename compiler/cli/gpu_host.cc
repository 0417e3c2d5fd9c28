#include "compiler/cli/gpu_host.h"

#include <fmt/format.h>

#include "base/exit_code.h"
#include "compiler/codegen/llvm/parse_target.h"

namespace hone {

StatusOr<Target> gpu_host(const TensorcOptions& o, const Target& target, const Target& here) {
  if (o.host.empty()) return here;
  if (!target.is_gpu())
    return usage_error(fmt::format("--host {}: of a GPU's artifact; for another CPU there is --target", o.host));
  const Target host = parse_target(o.host);
  if (host.is_gpu()) return usage_error(fmt::format("--host {}: that is no CPU; llvm -mtriple=… -mcpu=… is", o.host));
  if (!host.is_complete()) return host.completed_by(here);
  // Operators, --profile, --report and devices of a fleet run kernels by themselves: none needs the artifact.
  const bool runs_artifact = !o.model.empty() && !o.remote && (o.bench || o.check || !o.inputs.empty());
  if (runs_artifact && (host.arch != here.arch || host.mcpu != here.mcpu))
    return no_device_error(fmt::format("--host {}: --bench, --check and --inputs run here, and this machine is '{}'",
                                       o.host, to_string(here)));
  return host;
}

}  // namespace hone
