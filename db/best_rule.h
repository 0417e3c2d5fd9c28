// The rule of which trial is a best (best_store.h has it in words) as SQL that SQLite and PostgreSQL understand alike,
// over the tables keys, trials, disturbed_trials and best. A user's tophub and a team's take it from here.
//
// PLAUSIBLE names a macro of a key: a further condition on a confirmation `t`.
#pragma once

// NOLINTBEGIN(bugprone-macro-parentheses): texts
#define HONE_USABLE(T) T ".status = 'ok' AND " T ".censored = 0 AND " T ".seconds >= 1e-9"
#define HONE_DISTURBED(T) "EXISTS (SELECT 1 FROM disturbed_trials WHERE trial = " T ".id)"
// The confirmations `c` of key `K` for which OF_ITS_KIND holds, the latest of each config in place 1; ties are broken
// by values that do not depend on the order of insertion. Numbered in one pass: whoever brings many confirmations of
// one config must not keep all writers waiting while each is compared with each.
#define HONE_CONFIRMATIONS(K, OF_ITS_KIND) \
  "(SELECT c.id, c.config, c.seconds, c.created_at, row_number() OVER (PARTITION BY c.config ORDER BY c.created_at "   \
  "DESC, c.seconds, c.id DESC) AS place FROM trials c WHERE c.key = " K " AND " HONE_USABLE("c") " AND c.confirmed = " \
                                                                                                 "1 AND " OF_ITS_KIND ")"
#define HONE_QUIET_ORDER " ORDER BY t.seconds, t.created_at, t.config, t.id LIMIT 1)"
// By the time as a share of the default's beside it; rows without one come last.
#define HONE_DISTURBED_ORDER \
  " ORDER BY d.default_s IS NULL, t.seconds / coalesce(d.default_s, 1), t.created_at, t.config, t.id LIMIT 1)"
// The id of the trial that is the best of key `K`, else LAST. Each class is looked at only where those before it are
// empty.
#define HONE_BEST_TRIAL_OF(K, LAST, PLAUSIBLE) \
  "coalesce((SELECT t.id FROM " HONE_CONFIRMATIONS(K, "NOT " HONE_DISTURBED("c")) " t WHERE t.place = 1" PLAUSIBLE( \
      K) HONE_QUIET_ORDER ", (SELECT t.id FROM " HONE_CONFIRMATIONS(K, HONE_DISTURBED("c")) " t JOIN "              \
  "disturbed_trials d ON d.trial = t.id WHERE t.place = 1" PLAUSIBLE(K) HONE_DISTURBED_ORDER                        \
  ", (SELECT t.id FROM trials t WHERE t.key = " K " AND " HONE_USABLE("t") " AND t.confirmed = 0 AND NOT "          \
  HONE_DISTURBED("t") HONE_QUIET_ORDER ", (SELECT t.id FROM trials t JOIN disturbed_trials d ON d.trial = t.id "    \
  "WHERE t.key = " K " AND " HONE_USABLE("t") " AND t.confirmed = 0" HONE_DISTURBED_ORDER ", " LAST ")"

// Brings the best of key ?1 up to date.
#define HONE_OFFER_BEST(PLAUSIBLE) \
  "INSERT INTO best (key, trial, confirmed, seconds) SELECT t.key, t.id, t.confirmed, t.seconds FROM trials t " \
  "WHERE t.id = " HONE_BEST_TRIAL_OF("?1", "NULL", PLAUSIBLE) \
  " ON CONFLICT (key) DO UPDATE SET trial = excluded.trial, confirmed = excluded.confirmed, seconds = excluded.seconds " \
  "WHERE best.trial <> excluded.trial"

// Several bests `b`, with their disturbed_trials `d` where they have one, in the same order as the trials of one key.
#define HONE_BEST_ORDER                                                                  \
  "b.confirmed DESC, d.trial IS NOT NULL, d.trial IS NOT NULL AND d.default_s IS NULL, " \
  "b.seconds / coalesce(d.default_s, 1)"

// Whether a session that ran on this file, which has batches here, has a trial of this config (user's tophub).
#define HONE_TRIED_HERE(WORKLOAD, TARGET, SPACE, CONFIG)                                                              \
  "EXISTS (SELECT 1 FROM keys k JOIN trials t ON t.key = k.id WHERE k.workload = " WORKLOAD " AND k.target = " TARGET \
  " AND k.space = " SPACE " AND t.config = " CONFIG                                                                   \
  " AND EXISTS (SELECT 1 FROM batches WHERE batches.session = t.session))"

// Whether an incoming choice or prior takes the place of the stored one of TABLE: the later one stays, of the same time
// the one with the greater TIE. PAST: a parameter that is 1 where its date is none of the future; LATEST: the latest
// date that is believed now. One of the future displaces none, and gives way to any.
#define HONE_REPLACES(TABLE, TIE, PAST, LATEST)                                                                      \
  "(" PAST " = 1 AND (excluded.created_at, excluded." TIE ") > (" TABLE ".created_at, " TABLE "." TIE ")) OR " TABLE \
  ".created_at > " LATEST
// NOLINTEND(bugprone-macro-parentheses)
