#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/constants.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// x * scale + shift, a number each for every channel.
struct Affine {
  std::vector<double> scale, shift;

  explicit Affine(size_t channels) : scale(channels, 1), shift(channels, 0) {}
  bool scales() const {
    return std::any_of(scale.begin(), scale.end(), [](double v) { return v != 1; });
  }
  bool shifts() const {
    return std::any_of(shift.begin(), shift.end(), [](double v) { return v != 0; });
  }
};

// Numbers as f32 or f64 holds them; nothing where one is not finite there, or so small that digits are lost.
std::optional<TensorData> data_of(const TensorType& type, const std::vector<double>& values) {
  const auto is_held = [&](double v) {
    return v == 0 || (type.dtype == f32 ? std::isnormal(static_cast<float>(v)) : std::isnormal(v));
  };
  return std::all_of(values.begin(), values.end(), is_held) ? std::optional(floats_of(type, values)) : std::nullopt;
}

class ScaleFolder : public Rewriter {
 public:
  using Rewriter::Rewriter;

  // Producers first: readers fold the scales that producers leave to them.
  bool rewrite(const Node& n) {
    if (!has_own_weights(n)) return false;
    fold_front(n);
    pass_on(n);
    return false;
  }

 private:
  bool has_own_weights(const Node& n) const { return has_folding_weights(graph(), n); }
  size_t channels(const Node& n) const { return static_cast<size_t>(shape(n.inputs[1])[0]); }

  // A link that scales or shifts by numbers that are known, applied to `a`; false: it is none.
  bool apply(const BoundLink& bound, Affine* a) const {
    const ChainLink& link = bound.link;
    const bool shifts = is(link, "add") || is(link, "sub"), scales = is(link, "mul") || is(link, "div");
    if (link.result || !(shifts || scales)) return false;
    std::vector<double> by;
    if (const double* number = number_of(link)) by = {*number};
    if (bound.operand() != kNoValue && is_constant(bound.operand())) by = data(bound.operand()).values();
    const size_t channels = a->scale.size();
    if (by.size() == 1)
      by = std::vector<double>(channels, by[0]);
    else if (by.size() != channels || std::get<Operand>(link.arguments[0]).kind != Operand::Kind::kChannel)
      return false;
    for (size_t c = 0; c < channels; ++c) {
      if (shifts) {
        a->shift[c] += is(link, "add") ? by[c] : -by[c];
      } else {
        const double factor = is(link, "mul") ? by[c] : 1 / by[c];
        a->scale[c] *= factor, a->shift[c] *= factor;
      }
    }
    return true;
  }

  // Calls `take(w, o, i)` for each of a node's weights, which is of its output channel `o` and channel `i` of an input
  // that has so many: of channel `o`, too, where each channel is its own.
  template <class Take>
  void each_weight(const Node& n, size_t input_channels, const Take& take) const {
    const std::vector<double> values = data(n.inputs[1]).values();
    const bool own_channels = shape(n.inputs[1])[1] == static_cast<int64_t>(input_channels);
    const size_t channel = values.size() / channels(n),  // elements of an output channel
        inner = own_channels ? channel / input_channels : channel;
    for (size_t w = 0; w < values.size(); ++w)
      take(values[w], w / channel, own_channels ? w % channel / inner : w / channel);
  }

  // A node with these weights (none: its own), whose channels are shifted in front of these links.
  std::optional<Rewritten> folded(const Node& n, std::vector<BoundLink> links, const std::vector<double>& weights,
                                  const Affine& front) {
    const auto weight = weights.empty() ? data(n.inputs[1]) : data_of(type(n.inputs[1]), weights);
    const auto shift = shift_of(n, front.shift);
    if (!weight || !shift) return std::nullopt;
    const auto constant_of = [&](const TensorData& data) { return constant(data, n.inputs[1], "_folded"); };
    if (front.shifts())
      links.insert(links.begin(), link_with(c_.functions, "add", Operand::Kind::kChannel, constant_of(*shift)));
    auto out = with_links(n, links, shape(n.outputs[0]), c_.functions);
    if (out && !weights.empty()) out->inputs[1] = constant_of(*weight);
    return out;
  }

