// How this machine's CPU is right now: temperature, clock, governor, throttling, load, as far as the kernel tells.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpc/agent/supervise/sensors.h"
#include "rpc/wire/messages/messages.h"

namespace hone::agent {

/// Looks once where the readings are, then reads only those files.
class HealthReader {
 public:
  /// `cpus`: those whose clocks and governors are meant; empty: all.
  HealthReader(std::string device, const SystemRoots& roots, const std::vector<int>& cpus = {});

  /// Readings that cannot be taken are left out. The load is that since the last call (unknown at the first);
  /// `throttled` is "undervoltage", "thermal" or "frequency capped", when it is so now or (where the kernel only
  /// counts) was so since the last call of either function, and "hot" where a thermal zone of the CPU is at the limit
  /// from which its kernel slows it down.
  wire::DeviceHealth read();
  /// The same without the load, for readings between timed runs: twenty small files at most, of a machine with many
  /// clocks some of them, and no nominal clock.
  wire::DeviceHealth glance();

 private:
  wire::DeviceHealth glance(size_t most_clocks);
  std::optional<double> temperature() const;
  std::vector<const ClockDomain*> domains(size_t most) const;
  std::optional<double> clock(size_t most) const;
  std::optional<double> nominal_clock() const;
  std::string governor(size_t most) const;
  bool is_hot() const;
  std::string throttled();
  std::optional<double> load();

  const std::string device_;
  const std::string cpuinfo_, stat_;
  const Sensors sensors_;
  uint64_t throttle_count_ = 0, busy_ = 0, total_ = 0;
  bool counted_ = false, throttles_counted_ = false;
};

/// How the kernel sets this machine's clocks, where they do not stay at their highest: "ondemand", or several,
/// "ondemand, schedutil". "": governor performance, or the kernel does not say. Only of CPUs that this process may use.
std::string slow_governors(const std::vector<int>& cpus, const SystemRoots& roots = {});

/// Reads every few seconds on a thread of its own, under the host lock held shared: never while something is timed.
class HealthWatch {
 public:
  /// `tell` runs on that thread, soon for the first time, and never after the destructor has returned. `reader` and
  /// `tell` are moved there.
  HealthWatch(HealthReader reader, double period_s, std::function<void(wire::DeviceHealth)> tell);
  /// Does not wait for the host lock, which another may hold.
  ~HealthWatch();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hone::agent
