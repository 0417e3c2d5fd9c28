// Operators of a user's, as tests have them.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "base/key.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/definition_text.h"
#include "compiler/users/user_operators.h"
#include "tests/unit/graph/onnx_models.h"

namespace hone {

/// The tensors of a stage's own indices.
using Indices = std::vector<Expr>;

inline std::vector<std::string> letters(size_t n) {
  std::vector<std::string> out;
  for (size_t i = 0; i < n; ++i) out.push_back("i" + std::to_string(i));
  return out;
}

/// y = max(x, 0)^2, a function of elements.
inline Definition squared_relu(const std::vector<int64_t>& shape, DType t = f32) {
  const Tensor x = placeholder("x", shape, t);
  const Tensor y = compute("y", shape, letters(shape.size()), {x}, [&](const Indices& i) {
    const Expr r = max(x.at(i), make_const(0, t));
    return r * r;
  });
  return {{{x, ParamRole::kInput}}, {y}};
}

/// Sums along the last axis up to each element's position: no function of elements.
inline Definition prefix_sums(const std::vector<int64_t>& shape) {
  const Tensor x = placeholder("x", shape, f32);
  const Axis k = reduce_axis("k", shape.back());
  const Tensor y = compute_reduce("y", shape, letters(shape.size()), {x}, [&](const Indices& i) {
    Indices at = i;
    at.back() = k;
    return sum(select(le(k, i.back()), x.at(at), make_float(0)), {k});
  });
  return {{{x, ParamRole::kInput}}, {y}};
}

/// `hone operators 1`, and a line for each.
inline std::string operators_file(const std::vector<std::pair<OperatorCall, Definition>>& all) {
  std::string out = "hone operators 1\n";
  for (const auto& [call, d] : all) {
    Json line = {{"operator", call.op}, {"attributes", call.attributes}, {"inputs", Json::array()}};
    for (const auto& t : call.inputs) line["inputs"].push_back(t ? Json{to_string(t->dtype), t->shape} : Json(nullptr));
    line["hash"] = key_hash(definition_to_text(d));
    line["definition"] = Json::parse(definition_to_text(d));
    out += line.dump() + "\n";
  }
  return out;
}

/// Answers for my::Squared and my::Prefix, whatever their shapes.
inline std::shared_ptr<UserOperators> test_users() {
  auto users = std::make_shared<UserOperators>();
  users->answer_by([](const std::string& question) -> std::string {
    const Json asked = Json::parse(question);
    if (asked.contains("operators")) return R"(["my::Squared","my::Prefix"])";
    const auto shape = asked["inputs"][0][1].get<std::vector<int64_t>>();
    const Definition d = asked["operator"] == "my::Squared" ? squared_relu(shape) : prefix_sums(shape);
    return Json{{"definition", definition_to_text(d)}}.dump();
  });
  return users;
}

/// Adds a node of the domain `my`.
inline onnx::Node* own_node(TestModel& m, const std::string& op, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs) {
  m.node(op, inputs, outputs);
  m.last->set_domain("my");
  return m.last;
}

}  // namespace hone
