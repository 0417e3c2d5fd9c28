// How each operator computes several runs at once: a table of rules, which keep runs apart. An operator that is not in
// it can only compute values that all runs share.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/batch/stack.h"

namespace hone {

/// A node of the graph of one run; at least one of its inputs differs between runs.
struct BatchedNode {
  Stack& stack;
  const Graph& graph;
  const Node& node;
  std::vector<Stacked> in;   ///< as many as the node has
  std::vector<Stacked> out;  ///< as many as the node has, which the rule fills in

  const Attributes& attributes() const { return node.workload.attributes; }
  const Extents& extents(std::string_view attribute) const { return attributes().get<Extents>(attribute); }
  /// The shape of an output of a run.
  const Extents& one(size_t output = 0) const { return graph.value(node.outputs[output]).type.shape; }
  /// UserError unless all runs share input number `i`.
  void require_shared(size_t i, std::string_view what) const;

  /// A workload and its inputs.
  struct Call {
    Workload workload;
    std::vector<ValueId> inputs;
  };
  /// The node's operator on `inputs` with other texts of these attributes; attributes that types determine follow from
  /// the inputs. Its operands behind them, which an epilogue reads, are the node's, along `axis` where they have runs.
  Call call(AttributeTexts changes, const std::vector<Stacked>& inputs, size_t axis = 0) const;
  /// Adds it, and gives its only output the shape `one` in each run, along `axis`; it is the node's output, which may
  /// have another shape of as many elements.
  void give(const Call& call, const Extents& one, size_t axis);
};

/// UserError, half a line, where runs cannot be kept apart.
using BatchRule = void (*)(BatchedNode& n);
/// Rules by the operators' names.
using BatchRules = std::map<std::string, BatchRule, std::less<>>;
const BatchRules& batch_rules();

void add_product_rules(BatchRules& t);
void add_row_rules(BatchRules& t);
void add_movement_rules(BatchRules& t);
void add_gather_rules(BatchRules& t);

}  // namespace hone
