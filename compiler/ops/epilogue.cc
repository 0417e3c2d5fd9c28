#include "compiler/ops/epilogue.h"

#include <algorithm>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/split_text.h"

namespace hone {

bool Epilogue::has(std::string_view function) const {
  return std::find(functions.begin(), functions.end(), function) != functions.end();
}

const Epilogue& epilogue_of(const Workload& w) { return w.attributes.get<Epilogue>("epilogue"); }

AttributeParser epilogue() {
  return [](std::string_view text, const AttributeContext& context) {
    Epilogue e;
    if (text == "none") return ParsedAttribute{"none", e};
    for (const std::string& part : split_text(text, '+')) {
      HONE_USER_CHECK(part == "bias" || part == "add" || part == "relu")
          << context.name << "=" << text << ": '" << part
          << "' is unknown; allowed: none, or bias, add and relu joined by +";
      HONE_USER_CHECK(!e.has(part)) << context.name << "=" << text << ": '" << part << "' is given twice";
      e.functions.push_back(part);
    }
    return ParsedAttribute{std::string(text), e};
  };
}

void add_epilogue(const Workload& w, const Tensor& product, size_t channel_axis, const std::vector<std::string>& axes,
                  Definition* d) {
  const std::vector<std::string>& functions = epilogue_of(w).functions;
  d->output = product;
  if (!d->anchor.node()) d->anchor = product;
  const DTypes types = dtypes_of(w);
  if (functions.empty() && types.accumulate == types.out) return;
  std::vector<Tensor> reads{product};
  Tensor bias, residual;
  for (const std::string& function : functions) {
    if (function == "bias") {
      bias = placeholder("bias", {product->shape[channel_axis]}, types.out);
      d->inputs.emplace_back(bias, ParamRole::kConstant);
      reads.push_back(bias);
    } else if (function == "add") {
      residual = placeholder("residual", product->shape, types.out);
      d->inputs.emplace_back(residual, ParamRole::kInput);
      reads.push_back(residual);
    }
  }
  d->output = compute("out", product->shape, axes, reads, [&](const std::vector<Expr>& i) {
    // Computed in the accumulators' type, rounded once.
    const DType wide = types.accumulate;
    Expr value = product.at(i);
    for (const std::string& function : functions) {
      if (function == "bias") value = value + cast(wide, bias.at({i[channel_axis]}));
      if (function == "add") value = value + cast(wide, residual.at(i));
      if (function == "relu") value = max(value, make_const(0, wide));
    }
    return cast(types.out, value);
  });
}

}  // namespace hone
