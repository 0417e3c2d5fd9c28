#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "compiler/graph/passes/bytes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

// A value as the functions of bytes that it is.
struct OfBytes {
  ValueId bytes = kNoValue;  // of the new graph
  DType type = u8;
  Chain functions = {};
  std::string text = {};  // of the functions
};

class ByteMover : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    if (!is<ops::Elementwise>(n)) return move(n);
    read(n);
    return false;
  }

 private:
  // Functions that only subtract a zero point and scale. Others stay in front of several readers: once.
  void read(const Node& n) {
    static const std::set<std::string_view> kSteps = {"cast", "sub", "add", "mul"};
    constexpr size_t kMost = 8;
    const DType from = dtype(n.inputs[0]), to = dtype(n.outputs[0]);
    OfBytes of = is_byte(from) ? OfBytes{now(n.inputs[0]), from} : known_[n.inputs[0]];
    const std::vector<ChainLink>& own = elementwise_shape(n.workload).chain.links;
    of.functions.links.insert(of.functions.links.end(), own.begin(), own.end());
    const bool is_dequantising = std::all_of(
        own.begin(), own.end(), [](const ChainLink& l) { return l.function && kSteps.contains(l.function->name); });
    if (of.bytes == kNoValue || n.inputs.size() != 1 || shape(n.inputs[0]) != shape(n.outputs[0]) || !is_dequantising ||
        to.is_narrow_float() || !to.is_float() || of.functions.links.size() > kMost)
      return;
    of.text = elementwise_text(of.functions, of.type, c_.functions);
    known_[n.outputs[0]] = std::move(of);
  }

  bool move(const Node& n) {
    if (!is<ops::Reshape, ops::Transpose, ops::Slice, ops::Concat, ops::DepthToSpace, ops::SpaceToDepth>(n))
      return false;
    std::vector<ValueId> inputs;
    OfBytes of = known_[n.inputs[0]];
    for (const ValueId v : n.inputs) {
      const OfBytes& known = known_[v];
      if (known.bytes == kNoValue || known.type != of.type || known.text != of.text) return false;
      inputs.push_back(known.bytes);
    }
    of.bytes = b_.add(with_elements(n.workload, of.type), inputs)[0];
    known_[n.outputs[0]] = of;
    return replace(n, b_.elementwise(of.text, of.bytes, {}, name(n.outputs[0])));
  }

  std::map<ValueId, OfBytes> known_;  ///< by value of the old graph; of others, no bytes
};

}  // namespace

Graph move_bytes(const Graph& g, const PassContext& context) { return rewritten_by<ByteMover>(g, context); }

}  // namespace hone
