// gpu-check's findings, for people and programs.
#pragma once

#include <string>

#include "base/json.h"
#include "tests/gpu_check/journal.h"
#include "tests/gpu_check/plan.h"

namespace hone::gpu_check {

/// All that the journal knows of `steps`: `complete`, `target`, `version`, `machine`, `date` and `command` of the last
/// slice, `commit` of its program, `suite` {configs, wrong[]}, `model` {ok, time_ms, error}, `tables` [{title, peer,
/// expected, mean, rows[]}], `session` {trials, failed_share, by_status, c6_trials_per_second}. Models that
/// the caller named add `layers` {models[], operators, trials, default_ms, tuned_ms}, `models` [{name, default_ms,
/// tuned_ms, torch {eager_f32, …}, torch_over_ours}] and `torch_missing`, what PyTorch lacks here. A value that was not
/// measured is null. Times in ms.
OrderedJson report_json(const Journal& journal, const std::vector<Step>& steps);

/// The same as Markdown.
std::string report_markdown(const OrderedJson& report);

}  // namespace hone::gpu_check
