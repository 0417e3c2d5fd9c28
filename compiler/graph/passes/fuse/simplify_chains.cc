#include <cmath>
#include <set>
#include <utility>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

// How exporters write a function that the table has.
struct Spelling {
  std::string_view chain, function;
};
constexpr Spelling kSpellings[] = {
    {"x=s+sigmoid+mul[s]", "silu"},
    {"x=s+softplus+tanh+mul[s]", "mish"},
    {"x=s+hard_sigmoid+mul[s]", "hard_swish"},
    {"x=s+add[3]+maximum[0]+minimum[6]+mul[s]+mul[0.16666667]", "hard_swish"},
    {"x=s+add[3]+maximum[0]+minimum[6]+mul[0.16666667]+mul[s]", "hard_swish"},
    {"x=s+add[3]+relu6+mul[s]+mul[0.16666667]", "hard_swish"},
    {"x=s+mul[0.70710677]+erf+add[1.0]+mul[s]+mul[0.5]", "gelu"},
    {"x=s+mul[0.70710677]+erf+add[1.0]+mul[0.5]+mul[s]", "gelu"},
    {"x=s+mul[0.70710677]+erf+mul[0.5]+add[0.5]+mul[s]", "gelu"},
    {"x=s+pow[3]+mul[0.044715]+add[s]+mul[0.7978846]+tanh+add[1.0]+mul[s]+mul[0.5]", "gelu_tanh"},
    {"x=s+pow[3]+mul[0.044715]+add[s]+mul[0.7978846]+tanh+add[1.0]+mul[0.5]+mul[s]", "gelu_tanh"},
    {"x=s+mul[0.044715]+mul[s]+mul[s]+add[s]+mul[0.7978846]+tanh+add[1.0]+mul[0.5]+mul[s]", "gelu_tanh"},
    {"x=s+mul[0.044715]+mul[s]+mul[s]+add[s]+mul[0.7978846]+tanh+add[1.0]+mul[s]+mul[0.5]", "gelu_tanh"},
};
// How far an exporter's number may be from the one in f32 above, relative: it was rounded, perhaps twice. In f64 that
// would be another function.
constexpr double kSameNumber = 1e-6;

Chain parsed(std::string_view text, const FunctionTable& functions) {
  return parse_chain(text, {functions, "op", [] { return std::vector<int64_t>{1}; }, std::nullopt, false, false});
}

// Whether `chain` begins with `pattern`; `labels` come before it.
bool begins_with(std::span<const ChainLink> chain, size_t labels, const Chain& pattern, DType x) {
  const auto is_argument = [&](const Argument& wanted, const Argument& a) {
    if (const auto* label = std::get_if<Label>(&wanted)) return a == Argument(Label{labels + label->index});
    const double *number = std::get_if<double>(&wanted), *own = std::get_if<double>(&a);
    if (!number || !own) return a.index() == wanted.index();
    return x == f32 && std::abs(*own - *number) <= kSameNumber * std::abs(*number);
  };
  const auto is_link = [&](const ChainLink& wanted, const ChainLink& link) {
    const bool is_function = wanted.function ? is(link, wanted.function->name) : !link.function;
    return is_function && !link.result &&
           std::equal(wanted.arguments.begin(), wanted.arguments.end(), link.arguments.begin(), link.arguments.end(),
                      is_argument);
  };
  return chain.size() >= pattern.links.size() &&
         std::equal(pattern.links.begin(), pattern.links.end(), chain.begin(), is_link);
}

bool uses_label(std::span<const ChainLink> links, size_t index) {
  bool out = false;
  each_label(links, [&](const Label& label) { out |= label.index == index; });
  return out;
}

// Whether the result of these links depends on the last bit of their input: they round or compare, and no function
// before that either meets such steps at 0 alone or is flat there, as in tanh(x / 3) > 0, which is x > 0. Functions in
// between must keep 0, unlike in tanh(x / 3 - 1) > 0.
bool steps_exactly(std::span<const ChainLink> links, bool is_stepped) {
  static const std::set<std::string_view> kNear = {"exp", "tanh", "erf", "sigmoid"},
                                          kKeepsZero = {"mul", "neg", "abs", "relu"};
  if (!is_stepped && is_continuous(links)) return false;
  for (const ChainLink& link : links) {
    if (link.function && !link.result && kNear.contains(link.function->name)) return false;
    if (!link.function || link.result || !kKeepsZero.contains(link.function->name)) return true;
  }
  return true;
}

