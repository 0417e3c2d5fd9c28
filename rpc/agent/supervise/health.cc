#include "rpc/agent/supervise/health.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "base/host_lock.h"
#include "base/log.h"

namespace hone::agent {
namespace {

namespace fs = std::filesystem;

std::string line_of(const fs::path& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
  return line;
}

std::optional<double> number_in(const std::string& path) {
  std::ifstream file(path);
  double x = 0;
  return file >> x ? std::optional(x) : std::nullopt;
}

/// Entries of a folder, sorted by name; none when there is no such folder.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (auto i = fs::directory_iterator(folder, error); !error && i != fs::directory_iterator(); i.increment(error))
    out.push_back(i->path());
  std::sort(out.begin(), out.end());
  return out;
}

void add_if_there(const fs::path& path, std::vector<std::string>* out) {
  std::error_code error;
  if (fs::exists(path, error)) out->push_back(path);
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

std::vector<std::string> thermal_zones(const fs::path& sys) {
  std::vector<std::string> out;
  for (const fs::path& zone : entries(sys / "class/thermal")) {
    const std::string type = line_of(zone / "type");
    const bool cpu =
        type == "x86_pkg_temp" || type.starts_with("cpu") || type.starts_with("soc") || type.starts_with("CPU");
    if (zone.filename().string().starts_with("thermal_zone") && cpu) add_if_there(zone / "temp", &out);
  }
  return out;
}

// Of a Raspberry Pi: soc/soc:firmware up to the 4, soc@107c000000/soc@107c000000:firmware of the 5. "" elsewhere, and
// where the kernel no longer has the file.
std::string firmware_file(const fs::path& sys) {
  for (const fs::path& soc : entries(sys / "devices/platform")) {
    const std::string name = soc.filename();
    const fs::path file = soc / (name + ":firmware") / "get_throttled";
    std::error_code error;
    if (name.starts_with("soc") && fs::exists(file, error)) return file;
  }
  return "";
}

// What those kernels still have: whether the supply is too weak.
std::string undervoltage_alarm(const fs::path& sys) {
  for (const fs::path& chip : entries(sys / "class/hwmon"))
    if (line_of(chip / "name") == "rpi_volt") return chip / "in0_lcrit_alarm";
  return "";
}

// cpu0, cpu1, … and not cpufreq, cpuidle.
std::vector<fs::path> cpu_folders(const fs::path& sys) {
  std::vector<fs::path> out;
  for (const fs::path& folder : entries(sys / "devices/system/cpu")) {
    const std::string name = folder.filename();
    if (name.size() > 3 && name.starts_with("cpu") &&
        std::all_of(name.begin() + 3, name.end(), [](unsigned char c) { return std::isdigit(c); }))
      out.push_back(folder);
  }
  return out;
}

}  // namespace

HealthReader::HealthReader(std::string device, const SystemRoots& roots)
    : device_(std::move(device)),
      cpuinfo_(roots.proc + "/cpuinfo"),
      stat_(roots.proc + "/stat"),
      firmware_(firmware_file(roots.sys)),
      undervoltage_(undervoltage_alarm(roots.sys)),
      temperatures_(hwmon_sensors(roots.sys)) {
  if (temperatures_.empty()) temperatures_ = thermal_zones(roots.sys);
  std::set<std::string> counted;
  for (const fs::path& cpu : cpu_folders(roots.sys)) {
    add_if_there(cpu / "cpufreq/scaling_cur_freq", &clocks_);
    // Each CPU has the counts of its core and package: read before and after every run, one of each is enough.
    const std::string package = line_of(cpu / "topology/physical_package_id");
    const std::string core = package + ":" + line_of(cpu / "topology/core_id");
    if (counted.insert(package).second)
      add_if_there(cpu / "thermal_throttle/package_throttle_count", &throttle_counts_);
    if (counted.insert(core).second) add_if_there(cpu / "thermal_throttle/core_throttle_count", &throttle_counts_);
  }
}

// The temperature of the hottest package.
std::optional<double> HealthReader::temperature() const {
  std::optional<double> hottest;
  for (const std::string& path : temperatures_)
    if (const std::optional<double> t = number_in(path)) hottest = std::max(hottest.value_or(-1e9), *t / 1000);
  return hottest;
}

// Mean of all CPUs.
std::optional<double> HealthReader::clock() const {
  double sum = 0;
  int n = 0;
  for (const std::string& path : clocks_)
    if (const std::optional<double> khz = number_in(path)) sum += *khz / 1000, ++n;
  if (n == 0) {
    std::ifstream file(cpuinfo_);
    for (std::string line; std::getline(file, line);) {
      const size_t colon = line.find(':');
      if (line.starts_with("cpu MHz") && colon != std::string::npos) sum += std::atof(line.c_str() + colon + 1), ++n;
    }
  }
  return n > 0 && sum > 0 ? std::optional(sum / n) : std::nullopt;
}

std::string HealthReader::throttled() {
  // The firmware: bits 0 to 3 tell the present state, the higher bits what happened since boot.
  if (const std::string text = line_of(firmware_); !text.empty()) {
    const unsigned long bits = std::strtoul(text.c_str(), nullptr, 16);
    if (bits & 1) return "undervoltage";
    if (bits & 0xC) return "thermal";
    return bits & 2 ? "frequency capped" : "";
  }
  if (line_of(undervoltage_) == "1") return "undervoltage";
  uint64_t sum = 0;
  for (const std::string& path : throttle_counts_) sum += static_cast<uint64_t>(number_in(path).value_or(0));
  const uint64_t before = std::exchange(throttle_count_, sum);
  return std::exchange(throttles_counted_, true) && sum > before ? "thermal" : "";
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

wire::DeviceHealth HealthReader::read() {
  wire::DeviceHealth h;
  h.device = device_;
  h.temperature_c = temperature();
  h.clock_mhz = clock();
  h.throttled = throttled();
  h.load = load();
  counted_ = true;
  return h;
}

std::string slow_governors(const std::vector<int>& cpus, const SystemRoots& roots) {
  std::set<std::string> found;
  for (const int cpu : cpus) {
    const std::string governor =
        line_of(fmt::format("{}/devices/system/cpu/cpu{}/cpufreq/scaling_governor", roots.sys, cpu));
    if (!governor.empty() && governor != "performance") found.insert(governor);
  }
  return fmt::format("{}", fmt::join(found, ", "));
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
