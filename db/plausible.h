// Plausibility checks for records, and for rows from another machine: times, dates, sizes and texts have bounds, so
// that no file can hold a best, or a prior, that nothing can ever replace.
#pragma once

#include <cstdint>
#include <string>

#include "db/rows.h"

namespace hone::db {

/// The shortest time that is believed: a kernel is called through a pointer, looks at its arguments and stores at least
/// one element, which takes several cycles of any clock there is; a nanosecond is three to six.
inline constexpr double kLeastSeconds = 1e-9;
/// The longest: eleven days.
inline constexpr double kMostSeconds = 1e6;
/// Whether a time may be true.
bool believable(double seconds);
/// By how much a clock elsewhere may be ahead of this one's.
inline constexpr int64_t kDayMs = 86'400'000;
/// In place of a clock's time: every date is believed.
inline constexpr int64_t kAnyDate = INT64_MAX - kDayMs;
/// The year 2020: a clock that says less was never set, and calls no date one of the future.
inline constexpr int64_t kClockWasSet = 1'577'836'800'000;
/// The latest date that is believed at `now_ms`. A later one was stored while a clock was ahead.
int64_t latest_date(int64_t now_ms);
/// The date of a row from elsewhere as it counts at `now_ms`: one that is ahead is taken as of now, however little it
/// is ahead, so that it displaces nothing that is measured here from now on.
int64_t settled_date(int64_t ms, int64_t now_ms);

inline constexpr size_t kMostTextBytes = size_t{64} << 10;    ///< of a workload, a config, a message, ...
inline constexpr size_t kMostFeatureBytes = size_t{1} << 20;  ///< of a trial
inline constexpr size_t kMostModelBytes = size_t{8} << 20;    ///< of a prior
inline constexpr size_t kMostDefinitionBytes = size_t{1} << 20;
inline constexpr size_t kMostTimes = 10'000;  ///< of a trial; the wire's bound, too

/// This machine's wall clock: Unix time in ms.
int64_t unix_ms();

/// Why a row of another file cannot be taken, as one line; ok when it can. Beyond the checks of validate(): dates after
/// 1970, times that belong together, bounded sizes, no control characters, keys of the grammar (docs/keys.md), in
/// canonical form. Dates of the future are settled instead.
Status check_foreign(const TrialRow& trial);
Status check_foreign(const SessionRow& session);
Status check_foreign(const BestRow& best);
Status check_foreign(const PriorRow& prior);
Status check_foreign(const ChoiceRow& choice);
Status check_foreign(const ForeignRow& record);
/// The keys alone: bounded, of the grammar, canonical.
Status check_foreign_key(const std::string& workload, const std::string& target);
/// As validate(): a definition has no more to believe than its hash.
Status check_foreign(const DefinitionRow& definition);

}  // namespace hone::db
