#include "compiler/graph/passes/layouts/rewrite_layouts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/constants.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/physical.h"

namespace hone {
namespace {

// [n, c, h, w] in blocks.
Extents blocked_shape(const Extents& s, const ChannelBlocks& b) {
  return {s[0], b.channels / b.block, s[2], s[3], b.block};
}

const Extents kIntoBlocks{0, 1, 3, 4, 2}, kIntoPlanes{0, 1, 4, 2, 3};

// Rebuilds a graph. Each old value has a plain new one, a blocked one, or both once both forms are read. Channels that
// no block divides are filled up when all readers go on in blocks.
class LayoutRewriter : public Rewriter {
 public:
  LayoutRewriter(const Graph& g, const PassContext& context, const std::vector<LayoutForm>& decided)
      : Rewriter(g, context),
        decided_(decided),
        blocks_(blocks_of_values(g, context.lanes)),
        blocked_(g.values.size()),
        padding_(g.values.size(), 0),
        goes_on_(values_that_go_on()),
        done_(g.nodes.size()) {}

  RewrittenLayouts rewritten() {
    Graph made =
        run([&](const Node& n) { return add(n); }, [&] { each_value(graph().outputs, [&](ValueId v) { plain(v); }); });
    return {std::move(made), std::move(done_)};
  }

 private:
  bool add(const Node& n) {
    now_ = {};
    now_.is_padded = has_padding(n);
    form_ = decided_.empty() ? LayoutForm::kRule : decided_[static_cast<size_t>(index_of(n))];
    const size_t before = b_.nodes().size();
    const bool is_blocked = form_ != LayoutForm::kPlanes && add_blocked(n);
    if (is_blocked) done_[index_of(n)] = added_since(before, n.workload.operator_name());
    for (const ValueId v : n.inputs)
      if (!is_blocked) plain(v);
    return is_blocked;
  }

  ChannelBlocks blocks_of(ValueId v) const { return blocks_[v]; }
  static bool is_padded(const ChannelBlocks& b, int64_t channels) { return b.block > 1 && b.channels != channels; }
  bool is_padded(ValueId v) const { return blocks_of(v).block > 1 && is_padded(blocks_of(v), shape(v)[1]); }

  // Which values all readers can take with channels of padding, as they go on in blocks or end there.
  IdVector<bool> values_that_go_on() const {
    IdVector<bool> out(graph().values.size(), false);
    for (size_t i = graph().nodes.size(); i-- > 0;)
      for (const ValueId v : graph().nodes[i].outputs) {
        const std::vector<const Node*> all = readers(v);
        out[v] = !all.empty() && !is_output(v) &&
                 std::all_of(all.begin(), all.end(), [&](const Node* n) { return takes_padding(*n, v, out); });
      }
    return out;
  }
  bool takes_padding(const Node& n, ValueId v, const IdVector<bool>& goes_on) const {
    if (is<ops::Conv2d>(n) && n.inputs[0] == v)
      return conv_shape(n.workload).groups == 1 && blocks_of(n.outputs[0]).block > 1;
    if (is<ops::Reduce>(n)) return n.workload.attributes.get<Extents>("axes") == Extents{2, 3} && n.inputs.size() == 1;
    const ValueId out = n.outputs[0];
    const bool goes_through = n.workload.attributes.has("layout") || is<ops::Elementwise, ops::Resize>(n) ||
                              (is<ops::Lookup>(n) && n.inputs[0] == v);
    return goes_through && shape(v).size() == 4 && shape(out).size() == 4 && shape(v)[1] == shape(out)[1] &&
           goes_on[out];
  }

  // The last node of that task that was added: those before it are conversions. None where it was a constant.
  std::optional<BlockedNode> added_since(size_t before, const std::string& task) {
    const auto begin = b_.nodes().rbegin(), end = b_.nodes().rend() - static_cast<std::ptrdiff_t>(before);
    const auto last = std::find_if(begin, end, [&](const Node& m) { return m.workload.operator_name() == task; });
    if (last == end) return std::nullopt;
    now_.workload = last->workload;
    return std::move(now_);
  }

  bool has_blocked(ValueId v) const { return blocked_[v].has_value(); }

