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
  ValueId bytes;  // of the new graph
  DType type;
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
    if (n.inputs.size() != 1 || shape(n.inputs[0]) != shape(n.outputs[0])) return;
    const DType from = dtype(n.inputs[0]), to = dtype(n.outputs[0]);
    const auto known = known_.find(n.inputs[0]);
    const std::vector<ChainLink>& own = elementwise_shape(n.workload).chain.links;
    const bool is_dequantising = std::all_of(
        own.begin(), own.end(), [](const ChainLink& l) { return l.function && kSteps.contains(l.function->name); });
    if (!is_dequantising || to.is_narrow_float() || !to.is_float() || !(is_byte(from) || known != known_.end())) return;
    OfBytes of = is_byte(from) ? OfBytes{now(n.inputs[0]), from} : known->second;
    constexpr size_t kMost = 8;
    if (of.functions.links.size() + own.size() > kMost) return;
    of.functions.links.insert(of.functions.links.end(), own.begin(), own.end());
    of.text = elementwise_text(of.functions, of.type, c_.functions);
    known_.emplace(n.outputs[0], std::move(of));
  }

  bool move(const Node& n) {
    static const std::set<std::string_view> kMoves = {"reshape", "transpose",      "slice",
                                                      "concat",  "depth_to_space", "space_to_depth"};
    if (!kMoves.contains(n.workload.operator_name()) || n.outputs.size() != 1) return false;
    std::vector<ValueId> inputs;
    OfBytes of{kNoValue, u8};
    for (const ValueId v : n.inputs) {
      const auto known = known_.find(v);
      if (known == known_.end()) return false;
      if (inputs.empty()) of = known->second;
      if (known->second.type != of.type || known->second.text != of.text) return false;
      inputs.push_back(known->second.bytes);
    }
    of.bytes = n.workload.attributes.has("dtype") ? b_.add(with_elements(n.workload, of.type), inputs)[0]
                                                  : with_shape(inputs[0], shape(n.outputs[0]));
    known_.emplace(n.outputs[0], of);
    return replace(n, b_.elementwise(of.text, of.bytes, {}, name(n.outputs[0])));
  }

  std::map<ValueId, OfBytes> known_;  ///< by value of the old graph
};

}  // namespace

Graph move_bytes(const Graph& g, const PassContext& context) { return rewritten_by<ByteMover>(g, context); }

}  // namespace hone
