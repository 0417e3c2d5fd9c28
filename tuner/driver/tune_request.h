// The request for a tuning session.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/request/model_request.h"
#include "compiler/ops/workload.h"
#include "compiler/target/target.h"
#include "db/chain/source.h"
#include "db/team/remote_hub.h"
#include "rpc/wire/access/credentials.h"
#include "tuner/search/searcher.h"

namespace hone {

/// Asks for a model, as ModelRequest has it (with a file of ranges at quantize.calibrate); without one, for operators.
struct TuneRequest : ModelRequest, OperatorRequest {
  std::string tasks;  ///< a file of many operators
  /// The workloads that builds asked the team's tophub for in vain, those for the target of the place that measures.
  bool from_tophub = false;
  int threads = 0;                     ///< 0: as the target says
  std::string db;                      ///< the tophub; empty: the user's
  std::shared_ptr<db::RemoteHub> hub;  ///< a team's, which is told what is confirmed; null: none
  std::shared_ptr<db::Source> team;    ///< the same as a source of lookups; null: none

  std::string tracker, device;  ///< a fleet's; empty: this machine measures
  std::vector<std::string> labels;
  wire::CredentialFiles credentials;  ///< sent to the tracker
  bool insecure = false;
  bool has_hub_credentials = false;  ///< without a tracker they are for `hub`
  int priority = 0;
  double weight = 1;

  std::string search = "xgb";
  size_t trials = 0;  ///< 0: kTrials, of a model kModelTrials for each of its workloads
  double seconds = 0;
  size_t stop_after = 0, batch = 0;
  uint64_t seed = 0;
  bool warm_start = true;  ///< begin with a prior and with seeds from foreign records
  bool fresh = false;
  double timeout = 10, min_repeat_ms = 2;
  uint32_t repeat = 3;

  // Command lines have no flags for these.
  std::function<Workload(const Target&)> make_workload;  ///< instead of an operator, once the target is known
  Narrowing narrowing;                                   ///< tune a sub-space
  bool refine = true;                                    ///< measure candidates near the best longer
  size_t finalists = 5;                                  ///< finalists measured side by side at the end
  std::function<std::unique_ptr<Searcher>(const Space&)> make_searcher;  ///< instead of `search`
};

inline constexpr size_t kTrials = 1000;
/// Trials of a model without a number of them, for each of its workloads: a bound, the search ends with the gains.
inline constexpr size_t kModelTrials = 256;

}  // namespace hone
