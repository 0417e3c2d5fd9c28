#include "tests/bench/contenders.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "base/check.h"
#include "compiler/check/inputs.h"
#include "compiler/host/local_kernel.h"

namespace hone::bench {
namespace {

std::shared_ptr<void> placed(const Contender& c) { return c.place ? c.place() : nullptr; }

double seconds_of(const Contender& c, int64_t calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < calls; ++i) c.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

std::map<std::string, double> interleave(const std::vector<Contender>& contenders, int rounds, double min_round_ms) {
  std::vector<int64_t> calls;
  for (const Contender& c : contenders) {
    const auto place = placed(c);
    c.run();
    const double once = std::min(seconds_of(c, 1), seconds_of(c, 1));
    calls.push_back(std::max<int64_t>(1, static_cast<int64_t>(std::ceil(min_round_ms * 1e-3 / once))));
  }
  std::vector<std::vector<double>> times(contenders.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < contenders.size(); ++i) {
      const size_t turn = (i + static_cast<size_t>(round)) % contenders.size();
      // Until the previous one's idle threads have stopped spinning (see quiet_peers); then one call wakes this one's.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const auto place = placed(contenders[turn]);
      contenders[turn].run();
      times[turn].push_back(seconds_of(contenders[turn], calls[turn]) / static_cast<double>(calls[turn]));
    }
  std::map<std::string, double> medians;
  for (size_t i = 0; i < contenders.size(); ++i) medians[contenders[i].name] = median(times[i]);
  return medians;
}

Contender kernel_contender(std::string name, const Module& m, const Target& target) {
  auto kernel = std::make_shared<LocalKernel>(m, target);
  for (size_t i = 0; i + 1 < m.params.size(); ++i) {
    const Param& p = m.params[i];
    std::vector<char> data(static_cast<size_t>(element_count(p.shape) * p.dtype.bytes()));
    const Status filled = fill_input(data.data(), p.dtype, element_count(p.shape), 1, static_cast<uint32_t>(i));
    HONE_ICHECK(filled.ok()) << message_of(filled);
    kernel->set_input(i, data.data());
  }
  return {std::move(name), [kernel] { HONE_ICHECK(kernel->run_here() == HONE_OK) << "a kernel failed"; },
          [kernel] { return std::shared_ptr<void>(new PinnedCaller(kernel->pinned())); }};
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace hone::bench
