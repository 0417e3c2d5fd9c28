// Results of graphs by the interpreter: the oracle of every pass; it also folds constants.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ops/host_function.h"
#include "compiler/ops/windows/physical.h"

namespace hone {

/// A tensor of a workload as it lies in memory, row-major, and back.
TensorData to_logical(const TensorData& data, const PhysicalTypes::Tensor& t);
TensorData to_physical(const TensorData& data, const PhysicalTypes::Tensor& t);

/// The naive program of a workload: its definition as loops, one step after the other where it is several.
Module naive_module(const Workload& w);

/// The outputs of a workload for these inputs (of its physical types). The IR's interpreter runs the naive program of
/// its definition: right, and slow (some ten million operations a second). An operator without a definition runs as
/// its function in C.
std::vector<TensorData> evaluate(const Workload& w, std::span<const TensorData> inputs);

/// The outputs of a function in C for these inputs, run in this process.
std::vector<TensorData> call_host_function(const HostFunction& f, std::span<const TensorData> inputs);

/// Computes one node: evaluate(), or something faster that gives the same.
using Evaluate = std::function<std::vector<TensorData>(const Workload& w, std::span<const TensorData> inputs)>;

/// Computes node number `n` of a graph.
using EvaluateNode = std::function<std::vector<TensorData>(size_t n, std::span<const TensorData> inputs)>;

/// The outputs of `g` for its inputs, in the order of its ports. UserError where an input is of another type. `watch`
/// is called with each node and its results.
std::vector<TensorData> interpret(const Graph& g, const std::vector<TensorData>& inputs, const Evaluate& evaluate,
                                  const std::function<void(const Node&, const std::vector<TensorData>&)>& watch = {});
std::vector<TensorData> interpret_nodes(
    const Graph& g, const std::vector<TensorData>& inputs, const EvaluateNode& evaluate,
    const std::function<void(const Node&, const std::vector<TensorData>&)>& watch = {});

}  // namespace hone
