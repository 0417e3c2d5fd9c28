#include "compiler/graph/passes/chains.h"

namespace hone {
namespace {

size_t labels_of(const Chain& chain) {
  size_t n = 0;
  for (const ChainLink& link : chain.links) n += link.function ? 0 : 1;
  return n;
}

}  // namespace

BoundChain joined(const BoundChain& first, const BoundChain& second, ValueId result, ValueId start) {
  BoundChain out;
  bool uses_start = false, uses_result = false;
  for (const ValueId v : second.operands) {
    uses_start = uses_start || (v == start && start != kNoValue);
    uses_result = uses_result || v == result;
  }
  // start, labels of the first, result, labels of the second
  const size_t shift = uses_start ? 1 : 0, result_label = shift + labels_of(first.chain),
               second_shift = result_label + (uses_result ? 1 : 0);
  if (uses_start) out.chain.links.emplace_back();
  const auto add = [&](const BoundChain& part, size_t labels, bool is_second) {
    auto operand = part.operands.begin();
    for (ChainLink link : part.chain.links) {
      for (Argument& a : link.arguments) {
        if (Label* label = std::get_if<Label>(&a)) label->index += labels;
        if (!std::holds_alternative<Operand>(a)) continue;
        const ValueId v = *operand++;
        if (is_second && v == result)
          a = Label{result_label};
        else if (is_second && v == start && start != kNoValue)
          a = Label{0};
        else
          out.operands.push_back(v);
      }
      out.chain.links.push_back(std::move(link));
    }
  };
  add(first, shift, false);
  if (uses_result) out.chain.links.emplace_back();
  add(second, second_shift, true);
  return out;
}

std::string exchanged(const std::string& function) {
  for (const std::string_view same : {"add", "mul", "maximum", "minimum", "equal", "not_equal", "and", "or", "xor"})
    if (function == same) return function;
  static const std::pair<std::string_view, std::string_view> kPairs[] = {{"sub", "rsub"},
                                                                         {"rsub", "sub"},
                                                                         {"div", "rdiv"},
                                                                         {"rdiv", "div"},
                                                                         {"pow", "rpow"},
                                                                         {"rpow", "pow"},
                                                                         {"less", "greater"},
                                                                         {"greater", "less"},
                                                                         {"less_equal", "greater_equal"},
                                                                         {"greater_equal", "less_equal"}};
  for (const auto& [from, to] : kPairs)
    if (function == from) return std::string(to);
  return "";
}

}  // namespace hone
