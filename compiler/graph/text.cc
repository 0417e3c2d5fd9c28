#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace {

std::string elements_text(const TensorData& data, int64_t most) {
  if (data.elements() > most)
    return fmt::format("hash {}", hash_bytes({data.bytes().data(), data.bytes().size()}).hex());
  if (data.type().dtype.is_float()) return fmt::format("[{}]", fmt::join(data.values(), ", "));
  return fmt::format("[{}]", fmt::join(data.numbers(), ", "));
}

}  // namespace

// graph NAME
// input "data" %data f32[1, 3, 224, 224]
// %w = constant f32[64] hash 0123…
// %y = conv2d(n=1,…) %data %w   # Conv_0
// output "y" %y f32[1, 64, 112, 112]
std::string to_string(const Graph& g, int64_t most_elements) {
  std::string out = "graph " + g.name + "\n";
  const auto port = [&](const char* what, const Port& p) {
    out += fmt::format("{} \"{}\" {} {}\n", what, p.name, p.value == kNoValue ? "none" : "%" + g.value(p.value).name,
                       to_string(p.type));
  };
  for (const Port& p : g.inputs) port("input", p);
  std::vector<bool> is_said(g.values.size(), false);
  const auto say_constant = [&](ValueId v) {
    if (!g.is_constant(v) || is_said[static_cast<size_t>(v)]) return;
    is_said[static_cast<size_t>(v)] = true;
    out += fmt::format("%{} = constant {} {}\n", g.value(v).name, to_string(g.value(v).type),
                       elements_text(*g.value(v).constant, most_elements));
  };
  for (const Node& n : g.nodes) {
    std::string results, inputs;
    for (const ValueId v : n.inputs) say_constant(v);
    for (const ValueId v : n.outputs) results += fmt::format("{}%{}", results.empty() ? "" : ", ", g.value(v).name);
    for (const ValueId v : n.inputs) inputs += " %" + g.value(v).name;
    out += fmt::format("{} = {}{}{}\n", results, to_string(n.workload), inputs,
                       n.origin.empty() ? "" : "   # " + n.origin);
  }
  for (const Port& p : g.outputs)
    if (p.value != kNoValue) say_constant(p.value);
  for (const Port& p : g.outputs) port("output", p);
  return out;
}

}  // namespace hone
