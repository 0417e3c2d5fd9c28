// hone_graph_node(): what a node of a graph computes, and the types around it.
#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/definition_text.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/user_definitions.h"
#include "compiler/ops/windows/physical.h"
#include "compiler/users/check_definition.h"
#include "tuner/api/call.h"

namespace hone::api {
namespace {

TensorType type_from(const Json& j) { return {parse_dtype(j.at(0).get<std::string>()), j.at(1).get<Extents>()}; }

AttributeTexts texts_from(const Json& j) {
  AttributeTexts out;
  for (const auto& [name, text] : j.items()) out.emplace_back(name, text.get<std::string>());
  return out;
}

Json types_of(const std::vector<PhysicalTypes::Tensor>& tensors) {
  Json out = Json::array();
  for (const auto& t : tensors) out.push_back({to_string(t.type.dtype), t.type.shape});
  return out;
}

Workload workload_of(const OperatorTable& operators, const Json& question) {
  for (const Json& text : question.value("definitions", Json::array())) {
    const Definition d = definition_from_text(text.get<std::string>());
    check_definition(d);
    operators.definitions().add(d);
  }
  if (!question.contains("op")) {
    const Workload w = Workload::parse(operators, question.at("workload").get<std::string>());
    const AttributeTexts changes = texts_from(question.value("change", Json::object()));
    for (const auto& [name, text] : changes)
      HONE_USER_CHECK(w.attributes.has(name)) << w.operator_name() << " has no attribute '" << name << "'";
    return changes.empty() ? w : Workload::changed(w, changes);
  }
  std::vector<TensorType> inputs;
  for (const Json& type : question.at("inputs")) inputs.push_back(type_from(type));
  return infer(operators, question.at("op").get<std::string>(),
               texts_from(question.value("attributes", Json::object())), inputs)
      .workload;
}

Json names_of(const OperatorTable& operators) {
  Json names = {{"operators", Json::object()}, {"functions", Json::array()}};
  for (const auto& op : operators.rows()) {
    Json& attributes = names["operators"][op->name] = Json::array();
    for (const Attribute& a : op->attributes) attributes.push_back(a.name);
  }
  const FunctionTable functions = standard_functions();
  for (const auto& f : functions.rows()) names["functions"].push_back(f->name);
  return names;
}

}  // namespace
}  // namespace hone::api

using namespace hone;  // NOLINT(google-build-using-namespace): below are C functions, which have none

int32_t hone_graph_node(const char* question, char** output) {
  return api::call(output, [&](std::ostream& out) {
    HONE_USER_CHECK(question) << "there is no question";
    static const OperatorTable operators = standard_operators();  // passes ask for many nodes
    try {
      const Json asked = Json::parse(question);
      if (asked.contains("names")) {
        out << json_line(api::names_of(operators));
        return CommandEnd{};
      }
      const Workload w = api::workload_of(operators, asked);
      const PhysicalTypes types = physical_types(w);
      Json attributes = Json::array();
      for (const Attribute& a : w.op->attributes) attributes.push_back({a.name, w.attributes.text(a.name)});
      out << json_line(Json{{"workload", to_string(w)},
                            {"op", w.operator_name()},
                            {"attributes", attributes},
                            {"inputs", api::types_of(types.inputs)},
                            {"outputs", api::types_of(types.outputs)}});
    } catch (const Json::exception& e) {
      throw UserError("the question is none: " + clean_line(e.what()));
    }
    return CommandEnd{};
  });
}
