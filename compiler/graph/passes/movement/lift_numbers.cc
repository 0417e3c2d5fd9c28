#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"

namespace hone {
namespace {

constexpr size_t kMostDigits = 4;  // 0.125, 1.702, 255: numbers that somebody wrote

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
  Graph out = g;
  NewConstants constants(&out, "_number");
  for (Node& n : out.nodes) {
    const bool of_bytes = sums_bytes(n.workload);  // steps and zero points, few digits or many
    if (!of_bytes && !has_folding_weights(out, n)) continue;
    const DType t = of_bytes ? f32 : n.workload.attributes.get<DTypes>("dtype").out;
    const std::vector<DType> after = epilogue_of(n.workload).types.after;
    size_t place = 0;
    std::vector<BoundLink> links = bound_links(n);
    bool changed = false;
    for (BoundLink& l : links) {
      const DType made = after[place++];
      // A zero point behind a rounding stays: where it is known, both are one conversion.
      if (of_bytes && place > 1 && links[place - 2].link.function && links[place - 2].link.function->name == "round")
        continue;
      if (!l.link.function || l.link.arguments.size() != 1 ||
          (l.link.function->name != "add" && l.link.function->name != "mul" &&
           !(of_bytes && l.link.function->name == "sub")) ||
          l.link.result || made != t)
        continue;
      const double* number = std::get_if<double>(&l.link.arguments[0]);
      if (!number || (!of_bytes && !was_learned(*number))) continue;
      l.operands = {constants.add(n.inputs[1], one_element(*number, t))};
      l.link.arguments[0] = Operand{Operand::Kind::kOne, {}};
      changed = true;
    }
    if (changed) set_epilogue(out, context.functions, links, &n);
  }
  return remove_dead(out);
}

}  // namespace hone
