#include "compiler/ops/epilogue.h"

namespace hone {
const Epilogue& epilogue_of(const Workload& w) { return w.attributes.get<Epilogue>("epilogue"); }

AttributeParser epilogue(const FunctionTable& functions, EpilogueSource source) {
  return [functions, source = std::move(source)](std::string_view text, const AttributeContext& context) {
    const DTypes& types = context.before.get<DTypes>("dtype");
    const ChainContext read{functions,
                            context.name,
                            [&] { return source.shape(context.before); },
                            source.channel_axis,
                            source.has_rows,
                            /*writes_operands=*/true};
    Epilogue e;
    e.chain = canonical(parse_chain(text, read), types.accumulate, types.out, functions);
    e.types = types_of(e.chain, types.accumulate, types.out, context.name);
    return ParsedAttribute{to_text(e.chain, read), std::move(e)};
  };
}

bool has_epilogue_stage(const Workload& w, DType value) {
  return !epilogue_of(w).chain.empty() || value != epilogue_of(w).types.result;
}

void add_epilogue(const Workload& w, std::optional<size_t> channel_axis, const std::vector<std::string>& axes,
                  Definition* d) {
  // No structured binding: clang before 16 captures none.
  const auto& chain = epilogue_of(w).chain;
  const auto& types = epilogue_of(w).types;
  const Tensor value = d->output();
  if (!d->anchor.node()) d->anchor = value;
  if (!has_epilogue_stage(w, value->buffer->dtype)) return;
  std::vector<Tensor> reads{value}, operands;
  for (const ChainOperand& o : types.operands) {
    operands.push_back(placeholder(o.name, shape_of(o.operand, value->shape, channel_axis), o.dtype));
    d->inputs.emplace_back(operands.back(), role_of(o.operand));
    reads.push_back(operands.back());
  }
  d->outputs = {compute("out", value->shape, axes, reads, [&](const std::vector<Expr>& i) {
    const auto element = [&](size_t n) {
      return operands[n].at(indices_of(types.operands[n].operand, i, channel_axis));
    };
    return cast(types.result, apply(chain, types, cast(dtypes_of(w).accumulate, value.at(i)), element));
  })};
}

}  // namespace hone
