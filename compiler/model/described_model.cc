#include "compiler/model/described_model.h"

#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "compiler/model/metadata_json.h"

namespace hone {
namespace {

std::vector<Port> ports_of(const Json& list) {
  std::vector<Port> ports;
  for (const Json& j : list) {
    Port& p = ports.emplace_back();
    p.name = j.at("name");
    p.type = {parse_dtype(j.at("dtype").get<std::string>()), j.at("shape").get<std::vector<int64_t>>()};
    if (const auto extent = j.find("extent"); extent != j.end())
      p.extent = Port::Extent{extent->at("axis").get<size_t>(), extent->at("output").get<size_t>()};
  }
  return ports;
}

size_t number_of(const std::vector<Port>& ports, const std::string& name) {
  const auto at = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == name; });
  HONE_USER_CHECK(at != ports.end()) << "describes a cache without its tensor '" << name << "'";
  return static_cast<size_t>(at - ports.begin());
}

Growth growth_of(const Json& caches, const Graph& g) {
  Growth growth;
  for (const Json& j : caches) {
    growth.symbol = j.at("rows");
    growth.most = j.at("most");
    growth.caches.push_back(
        {number_of(g.inputs, j.at("input")), number_of(g.outputs, j.at("output")), j.at("axis").get<size_t>()});
  }
  return growth;
}

DescribedVariant variant_of(const Json& j) {
  DescribedVariant v;
  v.name = j.value("name", "");
  v.ports.inputs = ports_of(j.at("inputs"));
  v.ports.outputs = ports_of(j.at("outputs"));
  if (const auto caches = j.find("caches"); caches != j.end()) {
    v.growth = growth_of(*caches, v.ports);
    v.ports.inputs.push_back({.name = v.growth->symbol, .type = {i64, {1}}});
  }
  return v;
}

}  // namespace

std::vector<DescribedVariant> described_variants(const std::string& json) {
  try {
    const Json j = Json::parse(json);
    HONE_USER_CHECK(!j.contains("workload")) << "is an operator's; allowed: a model's";
    std::vector<DescribedVariant> out;
    if (const auto several = j.find("variants"); several != j.end())
      for (const Json& of : *several) out.push_back(variant_of(of));
    else
      out.push_back(variant_of(j)), out[0].name.clear();  // that was the model's
    return out;
  } catch (const Json::exception&) {
    throw UserError("does not describe a model");
  }
}

ModelMetadata described_metadata(const std::string& json) {
  try {
    const Json j = Json::parse(json);
    return j.contains("metadata") ? metadata_from(j.at("metadata")) : ModelMetadata();
  } catch (const Json::exception&) {
    throw UserError("does not describe a model");
  }
}

}  // namespace hone
