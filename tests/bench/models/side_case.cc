#include "tests/bench/models/side_case.h"

#include <fmt/format.h>

#include <fstream>

#include "base/exit_code.h"

namespace hone::bench {
namespace {

OrderedJson to_json(const std::vector<SideTensor>& tensors) {
  OrderedJson list = OrderedJson::array();
  for (const SideTensor& t : tensors)
    list.push_back({{"name", t.name},
                    {"shape", t.shape},
                    {"type", t.onnx_type},
                    {"bytes", t.bytes},
                    {"file", t.file},
                    {"axis", t.axis},
                    {"count", t.count}});
  return list;
}

std::vector<SideTensor> tensors_of(const Json& list) {
  std::vector<SideTensor> tensors;
  for (const Json& t : list)
    tensors.push_back(
        {t.at("name"), t.at("shape"), t.at("type"), t.at("bytes"), t.at("file"), t.at("axis"), t.at("count")});
  return tensors;
}

}  // namespace

OrderedJson to_json(const SideCase& c) {
  OrderedJson j;
  j["model"] = c.model;
  j["library"] = c.library;
  j["threads"] = c.threads;
  j["spinning"] = c.spinning;
  j["dims"] = c.dims;
  j["inputs"] = to_json(c.inputs);
  j["outputs"] = to_json(c.outputs);
  j["turn_ms"] = c.turn.least_ms;
  j["turn_runs"] = c.turn.least_runs;
  j["by_processor_time"] = c.by_processor_time;
  j["layers_file"] = c.layers_file;
  return j;
}

StatusOr<SideCase> read_side_case(const std::string& file) {
  std::ifstream in(file);
  if (!in) return usage_error(fmt::format("{}: cannot be read", file));
  try {
    const Json j = Json::parse(in);
    return SideCase{j.at("model"),
                    j.at("library"),
                    j.at("threads"),
                    j.at("spinning"),
                    j.at("dims"),
                    tensors_of(j.at("inputs")),
                    tensors_of(j.at("outputs")),
                    {j.at("turn_ms"), j.at("turn_runs")},
                    j.at("by_processor_time"),
                    j.at("layers_file")};
  } catch (const Json::exception& e) {
    return usage_error(fmt::format("{}: {}", file, e.what()));
  }
}

}  // namespace hone::bench
