// conv * 0.0004 + bias, relu, / 0.02, round, saturate:u8   ->   conv * 0.02 + bias / 0.02, round, saturate:u8
// saturate:u8, * 0.02, minimum[4], / 0.02, round, saturate:u8   ->   saturate:u8, minimum[200]
#include <algorithm>
#include <cmath>

#include "compiler/graph/passes/bytes.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/constants.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"

namespace hone {
namespace {

using Links = std::vector<BoundLink>;

bool saturates_to_bytes(const ChainLink& l) { return is(l, "saturate") && l.result && is_byte(*l.result); }

class RequantizationFolder : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    if (is<ops::Elementwise>(n)) return shorten(n);
    fold(n);
    return false;
  }

 private:
  void fold(const Node& n) {
    if (!n.workload.attributes.has("epilogue") || !n.workload.attributes.has("dtype")) return;
    Links links = bound_links(n);
    if (std::any_of(links.begin(), links.end(), [](const BoundLink& l) { return !l.link.function; })) return;
    const DType value = dtypes_of(n.workload).accumulate;
    bool changed = value == i32 && fold_steps(&links);
    changed |= shorten(&links, value);
    if (changed) become_with(n, links);
  }

  // A product by the reciprocal rounds as the quotient does, or differs by a rounding of f32 that is not near a half;
  // for scales that are powers of two, where sums may be exact halves, reciprocals are exact.
  bool fold_steps(Links* links) {
    bool changed = false;
    for (size_t d = 1; d + 1 < links->size(); ++d) {
      BoundLink& division = (*links)[d];
      const double* step = is(division.link, "div") ? number_of(division.link) : nullptr;
      if (!step || *step == 0 || !is((*links)[d + 1].link, "round")) continue;
      const double factor = 1 / *step;
      if (!std::isnormal(static_cast<float>(factor))) continue;
      division = link_with(c_.functions, "mul", in_f32(factor));
      changed = true;
      if (!pass_back(links, d, factor)) continue;
      links->erase(links->begin() + static_cast<std::ptrdiff_t>(d));
      drop_clips(links, d);
    }
    return changed;
  }

  // Applies `factor` in front of link `d`: to the last product by a constant and to the constants between the two,
  // which commute with it. False, and nothing changed, when there is no such product, or f32 does not hold a new
  // constant.
  bool pass_back(Links* links, size_t d, double factor) {
    Links out = *links;
    for (size_t m = d; m-- > 0;) {
      BoundLink& l = out[m];
      const auto applies = [&](auto... functions) { return (is(l.link, functions) || ...); };
      const bool has_number = l.link.arguments.size() == 1 && std::holds_alternative<double>(l.link.arguments[0]),
                 is_known =
                     has_number || (l.operand() != kNoValue && is_constant(l.operand()) && dtype(l.operand()) == f32),
                 is_product = is_known && applies("mul"),
                 commutes = is_product ? factor > 0 || m + 1 == d
                                       : applies("relu") || (has_number && applies("maximum", "minimum")) ||
                                             (is_known && applies("add", "sub"));
      if (!commutes || (l.link.result && *l.link.result != f32) || !scale(&l, factor)) return false;
      if (!is_product) continue;
      *links = std::move(out);
      return true;
    }
    return false;
  }

  // A link's number or operand; false where f32 does not hold it.
  bool scale(BoundLink* l, double factor) {
    for (Argument& a : l->link.arguments)
      if (double* number = std::get_if<double>(&a)) {
        *number = in_f32(*number * factor);
        if (!std::isfinite(*number)) return false;
      }
    if (l->operand() == kNoValue) return true;
    std::vector<double> values = data(l->operand()).values();
    for (double& v : values)
      if (v *= factor; !std::isfinite(static_cast<float>(v))) return false;
    l->operands[0] = constant(floats_of(type(l->operand()), values), l->operand(), "_scaled");
    return true;
  }

  // Bounds in front of the rounding at `round` that the saturation behind it has, too.
  static void drop_clips(Links* links, size_t round) {
    if (round + 1 == links->size() || !saturates_to_bytes((*links)[round + 1].link)) return;
    const bool is_signed = *(*links)[round + 1].link.result == i8;
    while (round > 0) {
      const ChainLink& l = (*links)[round - 1].link;
      const double* bound = number_of(l);
      const bool is_least = !is_signed && ((is(l, "relu") && !l.result) || (is(l, "maximum") && bound && *bound == 0)),
                 is_most = is(l, "minimum") && bound && *bound >= (is_signed ? 127 : 255);
      if (!(is_least || is_most)) return;
      links->erase(links->begin() + static_cast<std::ptrdiff_t>(--round));
    }
  }

  // Links from a byte to a byte of the same type as bounds, where they do nothing else and these are fewer.
  Links as_bounds(const Links& part, DType t) const {
    const TensorData bytes = all_bytes(t);
    const std::vector<int64_t> all = bytes.numbers(), table = evaluated(chain_of(part), {bytes}, c_).numbers();
    const int64_t least = table.front(), most = table.back();
    for (size_t i = 0; i < all.size(); ++i)
      if (table[i] != std::clamp(all[i], std::min(least, most), most)) return part;
    Links out;
    if (least > all.front()) out.push_back(link_with(c_.functions, "maximum", static_cast<double>(least)));
    if (most < all.back()) out.push_back(link_with(c_.functions, "minimum", static_cast<double>(most)));
    return out.size() < part.size() ? out : part;
  }

  // From one byte to the next, as long as that makes a chain shorter. `value` is the type that it begins with.
  bool shorten(Links* links, DType value) const {
    Links out, part;                 // part: from the last byte on
    DType type = value;              // in front of that
    bool is_known = is_byte(value);  // it is a byte, and no operand came behind it
    for (const BoundLink& l : *links) {
      part.push_back(l);
      is_known = is_known && l.operands.empty();
      if (!saturates_to_bytes(l.link)) continue;
      if (is_known && type == *l.link.result) part = as_bounds(part, type);
      out.insert(out.end(), part.begin(), part.end());
      part.clear(), type = *l.link.result, is_known = true;
    }
    out.insert(out.end(), part.begin(), part.end());
    const bool changed = out.size() < links->size();
    *links = std::move(out);
    return changed;
  }

  // A node of its own: when it does nothing to the bytes, the bytes replace it.
  bool shorten(const Node& n) {
    const DType t = dtype(n.outputs[0]);
    if (n.inputs.size() != 1 || !is_byte(t) || dtype(n.inputs[0]) != t) return false;
    Links links;
    for (const ChainLink& l : elementwise_shape(n.workload).chain.links) links.push_back({l, {}});
    const Chain shorter = chain_of(as_bounds(links, t));
    if (shorter.empty())
      return !is_output(n.outputs[0]) && shape(n.inputs[0]) == shape(n.outputs[0]) && replace(n, now(n.inputs[0]));
    if (shorter.links.size() < links.size())
      if (const auto w = with_functions(n.workload, shorter, t, c_.functions)) become(n, *w, n.inputs);
    return false;
  }
};

}  // namespace

Graph fold_requantization(const Graph& g, const PassContext& context) {
  return rewritten_by<RequantizationFolder>(g, context);
}

}  // namespace hone
