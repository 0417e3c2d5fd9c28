#include "rpc/agent/supervise/health.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "base/host_lock.h"
#include "base/log.h"

namespace hone::agent {
namespace {

// The kernel lowers clocks from the limit on and lets them rise again when it is left by this much, on most boards.
constexpr double kHysteresis = 2;  // °C
// Clocks read between runs: a machine of 128 cores has a file for each.
constexpr size_t kMostClocks = 8;

std::string joined(const std::set<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

}  // namespace

HealthReader::HealthReader(std::string device, const SystemRoots& roots, const std::vector<int>& cpus)
    : device_(std::move(device)),
      cpuinfo_(roots.proc + "/cpuinfo"),
      stat_(roots.proc + "/stat"),
      sensors_(find_sensors(roots, cpus)) {}

// The temperature of the hottest package.
std::optional<double> HealthReader::temperature() const {
  std::optional<double> hottest;
  for (const std::string& path : sensors_.temperatures)
    if (const std::optional<double> t = number_in(path)) hottest = std::max(hottest.value_or(-1e9), *t / 1000);
  return hottest;
}

// At most `most` clock domains, spread over all of them.
std::vector<const ClockDomain*> HealthReader::domains(size_t most) const {
  std::vector<const ClockDomain*> out;
  const size_t n = std::min(most, sensors_.clocks.size());
  for (size_t i = 0; i < n; ++i) out.push_back(&sensors_.clocks[i * sensors_.clocks.size() / n]);
  return out;
}

// Mean of the CPUs.
std::optional<double> HealthReader::clock(size_t most) const {
  double sum = 0;
  int n = 0;
  for (const ClockDomain* domain : domains(most))
    if (const std::optional<double> khz = number_in(domain->folder + "/scaling_cur_freq"))
      sum += domain->cpus * *khz / 1000, n += domain->cpus;
  return n > 0 && sum > 0 ? std::optional(sum / n) : std::nullopt;
}

// Virtual machines have no cpufreq, and a nominal clock here.
std::optional<double> HealthReader::nominal_clock() const {
  double sum = 0;
  int n = 0;
  std::ifstream file(cpuinfo_);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with("cpu MHz") && colon != std::string::npos) sum += std::atof(line.c_str() + colon + 1), ++n;
  }
  return n > 0 && sum > 0 ? std::optional(sum / n) : std::nullopt;
}

std::string HealthReader::governor(size_t most) const {
  std::set<std::string> found;
  for (const ClockDomain* domain : domains(most)) found.insert(line_of(domain->folder + "/scaling_governor"));
  found.erase("");
  return joined(found);
}

bool HealthReader::is_hot() const {
  return std::any_of(sensors_.trips.begin(), sensors_.trips.end(), [](const TripPoint& trip) {
    const std::optional<double> t = number_in(trip.temperature);
    return t && *t / 1000 > trip.limit_c - kHysteresis;
  });
}

std::string HealthReader::throttled() {
  // The firmware: bits 0 to 3 tell the present state, the higher bits the events since boot.
  if (const std::string text = line_of(sensors_.firmware); !text.empty()) {
    const unsigned long bits = std::strtoul(text.c_str(), nullptr, 16);
    if (bits & 1) return "undervoltage";
    if (bits & 0xC) return "thermal";
    if (bits & 2) return "frequency capped";
  } else if (line_of(sensors_.undervoltage) == "1") {
    return "undervoltage";
  }
  uint64_t sum = 0;
  for (const std::string& path : sensors_.throttle_counts) sum += static_cast<uint64_t>(number_in(path).value_or(0));
  const uint64_t before = std::exchange(throttle_count_, sum);
  if (std::exchange(throttles_counted_, true) && sum > before) return "thermal";
  return is_hot() ? "hot" : "";
}

std::optional<double> HealthReader::load() {
  std::ifstream file(stat_);
  std::string cpu;
  uint64_t total = 0, idle = 0, ticks = 0;
  if (!(file >> cpu) || cpu != "cpu") return std::nullopt;
  // user nice system idle iowait irq softirq steal; the later columns are included in user and nice.
  for (int i = 0; i < 8 && file >> ticks; ++i) {
    total += ticks;
    if (i == 3 || i == 4) idle += ticks;
  }
  const uint64_t busy = total - idle;
  const uint64_t busy_before = std::exchange(busy_, busy), total_before = std::exchange(total_, total);
  if (!counted_ || total <= total_before || busy < busy_before) return std::nullopt;
  return std::min(1.0, static_cast<double>(busy - busy_before) / static_cast<double>(total - total_before));
}

wire::DeviceHealth HealthReader::glance(size_t most_clocks) {
  wire::DeviceHealth h;
  h.device = device_;
  h.temperature_c = temperature();
  h.clock_mhz = clock(most_clocks);
  h.governor = governor(most_clocks);
  h.throttled = throttled();
  return h;
}

wire::DeviceHealth HealthReader::glance() { return glance(kMostClocks); }

wire::DeviceHealth HealthReader::read() {
  wire::DeviceHealth h = glance(sensors_.clocks.size());
  if (!h.clock_mhz) h.clock_mhz = nominal_clock();
  h.load = load();
  counted_ = true;
  return h;
}

std::string slow_governors(const std::vector<int>& cpus, const SystemRoots& roots) {
  std::set<std::string> found;
  for (const int cpu : cpus)
    found.insert(line_of(fmt::format("{}/devices/system/cpu/cpu{}/cpufreq/scaling_governor", roots.sys, cpu)));
  found.erase(""), found.erase("performance");
  return joined(found);
}

struct HealthWatch::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool stopped = false;
};

HealthWatch::HealthWatch(HealthReader reader, double period_s, std::function<void(wire::DeviceHealth)> tell)
    : state_(std::make_shared<State>()) {
  std::thread([state = state_, reader = std::move(reader), period_s, tell = std::move(tell)]() mutable {
    StatusOr<HostLock> lock = HostLock::open();
    if (!lock.ok()) return log::warn("no health readings: {}", message_of(lock.status()));
    for (;;) {
      wire::DeviceHealth now;
      {
        const HostLock::Hold hold = lock->shared();
        now = reader.read();
      }
      std::unique_lock guard(state->mutex);
      if (!state->stopped) tell(std::move(now));
      if (state->changed.wait_for(guard, std::chrono::duration<double>(period_s), [&] { return state->stopped; }))
        return;
    }
  }).detach();
}

HealthWatch::~HealthWatch() {
  const std::lock_guard guard(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_all();
}

}  // namespace hone::agent
