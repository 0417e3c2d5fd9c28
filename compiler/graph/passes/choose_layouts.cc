#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/graph/builder.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/conv_shape.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/physical.h"

namespace hone {
namespace {

using Extents = std::vector<int64_t>;

constexpr int64_t kLeastBlock = 4;  // fewer channels side by side, or than half a vector, are worth no conversion

std::string joined(const Extents& e, std::string_view separator) { return fmt::format("{}", fmt::join(e, separator)); }

// [n, c, h, w] in blocks of `block` channels.
Extents blocked_shape(const Extents& s, int64_t block) { return {s[0], s[1] / block, s[2], s[3], block}; }

// Rebuilds a graph. Each old value has a plain new one, a blocked one, or both once somebody asked for the other.
class LayoutChooser {
 public:
  LayoutChooser(const Graph& g, const PassContext& context)
      : g_(g), c_(context), b_(context.operators, g.name), plain_(g.values.size()), blocked_(g.values.size()) {}

  Graph run() {
    for (const Port& p : g_.inputs) {
      const ValueId v = b_.input(p.name, p.type);
      if (p.value != kNoValue) plain_[static_cast<size_t>(p.value)] = with_shape(v, g_.value(p.value).type.shape);
    }
    for (const Node& n : g_.nodes) {
      b_.set_origin(n.origin);
      if (!add_blocked(n)) add_plain(n);
    }
    for (const Port& p : g_.outputs) b_.output(p.name, p.value == kNoValue ? kNoValue : plain(p.value), p.type);
    return remove_dead(b_.take());
  }

 private:
  // How many channels of an image lie side by side: a function of their number, so that producers and readers agree.
  int64_t block_of(int64_t channels) const {
    for (int64_t b = c_.lanes; b >= std::max(kLeastBlock, c_.lanes / 2); b /= 2)
      if (channels % b == 0) return b;
    return 1;
  }
  int64_t block_of(ValueId v) const {
    const Extents& s = g_.value(v).type.shape;
    return s.size() == 4 ? block_of(s[1]) : 1;
  }
  bool has_blocked(ValueId v) const { return blocked_[static_cast<size_t>(v)].has_value(); }
  std::string name(ValueId v) const { return g_.value(v).name; }

  ValueId with_shape(ValueId v, const Extents& shape) {
    return b_.type(v).shape == shape ? v : b_.add_one("reshape", {{"to", joined(shape, "x")}}, {v});
  }
  ValueId transposed(ValueId v, const Extents& perm) {
    return b_.add_one("transpose", {{"perm", joined(perm, ":")}}, {v});
  }

  ValueId plain(ValueId v) {
    auto& known = plain_[static_cast<size_t>(v)];
    if (!known && g_.is_constant(v)) known = b_.constant(*g_.value(v).constant, name(v));
    if (known) return *known;
    const Extents& s = g_.value(v).type.shape;
    ValueId moved = *blocked_[static_cast<size_t>(v)];
    if (s[2] * s[3] > 1) moved = transposed(moved, {0, 1, 4, 2, 3});
    return *(known = with_shape(moved, s));
  }

  // In blocks of block_of(v) > 1.
  ValueId blocked(ValueId v) {
    auto& known = blocked_[static_cast<size_t>(v)];
    if (known) return *known;
    const Extents& s = g_.value(v).type.shape;
    const int64_t block = block_of(v);
    if (s[2] * s[3] == 1) return *(known = with_shape(plain(v), blocked_shape(s, block)));
    const ValueId apart = with_shape(plain(v), {s[0], s[1] / block, block, s[2], s[3]});
    return *(known = transposed(apart, {0, 1, 3, 4, 2}));
  }
  ValueId image(ValueId v) { return block_of(v) > 1 ? blocked(v) : plain(v); }

  void set(const Node& n, ValueId made, bool is_blocked) {
    (is_blocked ? blocked_ : plain_)[static_cast<size_t>(n.outputs[0])] = made;
  }

  void add_plain(const Node& n) {
    std::vector<ValueId> inputs;
    std::vector<std::string> names;
    for (const ValueId v : n.inputs) inputs.push_back(plain(v));
    for (const ValueId v : n.outputs) names.push_back(name(v));
    const std::vector<ValueId> made = b_.add(n.workload, inputs, names);
    for (size_t o = 0; o < made.size(); ++o) plain_[static_cast<size_t>(n.outputs[o])] = made[o];
  }

  // False: the node stays plain.
  bool add_blocked(const Node& n) {
    if (n.outputs.size() != 1) return false;
    try {
      if (n.workload.attributes.has("layout")) return add_window(n);
      const bool reads_blocked =
          std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return has_blocked(v); });
      if (!reads_blocked || block_of(n.inputs[0]) == 1) return false;
      const std::string& task = n.workload.task();
      if (task == "elementwise") return add_elementwise(n);
      if (task == "concat") return add_concat(n);
      if (task == "reduce") return add_reduce(n);
      if (task == "resize") return add_resize(n);
    } catch (const UserError&) {  // such a workload is not allowed in blocks
    }
    return false;
  }

