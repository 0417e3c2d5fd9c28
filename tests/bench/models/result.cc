#include "tests/bench/models/result.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "base/exit_code.h"
#include "base/text.h"

namespace hone::bench {
namespace {

OrderedJson to_json(const Row& r) {
  OrderedJson j;
  j["model"] = r.model;
  j["group"] = r.group;
  j["threads"] = r.threads;
  if (!r.error.empty()) {
    j["error"] = r.error;
    return j;
  }
  j["configs"] = r.configs;
  for (const auto& [contender, turns] : r.turns_ms) {
    j["ms"][contender] = r.ms(contender);
    if (contender != kPeer) j["ratio"][contender] = r.ratio(contender);
    j["turns_ms"][contender] = turns;
  }
  j["difference"] = r.difference;
  j["others_cpus"] = r.others_cpus;
  j["artifact_bytes"] = r.artifact_bytes;
  j["model_bytes"] = r.model_bytes;
  for (const auto& [contender, s] : r.starts)
    j["start"][contender] = {{"library_ms", s.library_ms}, {"open_ms", s.open_ms}, {"first_run_ms", s.first_run_ms}};
  if (!r.no_layers.empty()) j["no_layers"] = r.no_layers;
  for (const auto& [contender, layers] : r.layers) j["layers"][contender] = to_json(layers);
  return j;
}

Row row_of(const Json& j) {
  Row r;
  r.model = j.at("model");
  r.group = j.at("group");
  r.threads = j.at("threads");
  r.error = j.value("error", "");
  if (!r.error.empty()) return r;
  r.configs = j.at("configs");
  r.turns_ms = j.at("turns_ms");
  r.difference = j.at("difference");
  r.others_cpus = j.at("others_cpus");
  r.artifact_bytes = j.at("artifact_bytes");
  r.model_bytes = j.at("model_bytes");
  for (const auto& [contender, s] : j.at("start").items())
    r.starts[contender] = {s.at("library_ms"), s.at("open_ms"), s.at("first_run_ms")};
  r.no_layers = j.value("no_layers", "");
  if (j.contains("layers"))
    for (const auto& [contender, layers] : j.at("layers").items()) r.layers[contender] = layers_of(layers);
  return r;
}

}  // namespace

double Row::ms(const std::string& contender) const {
  const auto it = turns_ms.find(contender);
  return it == turns_ms.end() || it->second.empty() ? 0 : median(it->second);
}

double Row::ratio(const std::string& contender) const {
  const double ours = ms(contender);
  return ours > 0 ? ms(kPeer) / ours : 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

std::vector<double> ratios(const Report& report, const std::string& contender, const std::string& group, int threads) {
  std::vector<double> out;
  for (const Row& r : report.rows)
    if (r.threads == threads && (group.empty() || r.group == group) && r.ratio(contender) > 0)
      out.push_back(r.ratio(contender));
  return out;
}

std::vector<std::string> groups_of(const Report& report) {
  std::vector<std::string> groups;
  for (const Row& r : report.rows)
    if (!r.group.empty() && std::find(groups.begin(), groups.end(), r.group) == groups.end()) groups.push_back(r.group);
  return groups;
}

std::vector<int> threads_of(const Report& report) {
  std::set<int> threads;
  for (const Row& r : report.rows) threads.insert(r.threads);
  return {threads.begin(), threads.end()};
}

OrderedJson to_json(const Report& report) {
  OrderedJson j;
  j["machine"] = report.machine;
  j["command"] = report.command;
  j["onnxruntime"] = report.peer_version;
  j["onnxruntime_library_bytes"] = report.peer_library_bytes;
  j["rows"] = OrderedJson::array();
  for (const Row& r : report.rows) j["rows"].push_back(to_json(r));
  return j;
}

StatusOr<Report> read_report(const std::string& file) {
  std::ifstream in(file);
  if (!in) return usage_error(fmt::format("{}: cannot be read", file));
  try {
    const Json j = Json::parse(in);
    Report r{j.at("machine"), j.at("command"), j.at("onnxruntime"), j.at("onnxruntime_library_bytes"), {}};
    for (const Json& row : j.at("rows")) r.rows.push_back(row_of(row));
    return r;
  } catch (const Json::exception& e) {
    return usage_error(fmt::format("{}: is no report of bench_models: {}", file, clean_line(e.what(), 300)));
  }
}

std::string machine_name() {
  cpu_set_t cpus;
  const int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 0;
  std::ifstream in("/proc/cpuinfo");
  std::string line, name = "unknown processor";
  while (std::getline(in, line))
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) {
      name = clean_line(line.substr(line.find(": ") + 2));
      break;
    }
  return fmt::format("{}, {} CPU{}", name, count, count == 1 ? "" : "s");
}

}  // namespace hone::bench
