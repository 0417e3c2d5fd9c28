#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/bytes/bytes.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

// The nodes between a byte and a byte that is a function of it.
struct ByteFunction {
  ValueId byte = kNoValue;
  std::set<int> nodes;  // in the graph's order
};

class TableUser {
 public:
  TableUser(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) { return replace(n); });
  }

 private:
  const Node& node(int n) const { return r_.node(n); }
  bool is_one_constant(ValueId v) const { return r_.is_constant(v) && element_count(r_.shape(v)) == 1; }

  // Adds the nodes that compute `v` from bytes to `f`. False when they use more than one byte, or more than functions.
  // A byte that is a function of another one is computed from that.
  bool trace(ValueId v, ByteFunction* f) const {
    constexpr size_t kMostNodes = 64;
    const int producer = r_.uses().producer[v];
    if (producer < 0 || !is<ops::Elementwise>(node(producer)) || f->nodes.size() >= kMostNodes) return false;
    if (!f->nodes.insert(producer).second) return true;
    const std::vector<int64_t>& shape = r_.shape(v);
    return std::all_of(node(producer).inputs.begin(), node(producer).inputs.end(), [&](ValueId input) {
      if (is_one_constant(input)) return true;
      if (r_.shape(input) != shape) return false;
      if (!is_byte(r_.type(input).dtype)) return trace(input, f);
      const auto known = of_a_byte_.find(input);
      const ValueId byte = known == of_a_byte_.end() ? input : known->second.byte;
      if (known != of_a_byte_.end()) f->nodes.insert(known->second.nodes.begin(), known->second.nodes.end());
      if (f->byte == kNoValue) f->byte = byte;
      return f->byte == byte;
    });
  }

  // Whether it takes longer than looking a byte up: a function that is more than some instructions, or many.
  bool is_long(const ByteFunction& f) const {
    static const std::set<std::string_view> kShort = {"round", "saturate", "div"};
    constexpr size_t kMany = 12;
    size_t links = 0;
    for (const int n : f.nodes)
      for (const ChainLink& l : elementwise_shape(node(n).workload).chain.links) {
        if (!is_cheap(l) && !kShort.contains(l.function->name)) return true;
        ++links;
      }
    return links >= kMany;
  }

  // The function's results for all bytes, by the interpreter.
  TensorData table_of(const ByteFunction& f, ValueId result) const {
    std::map<ValueId, TensorData> known{{f.byte, all_bytes(r_.type(f.byte).dtype)}};
    for (const int n : f.nodes) {
      std::vector<TensorData> inputs;
      std::vector<TensorType> types;
      for (const ValueId v : node(n).inputs) {
        inputs.push_back(is_one_constant(v) ? r_.graph().value(v).constant->reshaped({1}) : known.at(v));
        types.push_back(inputs.back().type());
      }
      const Chain& chain = elementwise_shape(node(n).workload).chain;
      known.emplace(node(n).outputs[0], evaluate(*elementwise_of(c_.operators, c_.functions, chain, types), inputs)[0]);
    }
    return known.at(result);
  }

  bool replace(const Node& n) {
    if (!is<ops::Elementwise>(n) || !is_byte(r_.type(n.outputs[0]).dtype)) return false;
    ByteFunction f;
    if (!trace(n.outputs[0], &f) || f.byte == kNoValue) return false;
    of_a_byte_[n.outputs[0]] = f;
    if (!is_long(f)) return false;
    TensorData table = table_of(f, n.outputs[0]);
    GraphBuilder& b = r_.builder();
    const std::vector<ValueId> inputs{r_.now(f.byte), b.constant(std::move(table))};
    r_.stand_in(n.outputs[0], b.add_one("lookup", {}, inputs, r_.name(n.outputs[0])));
    return true;
  }

  const PassContext& c_;
  Rewriter r_;
  std::map<ValueId, ByteFunction> of_a_byte_;  ///< the bytes so far that are functions of one
};

}  // namespace

// GPUs, for which no images lie in blocks, have no instructions that look bytes up; there functions stay where they can
// be fused.
Graph use_tables(const Graph& g, const PassContext& context) {
  return context.lanes > 0 ? TableUser(g, context).run() : g;
}

}  // namespace hone
