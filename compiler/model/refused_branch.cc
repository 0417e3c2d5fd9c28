#include "compiler/model/refused_branch.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/shell_command.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace {

// 16000 of `equal[16000]`, or of a constant that the node is given; nothing where it compares with no number.
std::optional<std::string> compared_with(const Graph& g, const Node& n) {
  if (!is<ops::Elementwise>(n)) return std::nullopt;
  const std::string text = to_string(n.workload), begin = "op=equal";
  const size_t at = text.find(begin);
  if (at == std::string::npos || text.find("not", at) != std::string::npos) return std::nullopt;
  const size_t open = at + begin.size();
  if (open < text.size() && text[open] == '[') return text.substr(open + 1, text.find(']', open) - open - 1);
  for (const ValueId v : n.inputs)
    if (g.is_constant(v) && element_count(g.value(v).type.shape) == 1 && g.value(v).type.dtype.is_integer())
      return std::to_string(g.value(v).constant->numbers()[0]);
  return std::nullopt;
}

}  // namespace

std::string bindings_for_branches(const Graph& g) {
  const Uses uses = uses_of(g);
  std::map<std::string, std::string> numbers;  // by input
  for (const Node& require : g.nodes) {
    if (!is<ops::Require>(require) || require.inputs.size() < 2) continue;
    std::vector<ValueId> open{require.inputs[1]};
    std::set<ValueId> seen;
    std::optional<std::string> number;
    bool is_plain = true;  // nothing behind the comparison negates it
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (!seen.insert(v).second) continue;
      for (const Port& p : g.inputs)
        if (p.value == v && element_count(p.type.shape) == 1 && !p.type.dtype.is_float())
          numbers[p.name] = number.value_or("N");
      const int made_by = uses.producer[v];
      if (made_by < 0) continue;
      const Node& n = g.nodes[made_by];
      if (!number && is_plain) number = compared_with(g, n);
      is_plain = is_plain && to_string(n.workload).find("not") == std::string::npos;
      open.insert(open.end(), n.inputs.begin(), n.inputs.end());
    }
  }
  return absl::StrJoin(numbers, " ", [](std::string* out, const auto& bound) {
    *out += shell_option("--bind", fmt::format("{}={}", bound.first, bound.second));
  });
}

}  // namespace hone
