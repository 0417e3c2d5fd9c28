// The parts of a session that a model has beside its search: its state before, the other forms that its layers could
// have, and the gain of tuning for the whole.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "tuner/driver/measure_tasks.h"
#include "tuner/driver/model_work.h"
#include "tuner/driver/phase_line.h"
#include "tuner/driver/tune_services.h"
#include "tuner/driver/whole_model.h"

namespace hone {

/// The model as it is built with the measurements in the database and in the team's tophub (may be null). Errors of the
/// database, else as model_work().
StatusOr<ModelWork> model_with_measured(const OperatorTable& operators, const std::vector<ModelGraph>& imported,
                                        const Target& target, const db::Store& store,
                                        const std::shared_ptr<db::Source>& team, const Events& events);
/// The model as tensorc would build it now. Errors of the database.
StatusOr<ModelBefore> known_before(const ModelWork& model, const Target& target, const db::Store& store,
                                   const std::shared_ptr<db::Source>& team);

/// Measures the model as it is now: each workload's share of its time, which goes into `workloads`, and the possible
/// gain. Nothing if it cannot run here, or if that took half of the time.
std::optional<ModelNow> look_at_model(const ModelBefore& before, std::vector<WeightedWorkload>& workloads,
                                      const TuneServices& services, PhaseLine& phase);

/// How far the workloads that layers could be instead were measured.
struct Alternatives {
  bool is_complete = true;  ///< the user let it come to its end
  size_t not_measured = 0;  ///< for want of time
};
/// Measures alternatives to the model's layers: passes compare both when it is built next. `outcome`: of the search;
/// `before`: the alternatives of before it. Errors of the database.
StatusOr<Alternatives> measure_alternatives(const std::vector<ModelGraph>& imported, const TasksOutcome& outcome,
                                            const std::vector<WeightedWorkload>& before, const TuneServices& services);

/// Compares the model as tensorc will build it with the defaults and with the state before: each variant by itself.
StatusOr<std::vector<WholeModel>> compare_wholes(const std::vector<ModelGraph>& variants, const ModelBefore& before,
                                                 const std::vector<std::unique_ptr<TuningTask>>& tasks,
                                                 const TuneServices& services, PhaseLine& phase);

}  // namespace hone
