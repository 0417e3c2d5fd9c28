// conv * 0.0004 + bias, relu, / 0.02, round, saturate:u8   ->   conv * 0.02 + bias / 0.02, round, saturate:u8
// saturate:u8, * 0.02, minimum[4], / 0.02, round, saturate:u8   ->   saturate:u8, minimum[200]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/bytes/bytes.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

using Links = std::vector<BoundLink>;

bool is(const BoundLink& l, std::string_view function) { return l.link.function && l.link.function->name == function; }
const double* number_of(const BoundLink& l) {
  return l.link.arguments.size() == 1 ? std::get_if<double>(&l.link.arguments[0]) : nullptr;
}
// A number as f32 holds it, with the digits of that.
double in_f32(double v) { return std::stod(fmt::format("{}", static_cast<float>(v))); }
bool saturates_to_bytes(const BoundLink& l) { return is(l, "saturate") && l.link.result && is_byte(*l.link.result); }

class RequantizationFolder {
 public:
  RequantizationFolder(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) {
      if (is<ops::Elementwise>(n)) return shorten(n);
      fold(n);
      return false;
    });
  }

 private:
  void fold(const Node& n) {
    if (!n.workload.attributes.has("epilogue") || !n.workload.attributes.has("dtype")) return;
    Links links = bound_links(n);
    if (std::any_of(links.begin(), links.end(), [](const BoundLink& l) { return !l.link.function; })) return;
    const DType value = dtypes_of(n.workload).accumulate;
    bool changed = value == i32 && fold_steps(&links);
    changed |= shorten(&links, value);
    if (!changed) return;
    if (auto folded = with_links(n, links, r_.shape(n.outputs[0]), c_.functions))
      r_.become(n, folded->workload, std::move(folded->inputs));
  }

  // A product by the reciprocal rounds as the quotient does, or differs by a rounding of f32 that is not near a half;
  // for scales that are powers of two, where sums may be exact halves, reciprocals are exact.
  bool fold_steps(Links* links) {
    bool changed = false;
    for (size_t d = 1; d + 1 < links->size(); ++d) {
      BoundLink& division = (*links)[d];
      const double* step = is(division, "div") && !division.link.result ? number_of(division) : nullptr;
      if (!step || *step == 0 || !is((*links)[d + 1], "round")) continue;
      const double factor = 1 / *step;
      if (!std::isnormal(static_cast<float>(factor))) continue;
      division.link = {c_.functions.find("mul"), {in_f32(factor)}, std::nullopt};
      changed = true;
      if (!pass_back(links, d, factor)) continue;
      links->erase(links->begin() + static_cast<std::ptrdiff_t>(d));
      drop_clips(links, d);
    }
    return changed;
  }

  // The last product by a constant in front of link `d`, if the links between the two commute with `factor`.
  std::optional<size_t> product_before(const Links& links, size_t d, double factor) const {
    for (size_t m = d; m-- > 0;) {
      const BoundLink& l = links[m];
      const bool is_known =
          number_of(l) || (l.operand() != kNoValue && r_.is_constant(l.operand()) && r_.type(l.operand()).dtype == f32);
      if (l.link.result && *l.link.result != f32) return std::nullopt;
      if (is(l, "mul") && is_known) return factor > 0 || m + 1 == d ? std::optional(m) : std::nullopt;
      const bool scales = is(l, "relu") || ((is(l, "maximum") || is(l, "minimum")) && number_of(l)) ||
                          ((is(l, "add") || is(l, "sub")) && is_known);
      if (!scales) return std::nullopt;
    }
    return std::nullopt;
  }

  // Applies `factor` in front of link `d`: to the last product by a constant and to the constants between the two.
  // False, and nothing changed, when there is no such product, or f32 does not hold a new constant.
  bool pass_back(Links* links, size_t d, double factor) {
    const auto begin = product_before(*links, d, factor);
    if (!begin) return false;
    Links out = *links;
    for (size_t l = *begin; l < d; ++l)
      if (!scale(&out[l], factor)) return false;
    *links = std::move(out);
    return true;
  }

  // A link's number or operand; false where f32 does not hold it.
  bool scale(BoundLink* l, double factor) {
    for (Argument& a : l->link.arguments)
      if (double* number = std::get_if<double>(&a)) {
        *number = in_f32(*number * factor);
        if (!std::isfinite(*number)) return false;
      }
    if (l->operand() == kNoValue) return true;
    const TensorData old = *r_.graph().value(l->operand()).constant;
    std::vector<float> values;
    for (const double v : old.values()) {
      values.push_back(static_cast<float>(v * factor));
      if (!std::isfinite(values.back())) return false;
    }
    const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    l->operands[0] = r_.constant(TensorData(old.type(), bytes), l->operand(), "_scaled");
    return true;
  }

  // Bounds in front of a rounding at `round` that the saturation behind it has, too.
  static void drop_clips(Links* links, size_t round) {
    if (round + 1 >= links->size() || !is((*links)[round], "round") || !saturates_to_bytes((*links)[round + 1])) return;
    const bool is_signed = *(*links)[round + 1].link.result == i8;
    while (round > 0) {
      const BoundLink& l = (*links)[round - 1];
      const double* bound = number_of(l);
      const bool is_least = !is_signed && (is(l, "relu") || (is(l, "maximum") && bound && *bound == 0)),
                 is_most = is(l, "minimum") && bound && *bound >= (is_signed ? 127 : 255);
      if (l.link.result || !(is_least || is_most)) return;
      links->erase(links->begin() + static_cast<std::ptrdiff_t>(--round));
    }
  }

  // The bounds of functions from a byte to a byte of the same type that do nothing else.
  struct Bounds {
    int64_t least, most;
  };
  std::optional<Bounds> bounds_of(const Chain& chain, DType t) const {
    const TensorData bytes = all_bytes(t);
    const std::vector<int64_t> all = bytes.numbers();
    const auto w = elementwise_of(c_.operators, c_.functions, chain, {bytes.type()});
    const std::vector<int64_t> table = w ? evaluate(*w, {&bytes, 1}).front().numbers() : all;
    for (size_t i = 0; i < all.size(); ++i)
      if (table[i] != std::clamp(all[i], std::min(table.front(), table.back()), table.back())) return std::nullopt;
    return Bounds{table.front(), table.back()};
  }
  Links links_of(const Bounds& b, DType t) const {
    const int64_t least = t == u8 ? 0 : -128, most = t == u8 ? 255 : 127;
    Links out;
    if (b.least > least)
      out.push_back({{c_.functions.find("maximum"), {static_cast<double>(b.least)}, std::nullopt}, {}});
    if (b.most < most) out.push_back({{c_.functions.find("minimum"), {static_cast<double>(b.most)}, std::nullopt}, {}});
    return out;
  }

  // From one byte to the next, as long as that makes a chain shorter. `value` is the type that it begins with.
  bool shorten(Links* links, DType value) const {
    Links out;
    size_t begin = 0;                // of `out`: behind the last byte
    DType type = value;              // in front of that
    bool is_known = is_byte(value);  // it is a byte, and no operand came behind it
    bool changed = false;
    for (const BoundLink& l : *links) {
      out.push_back(l);
      is_known = is_known && l.operands.empty();
      if (!saturates_to_bytes(l)) continue;
      if (is_known && type == *l.link.result) {
        const auto part = out.begin() + static_cast<std::ptrdiff_t>(begin);
        if (const auto shorter = bounds_alone({part, out.end()}, type)) {
          out.erase(part, out.end());
          out.insert(out.end(), shorter->begin(), shorter->end());
          changed = true;
        }
      }
      begin = out.size(), type = *l.link.result, is_known = true;
    }
    *links = std::move(out);
    return changed;
  }

  // Links from a byte to a byte as bounds, where these are fewer.
  std::optional<Links> bounds_alone(const Links& part, DType t) const {
    Chain chain;
    for (const BoundLink& l : part) chain.links.push_back(l.link);
    const auto bounds = bounds_of(chain, t);
    if (!bounds) return std::nullopt;
    Links out = links_of(*bounds, t);
    return out.size() < part.size() ? std::optional(std::move(out)) : std::nullopt;
  }

  // A node of its own: when it does nothing to the bytes, the bytes replace it.
  bool shorten(const Node& n) {
    const DType t = r_.type(n.outputs[0]).dtype;
    if (n.inputs.size() != 1 || !is_byte(t) || r_.type(n.inputs[0]).dtype != t) return false;
    const Chain& chain = elementwise_shape(n.workload).chain;
    const auto bounds = bounds_of(chain, t);
    if (!bounds) return false;
    Chain shorter;
    for (const BoundLink& l : links_of(*bounds, t)) shorter.links.push_back(l.link);
    if (shorter.empty()) {
      if (r_.uses().is_output[n.outputs[0]] || r_.shape(n.inputs[0]) != r_.shape(n.outputs[0])) return false;
      r_.stand_in(n.outputs[0], r_.now(n.inputs[0]));
      return true;
    }
    if (shorter.links.size() < chain.links.size())
      if (const auto w = with_functions(n.workload, shorter, t, c_.functions)) r_.become(n, *w, n.inputs);
    return false;
  }

  const PassContext& c_;
  Rewriter r_;
};

}  // namespace

Graph fold_requantization(const Graph& g, const PassContext& context) { return RequantizationFolder(g, context).run(); }

}  // namespace hone
