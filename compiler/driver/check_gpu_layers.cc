#include "compiler/driver/check_gpu_layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/host/measure_here.h"

namespace hone {

GpuLayerCheck check_gpu_layers(const Layers& layers, const Target& target, int threads, Device& device,
                               const CheckProgress& progress) {
  GpuLayerCheck out;
  out.errors.resize(layers.calls.size());
  for (size_t i = 0; i < layers.kernels.size(); ++i) {
    const Kernel& k = layers.kernels[i];
    if (progress) progress({"kernels", i, layers.kernels.size()});
    if (k.host) continue;  // as on CPUs; the whole model's check has them
    const HereCheck c = blaming(k.workload, [&] { return check_here(k.workload, target, k.module, threads, &device); });
    for (size_t l = 0; l < layers.calls.size(); ++l)
      if (layers.calls[l].kernel == i) out.errors[l] = c.rel_error;
    if (!c.ok) {
      out.wrong = fmt::format("{}: {}", to_string(k.workload), c.message);
      return out;
    }
    ++out.checked;
    out.compared += c.compared;
    out.rel_error = std::max(out.rel_error, c.rel_error);
  }
  return out;
}

}  // namespace hone
