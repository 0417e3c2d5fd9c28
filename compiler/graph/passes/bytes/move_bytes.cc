#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "compiler/graph/passes/bytes/bytes.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

// A value as the functions of bytes that it is.
struct OfBytes {
  ValueId bytes;  // of the new graph
  DType type;
  Chain functions;
  std::string text;  // of the functions
};

class ByteMover {
 public:
  ByteMover(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) { return is<ops::Elementwise>(n) ? read(n) : move(n); });
  }

 private:
  // Whether the node only subtracts a zero point and scales. Other functions stay in front of several readers: once.
  static bool is_dequantising(const Node& n) {
    static const std::set<std::string_view> kSteps = {"cast", "sub", "add", "mul"};
    const std::vector<ChainLink>& links = elementwise_shape(n.workload).chain.links;
    return std::all_of(links.begin(), links.end(),
                       [](const ChainLink& l) { return l.function && kSteps.contains(l.function->name); });
  }

  // The node stays as it is.
  bool read(const Node& n) {
    if (n.inputs.size() != 1 || r_.shape(n.inputs[0]) != r_.shape(n.outputs[0])) return false;
    const DType from = r_.type(n.inputs[0]).dtype, to = r_.type(n.outputs[0]).dtype;
    const auto known = known_.find(n.inputs[0]);
    if (!is_dequantising(n) || to.is_narrow_float() || !to.is_float() || !(is_byte(from) || known != known_.end()))
      return false;
    OfBytes of = is_byte(from) ? OfBytes{r_.now(n.inputs[0]), from, {}, {}} : known->second;
    const std::vector<ChainLink>& own = elementwise_shape(n.workload).chain.links;
    constexpr size_t kMost = 8;
    if (of.functions.links.size() + own.size() > kMost) return false;
    of.functions.links.insert(of.functions.links.end(), own.begin(), own.end());
    of.text = elementwise_text(of.functions, of.type, c_.functions);
    known_.emplace(n.outputs[0], std::move(of));
    return false;
  }

  bool move(const Node& n) {
    static const std::set<std::string_view> kMoves = {"reshape", "transpose",      "slice",
                                                      "concat",  "depth_to_space", "space_to_depth"};
    if (!kMoves.contains(n.workload.operator_name()) || n.outputs.size() != 1) return false;
    std::vector<ValueId> inputs;
    const OfBytes* first = nullptr;
    for (const ValueId v : n.inputs) {
      const auto known = known_.find(v);
      if (known == known_.end()) return false;
      if (!first) first = &known->second;
      if (known->second.type != first->type || known->second.text != first->text) return false;
      inputs.push_back(known->second.bytes);
    }
    if (!first) return false;
    const OfBytes of = *first;
    GraphBuilder& b = r_.builder();
    const ValueId moved = n.workload.attributes.has("dtype") ? b.add(with_elements(n.workload, of.type), inputs)[0]
                                                             : r_.with_shape(inputs[0], r_.shape(n.outputs[0]));
    known_.emplace(n.outputs[0], OfBytes{moved, of.type, of.functions, of.text});
    r_.stand_in(n.outputs[0], b.elementwise(of.text, moved, {}, r_.name(n.outputs[0])));
    return true;
  }

  const PassContext& c_;
  Rewriter r_;
  std::map<ValueId, OfBytes> known_;  ///< by value of the old graph
};

}  // namespace

Graph move_bytes(const Graph& g, const PassContext& context) { return ByteMover(g, context).run(); }

}  // namespace hone