class ChainSimplifier : public Rewriter {
 public:
  ChainSimplifier(const Graph& g, const PassContext& context) : Rewriter(g, context) {
    for (const Spelling& s : kSpellings)
      spellings_.emplace_back(parsed(s.chain, c_.functions), parsed(s.function, c_.functions));
  }

  bool rewrite(const Node& n) {
    if (!is<ops::Elementwise>(n) || dtype(n.inputs[0]).is_narrow_float()) return false;
    const DType x = dtype(n.inputs[0]);
    Chain chain = elementwise_shape(n.workload).chain;
    if (simplify(&chain, x, meets_a_step(n.outputs[0])))
      become_if_allowed(n, n.inputs, [&] { return with_functions(n.workload, chain, x, c_.functions); });
    return false;
  }

 private:
  // Whether an elementwise operator that rounds or compares reads the value, perhaps moved.
  bool meets_a_step(ValueId v) const {
    const std::vector<const Node*> all = readers(v);
    return std::any_of(all.begin(), all.end(), [&](const Node* n) {
      if (is<ops::Elementwise>(*n)) return !is_continuous(elementwise_shape(n->workload).chain.links);
      return is<ops::Reshape, ops::Transpose, ops::Slice, ops::Concat, ops::Broadcast, ops::Pad>(*n) &&
             meets_a_step(n->outputs[0]);
    });
  }

  // Whether there was anything to simplify. `x` is the type of the chain's input; functions of f32 and f64 are
  // simplified. `is_stepped`: the chain's result is rounded or compared.
  bool simplify(Chain* chain, DType x, bool is_stepped) const {
    bool changed = false;
    for (size_t l = 0; l < chain->links.size();) {
      const DType type = l == 0 ? x : types_of(*chain, x, x, "op").after[l - 1];
      const bool is_shorter = type.is_float() && type.bits >= 32 &&
                              (simplify_link(chain, l, type, is_stepped) || recognize(chain, l, type));
      changed |= is_shorter;
      l = is_shorter ? 0 : l + 1;
    }
    return changed;
  }

  // x / 3 is x * 0.33333334, at most a unit in the last place away: 21 / 7 might be more than 3, so not in front of a
  // step. x * 1 is x.
  bool simplify_link(Chain* chain, size_t l, DType x, bool is_stepped) const {
    ChainLink& link = chain->links[l];
    const double* number = number_of(link);
    if (!number) return false;
    if (is(link, "div") && *number != 0) {
      const double inverse = x == f32 ? in_f32(1 / *number) : 1 / *number;
      if (!(std::abs(inverse) >= 0x1p-126 && std::abs(inverse) <= 0x1p126)) return false;
      int exponent = 0;
      const bool is_exact = std::abs(std::frexp(*number, &exponent)) == 0.5;
      if (!is_exact && steps_exactly(std::span(chain->links).subspan(l + 1), is_stepped)) return false;
      link = link_with(c_.functions, "mul", inverse).link;
      return true;
    }
    if (!is(link, "mul") || *number != 1) return false;
    chain->links.erase(chain->links.begin() + static_cast<std::ptrdiff_t>(l));
    return true;
  }

  bool recognize(Chain* chain, size_t l, DType x) const {
    const std::span<const ChainLink> from = std::span(chain->links).subspan(l);
    const size_t labels = labels_of(std::span(chain->links).first(l));
    for (const auto& [spelled, function] : spellings_) {
      const size_t count = spelled.links.size();
      if (!begins_with(from, labels, spelled, x) || uses_label(from.subspan(count), labels)) continue;
      const auto begin = chain->links.begin() + static_cast<std::ptrdiff_t>(l);
      const auto behind = chain->links.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
      std::span<ChainLink> rest(behind, chain->links.end());
      each_label(rest, [&](Label& label) { label.index -= label.index > labels ? 1 : 0; });
      chain->links.insert(behind, function.links.begin(), function.links.end());
      return true;
    }
    return false;
  }

  std::vector<std::pair<Chain, Chain>> spellings_;  ///< of kSpellings
};

}  // namespace

Graph simplify_chains(const Graph& g, const PassContext& context) { return rewritten_by<ChainSimplifier>(g, context); }

}  // namespace hone
