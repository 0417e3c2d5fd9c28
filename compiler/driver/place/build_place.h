// The target of a model or an operator, and the place where it runs: this machine, a GPU of it, or a fleet's device.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "compiler/driver/place/build_gpu.h"
#include "compiler/driver/request/build_request.h"
#include "compiler/driver/request/events.h"
#include "compiler/target/target.h"

namespace hone {

struct BuildPlace {
  int threads = 1;  ///< the most that anything runs on here
  Target here;      ///< this machine
  Target target;    ///< with the most threads
  Target host;      ///< of the code for CPUs in a GPU's artifact
  Denormals denormals = kUsualDenormals;
  BuildGpu gpu;                          ///< of a GPU's target
  std::string no_gpu;                    ///< why --explain has none here
  std::unique_ptr<RemoteDevice> remote;  ///< null: everything runs here

  /// Whether the artifact runs on this machine.
  bool is_here() const;
};

/// Usage errors; Unavailable where there is no such device; errors of the fleet.
StatusOr<BuildPlace> find_build_place(const BuildRequest& request, const Events& events);

/// The target of an artifact's CPU code: `here` where request.host is empty. Usage errors: of a `target` that is no
/// GPU, of a host that is one, and where a model's artifact is to run and the host's code does not run here.
StatusOr<Target> gpu_host(const BuildRequest& request, const Target& target, const Target& here);

}  // namespace hone
