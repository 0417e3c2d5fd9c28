#include "compiler/host/machine_roof.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/json.h"
#include "base/plain_file.h"
#include "compiler/runtime/machine_peak.h"

namespace hone {
namespace {

std::filesystem::path cache_file() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder =
      cache && *cache ? std::filesystem::path(cache) : std::filesystem::path(home && *home ? home : "/tmp") / ".cache";
  return folder / "hone" / "roof.json";
}

OrderedJson read_cache(const std::filesystem::path& path) {
  constexpr int64_t kMostBytes = 1 << 20;
  const StatusOr<std::string> text = read_plain_file(path, kMostBytes);
  OrderedJson all = text.ok() ? OrderedJson::parse(*text, nullptr, /*allow_exceptions=*/false) : OrderedJson();
  return all.is_object() ? all : OrderedJson::object();
}

// If the cache cannot be written, its numbers are measured again the next time.
void write_cache(const std::filesystem::path& path, const OrderedJson& all) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  write_atomically(path.string(), all.dump(1) + "\n").IgnoreError();
}

bool parse_roof(const OrderedJson& j, MachineRoof* roof) {
  if (!j.is_object() || !j.contains("peak_gflops") || !j["peak_gflops"].is_number() || !j.contains("levels") ||
      !j["levels"].is_array())
    return false;
  roof->peak_gflops = j["peak_gflops"];
  for (const auto& level : j["levels"]) {
    if (!level.is_object() || !level.contains("bytes") || !level["bytes"].is_number_integer() ||
        !level.contains("gb_per_second") || !level["gb_per_second"].is_number())
      return false;
    roof->levels.push_back({level["bytes"], level["gb_per_second"]});
  }
  return roof->peak_gflops > 0 && !roof->levels.empty();
}

MachineRoof measure(const Target& target, ThreadPool& pool) {
  MachineRoof roof;
  roof.peak_gflops = measured_peak_gflops(pool);
  constexpr int64_t kMemory = int64_t{256} << 20;
  const int64_t l1 = target.threads * target.l1_bytes, l2 = target.threads * target.l2_bytes;
  // A core's share of the last cache is not known: 16 times L2 is taken as a safe size.
  for (const int64_t bytes : {l1, l2, 16 * l2, kMemory})
    if (roof.levels.empty() || bytes > roof.levels.back().bytes)
      roof.levels.push_back({bytes, measured_read_bandwidth(pool, bytes / 2)});
  return roof;
}

OrderedJson to_json(const MachineRoof& roof) {
  OrderedJson levels = OrderedJson::array();
  for (const auto& l : roof.levels) levels.push_back({{"bytes", l.bytes}, {"gb_per_second", l.gb_per_second}});
  return {{"peak_gflops", roof.peak_gflops}, {"levels", levels}};
}

// The thread pool is part of the key: measures depend on it.
template <class Ask>
MachineRoof ask_this_machine(const Target& target, const Ask& ask) {
  ThreadPool pool({.workers = target.threads, .cpus = allowed_cpus()});
  const RoofCache cache(cache_file(),
                        {[&] { return measure(target, pool); }, [&] { return measured_peak_gflops(pool); },
                         [] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }});
  return ask(cache);
}

}  // namespace

const MachineRoof::Level& MachineRoof::level_of(double bytes) const {
  for (const Level& l : levels)
    if (bytes <= static_cast<double>(l.bytes)) return l;
  return levels.back();
}

MachineRoof best_of(const MachineRoof& a, const MachineRoof& b) {
  MachineRoof out = a;
  out.peak_gflops = std::max(a.peak_gflops, b.peak_gflops);
  for (const MachineRoof::Level& level : b.levels) {
    const auto at = std::find_if(out.levels.begin(), out.levels.end(),
                                 [&](const MachineRoof::Level& l) { return l.bytes >= level.bytes; });
    if (at != out.levels.end() && at->bytes == level.bytes)
      at->gb_per_second = std::max(at->gb_per_second, level.gb_per_second);
    else
      out.levels.insert(at, level);
  }
  return out;
}

MachineRoof RoofCache::roof(const std::string& key) const {
  const OrderedJson all = read_cache(file_);
  MachineRoof known;
  // A roof that was measured beside other work all the time is too low; a later, quiet measurement raises it.
  if (all.contains(key) && parse_roof(all[key], &known))
    return measures_.peak() < 1.05 * known.peak_gflops ? known : measure_and_store(key, known);
  return measure_and_store(key, {});
}

MachineRoof RoofCache::beaten(const std::string& key, const MachineRoof& known) const {
  return measure_and_store(key, known);
}

MachineRoof RoofCache::measure_and_store(const std::string& key, MachineRoof known) const {
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) measures_.pause();
    known = best_of(known, measures_.roof());
  }
  OrderedJson all = read_cache(file_);
  all[key] = to_json(known);
  write_cache(file_, all);
  return known;
}

MachineRoof machine_roof(const Target& target) {
  return ask_this_machine(target, [&](const RoofCache& cache) { return cache.roof(to_string(target)); });
}

MachineRoof beaten_roof(const Target& target, const MachineRoof& known) {
  return ask_this_machine(target, [&](const RoofCache& cache) { return cache.beaten(to_string(target), known); });
}

}  // namespace hone
