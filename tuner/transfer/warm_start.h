// The prior that a search's model begins with, beside the search's own trials.
#pragma once

#include <string>

#include "db/lookup.h"

namespace hone {

struct FoundPrior {
  std::string model;  ///< for CostModel::load(); empty: there is none
  std::string line;   ///< which prior it is, or that there is none, and which were passed over
};

/// The first prior along the lookup chain that is for `target_kind` and this program's features. A prior that no model
/// can load is passed over. Errors are the database's.
StatusOr<FoundPrior> find_prior(db::TopHub& hub, const std::string& target_kind);

}  // namespace hone
