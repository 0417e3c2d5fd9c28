#include "compiler/graph/text.h"

#include <fmt/format.h>

#include <set>

#include "base/hash.h"
#include "compiler/graph/element_text.h"
#include "compiler/ops/user_operator.h"

namespace hone {
namespace {

// Nothing in a name may end its line, nor the quotes around it.
std::string escaped(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (code < 0x20 || code == 0x7f)
      out += fmt::format("\\x{:02x}", code);
    else
      out += c;
  }
  return out;
}

std::string constant_text(const TensorData& data, int64_t most) {
  if (data.elements() <= most) return elements_text(data);
  return fmt::format("hash {}", hash_bytes({data.bytes().data(), data.bytes().size()}).hex());
}

// `elements_of` says a constant's.
template <class ElementsOf>
std::string text_of(const Graph& g, const ElementsOf& elements_of) {
  std::string out = "graph " + escaped(g.name) + "\n";
  const auto port = [&](const char* what, const Port& p) {
    out += fmt::format("{} \"{}\" {} {}{}\n", what, escaped(p.name),
                       p.value == kNoValue ? "none" : "%" + g.value(p.value).name, to_string(p.type),
                       p.extent ? fmt::format(" extent {} by {}", p.extent->axis, p.extent->count) : "");
  };
  for (const Port& p : g.inputs) port("input", p);
  IdVector<bool> is_said(g.values.size(), false);
  const auto say_constant = [&](ValueId v) {
    if (!g.is_constant(v) || is_said[v]) return;
    is_said[v] = true;
    out += fmt::format("%{} = constant {} {}\n", g.value(v).name, to_string(g.value(v).type),
                       elements_of(*g.value(v).constant));
  };
  std::set<std::string> defined;
  for (const Node& n : g.nodes)
    if (is_user_operator(n.workload) && defined.insert(n.workload.attributes.text("def")).second)
      out += fmt::format("definition {} {}\n", n.workload.attributes.text("def"), user_definition(n.workload));
  for (const Node& n : g.nodes) {
    std::string results, inputs;
    for (const ValueId v : n.inputs) say_constant(v);
    for (const ValueId v : n.outputs) results += fmt::format("{}%{}", results.empty() ? "" : ", ", g.value(v).name);
    for (const ValueId v : n.inputs) inputs += " %" + g.value(v).name;
    out += fmt::format("{} = {}{}{}\n", results, to_string(n.workload), inputs,
                       n.origin.empty() ? "" : "   # " + escaped(n.origin));
  }
  for (const Port& p : g.outputs)
    if (p.value != kNoValue) say_constant(p.value);
  for (const Port& p : g.outputs) port("output", p);
  return out;
}

}  // namespace

std::string to_string(const Graph& g, int64_t most_elements) {
  return text_of(g, [&](const TensorData& data) { return constant_text(data, most_elements); });
}

std::string text_beside(const Graph& g, std::vector<TensorData>* given) {
  return text_of(g, [&](const TensorData& data) {
    given->push_back(data);
    return fmt::format("given {}", given->size() - 1);
  });
}

}  // namespace hone
