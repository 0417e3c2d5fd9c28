#include "compiler/driver/prepared_operator.h"

#include <fmt/format.h>

#include <utility>

#include "base/exit_code.h"
#include "compiler/driver/users.h"

namespace hone {
namespace {

StatusOr<ChosenConfig> config_of(const BuildRequest& r, const Workload& w, const Target& target, const Space& space) {
  if (r.config == "default") return ChosenConfig{space.default_config(), "default", ""};
  if (!r.config.empty()) return ChosenConfig{space.parse(r.config), "given", ""};
  HONE_ASSIGN_OR_RETURN(const auto hub, db::TopHub::open(r.hub()));
  return choose_config(w, target, space, *hub);
}

}  // namespace

StatusOr<PreparedOperator> prepare_operator(const OperatorTable& operators, const BuildRequest& r,
                                            const Events& events) {
  users_of(r, operators);
  const Workload w =
      r.workload.empty() ? Workload::parse(operators, r.task, r.args) : Workload::parse(operators, r.workload);
  if (r.threads.size() > 1)
    return usage_error(fmt::format("--threads {}: an operator has one number of threads; models have several",
                                   threads_text(r.threads)));
  HONE_ASSIGN_OR_RETURN(BuildPlace place, find_build_place(r, events));
  if ((r.bench || r.check) && !place.is_here() && !place.remote)
    return no_device_error(fmt::format("cannot {} code for '{}' here, which is '{}': use --fleet and --device",
                                       r.bench ? "time" : "check", to_string(place.target), to_string(place.here)));
  Space space = make_space(w, place.target);
  HONE_ASSIGN_OR_RETURN(ChosenConfig chosen, config_of(r, w, place.target, space));
  if (!chosen.skipped.empty()) events.tell(chosen.skipped);
  events.tell("config: " + chosen.source);
  return PreparedOperator{w, std::move(place), std::move(space), std::move(chosen)};
}

}  // namespace hone
