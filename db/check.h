// Is a tophub whole?
#pragma once

#include <string>
#include <vector>

#include "db/store.h"

namespace hone::db {

/// One line for each thing that is wrong (at most `limit`): pages, foreign keys, trials whose times make no sense,
/// priors and foreign records that make none, bests that do not follow from the trials.
StatusOr<std::vector<std::string>> check_store(Store& store, size_t limit = 20);

}  // namespace hone::db
