// Is a tophub whole?
#pragma once

#include <string>
#include <vector>

#include "db/store.h"

namespace hone::db {

/// One line for each thing that is wrong (at most `limit`): pages, foreign keys, trials whose times make no sense,
/// priors and foreign records that make none, bests that do not follow from the trials.
StatusOr<std::vector<std::string>> check_store(Store& store, size_t limit = 20);

/// How many trials, choices and priors are dated after `now_ms` (latest_date(); 0: this machine's clock): a clock was
/// ahead when they were stored. That is no damage: they are taken as of now by whoever imports them, and as of before
/// the trials that come after them here.
StatusOr<int64_t> count_dated_ahead(Store& store, int64_t now_ms = 0);

}  // namespace hone::db
