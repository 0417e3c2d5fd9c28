#include "compiler/ops/chain_stage.h"

#include "compiler/ops/dtypes.h"

namespace hone {

TypedChain read_chain(std::string_view text, const AttributeContext& context, const FunctionTable& functions,
                      const ChainSource& source, DType value, DType outside, std::string* canonical_text) {
  const ChainContext read{functions,
                          context.name,
                          [&] { return source.shape(context.before); },
                          source.channel_axis,
                          source.has_rows,
                          /*writes_operands=*/true};
  TypedChain c;
  c.chain = canonical(parse_chain(text, read), value, outside, functions);
  c.types = types_of(c.chain, value, outside, context.name);
  *canonical_text = to_text(c.chain, read);
  return c;
}

ChainElement add_chain_operands(const Workload& w, const TypedChain& c, const std::vector<int64_t>& shape,
                                std::optional<size_t> channel_axis, const std::string& prefix, Definition* d,
                                std::vector<Tensor>* reads) {
  std::vector<Tensor> operands;
  for (const ChainOperand& o : c.types.operands) {
    operands.push_back(placeholder(prefix + o.name, shape_of(o.operand, shape, channel_axis), o.dtype));
    d->inputs.emplace_back(operands.back(), role_of(o.operand));
    reads->push_back(operands.back());
  }
  return [&c, operands, channel_axis, type = dtypes_of(w).accumulate](const Expr& value, const std::vector<Expr>& i) {
    const auto element = [&](size_t n) {
      return operands[n].at(indices_of(c.types.operands[n].operand, i, channel_axis));
    };
    return apply(c.chain, c.types, cast(type, value), element);
  };
}

}  // namespace hone
