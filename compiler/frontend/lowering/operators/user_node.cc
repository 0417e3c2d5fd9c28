#include "compiler/frontend/lowering/operators/user_node.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include "base/key.h"
#include "base/near_name.h"
#include "base/text.h"
#include "compiler/frontend/lowering/operators/definition_nodes.h"
#include "compiler/frontend/lowering/operators/replacement.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/ops/user_operator.h"

namespace hone::frontend {
namespace {

constexpr size_t kMostKeyAttributes = 16, kMostOfValue = 100;

// A number, a text, or a list of whole numbers as extents.
std::string attribute_value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const Json& v : value) parts.push_back(v.is_string() ? v.get<std::string>() : v.dump());
  return absl::StrJoin(parts, value.empty() || !value[0].is_number_unsigned() ? ":" : "x");
}

bool is_key_text(const std::string& name, const std::string& text) {
  const std::string attribute = name + "=" + text;
  const StatusOr<WorkloadKey> key = parse_workload_key("x", attribute);
  return text.size() <= kMostOfValue && key.ok() && to_string(*key) == "x(" + attribute + ")";
}

// A kernel of the operator, or of a part of it, on values of the model.
std::vector<Operand> kernel_of(Lowering& l, const std::string& op, const Definition& d,
                               const AttributeTexts& attributes, const std::vector<Operand>& inputs) {
  std::vector<ValueId> values;
  for (const Operand& x : inputs) values.push_back(l.value(x));
  const Workload w = user_workload(l.b.operators(), operator_word(op), d, attributes);
  std::vector<Operand> out;
  for (const ValueId v : l.b.add(w, values, {l.output_name})) {
    out.push_back({v, l.b.type(v)});
    check_axes(out.back().type.shape);
  }
  return out;
}

// Nodes of Hone's, as far as the definition has such.
std::optional<std::vector<Operand>> nodes_of(Lowering& l, const OperatorCall& call, const Definition& d,
                                             const std::vector<Operand>& inputs) {
  if (auto nodes = as_nodes(l, d, inputs)) return nodes;
  int parts = 0;
  return as_parts(l, d, inputs, [&](const Definition& part, const std::vector<Operand>& of_part) {
    AttributeTexts attributes = key_attributes(call);
    attributes.emplace_back("part", std::to_string(parts++));
    return kernel_of(l, call.op, part, attributes, of_part);
  });
}

// Whether they compute what the definition says; true, too, where finding out takes too long.
bool compute_the_same(const Lowering& l, UserOperators& users, const OperatorCall& call, const Definition& d,
                      const std::vector<Operand>& inputs) {
  GraphBuilder builder(l.b.operators(), "nodes");
  Lowering side(builder, l);
  std::vector<Operand> given;
  std::vector<KnownInput> known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    known.push_back(l.data_of(inputs[i]));
    const TensorType& t = inputs[i].type;
    given.push_back(known.back() ? side.constant(*known.back())
                                 : Operand{builder.input("x" + std::to_string(i), t), t});
  }
  const auto made = nodes_of(side, call, d, given);
  HONE_ICHECK(made) << "a definition has nodes, and has none again";
  for (size_t o = 0; o < made->size(); ++o) builder.output("y" + std::to_string(o), (*made)[o].id, (*made)[o].type);
  try {
    compare_with_own(remove_dead(builder.take()), d, known, &users.compared_work);
    return true;
  } catch (const UserError&) {  // it is a kernel of its own, as it is written
    return false;
  }
}

}  // namespace

OperatorCall operator_call(std::string op, std::string node, Json attributes,
                           const std::vector<std::optional<Operand>>& inputs) {
  OperatorCall call{std::move(op), std::move(node), std::move(attributes), {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    call.inputs.emplace_back();
    if (!inputs[i]) continue;
    const Operand& x = *inputs[i];
    HONE_USER_CHECK(!x.sequence && !x.is_nothing) << "input " << i << " is no tensor";
    HONE_USER_CHECK(!x.is_empty()) << "input " << i << " is " << to_string(x.type) << ": it has no elements";
    HONE_USER_CHECK(!x.ragged && !x.least) << "only a call finds out how long input " << i << " is";
    HONE_USER_CHECK(x.encoding == Encoding::kPlain)
        << "input " << i << ": " << name_of(x.encoding) << " is not supported";
    call.inputs.back() = {x.type.dtype, x.type.shape.empty() ? Extents{1} : x.type.shape};
  }
  return call;
}

ReplacementRefused::ReplacementRefused(const std::string& node, const std::string& op, const std::string& why)
    : UserError(fmt::format("node '{}' is not replaced by {}: {}", short_line(node, kMostOfValue),
                            short_line(op, kMostOfValue), why)) {}

std::string compare_replacement(const Graph& own, UserOperators& users, const OperatorCall& call,
                                const std::vector<std::optional<TensorData>>& known) {
  if (compare_with_own(own, *users.definition(call), known, &users.compared_work)) return "";
  return fmt::format("{} computes the same as {} ({})", short_line(call.op, kMostOfValue),
                     short_line(call.node, kMostOfValue),
                     users.is_checked ? "comparing them takes too long, so nothing did"
                                      : "comparing them here would take too long; --check takes the time");
}

std::string may_be_defined(const std::string& op, const UserOperators* users) {
  const std::string near = users ? did_you_mean(op, {users->names().begin(), users->names().end()}) : "";
  return ": --operators FILE may define " + op + near;
}

AttributeTexts key_attributes(const OperatorCall& call) {
  AttributeTexts out;
  std::vector<std::string> types;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i]) continue;
    out.emplace_back(fmt::format("in{}", i), extents_text(call.inputs[i]->shape));
    types.push_back(to_string(call.inputs[i]->dtype));
  }
  if (!types.empty()) out.emplace_back("types", absl::StrJoin(types, ":"));
  size_t count = 0;
  for (const auto& [name, value] : call.attributes.items()) {
    const std::string word = "a_" + name, text = attribute_value_text(value);
    if (is_key_text(word, text) && ++count <= kMostKeyAttributes) out.emplace_back(word, text);
  }
  return out;
}

std::vector<Operand> user_node(Lowering& l, UserOperators& users, const OperatorCall& call,
                               const std::vector<std::optional<Operand>>& inputs) {
  const std::shared_ptr<const Definition> d = users.definition(call);
  std::vector<Operand> given;
  for (const auto& x : inputs)
    if (x) given.push_back(*x);
  if (auto nodes = nodes_of(l, call, *d, given); nodes && compute_the_same(l, users, call, *d, given))
    return *std::move(nodes);
  return kernel_of(l, call.op, *d, key_attributes(call), given);
}

}  // namespace hone::frontend
