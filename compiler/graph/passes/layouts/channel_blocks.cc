#include "compiler/graph/passes/layouts/channel_blocks.h"

#include <algorithm>

#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"

namespace hone {
namespace {

constexpr int64_t kMostPadding = 7;  // at most one channel of padding for so many

class BlocksOfValues {
 public:
  BlocksOfValues(const Graph& g, int64_t lanes) : g_(g), lanes_(lanes), uses_(uses_of(g)) {}

  std::vector<ChannelBlocks> run() {
    for (const Value& v : g_.values)
      blocks_.push_back(v.type.shape.size() == 4 ? hone::blocks_of(v.type.shape[1], lanes_) : ChannelBlocks{});
    for (const Node& n : g_.nodes)
      if (n.outputs.size() == 1 && is_smaller(n.outputs[0])) set_smaller(n);
    return std::move(blocks_);
  }

 private:
  const Extents& shape(ValueId v) const { return g_.value(v).type.shape; }
  ChannelBlocks& of(ValueId v) { return blocks_[v]; }
  bool is_full(ValueId v) { return of(v).block > 1 && of(v).channels == shape(v)[1]; }
  // Whether there are smaller blocks than it has.
  bool is_smaller(ValueId v) { return is_full(v) && of(v).block / 2 >= std::max(kLeastBlock, lanes_ / 2); }

  void set_smaller(const Node& n) {
    const ValueId out = n.outputs[0];
    if (is<ops::Concat>(n) && n.workload.attributes.text("axis") == "1")
      set_of_parts(n);
    else if (is<ops::Elementwise, ops::Lookup, ops::Resize, ops::Pad>(n) && shape(n.inputs[0]).size() == 4 &&
             shape(n.inputs[0])[1] == shape(out)[1])
      of(out) = of(n.inputs[0]);
    else if (is<ops::Conv2d>(n))
      set_of_cut(out);
  }

  void set_of_parts(const Node& n) {
    const ValueId out = n.outputs[0];
    int64_t least = of(out).block;
    bool is_mixed = false;
    for (const ValueId v : n.inputs) {
      if (!is_full(v)) return;
      is_mixed |= of(v).block != of(n.inputs[0]).block;
      least = std::min(least, of(v).block);
    }
    if (!is_mixed || joins_blocks(g_, uses_, n)) of(out).block = least;
  }

  // [n, c, h, w] -> [n, ..., parts, c / parts, h, w] -> a transpose
  void set_of_cut(ValueId out) {
    const Node* view = if_is<ops::Reshape>(only_reader_of(g_, uses_, out));
    if (!view) return;
    const Node* moved = if_is<ops::Transpose>(only_reader_of(g_, uses_, view->outputs[0]));
    const Extents &image = shape(out), &seen = shape(view->outputs[0]);
    if (!moved || seen.size() < 5 || seen[seen.size() - 1] != image[3] || seen[seen.size() - 2] != image[2]) return;
    const int64_t each = seen[seen.size() - 3];
    const ChannelBlocks parts = hone::blocks_of(each, lanes_);
    if (image[1] % each == 0 && parts.channels == each && parts.block > 1 && parts.block < of(out).block)
      of(out).block = parts.block;
  }

  const Graph& g_;
  const int64_t lanes_;
  const Uses uses_;
  IdVector<ChannelBlocks> blocks_;
};

}  // namespace

ChannelBlocks blocks_of(int64_t channels, int64_t lanes) {
  const auto filled = [&](int64_t block) { return (channels + block - 1) / block * block; };
  for (const int64_t most : {int64_t{0}, channels / kMostPadding})
    for (int64_t b = lanes; b >= std::max(kLeastBlock, lanes / 2); b /= 2)
      if (filled(b) - channels <= most) return {b, filled(b)};
  return {1, channels};
}

bool joins_blocks(const Graph& g, const Uses& uses, const Node& concatenation) {
  const std::vector<int>& readers = uses.readers[concatenation.outputs[0]];
  return std::any_of(readers.begin(), readers.end(), [&](int r) { return is<ops::Conv2d>(g.nodes[r]); });
}

std::vector<ChannelBlocks> blocks_of_values(const Graph& g, int64_t lanes) { return BlocksOfValues(g, lanes).run(); }

}  // namespace hone
