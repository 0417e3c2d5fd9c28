#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
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
  std::vector<ChainLink> links;           ///< numbers, operands of one element and of one a channel
  std::vector<ValueId> operands;          ///< theirs, in order
  bool reverses_operands() const { return reverses_channels && !is_reversed_behind_chain; }
  std::string origin;
};

class PreprocessingFolder {
 public:
  PreprocessingFolder(const Graph& g, const PassContext& context) : g_(g), c_(context), uses_(uses_of(g)) {}

  Graph run() {
    Rewriter rebuild(g_, c_);
    return rebuild.run([&](const Node& n) {
      const auto p = preprocessing_of(n);
      return p && add(n, *p, &rebuild);
    });
  }

 private:
  static bool is_planar(const Node& n) { return layout_of(n.workload).in == "NCHW"; }

  static bool reads_picture(const Node& n) {
    if (!is<ops::Conv2d>(n) || n.workload.attributes.text("dtype") != "f32" ||
        n.workload.attributes.text("prologue") != "none")
      return false;
    const LayoutChoice& layout = layout_of(n.workload);
    const ConvShape& s = conv_shape(n.workload);
    return (is_planar(n) || (layout.in_block == 1 && layout.out_block > 1)) && s.groups == 1 && s.ci <= kMostChannels;
  }

  const Node* maker(ValueId v) const { return own_producer_of(g_, uses_, v); }

  std::optional<Preprocessing> preprocessing_of(const Node& n) const {
    if (!reads_picture(n)) return std::nullopt;
    Preprocessing p;
    p.picture = n.inputs[0];
    std::string last;  // origin; those of one input are several nodes
    while (const Node* e = maker(p.picture)) {
      if (!take(*e, n, &p)) break;
      p.picture = e->inputs[0];
      if (e->origin.empty() || e->origin == last) continue;
      p.origin = p.origin.empty() ? e->origin : e->origin + " + " + p.origin;
      last = e->origin;
    }
    const DType given = g_.value(p.picture).type.dtype;
    // For f32 in planes a kernel of its own is as fast.
    if (!p.is_interleaved && given == f32) return std::nullopt;
    return p;
  }

  // Adds node `e` to the preprocessing `p` in front of the convolution `n`, if it can be a part of it.
  bool take(const Node& e, const Node& n, Preprocessing* p) const {
    if (e.inputs.empty()) return false;
    if (is<ops::Transpose>(e)) {
      // A planar convolution has vectors of columns, so its input must be planes, too.
      if (is_planar(n) || p->is_interleaved || e.workload.attributes.text("perm") != "0:3:1:2" ||
          g_.value(e.inputs[0]).type.shape.size() != kRank)
        return false;
      p->is_interleaved = true;
      return true;
    }
    if (is<ops::Slice>(e)) {
      // Channels in order of a picture that is interleaved: its model's own transpose is the one in between.
      const size_t axis = p->is_interleaved ? kRank - 1 : 1;
      if (p->reverses_channels || !reverses_channels(e, axis) || !g_.is_constant(n.inputs[1])) return false;
      p->reverses_channels = true;
      return true;
    }
    return is<ops::Elementwise>(e) && take_chain(e, p);
  }

  bool reverses_channels(const Node& e, size_t axis) const {
    const Extents& shape = g_.value(e.inputs[0]).type.shape;
    if (shape.size() != kRank || g_.value(e.outputs[0]).type.shape != shape) return false;
    Extents begin(kRank, 0), step(kRank, 1);
    begin[axis] = shape[axis] - 1;
    step[axis] = -1;
    return e.workload.attributes.text("step") == fmt::format("{}", fmt::join(step, ":")) &&
           e.workload.attributes.text("begin") == fmt::format("{}", fmt::join(begin, ":"));
  }

