#include "rpc/agent/supervise/sensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>

namespace hone::agent {
namespace {

namespace fs = std::filesystem;

/// Entries of a folder, sorted by name; none when there is no such folder.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (auto i = fs::directory_iterator(folder, error); !error && i != fs::directory_iterator(); i.increment(error))
    out.push_back(i->path());
  std::sort(out.begin(), out.end());
  return out;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

void add_if_there(const fs::path& path, std::vector<std::string>* out) {
  if (is_there(path)) out->push_back(path);
}

bool is_any(const std::string& text, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Sensors of the CPU's package: Intel's coretemp ("Package id 0"; its others are single cores), AMD's k10temp ("Tctl";
// of two, "Tdie" is the true one), boards' cpu_thermal. Chips of disks, network cards and power supplies are there,
// too, and none of these.
std::vector<std::string> hwmon_sensors(const fs::path& sys) {
  std::vector<std::string> out;
  for (const fs::path& chip : entries(sys / "class/hwmon")) {
    const std::string name = line_of(chip / "name");
    if (!is_any(name, {"coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal", "cpu"})) continue;
    std::string best;
    for (const fs::path& input : entries(chip)) {
      const std::string file = input.filename();
      if (!file.starts_with("temp") || !file.ends_with("_input")) continue;
      const std::string label = line_of(chip / (file.substr(0, file.size() - 6) + "_label"));
      if (best.empty() || label.starts_with("Package id") || label == "Tdie") best = input;
    }
    if (!best.empty()) out.push_back(best);
  }
  return out;
}

// The CPU's.
std::vector<fs::path> thermal_zones(const fs::path& sys) {
  std::vector<fs::path> out;
  for (const fs::path& zone : entries(sys / "class/thermal")) {
    const std::string type = line_of(zone / "type");
    const bool cpu =
        type == "x86_pkg_temp" || type.starts_with("cpu") || type.starts_with("soc") || type.starts_with("CPU");
    if (zone.filename().string().starts_with("thermal_zone") && cpu && is_there(zone / "temp")) out.push_back(zone);
  }
  return out;
}

// The first trip at which the zone's kernel reacts: its lowest passive, hot or critical one. Active trips start fans,
// and an unset trip is 0 or below. A zone of power_allocator has two passive trips; the lower only starts it.
std::optional<TripPoint> trip_of(const fs::path& zone) {
  constexpr double kLeast = 40, kMost = 150;
  std::vector<double> passive, last;
  for (const fs::path& file : entries(zone)) {
    const std::string name = file.filename();
    if (!name.starts_with("trip_point_") || !name.ends_with("_type")) continue;
    const std::string type = line_of(file);
    const std::string number = name.substr(0, name.size() - std::string("_type").size());
    const double limit = number_in(zone / (number + "_temp")).value_or(0) / 1000;
    if (limit < kLeast || limit > kMost || !is_any(type, {"passive", "hot", "critical"})) continue;
    (type == "passive" ? passive : last).push_back(limit);
  }
  if (passive.size() > 1 && line_of(zone / "policy") == "power_allocator")
    passive = {*std::max_element(passive.begin(), passive.end())};
  passive.insert(passive.end(), last.begin(), last.end());
  if (passive.empty()) return std::nullopt;
  return TripPoint{zone / "temp", *std::min_element(passive.begin(), passive.end())};
}

// The firmware's file on a Raspberry Pi: soc/soc:firmware up to the Pi 4, soc@107c000000/soc@107c000000:firmware on the
// 5. "" on other boards, and where the kernel no longer has the file.
std::string firmware_file(const fs::path& sys) {
  for (const fs::path& soc : entries(sys / "devices/platform")) {
    const std::string name = soc.filename();
    const fs::path file = soc / (name + ":firmware") / "get_throttled";
    if (name.starts_with("soc") && is_there(file)) return file;
  }
  return "";
}

// Kernels without that file still have this one: whether the supply is too weak.
std::string undervoltage_alarm(const fs::path& sys) {
  for (const fs::path& chip : entries(sys / "class/hwmon"))
    if (line_of(chip / "name") == "rpi_volt") return chip / "in0_lcrit_alarm";
  return "";
}

int number_of(const fs::path& cpu) { return std::atoi(cpu.filename().c_str() + 3); }

// cpu0, cpu1, … in this order, and not cpufreq, cpuidle.
std::vector<fs::path> cpu_folders(const fs::path& sys) {
  std::vector<fs::path> out;
  for (const fs::path& folder : entries(sys / "devices/system/cpu")) {
    const std::string name = folder.filename();
    if (name.size() > 3 && name.starts_with("cpu") &&
        std::all_of(name.begin() + 3, name.end(), [](unsigned char c) { return std::isdigit(c); }))
      out.push_back(folder);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return number_of(a) < number_of(b); });
  return out;
}

// Cores of one cluster share a clock, and a link to its folder.
std::vector<ClockDomain> clock_domains(const fs::path& sys, const std::vector<int>& cpus) {
  std::vector<ClockDomain> out;
  std::map<fs::path, size_t> places;
  for (const fs::path& cpu : cpu_folders(sys)) {
    if (!cpus.empty() && std::find(cpus.begin(), cpus.end(), number_of(cpu)) == cpus.end()) continue;
    std::error_code error;
    const fs::path folder = fs::canonical(cpu / "cpufreq", error);
    if (error) continue;
    if (const auto [place, fresh] = places.emplace(folder, out.size()); fresh)
      out.push_back({folder});
    else
      ++out[place->second].cpus;
  }
  return out;
}

// Each CPU has the counts of its core and package; one of each is enough.
std::vector<std::string> throttle_counts(const fs::path& sys) {
  std::vector<std::string> out;
  std::set<std::string> counted;
  for (const fs::path& cpu : cpu_folders(sys)) {
    const std::string package = line_of(cpu / "topology/physical_package_id");
    const std::string core = package + ":" + line_of(cpu / "topology/core_id");
    if (counted.insert(package).second) add_if_there(cpu / "thermal_throttle/package_throttle_count", &out);
    if (counted.insert(core).second) add_if_there(cpu / "thermal_throttle/core_throttle_count", &out);
  }
  return out;
}

}  // namespace

// Read between timed runs: without a stream and its buffers.
std::string line_of(const std::string& path) {
  char buffer[128];
  const int file = path.empty() ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return "";
  const ssize_t n = read(file, buffer, sizeof buffer);
  close(file);
  std::string line(buffer, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  line.resize(std::min(line.size(), line.find('\n')));
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
  return line;
}

std::optional<double> number_in(const std::string& path) {
  const std::string line = line_of(path);
  char* end = nullptr;
  const double x = std::strtod(line.c_str(), &end);
  return end == line.c_str() ? std::nullopt : std::optional(x);
}

Sensors find_sensors(const SystemRoots& roots, const std::vector<int>& cpus) {
  Sensors out;
  out.temperatures = hwmon_sensors(roots.sys);
  for (const fs::path& zone : thermal_zones(roots.sys))
    if (const std::optional<TripPoint> trip = trip_of(zone)) out.trips.push_back(*trip);
  if (out.temperatures.empty())
    for (const fs::path& zone : thermal_zones(roots.sys)) out.temperatures.push_back(zone / "temp");
  out.clocks = clock_domains(roots.sys, cpus);
  out.throttle_counts = throttle_counts(roots.sys);
  out.firmware = firmware_file(roots.sys);
  out.undervoltage = undervoltage_alarm(roots.sys);
  return out;
}

}  // namespace hone::agent
