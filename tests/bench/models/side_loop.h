// A side's end of the protocol.
//
//   side       {"version": "1.30.0", "library_ms": 31, "open_ms": 12, "first_run_ms": 1.5}   when it is ready
//   benchmark  turn
//   side       {"ms": 0.52}                                   the median run of a turn
//   benchmark  layers                                         last, where the case has a file for them
//   side       {"layers": 54}                                 so many are in the file
//   side       {"error": "one line"}                          instead of any of its lines; it ends then
//
// The side ends when the benchmark closes the channel.
#pragma once

#include <functional>

#include "tests/bench/models/engine.h"

namespace hone::bench {

/// The median of the runs of a turn, in milliseconds: after one that is not counted, as many as `rules` say. `now` is
/// a clock in milliseconds.
StatusOr<double> turn_ms(const TurnRules& rules, const std::function<Status()>& run,
                         const std::function<double()>& now);

/// Opens the case in `file`, runs it once, writes its outputs to the case's files and answers on the descriptor
/// `channel` until it is closed. The process's exit code.
int serve(const std::string& file, const OpenEngine& open, int channel);

}  // namespace hone::bench
