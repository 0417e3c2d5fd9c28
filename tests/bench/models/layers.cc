#include "tests/bench/models/layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/exit_code.h"
#include "base/text.h"

namespace hone::bench {
namespace {

// What the profile adds to a node's name where it tells how long the node's kernel ran.
constexpr std::string_view kKernelTime = "_kernel_time";

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

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
  struct Runs {
    int count = 0;
    double us = 0;  // of all but the first
  };
  std::vector<LayerTime> layers;
  std::vector<Runs> runs;
  std::map<std::string, size_t> place;
  try {
    for (const Json& event : Json::parse(json)) {
      const std::string name = event.value("name", "");
      if (event.value("cat", "") != "Node" || !ends_with(name, kKernelTime)) continue;
      const auto [it, added] = place.emplace(name, layers.size());
      if (added) {
        layers.push_back({name.substr(0, name.size() - kKernelTime.size()), event.at("args").at("op_name"), 0});
        runs.emplace_back();
      }
      Runs& r = runs[it->second];
      if (r.count++ > 0) r.us += event.at("dur").get<double>();
    }
  } catch (const Json::exception& e) {
    return usage_error(fmt::format("its profile cannot be read: {}", clean_line(e.what(), 300)));
  }
  for (size_t i = 0; i < layers.size(); ++i)
    if (runs[i].count > 1) layers[i].ms = runs[i].us / (runs[i].count - 1) / 1e3;
  return layers;
}

}  // namespace hone::bench
