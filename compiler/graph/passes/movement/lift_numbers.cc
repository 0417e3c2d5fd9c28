#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/constants.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"

namespace hone {
namespace {

constexpr int64_t kMostDigits = 4;  // 0.125, 1.702, 255: numbers written by hand

bool was_learned(double number) {
  std::string digits = fmt::format("{}", number);
  digits.resize(std::min(digits.find('e'), digits.size()));
  digits.erase(0, digits.find_first_of("123456789"));
  return std::count_if(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); }) > kMostDigits;
}

}  // namespace

Graph lift_numbers(const Graph& g, const PassContext& context) {
  Rewriter r(g, context);
  return r.run([&](const Node& n) {
    const bool of_bytes = sums_bytes(n.workload);  // steps and zero points, few digits or many
    if (!of_bytes && !has_folding_weights(r.graph(), n)) return false;
    const DType t = of_bytes ? f32 : n.workload.attributes.get<DTypes>("dtype").out;
    const std::vector<DType> after = epilogue_of(n.workload).types.after;
    std::vector<BoundLink> links = bound_links(n);
    bool changed = false;
    for (size_t l = 0; l < links.size(); ++l) {
      const ChainLink& link = links[l].link;
      // A zero point behind a rounding stays: where it is known, both are one conversion.
      if (of_bytes && l > 0 && is(links[l - 1].link, "round")) continue;
      const double* number = number_of(link);
      const bool is_lifted = is(link, "add") || is(link, "mul") || (of_bytes && is(link, "sub"));
      if (!number || !is_lifted || after[l] != t || (!of_bytes && !was_learned(*number))) continue;
      const ValueId operand = r.constant(floats_of({t, {1}}, {*number}), n.inputs[1], "_number");
      links[l] = link_with(context.functions, link.function->name, Operand::Kind::kOne, operand);
      changed = true;
    }
    if (changed) r.become_with(n, links);
    return false;
  });
}

}  // namespace hone
