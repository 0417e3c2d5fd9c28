#include "tuner/transfer/warm_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/short_hash.h"
#include "tuner/cost/cost_model.h"
#include "tuner/features/features.h"

namespace hone {

StatusOr<FoundPrior> find_prior(db::TopHub& hub, const std::string& target_kind) {
  const std::string schema = feature_schema(feature_set(target_kind)).hex();
  HONE_ASSIGN_OR_RETURN(db::PriorAnswer answer, hub.prior(target_kind, schema));
  std::string skipped;
  if (!answer.skipped.empty())
    skipped = fmt::format("; skipped {} of another feature schema", fmt::join(answer.skipped, ", "));
  if (!answer.row)
    return FoundPrior{
        "", fmt::format("no prior for {} targets and feature schema {}{}; `tophub train{}` makes one", target_kind,
                        short_hash(schema), skipped, target_kind == "llvm" ? "" : " --target-kind " + target_kind)};
  db::PriorRow& prior = *answer.row;
  if (const Status loaded = make_xgb_model()->load(prior.model, kFeatureCount); !loaded.ok())
    return FoundPrior{"",
                      fmt::format("no prior: the one in {} cannot be loaded ({})", answer.source, message_of(loaded))};
  const std::string accuracy =
      prior.pairwise ? fmt::format(", pairwise {:.2f} on workloads left out", *prior.pairwise) : "";
  return FoundPrior{std::move(prior.model), fmt::format("begins with the prior in {} ({} trials of {} groups{}){}",
                                                        answer.source, prior.trials, prior.groups, accuracy, skipped)};
}

}  // namespace hone
