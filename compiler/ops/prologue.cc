#include "compiler/ops/prologue.h"

#include "compiler/ops/dtypes.h"

namespace hone {

AttributeParser prologue(const FunctionTable& functions, PrologueSource source) {
  return [functions, source = std::move(source)](std::string_view text, const AttributeContext& context) {
    const DTypes& types = context.before.get<DTypes>("dtype");
    const ChainContext read{functions,
                            context.name,
                            [&] { return source.shape(context.before); },
                            source.channel_axis,
                            /*has_rows=*/false,
                            /*writes_operands=*/true};
    Prologue p;
    p.chain = canonical(parse_chain(text, read), types.accumulate, types.in, functions);
    p.types = types_of(p.chain, types.accumulate, types.in, context.name);
    return ParsedAttribute{to_text(p.chain, read), std::move(p)};
  };
}

Attribute prologue_attribute(const FunctionTable& functions, PrologueSource source) {
  return {"prologue", "none", prologue(functions, std::move(source)), /*is_optional=*/true};
}

Tensor through_prologue(const Workload& w, const Tensor& input, std::optional<size_t> channel_axis, Definition* d) {
  // No structured binding: clang before 16 captures none.
  const auto& chain = w.attributes.get<Prologue>("prologue").chain;
  const auto& types = w.attributes.get<Prologue>("prologue").types;
  if (chain.empty()) return input;
  std::vector<Tensor> reads{input}, operands;
  for (const ChainOperand& o : types.operands) {
    operands.push_back(placeholder("in_" + o.name, shape_of(o.operand, input->shape, channel_axis), o.dtype));
    d->inputs.emplace_back(operands.back(), role_of(o.operand));
    reads.push_back(operands.back());
  }
  // Named like the axes of a copy (Schedule::cache_read), in whose place it may stand.
  std::vector<std::string> axes;
  for (size_t i = 0; i < input->shape.size(); ++i) axes.push_back("i" + std::to_string(i));
  return compute_inlined(input->name + "_in", input->shape, axes, reads, [&](const std::vector<Expr>& i) {
    const auto element = [&](size_t n) {
      return operands[n].at(indices_of(types.operands[n].operand, i, channel_axis));
    };
    const DType stored = input->buffer->dtype;
    return cast(stored, apply(chain, types, cast(dtypes_of(w).accumulate, input.at(i)), element));
  });
}

const TensorNode* prologue_stage(const Definition& d) {
  for (const TensorNode* t : stages_of(d))
    if (t->is_inlined && !t->inputs.empty() && t->inputs[0].same_as(d.inputs[0].first.node())) return t;
  return nullptr;
}

}  // namespace hone