  // Convolutions and poolings, whose `layout` says the blocks.
  bool add_window(const Node& n) {
    if (layout_of(n.workload).in_block > 0) return false;  // it has its blocks already
    const ConvShape& s = conv_shape(n.workload);
    int64_t in = block_of(s.ci), out = block_of(s.co);
    if (s.depthwise) in = out = std::min(in, out);
    if (s.groups > 1 && !s.depthwise) return false;
    // Vectors run over output channels: without blocks of them a convolution is better off with rows. And where nothing
    // else lies in blocks, a conversion costs more than a pooling gains.
    const bool is_pool = n.workload.task().ends_with("pool2d");
    if (out == 1 || (is_pool && !has_blocked(n.inputs[0]))) return false;
    const std::pair<std::string, std::string> layout{
        "layout", in == out ? fmt::format("NCHW{}c", in) : fmt::format("NCHW{}c:{}c", in, out)};
    const Workload w = Workload::changed(n.workload, {&layout, 1});
    const PhysicalTypes types = physical_types(w);
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < n.inputs.size(); ++i)
      inputs.push_back(types.inputs[i].type == types.inputs[i].logical ? plain(n.inputs[i]) : blocked(n.inputs[i]));
    set(n, b_.add(w, inputs, {name(n.outputs[0])})[0], out > 1);
    return true;
  }

  // Elements in another order; operands are broadcast along the same axes.
  bool add_elementwise(const Node& n) {
    const Extents& shape = g_.value(n.outputs[0]).type.shape;
    const int64_t block = block_of(shape[1]);
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs) {
      const Extents& s = g_.value(v).type.shape;
      if (s == shape)
        inputs.push_back(blocked(v));
      else if (s[1] == 1)
        inputs.push_back(with_shape(plain(v), {s[0], 1, s[2], s[3], 1}));
      else if (s[1] == shape[1])  // one for each channel, of each row
        inputs.push_back(blocked(v));
      else
        return false;
    }
    std::vector<TensorType> types;
    for (const ValueId v : inputs) types.push_back(b_.type(v));
    const Inferred w =
        infer(c_.operators, "elementwise", AttributeTexts{{"op", n.workload.attributes.text("op")}}, types);
    if (w.outputs[0].shape != blocked_shape(shape, block)) return false;
    set(n, b_.add(w.workload, inputs, {name(n.outputs[0])})[0], true);
    return true;
  }

  // Along channels where all parts have whole blocks; along rows and columns always.
  bool add_concat(const Node& n) {
    const int64_t block = block_of(n.outputs[0]);
    for (const ValueId v : n.inputs)
      if (block_of(v) != block || block == 1) return false;
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs) inputs.push_back(blocked(v));
    set(n, b_.add_one("concat", {{"axis", n.workload.attributes.text("axis")}}, inputs, name(n.outputs[0])), true);
    return true;
  }

  // Over all rows and columns.
  bool add_reduce(const Node& n) {
    const Extents& axes = n.workload.attributes.get<Extents>("axes");
    if (axes != Extents{2, 3} || n.inputs.size() != 1) return false;
    AttributeTexts given{{"op", n.workload.attributes.text("op")}, {"axes", "2:3"}, {"keepdims", "1"}};
    if (n.workload.attributes.text("epilogue") != "none")
      given.emplace_back("epilogue", n.workload.attributes.text("epilogue"));
    const ValueId made = b_.add_one("reduce", given, {blocked(n.inputs[0])}, name(n.outputs[0]));
    set(n, with_shape(made, g_.value(n.outputs[0]).type.shape), false);
    return true;
  }

  bool add_resize(const Node& n) {
    const Extents& size = g_.value(n.outputs[0]).type.shape;
    const int64_t block = block_of(n.inputs[0]);
    if (size[1] != g_.value(n.inputs[0]).type.shape[1]) return false;
    AttributeTexts given;
    for (const Attributes::Item& a : n.workload.attributes)
      if (a.name != "shape" && a.name != "size" && a.name != "scales" && a.name != "dtype")
        given.emplace_back(a.name, a.text);
    given.emplace_back("size", joined(blocked_shape(size, block), "x"));
    given.emplace_back("scales", n.workload.attributes.text("scales") + ":1/1");
    set(n, b_.add_one("resize", given, {blocked(n.inputs[0])}, name(n.outputs[0])), true);
    return true;
  }

  const Graph& g_;
  const PassContext& c_;
  GraphBuilder b_;
  std::vector<std::optional<ValueId>> plain_, blocked_;
};

}  // namespace

Graph choose_layouts(const Graph& g, const PassContext& context) {
  return context.lanes < kLeastBlock ? g : LayoutChooser(g, context).run();
}

}  // namespace hone
