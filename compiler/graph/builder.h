// Building graphs: frontends and passes add nodes with this.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

/// Adds values and nodes; infers types as it goes, and computes nodes on constants at once.
class GraphBuilder {
 public:
  /// Computing constants may take the interpreter `most_work` operations in all, a quarter of them for one node: some
  /// two minutes. Longer computations stay in the model.
  GraphBuilder(const OperatorTable& operators, std::string name, double most_work = 1 << 30)
      : operators_(operators), most_work_(most_work) {
    graph_.name = std::move(name);
  }

  /// A value that the caller passes, as the model says it (the rank may be 0). kNoValue where it has no elements.
  ValueId input(const std::string& name, const TensorType& type);
  /// Adds a constant of rank 1 at least, with elements. Equal constants become one value.
  ValueId constant(TensorData data, std::string_view name = "");
  /// The outputs of an operator on `inputs`, named after `names` as far as those go. `given`: attributes as infer()
  /// takes them. Nodes that only read constants are computed, where their outputs are no larger than their inputs or
  /// small, and the work is bounded. Throws as infer() does, and changes nothing then.
  std::vector<ValueId> add(std::string_view op, const AttributeTexts& given, const std::vector<ValueId>& inputs,
                           const std::vector<std::string>& names = {});
  /// The same of an operator with one output.
  ValueId add_one(std::string_view op, const AttributeTexts& given, const std::vector<ValueId>& inputs,
                  const std::string& name = "");
  /// Nodes of passes, named by their operation. `name`: of the output.
  ValueId transpose(ValueId x, const std::vector<int64_t>& perm, const std::string& name = "");
  /// x itself where it has this shape and no name is given.
  ValueId reshape(ValueId x, const std::vector<int64_t>& to, const std::string& name = "");
  ValueId broadcast(ValueId x, const std::vector<int64_t>& to, const std::string& name = "");
  /// `size` elements along each axis, from `begin` on, every `step`-th; without steps each.
  ValueId slice(ValueId x, const std::vector<int64_t>& begin, const std::vector<int64_t>& size,
                const std::vector<int64_t>& step = {}, const std::string& name = "");
  /// Zeros around x: so many elements before and behind along each axis. x itself where there are none.
  ValueId pad(ValueId x, const std::vector<int64_t>& before, const std::vector<int64_t>& after);
  /// Functions of x (a chain, ops/chain.h); `operands` are the chain's operands, in order.
  ValueId elementwise(std::string_view chain, ValueId x, std::vector<ValueId> operands = {},
                      const std::string& name = "");
  /// `parts`, at least one, behind each other along an axis: in groups first where they are more than `concat` takes.
  /// One part stays itself.
  ValueId concat(std::vector<ValueId> parts, size_t axis, const std::string& name = "");
  /// A node whose workload is complete.
  std::vector<ValueId> add(const Workload& w, const std::vector<ValueId>& inputs,
                           const std::vector<std::string>& names = {});
  /// A node of another graph, whose outputs have these types there: nothing is worked out again, unless all that it
  /// reads has become constant.
  std::vector<ValueId> copy(const Workload& w, const std::vector<ValueId>& inputs,
                            const std::vector<std::string>& names, const std::vector<TensorType>& types);
  /// A constant of another graph, in which equal ones were one value: large ones are not compared again.
  ValueId keep(const TensorData& data, std::string_view name);
  void output(const std::string& name, ValueId value, const TensorType& type,
              std::optional<Port::Extent> extent = std::nullopt);
  /// The last output has along this axis as many elements as `count` (s64[1]) says, which becomes an output behind all
  /// others, NAME.count; outputs of one count share it.
  void tell_extent(size_t axis, ValueId count);

  /// Nodes added from now on stand for this node of the model.
  void set_origin(std::string origin) { origin_ = std::move(origin); }
  const TensorType& type(ValueId v) const { return graph_.value(v).type; }
  const TensorData* constant_of(ValueId v) const {
    return graph_.is_constant(v) ? &*graph_.value(v).constant : nullptr;
  }
  /// The inputs that the elements of a value depend on, in the graph's order.
  std::vector<Port> inputs_behind(ValueId v) const;
  const OperatorTable& operators() const { return operators_; }
  /// The nodes added so far.
  const std::vector<Node>& nodes() const { return graph_.nodes; }

  size_t node_count() const { return graph_.nodes.size(); }
  /// From now on large constants are neither compared with others nor computed: for who wants small ones alone.
  void leave_large_constants() { leaves_large_ = true; }
  bool leaves_large_constants() const { return leaves_large_; }

  /// The graph; the builder is of no use afterwards.
  Graph take();

 private:
  ValueId new_value(std::string_view name, TensorType type);
  std::string unique(std::string_view name);

  const OperatorTable& operators_;
  Graph graph_;
  std::string origin_;
  std::unordered_map<std::string, int> names_;  ///< names in use, and the last number put behind each
  const double most_work_;
  bool leaves_large_ = false;
  std::vector<std::pair<size_t, ValueId>> counts_;   ///< of tell_extent(): the output's number, and its count
  double work_ = 0;                                  ///< operations that computing constants took
  std::unordered_multimap<size_t, ValueId> shared_;  ///< constants by the hash of their elements
};

}  // namespace hone
