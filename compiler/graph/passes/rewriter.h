// How passes make a graph of another one: node by node, in order, edited where it stands or put in other words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compiler/graph/builder.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/ir/layout.h"

namespace hone {

struct BoundLink;

/// The workload, or nothing, of `make()`; nothing where it throws a UserError: operators refuse chains that are too
/// long, types that they do not take.
template <class Make>
std::optional<Workload> if_allowed(const Make& make) {
  try {
    return make();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// `n` where it is a node of one of these operators, of any where none is named; else null.
template <class... Ops>
const Node* if_is(const Node* n) {
  if constexpr (sizeof...(Ops) == 0)
    return n;
  else
    return n && is<Ops...>(*n) ? n : nullptr;
}

/// A copy of the given graph, whose nodes may be edited until their turn comes, and the new graph that is made of it.
/// Ids are the copy's unless otherwise said; its nodes and values keep their positions, except that constant() may move
/// values. The operators of the context must outlive it. A pass with state is a class of this one (rewritten_by()).
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
  std::vector<TensorType> types(const std::vector<ValueId>& values) const;
  DType dtype(ValueId v) const { return g_.value(v).type.dtype; }
  const std::vector<int64_t>& shape(ValueId v) const { return g_.value(v).type.shape; }
  bool has_one_element(ValueId v) const { return element_count(shape(v)) == 1; }
  const std::string& name(ValueId v) const { return g_.value(v).name; }
  bool is_constant(ValueId v) const { return g_.is_constant(v); }
  /// The elements of a constant.
  const TensorData& data(ValueId v) const { return *g_.value(v).constant; }
  /// Readers of values, as edited.
  const Uses& uses() const { return uses_; }
  int index_of(const Node& n) const { return static_cast<int>(&n - g_.nodes.data()); }
  const Node& node(int n) const { return g_.nodes[n]; }
  bool is_output(ValueId v) const { return uses_.is_output[v]; }
  /// The nodes that read `v`, once for each time.
  std::vector<const Node*> readers(ValueId v) const;
  /// The functions of graph.h on this graph; null, too, where the node is none of the operators that are named.
  template <class... Ops>
  const Node* producer(ValueId v) const {
    return if_is<Ops...>(producer_of(g_, uses_, v));
  }
  template <class... Ops>
  const Node* own_producer(ValueId v) const {
    return if_is<Ops...>(own_producer_of(g_, uses_, v));
  }
  template <class... Ops>
  const Node* only_reader(ValueId v) const {
    return if_is<Ops...>(only_reader_of(g_, uses_, v));
  }
  /// Whether no other node than `n` reads `v`, and it is no output.
  bool is_only_read_by(ValueId v, const Node& n) const;
  /// The value that `v` is made of by nodes of these operators alone, through their first inputs.
  template <class... Ops>
  ValueId in_front_of(ValueId v) const {
    while (const Node* n = producer<Ops...>(v)) v = n->inputs[0];
    return v;
  }

  /// `n`, whose turn has not passed, computes its outputs in this way from here on. Inputs and the output may be seen
  /// with other shapes of as many elements: views are added with the node. `behind`: a node whose work `n` does from
  /// here on, too.
  void become(const Node& n, const Workload& w, std::vector<ValueId> inputs, const Node* behind = nullptr);
  /// The same where `make()`, which gives the workload or nothing, throws no UserError; else false, and nothing
  /// changed.
  template <class Make>
  bool become_if_allowed(const Node& n, std::vector<ValueId> inputs, const Make& make, const Node* behind = nullptr) {
    const std::optional<Workload> w = if_allowed(make);
    if (w) become(n, *w, std::move(inputs), behind);
    return w.has_value();
  }
  /// The same of a node with another epilogue (chains.h).
  bool become_with(const Node& n, const std::vector<BoundLink>& links);
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
  /// `made`, a value there, stands for the output of `n`, seen with its shape. True, as rewrites return it.
  bool replace(const Node& n, ValueId made);
  /// A node of this workload on values there computes it.
  bool replace(const Node& n, const Workload& w, const std::vector<ValueId>& inputs);
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

 protected:
  const PassContext& c_;
  GraphBuilder b_;  ///< of the new graph

 private:
  size_t at_ = 0;                         ///< the node whose turn it is
  std::vector<bool> is_edited_;           ///< by node
  IdVector<std::optional<ValueId>> now_;  ///< by value
};

/// The graph that a class of Rewriter makes, whose rewrite(node) is as Rewriter::run() takes it.
template <class Pass>
Graph rewritten_by(const Graph& g, const PassContext& context) {
  Pass pass(g, context);
  return pass.run([&](const Node& n) { return pass.rewrite(n); });
}

}  // namespace hone
