#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"

namespace hone {
namespace {

constexpr size_t kMostDigits = 4;  // 0.125, 1.702, 255: numbers written by hand

bool was_learned(double number) {
  const std::string text = fmt::format("{}", number);
  const size_t first = text.find_first_of("123456789"), end = std::min(text.find('e'), text.size());
  if (first == std::string::npos) return false;
  return static_cast<size_t>(std::count_if(text.begin() + static_cast<std::ptrdiff_t>(first),
                                           text.begin() + static_cast<std::ptrdiff_t>(end),
                                           [](unsigned char c) { return std::isdigit(c); })) > kMostDigits;
}

TensorData one_element(double value, DType t) {
  const auto narrow = static_cast<float>(value);
  return {{t, {1}},
          t == f32 ? std::string(reinterpret_cast<const char*>(&narrow), sizeof narrow)
                   : std::string(reinterpret_cast<const char*>(&value), sizeof value)};
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
      ChainLink& link = links[l].link;
      // A zero point behind a rounding stays: where it is known, both are one conversion.
      if (of_bytes && l > 0 && links[l - 1].link.function && links[l - 1].link.function->name == "round") continue;
      if (!link.function || link.arguments.size() != 1 ||
          (link.function->name != "add" && link.function->name != "mul" &&
           !(of_bytes && link.function->name == "sub")) ||
          link.result || after[l] != t)
        continue;
      const double* number = std::get_if<double>(&link.arguments[0]);
      if (!number || (!of_bytes && !was_learned(*number))) continue;
      links[l].operands = {r.constant(one_element(*number, t), n.inputs[1], "_number")};
      link.arguments[0] = Operand{Operand::Kind::kOne, {}};
      changed = true;
    }
    if (!changed) return false;
    if (auto lifted = with_links(n, links, r.shape(n.outputs[0]), context.functions))
      r.become(n, lifted->workload, std::move(lifted->inputs));
    return false;
  });
}

}  // namespace hone
