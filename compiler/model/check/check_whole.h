// Comparison of a whole model with the graph that was imported: finds passes that are wrong.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ir/denormals.h"
#include "compiler/model/check/check_progress.h"
#include "compiler/target/target.h"

namespace hone {

struct WholeCheck {
  std::string left_out;         ///< why it was not done, or says nothing; empty: it was
  bool is_out_of_time = false;  ///< that is why
  std::string wrong;            ///< the output that is wrong, how, and the first layer that is off; empty: none is
  double error = 0;             ///< the largest of an output: the difference's norm as a share of the values'
  double allowed = 0;           ///< of that output
};

struct WholeCheckOptions {
  double most_seconds = 60;               ///< that computing the imported graph may take, roughly
  Denormals denormals = kUsualDenormals;  ///< how the artifact treats them
  CheckProgress progress = {};            ///< called each time that a node of the imported graph is computed
};

/// Compares `outputs`, which the artifact of `g` computed from `inputs`, with the results of `imported`, the
/// graph before all passes. Its nodes run as the naive programs of their workloads, or, when these take long, as
/// kernels that agree with the references (oracle_kernels.h); steps of one node of the model pass on no floats of
/// 16 bits (wide_nodes.h), whatever the importer stored. Only outputs are compared: passes may change the values
/// between a model's nodes.
///
/// The model itself gives the tolerance. `imported` is computed twice, the second time with every element that
/// a node rounds (no whole number, and no element of its inputs) changed by some 8 roundings at random and with
/// denormals as the artifact treats them; outputs may be off by four times the difference. So deep nets and
/// quantised ones, where a rounding becomes a step, have the room that they need and no more. At the least it
/// is 4e-6 of the norm, 1e-2 where the model has numbers of 8 bits (few steps say nothing on average) and of
/// 16.
WholeCheck check_whole(const Graph& imported, const Graph& g, const Target& here, const std::vector<TensorData>& inputs,
                       const std::vector<TensorData>& outputs, const WholeCheckOptions& options = {});

/// The same of what `after` gives, which a pass made of `before`, computed as `before` is: finds a pass that changes
/// what is computed.
WholeCheck check_rewritten(const Graph& before, const Graph& after, const Target& here,
                           const std::vector<TensorData>& inputs, const WholeCheckOptions& options = {});

}  // namespace hone
