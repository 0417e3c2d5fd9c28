#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "compiler/graph/passes/bytes.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/elementwise.h"

namespace hone {
namespace {

// The nodes between a byte and a byte that is a function of it.
struct ByteFunction {
  ValueId byte = kNoValue;
  std::set<int> nodes;  // in the graph's order
};

class TableUser : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    if (!is<ops::Elementwise>(n) || !is_byte(dtype(n.outputs[0]))) return false;
    ByteFunction f;
    if (!trace(n.outputs[0], &f) || f.byte == kNoValue) return false;
    of_a_byte_[n.outputs[0]] = f;
    if (!is_long(f)) return false;
    const ValueId byte = now(f.byte);
    return replace(n, b_.add_one("lookup", {}, {byte, b_.constant(table_of(f, n.outputs[0]))}, name(n.outputs[0])));
  }

 private:
  // Adds the nodes that compute `v` from bytes to `f`. False when they use more than one byte, or more than functions.
  // A byte that is a function of another one is computed from that.
  bool trace(ValueId v, ByteFunction* f) const {
    constexpr size_t kMostNodes = 64;
    const int producer = uses().producer[v];
    if (producer < 0 || !is<ops::Elementwise>(node(producer)) || f->nodes.size() >= kMostNodes) return false;
    if (!f->nodes.insert(producer).second) return true;
    return std::all_of(node(producer).inputs.begin(), node(producer).inputs.end(), [&](ValueId input) {
      if (is_constant(input) && has_one_element(input)) return true;
      if (shape(input) != shape(v)) return false;
      if (!is_byte(dtype(input))) return trace(input, f);
      const auto known = of_a_byte_.find(input);
      const ByteFunction own = known == of_a_byte_.end() ? ByteFunction{input, {}} : known->second;
      f->nodes.insert(own.nodes.begin(), own.nodes.end());
      if (f->byte == kNoValue) f->byte = own.byte;
      return f->byte == own.byte;
    });
  }

  // Whether it takes longer than looking a byte up: a function that is more than some instructions, or many.
  bool is_long(const ByteFunction& f) const {
    static const std::set<std::string_view> kShort = {"round", "saturate", "div"};
    constexpr size_t kMany = 12;
    size_t links = 0;
    for (const int n : f.nodes)
      for (const ChainLink& l : elementwise_shape(node(n).workload).chain.links)
        links += is_cheap(l) || kShort.contains(l.function->name) ? 1 : kMany;
    return links >= kMany;
  }

  // The function's results for all bytes, by the interpreter.
  TensorData table_of(const ByteFunction& f, ValueId result) const {
    std::map<ValueId, TensorData> known{{f.byte, all_bytes(dtype(f.byte))}};
    for (const int n : f.nodes) {
      std::vector<TensorData> inputs;
      for (const ValueId v : node(n).inputs) inputs.push_back(known.contains(v) ? known.at(v) : data(v).reshaped({1}));
      const Chain& chain = elementwise_shape(node(n).workload).chain;
      known.emplace(node(n).outputs[0], evaluated(chain, inputs, c_));
    }
    return known.at(result);
  }

  std::map<ValueId, ByteFunction> of_a_byte_;  ///< the bytes so far that are functions of one
};

}  // namespace

// GPUs, for which no images lie in blocks, have no instructions that look bytes up; there functions stay where they can
// be fused.
Graph use_tables(const Graph& g, const PassContext& context) {
  return context.lanes > 0 ? rewritten_by<TableUser>(g, context) : g;
}

}  // namespace hone