  // conv * a + b   ->   convolution with other weights, + b
  void fold_front(const Node& n) {
    std::vector<BoundLink> links = bound_links(n);
    Affine a(channels(n));
    size_t count = 0;
    while (count < links.size() && apply(links[count], &a)) ++count;
    const bool is_bias = count == 1 && !a.scales() && links[0].operand() != kNoValue;
    links.erase(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(count));
    // Behind what rounds, a difference in the last place could become a step.
    if (count == 0 || is_bias || !is_continuous(chain_of(links).links)) return;
    std::vector<double> weights;
    if (a.scales())
      each_weight(n, a.scale.size(), [&](double w, size_t o, size_t) { weights.push_back(w * a.scale[o]); });
    if (auto own = folded(n, links, weights, a)) become(n, own->workload, std::move(own->inputs));
  }

  // Whether `n` reads `v` as the image or matrix that its weights are applied to, and nowhere else.
  bool applies_weights_to(const Node& n, ValueId v) const {
    return has_own_weights(n) && n.inputs[0] == v && std::count(n.inputs.begin(), n.inputs.end(), v) == 1 &&
           !has_prologue(n) &&
           (is<ops::Dense>(n) || conv_shape(n.workload).groups == 1 || conv_shape(n.workload).depthwise);
  }

  // Moves the scales and shifts at the end of a node's chain to its readers, when all of them have weights to fold it
  // into. A shift stays in front of borders, which are zeros: x * a + b is (x + b / a) * a.
  void pass_on(const Node& n) {
    const ValueId v = n.outputs[0];
    const std::vector<const Node*> all = readers(v);
    if (is_output(v) || all.empty() ||
        !std::all_of(all.begin(), all.end(), [&](const Node* reader) { return applies_weights_to(*reader, v); }))
      return;
    std::vector<BoundLink> links = bound_links(n);
    // From the end on, as long as all that follows scales and shifts; the first links are in the weights already.
    size_t kept = links.size();
    Affine a(channels(n)), left = a, tried = a;  // the parts that go on and that stay
    while (kept > 1 && apply(links[kept - 1], &tried)) --kept;
    if (kept == links.size()) return;
    for (size_t l = kept; l < links.size(); ++l) apply(links[l], &a);
    links.resize(kept);
    if (std::any_of(all.begin(), all.end(), [](const Node* reader) { return has_border(*reader); })) {
      if (!a.scales()) return;
      for (size_t c = 0; c < a.scale.size(); ++c) left.shift[c] = std::exchange(a.shift[c], 0) / a.scale[c];
    }
    if (left.shifts()) {
      std::vector<double>& s = left.shift;
      const bool is_one = std::adjacent_find(s.begin(), s.end(), std::not_equal_to<>()) == s.end();
      if (is_one) s.resize(1);
      const auto shift = shift_of(n, s);
      if (!shift) return;
      links.push_back(link_with(c_.functions, "add", is_one ? Operand::Kind::kOne : Operand::Kind::kChannel,
                                constant(*shift, n.inputs[1], "_folded")));
    }
    auto own = folded(n, links, {}, Affine(channels(n)));
    if (!own) return;
    // All or nothing: the folded weights of each reader.
    std::vector<Rewritten> changed;
    for (const Node* reader : all) {
      Affine behind(channels(*reader));  // nothing is padded where there is a shift
      std::vector<double> weights;
      each_weight(*reader, a.shift.size(), [&](double w, size_t o, size_t i) {
        behind.shift[o] += w * a.shift[i];
        weights.push_back(w * a.scale[i]);
      });
      auto of = folded(*reader, bound_links(*reader), weights, behind);
      if (!of) return;
      changed.push_back(std::move(*of));
    }
    become(n, own->workload, std::move(own->inputs));
    for (size_t r = 0; r < all.size(); ++r) become(*all[r], changed[r].workload, std::move(changed[r].inputs));
  }

  // In the type of a node's weights.
  std::optional<TensorData> shift_of(const Node& n, const std::vector<double>& shift) const {
    return data_of({dtype(n.inputs[1]), {static_cast<int64_t>(shift.size())}}, shift);
  }
};

}  // namespace

Graph fold_scales(const Graph& g, const PassContext& context) { return rewritten_by<ScaleFolder>(g, context); }

}  // namespace hone
