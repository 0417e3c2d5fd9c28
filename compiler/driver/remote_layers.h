// A model's layers on a device of a fleet: `tensorc m.onnx --tracker T --check --bench`.
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/driver/request/events.h"
#include "compiler/driver/request/remote.h"
#include "compiler/model/plan/layers.h"

namespace hone {

/// A device's figures of kernels that ran one by one, on seeded inputs.
struct RemoteLayers {
  std::vector<double> seconds;  ///< of each kernel; 0: it is a function in C, which is no candidate's
  double sum = 0;               ///< of all layers
  double rel_error = 0;         ///< the largest
  size_t checked = 0, in_c = 0, disturbed = 0;
};

/// Compares each kernel with its reference and times it. Notes its progress now and then. Internal for a kernel with
/// wrong results; errors of the fleet.
StatusOr<RemoteLayers> measure_layers(const Layers& layers, RemoteDevice& device, const Events& events);

}  // namespace hone
