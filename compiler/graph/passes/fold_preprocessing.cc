#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/physical.h"

namespace hone {
namespace {

constexpr int64_t kMostChannels = 4;  // of a picture
constexpr size_t kRank = 4;           // n, channels, rows, columns

// The preprocessing between a picture and the convolution that reads it.
struct Preprocessing {
  ValueId picture = kNoValue;
  bool is_interleaved = false;            ///< its channels are the last axis
  bool reverses_channels = false;         ///< the convolution's first channel is the picture's last one
  bool is_reversed_behind_chain = false;  ///< so that the operands' channels are in the picture's order
  BoundChain chain;                       ///< numbers, operands of one element and of one a channel
  bool reverses_operands() const { return reverses_channels && !is_reversed_behind_chain; }
  std::string origin;
};

bool is_planar(const Node& n) { return layout_of(n.workload).in == "NCHW"; }

bool reads_picture(const Node& n) {
  if (!is<ops::Conv2d>(n) || n.workload.attributes.text("dtype") != "f32" || has_prologue(n)) return false;
  const LayoutChoice& layout = layout_of(n.workload);
  const ConvShape& s = conv_shape(n.workload);
  return (is_planar(n) || (layout.in_block == 1 && layout.out_block > 1)) && s.groups == 1 && s.ci <= kMostChannels;
}

class PreprocessingFolder : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    const auto p = preprocessing_of(n);
    return p && add(n, *p);
  }

 private:
  std::optional<Preprocessing> preprocessing_of(const Node& n) const {
    if (!reads_picture(n)) return std::nullopt;
    Preprocessing p;
    p.picture = n.inputs[0];
    std::string last;  // origin; those of one input are several nodes
    while (const Node* e = own_producer(p.picture)) {
      if (!take(*e, n, &p)) break;
      p.picture = e->inputs[0];
      if (e->origin.empty() || e->origin == last) continue;
      p.origin = p.origin.empty() ? e->origin : e->origin + " + " + p.origin;
      last = e->origin;
    }
    // For f32 in planes a kernel of its own is as fast.
    return p.is_interleaved || dtype(p.picture) != f32 ? std::optional(p) : std::nullopt;
  }

  // Adds node `e` to the preprocessing `p` in front of the convolution `n`, if it can be a part of it.
  bool take(const Node& e, const Node& n, Preprocessing* p) const {
    if (e.inputs.empty()) return false;
    if (is<ops::Transpose>(e)) {
      // A planar convolution has vectors of columns, so its input must be planes, too.
      if (is_planar(n) || p->is_interleaved || e.workload.attributes.text("perm") != "0:3:1:2" ||
          shape(e.inputs[0]).size() != kRank)
        return false;
      p->is_interleaved = true;
      return true;
    }
    if (is<ops::Slice>(e)) {
      // Channels in order of a picture that is interleaved: its model's own transpose is the one in between.
      const size_t axis = p->is_interleaved ? kRank - 1 : 1;
      if (p->reverses_channels || !reverses_channels(e, axis) || !is_constant(n.inputs[1])) return false;
      p->reverses_channels = true;
      return true;
    }
    return is<ops::Elementwise>(e) && take_chain(e, p);
  }

  bool reverses_channels(const Node& e, size_t axis) const {
    const Extents& whole = shape(e.inputs[0]);
    if (whole.size() != kRank || shape(e.outputs[0]) != whole) return false;
    Extents begin(kRank, 0), step(kRank, 1);
    begin[axis] = whole[axis] - 1;
    step[axis] = -1;
    return e.workload.attributes.get<Extents>("step") == step && e.workload.attributes.get<Extents>("begin") == begin;
  }

  bool take_chain(const Node& e, Preprocessing* p) const {
    const ElementwiseShape& s = elementwise_shape(e.workload);
    const DType given = dtype(e.inputs[0]);
    BoundChain chain = bound_chain(e);
    std::vector<ChainLink>& links = chain.chain.links;
    if (s.x != s.shape || s.shape.size() != kRank || !p->chain.chain.empty() || links.empty() || labels_of(links) > 0 ||
        !is_cheap(s.chain) || !stays(s.types, f32))
      return false;
    if (given != f32) {  // the convolution converts its input
      const bool is_byte_or_two = !given.is_float() && !given.is_bool() && given.bytes() <= 2;
      if (!is_byte_or_two || !is(links[0], "cast")) return false;
      links.erase(links.begin());
    }
    const size_t axis = p->is_interleaved ? kRank - 1 : 1;
    const auto of_picture = [&](ValueId v, const Operand&) -> std::optional<Argument> {
      if (!is_constant(v)) return std::nullopt;
      if (has_one_element(v)) return Operand{Operand::Kind::kOne, {}};
      const bool is_of_channels = shape(v).size() == kRank && shape(v)[axis] == element_count(shape(v));
      return is_of_channels ? std::optional<Argument>(Operand{Operand::Kind::kChannel, {}}) : std::nullopt;
    };
    if (!chain.change_operands(of_picture)) return false;
    p->chain = std::move(chain);
    p->is_reversed_behind_chain = p->reverses_channels;
    return true;
  }

  // A constant with the channels, along this axis, in the opposite order; named after `of`.
  ValueId reversed(ValueId v, size_t axis, ValueId of) {
    const Extents whole = b_.type(v).shape;
    Extents begin(whole.size(), 0), step(whole.size(), 1);
    begin[axis] = whole[axis] - 1, step[axis] = -1;
    return b_.slice(v, begin, whole, step, name(of) + "_reversed");
  }

  bool add(const Node& n, const Preprocessing& p) {
    const auto w = if_allowed([&] {  // nothing where the chain is too long
      return with_picture(n.workload, dtype(p.picture), p.is_interleaved, p.chain.chain, c_.functions);
    });
    if (!w) return false;
    if (!p.origin.empty()) b_.set_origin(p.origin + " + " + n.origin);
    const ValueId weights = now(n.inputs[1]);
    std::vector<ValueId> inputs{with_shape(now(p.picture), physical_types(*w).inputs[0].type.shape),
                                p.reverses_channels ? reversed(weights, 1, n.inputs[1]) : weights};
    for (const ValueId v : p.chain.operands) {
      const ValueId operand = with_shape(now(v), {element_count(shape(v))});
      inputs.push_back(p.reverses_operands() && !has_one_element(v) ? reversed(operand, 0, v) : operand);
    }
    for (size_t i = 2; i < n.inputs.size(); ++i) inputs.push_back(now(n.inputs[i]));
    return replace(n, *w, inputs);
  }
};

}  // namespace

Graph fold_preprocessing(const Graph& g, const PassContext& context) {
  return rewritten_by<PreprocessingFolder>(g, context);
}

}  // namespace hone
