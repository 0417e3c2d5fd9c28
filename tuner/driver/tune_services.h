// Services that the sessions of a command share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "compiler/driver/request/events.h"
#include "compiler/ops/operator.h"
#include "db/chain/pusher.h"
#include "db/store.h"
#include "tuner/driver/place.h"
#include "tuner/driver/time_plan.h"
#include "tuner/driver/tune_request.h"
#include "tuner/measure/host_cores.h"
#include "tuner/session/progress.h"

namespace hone {

/// All outlive the sessions.
struct TuneServices {
  const OperatorTable& operators;
  const TuneRequest& request;
  const Events& events;
  /// Shows one session's state; made anew for each.
  const std::function<std::unique_ptr<Progress>()>& new_progress;
  const std::function<int()>& interrupts;  ///< how often the user asked to stop; may be empty
  const Place& place;
  db::Store& store;
  HostCores& cores;
  const Clock& clock;
  const TimePlan& plan;
  const std::string& prior;  ///< the cost model to begin with; empty: none
  db::Pusher* pusher;        ///< sends what is confirmed to the team's tophub; null: there is none
};

}  // namespace hone
