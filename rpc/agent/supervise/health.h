// How this machine's CPU is right now: temperature, clock, throttling, load, as far as the kernel tells.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpc/wire/messages.h"

namespace hone::agent {

/// Where the kernel's files are; tests have trees of their own.
struct SystemRoots {
  std::string sys = "/sys", proc = "/proc";
};

/// Looks once where the readings are, then reads only those files.
class HealthReader {
 public:
  HealthReader(std::string device, const SystemRoots& roots);

  /// Readings that cannot be taken are left out. The load is that since the last call (unknown at the first);
  /// `throttled` is "thermal", "undervoltage" or "frequency capped", when it is so now or (where the kernel only
  /// counts) was so since the last call.
  wire::DeviceHealth read();
  /// The same of `throttled` alone: a few small files.
  std::string throttled();

 private:
  std::optional<double> temperature() const;
  std::optional<double> clock() const;
  std::optional<double> load();

  const std::string device_;
  const std::string cpuinfo_, stat_, firmware_, undervoltage_;
  std::vector<std::string> temperatures_;  ///< of the CPU packages, in thousandths of a degree
  std::vector<std::string> clocks_;        ///< of each CPU, in kHz
  std::vector<std::string> throttle_counts_;
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
