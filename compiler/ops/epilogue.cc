#include "compiler/ops/epilogue.h"

namespace hone {

const Epilogue& epilogue_of(const Workload& w) { return w.attributes.get<Epilogue>("epilogue"); }

AttributeParser epilogue(const FunctionTable& functions, ChainSource source) {
  return [functions, source = std::move(source)](std::string_view text, const AttributeContext& context) {
    const DTypes& types = context.before.get<DTypes>("dtype");
    ParsedAttribute out;
    out.value = Epilogue{read_chain(text, context, functions, source, types.accumulate, types.out, &out.text)};
    return out;
  };
}

bool has_epilogue_stage(const Workload& w, DType value) {
  return !epilogue_of(w).chain.empty() || value != epilogue_of(w).types.result;
}

void add_epilogue(const Workload& w, std::optional<size_t> channel_axis, const std::vector<std::string>& axes,
                  Definition* d) {
  const Tensor value = d->output();
  if (!d->anchor.node()) d->anchor = value;
  if (!has_epilogue_stage(w, value->buffer->dtype)) return;
  const Epilogue& e = epilogue_of(w);
  std::vector<Tensor> reads{value};
  const ChainElement applied = add_chain_operands(w, e, value->shape, channel_axis, "", d, &reads);
  d->outputs = {compute("out", value->shape, axes, reads,
                        [&](const std::vector<Expr>& i) { return cast(e.types.result, applied(value.at(i), i)); })};
}

}  // namespace hone
