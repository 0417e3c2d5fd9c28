// Graphs: models as operators on values. A pass takes one and gives another; constants are shared between them.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "compiler/graph/id_vector.h"
#include "compiler/graph/tensor_data.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/operators.h"

namespace hone {

/// Which value of a graph: an index into Graph::values.
using ValueId = int32_t;
/// An input or output without elements, which nothing computes.
inline constexpr ValueId kNoValue = -1;

struct Value {
  std::string name;  ///< unique in its graph
  TensorType type;   ///< of rank 1 at least; every extent is at least 1
  std::optional<TensorData> constant;
};

/// An operator on values. Its workload says everything but the values: operator, attributes, types. The values have its
/// physical types (ops/physical.h): images of a convolution in blocks are five-dimensional.
struct Node {
  Workload workload;
  std::vector<ValueId> inputs;  ///< in the order of the workload's definition
  std::vector<ValueId> outputs;
  std::string origin;  ///< names of the model's nodes that it stands for, joined by ` + `
};

/// Whether the node is of one of these operators.
template <class... Ops>
bool is(const Node& n) {
  return is<Ops...>(n.workload);
}

/// A tensor that the caller passes.
struct Port {
  std::string name;          ///< as the model says
  ValueId value = kNoValue;  ///< none where the tensor has no elements
  TensorType type;           ///< as the model says: of rank 0 too; its elements are those of `value`
  /// For an output whose extent is only known at run time: along `axis` only the first elements are the model's; their
  /// number is the value of output number `count`, s64[1].
  struct Extent {
    size_t axis = 0, count = 0;
    bool operator==(const Extent&) const = default;
  };
  std::optional<Extent> extent = std::nullopt;
};

struct Graph {
  std::string name;
  IdVector<Value> values;
  std::vector<Port> inputs, outputs;
  IdVector<Node> nodes;  ///< each after those whose outputs it reads

  const Value& value(ValueId id) const { return values[id]; }
  bool is_constant(ValueId id) const { return value(id).constant.has_value(); }
};

/// Calls `f` with each value that a node reads or makes, and with each that ports have; they may be changed.
template <class NodeOrPorts, class F>
void each_value(NodeOrPorts& of, const F& f) {
  if constexpr (std::is_same_v<std::remove_const_t<NodeOrPorts>, Node>) {
    for (auto* values : {&of.inputs, &of.outputs})
      for (auto& v : *values) f(v);
  } else {
    for (auto& port : of)
      if (port.value != kNoValue) f(port.value);
  }
}

/// Where each value is used.
struct Uses {
  IdVector<int> producer;              ///< node that computes it; -1: an input or a constant
  IdVector<std::vector<int>> readers;  ///< nodes that read it, once for each time
  IdVector<bool> is_output;
};
Uses uses_of(const Graph& g);

/// The node that computes `v`, which may be kNoValue; null: none does.
const Node* producer_of(const Graph& g, const Uses& uses, ValueId v);
/// The same when its result is read by one node, once, and is no output of the graph; else null.
const Node* own_producer_of(const Graph& g, const Uses& uses, ValueId v);
/// The node that reads `v`, once, where no other does and it is no output of the graph; else null.
const Node* only_reader_of(const Graph& g, const Uses& uses, ValueId v);

/// An error in a graph, in one line, and the node that has it.
struct GraphFault {
  std::string what;
  int node = -1;  ///< none: a value, an input or an output is wrong
};
/// Nothing where every node's values exist, have the types that its workload says and are computed before they are
/// read, each once; and every name is unique.
std::optional<GraphFault> fault_of(const Graph& g);
/// Throws InternalError where there is a fault: behind passes and frontends, which make none.
void verify(const Graph& g);

/// The graph as text, which parse_graph() reads (text.h says how it looks). Constants of more than `most_elements`
/// elements are printed as their hash alone.
std::string to_string(const Graph& g, int64_t most_elements = 16);

}  // namespace hone
