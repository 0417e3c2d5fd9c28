// The graphs of a model's variants as they are built: behind all passes, with their constants shared.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/lock/build_configs.h"
#include "compiler/driver/place/build_place.h"
#include "compiler/driver/read_model.h"
#include "compiler/graph/fusion_notes.h"
#include "compiler/model/build_model.h"
#include "compiler/report/model_report.h"

namespace hone {

/// A binding's graph, and the notes of its passes.
struct PreparedBinding {
  ModelBinding binding;
  FusionNotes notes;
  std::vector<ReportPass> passes;
  Graph imported;  ///< as it was before all passes; empty where nothing is checked
  /// The graph around a pass of the user's, where that is checked.
  struct Rewritten {
    std::string pass;
    Graph before, after;
  };
  std::vector<Rewritten> rewritten;
  Graph graph;
  std::optional<Growth> growth;  ///< of caches that grow in place
};

/// Called when a pass fails, which is a bug of Hone or of a user's pass: keeps the pass's input for a report.
/// `in_check`: its result is a graph, which computes something else.
using KeepFailure = std::function<void(const ModelBinding&, std::string_view pass, const Graph&, bool in_check)>;

class PreparedModel {
 public:
  /// All outlive it. UserError for a request that says nothing or too much.
  PreparedModel(const OperatorTable& operators, const BuildRequest& request, const BuildPlace& place,
                BuildConfigs& configs, const Events& events, KeepFailure keep_failure);

  /// Reads the bindings and runs the passes. UserError as import_model().
  void prepare();
  /// Compares the graphs before and behind each of the user's passes, on seeded inputs, where the request checks; of
  /// prepare(). UserError for a pass that changes what is computed.
  void check_passes() const;
  /// The graph of the only binding as text, after the pass `after`, or after all passes when it is empty. Usage errors.
  StatusOr<std::string> graph_text(const std::string& after);

  /// The definitions that nodes of all bindings have of the user's operators, as a file of them.
  std::string operators_text();

  /// Each binding's, for the most threads first; of prepare().
  const std::vector<ModelVariant>& variants() const { return variants_; }
  const PreparedBinding& of(size_t variant) const { return *prepared_[variant / threads_each_]; }
  /// The same of all bindings; of prepare().
  const ModelMetadata& metadata() const { return metadata_; }
  ModelQuantizer* quantizer() { return reader_.quantizer(); }
  /// As BuildConfigs::choose(); its errors are UserErrors. Asks a team's tophub for all of the model's layers at once.
  ChooseConfig configs() const;
  /// As BuildConfigs::choose_beside().
  ChooseConfig configs_beside() const;

 private:
  PassContext pass_context(FusionNotes& notes) const;
  void prepare(const ModelBinding& binding, PreparedBinding& out, PassHooks<Graph> hooks);

  const OperatorTable& operators_;
  const FunctionTable functions_ = standard_functions();
  const BuildRequest& request_;
  const BuildPlace& place_;
  BuildConfigs& configs_;
  const Events& events_;
  const KeepFailure keep_failure_;
  const size_t threads_each_;  ///< variants of a binding
  const std::vector<ModelBinding> bindings_;
  ModelReader reader_;
  std::vector<std::unique_ptr<PreparedBinding>> prepared_;  ///< by binding
  std::vector<ModelVariant> variants_;
  ModelMetadata metadata_;
};

}  // namespace hone
