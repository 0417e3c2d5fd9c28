#include "compiler/cli/machine_roof.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "compiler/runtime/machine_peak.h"

namespace hone {
namespace {

std::filesystem::path cache_file() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder = cache && *cache ? std::filesystem::path(cache) : std::filesystem::path(home && *home ? home : "/tmp") / ".cache";
  return folder / "hone" / "roof.json";
}

OrderedJson read_cache() {
  std::ifstream file(cache_file());
  OrderedJson all = OrderedJson::parse(file, nullptr, /*allow_exceptions=*/false);
  return all.is_object() ? all : OrderedJson::object();
}

// Written beside and renamed: a reader sees the old file or the new one.
void write_cache(const OrderedJson& all) {
  std::error_code error;
  const std::filesystem::path path = cache_file(), fresh = path.string() + "." + std::to_string(getpid());
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(fresh);
  file << all.dump(1) << "\n";
  file.close();
  if (file) std::filesystem::rename(fresh, path, error);
  if (!file || error) std::filesystem::remove(fresh, error);
}

bool parse_roof(const OrderedJson& j, MachineRoof* roof) {
  if (!j.is_object() || !j.contains("peak_gflops") || !j["peak_gflops"].is_number() || !j.contains("levels") || !j["levels"].is_array()) return false;
  roof->peak_gflops = j["peak_gflops"];
  for (const auto& level : j["levels"]) {
    if (!level.is_object() || !level.contains("bytes") || !level["bytes"].is_number_integer() || !level.contains("gb_per_second") || !level["gb_per_second"].is_number()) return false;
    roof->levels.push_back({level["bytes"], level["gb_per_second"]});
  }
  return roof->peak_gflops > 0 && !roof->levels.empty();
}

MachineRoof measure(const Target& target, ThreadPool& pool) {
  MachineRoof roof;
  roof.peak_gflops = measured_peak_gflops(pool);
  constexpr int64_t kMemory = int64_t{256} << 20;
  const int64_t l1 = target.threads * target.l1_bytes, l2 = target.threads * target.l2_bytes;
  // Of a cache that cores share, 16 times L2 stands for what one may count on.
  for (const int64_t bytes : {l1, l2, 16 * l2, kMemory})
    if (roof.levels.empty() || bytes > roof.levels.back().bytes) roof.levels.push_back({bytes, measured_read_bandwidth(pool, bytes / 2)});
  return roof;
}

}  // namespace

const MachineRoof::Level& MachineRoof::level_of(double bytes) const {
  for (const Level& l : levels)
    if (bytes <= static_cast<double>(l.bytes)) return l;
  return levels.back();
}

MachineRoof machine_roof(const Target& target) {
  const std::string key = to_string(target);
  OrderedJson all = read_cache();
  MachineRoof roof;
  ThreadPool pool({.workers = target.threads, .cpus = allowed_cpus()});
  // A roof that was measured beside other work is too low: it is measured again once the machine shows more.
  if (all.contains(key) && parse_roof(all[key], &roof) && measured_peak_gflops(pool) < 1.05 * roof.peak_gflops) return roof;
  roof = measure(target, pool);
  OrderedJson levels = OrderedJson::array();
  for (const auto& l : roof.levels) levels.push_back({{"bytes", l.bytes}, {"gb_per_second", l.gb_per_second}});
  all[key] = {{"peak_gflops", roof.peak_gflops}, {"levels", levels}};
  write_cache(all);
  return roof;
}

}  // namespace hone
