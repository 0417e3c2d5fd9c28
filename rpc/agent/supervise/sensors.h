// Where this machine's kernel has its readings of the CPU: temperatures and their limits, clocks, governors,
// throttling. Looked for once; HealthReader reads them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hone::agent {

/// Where the kernel's files are; tests have trees of their own.
struct SystemRoots {
  std::string sys = "/sys", proc = "/proc";
};

/// A temperature from which the kernel slows the CPU down or switches the machine off.
struct TripPoint {
  std::string temperature;  ///< file of its zone, in thousandths of a degree
  double limit_c = 0;
};

/// CPUs that share one file for their clock.
struct ClockDomain {
  std::string folder;  ///< of cpufreq: scaling_cur_freq in kHz, scaling_governor
  int cpus = 1;
};

struct Sensors {
  std::vector<std::string> temperatures;  ///< of the CPU packages, in thousandths of a degree
  std::vector<TripPoint> trips;           ///< of the CPU's thermal zones, one a zone
  std::vector<ClockDomain> clocks;
  std::vector<std::string> throttle_counts;  ///< of x86: events since the start, one of each core and package
  std::string firmware;                      ///< on a Raspberry Pi: the file behind `vcgencmd get_throttled`; "": none
  std::string undervoltage;                  ///< a file: 1 while the supply is too weak; "": none
};

/// `cpus`: those whose clocks are meant; empty: all.
Sensors find_sensors(const SystemRoots& roots, const std::vector<int>& cpus);

/// The first line of a small file without the spaces at its end; "" where it cannot be read.
std::string line_of(const std::string& path);
/// The number that such a file begins with.
std::optional<double> number_in(const std::string& path);

}  // namespace hone::agent
