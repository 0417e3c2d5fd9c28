#include "compiler/driver/remote_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace hone {

StatusOr<RemoteLayers> measure_layers(const Layers& layers, RemoteDevice& device, const Events& events) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kBetweenLines{5};
  RemoteLayers out;
  out.seconds.resize(layers.kernels.size());
  std::vector<RemoteKernel> kernels;
  std::vector<size_t> numbers;
  for (size_t k = 0; k < layers.kernels.size(); ++k) {
    if (layers.kernels[k].host) {
      ++out.in_c;
      continue;
    }
    kernels.push_back({layers.kernels[k].workload, layers.kernels[k].module});
    numbers.push_back(k);
  }
  Clock::time_point told = Clock::now();
  HONE_ASSIGN_OR_RETURN(const std::vector<RemoteFigures> figures, device.run(kernels, [&](size_t done) {
    if (Clock::now() - told < kBetweenLines) return;
    told = Clock::now();
    events.tell(fmt::format("{} of {} kernels were run on {}", done, kernels.size(), device.name()));
  }));
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!figures[i].wrong.empty())
      return Status(absl::StatusCode::kInternal,
                    fmt::format("{} (of {}, on {})", figures[i].wrong, to_string(kernels[i].workload), device.name()));
    out.seconds[numbers[i]] = figures[i].seconds;
    out.rel_error = std::max(out.rel_error, figures[i].rel_error);
    out.disturbed += figures[i].is_disturbed ? 1 : 0;
    ++out.checked;
  }
  for (const Layer& call : layers.calls) out.sum += out.seconds[call.kernel];
  return out;
}

}  // namespace hone