  bool take_chain(const Node& e, Preprocessing* p) const {
    const ElementwiseShape& s = elementwise_shape(e.workload);
    const DType given = g_.value(e.inputs[0]).type.dtype;
    std::vector<ChainLink> links = s.chain.links;
    if (s.x != s.shape || s.shape.size() != kRank || !p->links.empty() || links.empty() ||
        !std::all_of(links.begin(), links.end(), [](const ChainLink& l) { return l.function && is_cheap(l); }) ||
        !std::all_of(s.types.after.begin(), s.types.after.end(), [](DType t) { return t == f32; }))
      return false;
    if (given != f32) {  // the convolution converts its input
      const bool is_byte_or_two = !given.is_float() && !given.is_bool() && given.bytes() <= 2;
      if (!is_byte_or_two || links[0].function->name != "cast") return false;
      links.erase(links.begin());
    }
    const size_t axis = p->is_interleaved ? kRank - 1 : 1;
    auto value = e.inputs.begin() + 1;
    std::vector<ValueId> operands;
    for (ChainLink& l : links)
      for (Argument& a : l.arguments) {
        if (std::holds_alternative<Label>(a)) return false;
        if (!std::holds_alternative<Operand>(a)) continue;
        const ValueId v = *value++;
        if (!g_.is_constant(v)) return false;
        const Extents& shape = g_.value(v).type.shape;
        const int64_t count = element_count(shape);
        if (count == 1)
          a = Operand{Operand::Kind::kOne, {}};
        else if (shape.size() == kRank && shape[axis] == count)
          a = Operand{Operand::Kind::kChannel, {}};
        else
          return false;
        operands.push_back(v);
      }
    p->links = std::move(links);
    p->is_reversed_behind_chain = p->reverses_channels;
    p->operands = std::move(operands);
    return true;
  }

  // `data` [outer, channels, inner] with the channels in the opposite order.
  static TensorData reversed(const TensorData& data, int64_t outer, int64_t channels) {
    const std::span<const char> from = data.bytes();
    const auto inner = static_cast<int64_t>(from.size()) / outer / channels;
    std::string bytes;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t c = channels; c-- > 0;)
        bytes.append(from.data() + (o * channels + c) * inner, static_cast<size_t>(inner));
    return {data.type(), std::move(bytes)};
  }

  bool add(const Node& n, const Preprocessing& p, Rewriter* rebuild) const {
    const ConvShape& s = conv_shape(n.workload);
    const DType given = g_.value(p.picture).type.dtype;
    Workload w;
    try {
      w = with_picture(n.workload, given, p.is_interleaved, {p.links}, c_.functions);
    } catch (const UserError&) {  // the chain is too long
      return false;
    }
    const Extents read = physical_types(w).inputs[0].type.shape;
    GraphBuilder& b = rebuild->builder();
    if (!p.origin.empty()) b.set_origin(p.origin + " + " + n.origin);
    std::vector<ValueId> inputs{rebuild->with_shape(rebuild->now(p.picture), read)};
    const auto constant = [&](ValueId v, bool is_reversed, int64_t outer) {
      const TensorData& data = *g_.value(v).constant;
      return is_reversed ? b.constant(reversed(data, outer, s.ci), g_.value(v).name + "_reversed") : rebuild->now(v);
    };
    inputs.push_back(p.reverses_channels ? constant(n.inputs[1], true, s.co) : rebuild->now(n.inputs[1]));
    for (size_t i = 0; i < p.operands.size(); ++i) {
      const bool is_one = element_count(g_.value(p.operands[i]).type.shape) == 1;
      inputs.push_back(
          rebuild->with_shape(constant(p.operands[i], !is_one && p.reverses_operands(), 1), {is_one ? 1 : s.ci}));
    }
    for (size_t i = 2; i < n.inputs.size(); ++i) inputs.push_back(rebuild->now(n.inputs[i]));
    rebuild->stand_in(n.outputs[0], b.add(w, inputs, {g_.value(n.outputs[0]).name})[0]);
    return true;
  }

  const Graph& g_;
  const PassContext& c_;
  const Uses uses_;
};

}  // namespace

Graph fold_preprocessing(const Graph& g, const PassContext& context) { return PreprocessingFolder(g, context).run(); }

}  // namespace hone