  ValueId plain(ValueId v) {
    if (is_known(v)) return now(v);
    const Extents& s = shape(v);
    ValueId moved = *blocked_[v];
    const int64_t channels = blocks_of(v).channels;
    if (s[2] * s[3] > 1) moved = b_.transpose(moved, kIntoPlanes);
    moved = b_.reshape(moved, {s[0], channels, s[2], s[3]});
    if (channels != s[1]) moved = b_.slice(moved, {0, 0, 0, 0}, s);
    stand_in(v, moved);
    return moved;
  }

  // `v` with zeros behind the elements of each axis.
  ValueId padded(ValueId v, Extents to) {
    const Extents own = b_.type(v).shape;
    for (size_t d = 0; d < own.size(); ++d) to[d] -= own[d];
    return b_.pad(v, Extents(own.size(), 0), to);
  }

  // The value in its own blocks of more than one channel.
  ValueId blocked(ValueId v) {
    now_.reads.push_back(v);
    auto& known = blocked_[v];
    if (known) return *known;
    const Extents& s = shape(v);
    const ChannelBlocks blocks = blocks_of(v);
    return *(known = in_blocks(padded(plain(v), {s[0], blocks.channels, s[2], s[3]}), blocks));
  }

  // The value in the wanted blocks, which divide its own or are divided by them: runs of the smaller ones are moved.
  ValueId blocked(ValueId v, const ChannelBlocks& wanted) {
    const int64_t own = blocks_of(v).block;
    if (own == wanted.block) return blocked(v);
    now_.reads.push_back(v);
    const auto [known, is_new] = other_blocks_.try_emplace({v, wanted.block});
    if (is_new) known->second = has_blocked(v) ? moved(*blocked_[v], wanted) : in_blocks(plain(v), wanted);
    return known->second;
  }
  ValueId moved(ValueId image, const ChannelBlocks& wanted) {
    const Extents s = b_.type(image).shape;  // [n, c / own, h, w, own]
    const int64_t own = s[4];
    const Extents out{s[0], wanted.channels / wanted.block, s[2], s[3], wanted.block};
    if (s[2] * s[3] == 1) return b_.reshape(image, out);
    if (own > wanted.block)
      image = b_.transpose(b_.reshape(image, {s[0], s[1], s[2], s[3], own / wanted.block, wanted.block}),
                           {0, 1, 4, 2, 3, 5});
    else
      image = b_.transpose(b_.reshape(image, {s[0], out[1], wanted.block / own, s[2], s[3], own}), {0, 1, 3, 4, 2, 5});
    return b_.reshape(image, out);
  }

  // Planes as blocks that they fill.
  ValueId in_blocks(ValueId planes, const ChannelBlocks& b) {
    const Extents s = b_.type(planes).shape;
    if (s[2] * s[3] == 1) return b_.reshape(planes, blocked_shape(s, b));
    return b_.transpose(b_.reshape(planes, {s[0], b.channels / b.block, b.block, s[2], s[3]}), kIntoBlocks);
  }

  // The output of `n` in blocks. True, as nodes that are added return it.
  bool set_blocked(const Node& n, ValueId made) {
    blocked_[n.outputs[0]] = made;
    return true;
  }
  bool set_blocked(const Node& n, const Workload& w, const std::vector<ValueId>& inputs) {
    return set_blocked(n, b_.add(w, inputs, {name(n.outputs[0])})[0]);
  }

  bool has_padding(const Node& n) const {
    return is_padded(n.outputs[0]) ||
           std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return is_padded(v); });
  }
  // By rule a conversion is not worth it for this node alone.
  bool must_not_begin() const { return decided_.empty(); }

