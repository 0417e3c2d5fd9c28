#include "compiler/ops/prologue.h"

#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"

namespace hone {

AttributeParser prologue(const FunctionTable& functions, ChainSource source) {
  return [functions, source = std::move(source)](std::string_view text, const AttributeContext& context) {
    const DTypes& types = context.before.get<DTypes>("dtype");
    ParsedAttribute out;
    out.value =
        Prologue{read_chain(text, context, functions, source, types.accumulate, types.first_factor(), &out.text)};
    return out;
  };
}

Attribute prologue_attribute(const FunctionTable& functions, ChainSource source) {
  return {"prologue", "none", prologue(functions, std::move(source)), /*is_optional=*/true};
}

bool changes_input(const Workload& w) {
  const DTypes& types = dtypes_of(w);
  return types.first_factor() != types.in || !w.attributes.get<Prologue>("prologue").chain.empty();
}

bool only_widens_input(const Workload& w) {
  return changes_input(w) && dtypes_of(w).in.is_float() && w.attributes.get<Prologue>("prologue").chain.empty();
}

Tensor through_prologue(const Workload& w, const Tensor& input, std::optional<size_t> channel_axis, Definition* d) {
  const Prologue& p = w.attributes.get<Prologue>("prologue");
  if (!changes_input(w)) return input;
  const DType result = dtypes_of(w).first_factor();
  std::vector<Tensor> reads{input};
  const ChainElement applied = add_chain_operands(w, p, input->shape, channel_axis, "in_", d, &reads);
  // Axes are named like those of a copy (Schedule::cache_read), in whose place the stage may stand.
  return compute_inlined(input->name + "_in", input->shape, axis_names(input->shape.size()), reads,
                         [&](const std::vector<Expr>& i) { return cast(result, applied(input.at(i), i)); });
}

const TensorNode* prologue_stage(const Definition& d) {
  for (const TensorNode* t : stages_of(d))
    if (t->is_inlined && !t->inputs.empty() && t->inputs[0].same_as(d.inputs[0].first.node())) return t;
  return nullptr;
}

}  // namespace hone
