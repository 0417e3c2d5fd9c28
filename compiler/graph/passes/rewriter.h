// How passes make a graph of another one: node by node, in order, edited where it stands or put in other words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/builder.h"
#include "compiler/graph/passes/passes.h"

namespace hone {

/// A copy of the given graph, whose nodes may be edited until their turn comes, and the new graph that is made of it.
/// Ids are the copy's unless otherwise said; its nodes and values keep their positions, except that constant() may move
/// values. The operators of the context must outlive it.
class Rewriter {
 public:
  Rewriter(const Graph& g, const PassContext& context);

  /// Goes through the nodes in order. When `rewrite(node)` returns true, the nodes that it added with builder() replace
  /// the node; else the node is copied. Unused nodes are left out.
  template <class Rewrite>
  Graph run(const Rewrite& rewrite) {
    return run(rewrite, [] {});
  }
  /// `finish()` is called behind the last node: it may still add values that stand for outputs.
  template <class Rewrite, class Finish>
  Graph run(const Rewrite& rewrite, const Finish& finish) {
    begin();
    for (; at_ < g_.nodes.size(); ++at_) {
      b_.set_origin(g_.nodes[at_].origin);
      if (!rewrite(g_.nodes[at_])) copy(g_.nodes[at_]);
    }
    finish();
    return end();
  }

  const Graph& graph() const { return g_; }
  const TensorType& type(ValueId v) const { return g_.value(v).type; }
  const std::vector<int64_t>& shape(ValueId v) const { return g_.value(v).type.shape; }
  const std::string& name(ValueId v) const { return g_.value(v).name; }
  bool is_constant(ValueId v) const { return g_.is_constant(v); }
  /// Readers of values, as edited.
  const Uses& uses() const { return uses_; }
  int index_of(const Node& n) const { return static_cast<int>(&n - g_.nodes.data()); }
  const Node& node(int n) const { return g_.nodes[n]; }
  /// The functions of graph.h on this graph.
  const Node* producer(ValueId v) const { return producer_of(g_, uses_, v); }
  const Node* own_producer(ValueId v) const { return own_producer_of(g_, uses_, v); }
  const Node* only_reader(ValueId v) const { return only_reader_of(g_, uses_, v); }
  /// Whether no other node than `n` reads `v`, and it is no output.
  bool is_only_read_by(ValueId v, const Node& n) const;

  /// `n`, whose turn has not passed, computes its outputs in this way from here on. Inputs and the output may be seen
  /// with other shapes of as many elements: views are added with the node. `behind`: a node whose work `n` does from
  /// here on, too.
  void become(const Node& n, const Workload& w, std::vector<ValueId> inputs, const Node* behind = nullptr);
  /// Another node does the work of `n`, which no longer counts as a reader of its inputs.
  void drop(const Node& n);
  /// A constant, named after `of`.
  ValueId constant(TensorData data, ValueId of, const std::string& suffix);

  /// The builder of the new graph.
  GraphBuilder& builder() { return b_; }
  /// Whether something stands for a value there, or is a constant of its own.
  bool is_known(ValueId v) const { return now_[v] || g_.is_constant(v); }
  /// The value of the new graph that stands for `v`.
  ValueId now(ValueId v);
  std::vector<ValueId> now(const std::vector<ValueId>& values);
  /// Types of values there.
  std::vector<TensorType> made_types(const std::vector<ValueId>& made) const;
  /// From here on `made`, a value there, stands for `v`.
  void stand_in(ValueId v, ValueId made) { now_[v] = made; }
  /// A value there, seen with another shape of as many elements.
  ValueId with_shape(ValueId made, const std::vector<int64_t>& shape) { return b_.reshape(made, shape); }

 private:
  void begin();
  void copy(const Node& n);
  Graph end();

  Graph g_;
  Uses uses_;
  GraphBuilder b_;
  size_t at_ = 0;                         ///< the node whose turn it is
  std::vector<bool> is_edited_;           ///< by node
  IdVector<std::optional<ValueId>> now_;  ///< by value
};

}  // namespace hone
