// Graphs made anew, node by node: for passes that put several nodes where one was.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/builder.h"
#include "compiler/graph/passes/passes.h"

namespace hone {

/// The graph and the operators of the context must outlive it.
class Rebuild {
 public:
  Rebuild(const Graph& g, const PassContext& context);

  /// Goes through the nodes in order. What `replace(node)` adds stands for the node where it returns true; else the
  /// node is added as it was. Unused nodes are left out.
  template <class Replace>
  Graph run(const Replace& replace) {
    begin();
    for (const Node& n : g_.nodes) {
      b_.set_origin(n.origin);
      if (!replace(n)) copy(n);
    }
    return end();
  }

  GraphBuilder& builder() { return b_; }
  /// What stands for a value of the old graph.
  ValueId now(ValueId v);
  /// From here on `made` does.
  void stand_in(ValueId v, ValueId made) { now_[v] = made; }
  /// A new value, seen with another shape of as many elements.
  ValueId with_shape(ValueId v, const std::vector<int64_t>& shape);

 private:
  void begin();
  void copy(const Node& n);
  Graph end();

  const Graph& g_;
  GraphBuilder b_;
  IdVector<std::optional<ValueId>> now_;  ///< by value of the old graph
};

}  // namespace hone