  // False: the node stays plain.
  bool add_blocked(const Node& n) {
    if (n.outputs.size() != 1) return false;
    try {
      if (n.workload.attributes.has("layout")) return add_window(n);
      const bool reads_blocked =
          std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return has_blocked(v); });
      if ((!reads_blocked && must_not_begin()) || blocks_of(n.inputs[0]).block == 1) return false;
      if (is_padded(n.outputs[0]) && !is<ops::Reduce>(n) && !goes_on_[n.outputs[0]]) return false;
      if (is<ops::Elementwise>(n)) return add_elementwise(n);
      if (is<ops::Lookup>(n)) return add_lookup(n);
      if (is<ops::Concat>(n)) return add_concat(n);
      if (is<ops::Slice>(n)) return add_slice(n);
      if (is<ops::Reduce>(n)) return add_reduce(n);
      if (is<ops::Resize>(n)) return add_resize(n);
      if (is<ops::Pad>(n)) return add_pad(n);
    } catch (const UserError&) {  // such a workload is not allowed in blocks
    }
    return false;
  }

  static Workload window_in(const Workload& w, const ChannelBlocks& in, const ChannelBlocks& out) {
    return with_blocks(w, in.block, out.block, in.channels, out.channels);
  }

  // Convolutions and poolings, whose `layout` says the blocks.
  bool add_window(const Node& n) {
    if (layout_of(n.workload).in_block > 0) return false;  // it has its blocks already
    const ConvShape& s = conv_shape(n.workload);
    if (s.groups > 1 && !s.depthwise) return false;
    ChannelBlocks in = blocks_of(n.inputs[0]), out = blocks_of(n.outputs[0]);
    // Channels of these are each their own.
    if (s.depthwise && s.ci == s.co) in = out;
    const bool pads_out = is_padded(out, s.co), is_pool = is<ops::MaxPool2d, ops::AvgPool2d>(n);
    if (pads_out && !goes_on_[n.outputs[0]] && (!has_blocked(n.inputs[0]) || s.depthwise)) return false;
    const std::optional<double> padding = pads_out ? padding_behind(n) : 0;
    if (!padding) return false;
    // An input in planes whose blocks would need padding is read as planes.
    if (is_padded(in, s.ci) && !has_blocked(n.inputs[0])) {
      if (s.depthwise) return false;
      in = {1, s.ci};
    }
    // Words of four bytes, which are multiplied at once.
    const bool in_words =
        !is_pool && !s.depthwise && sums_bytes(n.workload) && in.block == 1 && s.ci % kDotBytes == 0 && out.block > 1;
    if (in_words) in = {kDotBytes, s.ci};
    const bool has_from_planes = !in_words && !s.depthwise && in.block > 1 && (!pads_out || goes_on_[n.outputs[0]]) &&
                                 std::count(n.inputs.begin(), n.inputs.end(), n.inputs[0]) == 1;
    if (has_from_planes && form_ == LayoutForm::kFromPlanes) in = {1, s.ci};
    // Vectors run over output channels: without blocks of them a convolution is better off with rows. And where nothing
    // else lies in blocks, a conversion costs more than a pooling gains.
    if (out.block == 1 || (is_pool && !has_blocked(n.inputs[0]) && must_not_begin())) return false;
    const Workload w = window_in(n.workload, in, out);
    const PhysicalTypes types = physical_types(w);
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const auto& type = types.inputs[i];
      inputs.push_back(type.type == type.logical ? padded(plain(n.inputs[i]), type.logical.shape)
                       : i == 0 && in_words      ? in_blocks(plain(n.inputs[i]), in)
                                                 : blocked(n.inputs[i], i == 0 ? in : out));
    }
    set_blocked(n, w, inputs);
    padding_[n.outputs[0]] = *padding;
    if (has_from_planes) now_.from_planes = window_in(n.workload, {1, s.ci}, out);
    return true;
  }

  // The value of a convolution's or pooling's output in channels of padding. Nothing when it may have none: weights and
  // operands must be constants or in blocks, images in blocks, and the value finite.
  std::optional<double> padding_behind(const Node& n) {
    if (has_prologue(n)) return std::nullopt;
    BoundChain chain = bound_epilogue(n);
    for (size_t i = 1; i < n.inputs.size() - chain.operands.size(); ++i)
      if (!is_constant(n.inputs[i])) return std::nullopt;
    std::vector<double> operands;
    const bool all_known = chain.change_operands([&](ValueId v, const Operand& o) -> std::optional<Argument> {
      if (o.kind == Operand::Kind::kChannel && is_constant(v))
        operands.push_back(0);
      else if (o.kind == Operand::Kind::kOne && is_constant(v))
        operands.push_back(data(v).values()[0]);
      else if (o.kind == Operand::Kind::kSame && has_blocked(v))
        operands.push_back(padding_[v]);
      else
        return std::nullopt;
      return Operand{};
    });
    if (!all_known) return std::nullopt;
    const double of_image = has_blocked(n.inputs[0]) ? padding_[n.inputs[0]] : 0;
    if (is<ops::AvgPool2d>(n) && of_image != 0) return std::nullopt;  // borders may be counted
    return applied(chain.chain, n, is<ops::MaxPool2d>(n) ? of_image : 0, operands);
  }

  // The chain's value for these; nothing where it is not finite: behind it stand weights of 0.
  std::optional<double> applied(const Chain& chain, const Node& n, double x, const std::vector<double>& operands) {
    const DType t = dtype(n.outputs[0]);
    if (chain.empty()) return x;
    const auto number = [&](double value) {
      const ValueId wide = b_.constant(floats_of({f64, {1}}, {value}));
      return t == f64 ? wide : b_.elementwise("cast:" + to_string(t), wide);
    };
    std::vector<ValueId> numbers;
    for (const double o : operands) numbers.push_back(number(o));
    const ValueId made = b_.elementwise(elementwise_text(chain, t, c_.functions), number(x), numbers);
    const TensorData* value = b_.constant_of(made);
    if (!value || value->type().dtype != t || !std::isfinite(value->values()[0])) return std::nullopt;
    return value->values()[0];
  }

  // Elements in another order; operands are broadcast along the same axes.
  bool add_elementwise(const Node& n) {
    const Extents& whole = shape(n.outputs[0]);
    const ChannelBlocks blocks = blocks_of(n.outputs[0]);
    const bool pads = is_padded(blocks, whole[1]);
    std::vector<ValueId> inputs;
    std::vector<double> paddings;
    for (const ValueId v : n.inputs) {
      const Extents& s = shape(v);
      // The image must not have to be filled up, nor be met by numbers that only the caller knows.
      if (pads && !has_blocked(v) && (s[1] == 1 || s[2] * s[3] > 1)) return false;
      if (s[1] == whole[1])  // the same, or one for each channel, of each row
        inputs.push_back(blocked(v, blocks));
      else if (s[1] == 1)
        inputs.push_back(b_.reshape(plain(v), {s[0], 1, s[2], s[3], 1}));
      else
        return false;
      paddings.push_back(padding_[v]);
    }
    const Chain& chain = elementwise_shape(n.workload).chain;
    if (pads) {
      const auto padding = applied(chain, n, paddings[0], {paddings.begin() + 1, paddings.end()});
      if (!padding) return false;
      padding_[n.outputs[0]] = *padding;
    }
    const auto w = elementwise_of(c_.operators, c_.functions, chain, made_types(inputs));
    return w && inferred(*w).outputs[0].shape == blocked_shape(whole, blocks) && set_blocked(n, *w, inputs);
  }

  // The result for the padding is found in the table, which must be a constant.
  bool add_lookup(const Node& n) {
    const ValueId x = n.inputs[0], table = n.inputs[1];
    if (is_padded(x)) {
      if (!has_blocked(x) || !is_constant(table)) return false;
      const double least = dtype(x) == i8 ? -128 : 0;
      padding_[n.outputs[0]] = data(table).values()[static_cast<size_t>(padding_[x] - least)];
    }
    const std::vector<ValueId> inputs{blocked(x), plain(table)};
    return set_blocked(n, b_.add_one("lookup", {}, inputs, name(n.outputs[0])));
  }

  // Along channels where all parts have whole blocks; along rows and columns always.
  bool add_concat(const Node& n) {
    const int64_t block = blocks_of(n.outputs[0]).block;
    if (block == 1 || is_padded(n.outputs[0])) return false;
    for (const ValueId v : n.inputs)
      if (blocks_of(v).block % block != 0 || is_padded(v) ||
          (blocks_of(v).block != block && !joins_blocks(graph(), uses(), n)))
        return false;
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs) inputs.push_back(blocked(v, {block, shape(v)[1]}));
    const auto axis = static_cast<size_t>(n.workload.attributes.number("axis"));
    return set_blocked(n, b_.concat(std::move(inputs), axis, name(n.outputs[0])));
  }

  // Whole blocks of channels; of rows and columns any.
  bool add_slice(const Node& n) {
    const int64_t block = blocks_of(n.inputs[0]).block;
    Extents begin = n.workload.attributes.get<Extents>("begin"), step = n.workload.attributes.get<Extents>("step"),
            size = n.workload.attributes.get<Extents>("size");
    if (is_padded(n.inputs[0]) || is_padded(n.outputs[0]) || blocks_of(n.outputs[0]).block != block ||
        begin[1] % block != 0 || step[1] != 1)
      return false;
    begin[1] /= block, size[1] /= block;
    begin.push_back(0), step.push_back(1), size.push_back(block);
    return set_blocked(n, b_.slice(blocked(n.inputs[0]), begin, size, step, name(n.outputs[0])));
  }

  // Over all rows and columns.
  bool add_reduce(const Node& n) {
    const Extents& axes = n.workload.attributes.get<Extents>("axes");
    if (axes != Extents{2, 3} || n.inputs.size() != 1) return false;
    const ValueId image = blocked(n.inputs[0]);
    const ValueId made =
        b_.add(reduction_of_planes(c_.operators, n.workload, b_.type(image)), {image}, {name(n.outputs[0])})[0];
    const Extents& s = shape(n.inputs[0]);
    const ValueId all = b_.reshape(made, {s[0], blocks_of(n.inputs[0]).channels, 1, 1});
    const ValueId own = is_padded(n.inputs[0]) ? b_.slice(all, {0, 0, 0, 0}, {s[0], s[1], 1, 1}) : all;
    now_.writes = false;
    return replace(n, own);
  }

  // Around rows and columns.
  bool add_pad(const Node& n) {
    const Extents &before = n.workload.attributes.get<Extents>("before"),
                  &after = n.workload.attributes.get<Extents>("after");
    if (before[0] + before[1] + after[0] + after[1] != 0 || is_padded(n.inputs[0])) return false;
    const ValueId image = blocked(n.inputs[0]);
    return set_blocked(n,
                       pad_of(c_.operators, n.workload, b_.type(image), {0, 0, before[2], before[3], 0},
                              {0, 0, after[2], after[3], 0}),
                       {image});
  }

  bool add_resize(const Node& n) {
    const Extents& size = shape(n.outputs[0]);
    if (size[1] != shape(n.inputs[0])[1]) return false;
    padding_[n.outputs[0]] = padding_[n.inputs[0]];
    const ValueId image = blocked(n.inputs[0]);
    const Extents blocked_size = blocked_shape(size, blocks_of(n.inputs[0]));
    return set_blocked(n, resize_of(c_.operators, n.workload, b_.type(image), blocked_size), {image});
  }

  const std::vector<LayoutForm>& decided_;  ///< by node; empty: the rule
  const IdVector<ChannelBlocks> blocks_;    ///< by old value
  IdVector<std::optional<ValueId>> blocked_;
  std::map<std::pair<ValueId, int64_t>, ValueId> other_blocks_;  ///< old values in blocks of so many, not their own
  IdVector<double> padding_;  ///< by old value: the number in the channels of padding of its blocked one
  const IdVector<bool> goes_on_;
  LayoutForm form_ = LayoutForm::kRule;        ///< of the node that is being added
  BlockedNode now_;                            ///< and its properties so far
  IdVector<std::optional<BlockedNode>> done_;  ///< by old node
};

}  // namespace

RewrittenLayouts rewrite_layouts(const Graph& g, const PassContext& context, const std::vector<LayoutForm>& decided) {
  if (context.lanes < kLeastBlock) return {g, IdVector<std::optional<BlockedNode>>(g.nodes.size())};
  return LayoutRewriter(g, context, decided).rewritten();
}

std::optional<Workload> layout_conversion(const TensorType& type, const ChannelBlocks& b, const PassContext& context,
                                          bool to_blocks) {
  const Extents& s = type.shape;
  if (s[2] * s[3] == 1) return std::nullopt;
  const Extents shape = to_blocks ? Extents{s[0], b.channels / b.block, b.block, s[2], s[3]} : blocked_shape(s, b);
  return transpose_of(context.operators, {type.dtype, shape}, to_blocks ? kIntoBlocks : kIntoPlanes);
}

}  // namespace hone
