#include "tests/bench/models/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/exit_code.h"
#include "base/text.h"

namespace hone::bench {
namespace {

// The suffix that marks, in the profile, the time that a node's kernel ran.
constexpr std::string_view kKernelTime = "_kernel_time";

}  // namespace

OrderedJson to_json(const std::vector<LayerTime>& layers) {
  OrderedJson list = OrderedJson::array();
  for (const LayerTime& l : layers) list.push_back({{"name", l.name}, {"operation", l.operation}, {"ms", l.ms}});
  return list;
}

std::vector<LayerTime> layers_of(const Json& j) {
  std::vector<LayerTime> layers;
  for (const Json& l : j) layers.push_back({l.at("name"), l.at("operation"), l.at("ms")});
  return layers;
}

std::vector<OperationTime> by_operation(const std::vector<LayerTime>& layers) {
  std::vector<OperationTime> out;
  for (const LayerTime& l : layers) {
    auto it = std::find_if(out.begin(), out.end(), [&](const auto& o) { return o.operation == l.operation; });
    if (it == out.end()) it = out.insert(it, {l.operation, 0, 0});
    ++it->layers;
    it->ms += l.ms;
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  return out;
}

StatusOr<std::vector<LayerTime>> layers_of_profile(const std::string& json) {
  std::vector<LayerTime> layers;
  std::map<std::pair<std::string, std::string>, size_t> place;  // by name and number: names may be the same
  int runs = 0;
  try {
    for (const Json& event : Json::parse(json)) {
      const std::string name = event.value("name", "");
      runs += name == "model_run";  // the last event of a run
      if (event.value("cat", "") != "Node" || !name.ends_with(kKernelTime)) continue;
      const Json& args = event.at("args");
      const auto [it, added] =
          place.try_emplace({name, args.contains("node_index") ? args["node_index"].dump() : ""}, layers.size());
      if (added)
        layers.push_back({clean_line(name.substr(0, name.size() - kKernelTime.size())),
                          clean_line(args.at("op_name").get<std::string>()), 0});
      if (const double ms = event.at("dur").get<double>() / 1e3; runs > 0) layers[it->second].ms += ms;
    }
  } catch (const Json::exception& e) {
    return usage_error(fmt::format("its profile cannot be read: {}", clean_line(e.what(), 300)));
  }
  if (runs < 2) return usage_error(fmt::format("its profile has too few runs, {}: the first does not count", runs));
  for (LayerTime& layer : layers) layer.ms /= runs - 1;
  return layers;
}

}  // namespace hone::bench
