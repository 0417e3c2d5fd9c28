#include "compiler/ops/infer.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/host_function.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/recurrence.h"

namespace hone {
namespace {

TensorType type_of(const Tensor& t) { return {t->buffer->dtype, t->shape}; }

// The operator's attributes as texts: given, inferred, or its own.
std::string args_of(const Operator& op, std::span<const std::pair<std::string, std::string>> given,
                    const AttributeTexts& inferred) {
  const auto text_in = [](const auto& texts, std::string_view name) -> const std::string* {
    const auto it = std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t.first == name; });
    return it == texts.end() ? nullptr : &it->second;
  };
  std::vector<std::string> args;
  const auto add = [&](const std::string& name, const std::string& text) { args.push_back(name + "=" + text); };
  for (const auto& [name, text] : inferred)
    if (name != "dtype" || !text_in(given, name)) add(name, text);
  for (const auto& [name, text] : given) {
    HONE_USER_CHECK(name == "dtype" || !text_in(inferred, name))
        << op.name << ": attribute '" << name << "' follows from the inputs";
    add(name, text);
  }
  return absl::StrJoin(args, ",");
}

}  // namespace

std::string to_string(const TensorType& t) {
  return fmt::format("{}[{}]", to_string(t.dtype), fmt::join(t.shape, ", "));
}

Inferred inferred(Workload w) {
  Inferred out;
  out.workload = std::move(w);
  if (auto host = host_function_of(out.workload)) {
    out.inputs = std::move(host->inputs);
    out.outputs = std::move(host->outputs);
    return out;
  }
  if (const auto steps = recurrence_of(out.workload)) return types_of(out.workload, *steps);
  const Definition d = define(out.workload);
  for (const auto& [tensor, role] : d.inputs) out.inputs.push_back(type_of(tensor));
  for (const Tensor& t : d.outputs) out.outputs.push_back(type_of(t));
  return out;
}

Inferred infer(const OperatorTable& operators, std::string_view op,
               std::span<const std::pair<std::string, std::string>> given, std::span<const TensorType> inputs) {
  const std::shared_ptr<const Operator> row = operators.find(op);
  HONE_USER_CHECK(row) << "unknown operator '" << op << "'" << operators.instead_of(op);
  AttributeTexts said;
  try {
    said = row->infer(inputs);
  } catch (const UserError& e) {
    throw UserError(fmt::format("{}: {}", op, e.what()));
  }
  Inferred out = inferred(Workload::parse(operators, op, args_of(*row, given, said)));
  HONE_USER_CHECK(inputs.size() == out.inputs.size())
      << op << ": it takes " << out.inputs.size() << " inputs, not " << inputs.size();
  for (size_t i = 0; i < inputs.size(); ++i)
    HONE_USER_CHECK(inputs[i] == out.inputs[i]) << op << ": input " << i << " is " << to_string(inputs[i])
                                                << "; the others ask for " << to_string(out.inputs[i]);
  return out;
}

const TensorType& input_at(std::span<const TensorType> inputs, size_t index, std::string_view name) {
  HONE_USER_CHECK(index < inputs.size()) << "input " << index << ", '" << name << "', is missing";
  return inputs[index];
}

const TensorType& input_of_rank(std::span<const TensorType> inputs, size_t index, std::string_view name, size_t rank) {
  const TensorType& t = input_at(inputs, index, name);
  HONE_USER_CHECK(t.shape.size() == rank)
      << "'" << name << "' is " << to_string(t) << "; it must have " << rank << " dimensions";
  return t;
}

std::string product_dtype_of(DType in, DType weight) {
  if (in == weight)
    for (const DType t : {f32, f64, f16, bf16})
      if (in == t) return to_string(t);
  if (in == f32 && weight == i8) return "f32:s8:f32:f32";
  if (weight == f32)
    for (const DType t : {u8, i8, u16, i16})
      if (in == t) return fmt::format("{}:f32:f32:f32", to_string(in));
  const bool whole =
      ((in == u8 || in == i8) && weight == i8) || (in == i8 && weight == u8) || (in == i16 && weight == i16);
  HONE_USER_CHECK(whole)
      << "there is no product of " << to_string(in) << " and " << to_string(weight)
      << "; there is one of f32, f64, f16, bf16, f32 and s8, u8 and s8, s8 and s8, s8 and u8, s16 and s16, and of "
         "whole numbers of 8 or 16 bits and f32";
  return fmt::format("{}:{}:s32:s32", to_string(in), to_string(weight));
}

AttributeTexts infer_image(std::span<const TensorType> inputs, std::string_view channels) {
  const TensorType& data = input_of_rank(inputs, 0, "data", 4);
  return {{"n", std::to_string(data.shape[0])},
          {std::string(channels), std::to_string(data.shape[1])},
          {"h", std::to_string(data.shape[2])},
          {"w", std::to_string(data.shape[3])},
          {"dtype", to_string(data.dtype)}};
}

}  // namespace hone
