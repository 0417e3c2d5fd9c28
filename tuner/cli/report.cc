#include "tuner/cli/report.h"

#include <fmt/format.h>

#include "base/json.h"

namespace hone {
namespace {

double gflops(const ReportContext& c, double seconds) { return seconds > 0 ? flops(c.workload) / seconds * 1e-9 : 0; }

double new_trials(const SessionOutcome& o) { return static_cast<double>(o.trials - o.resumed); }

std::string time_line(const ReportContext& c, double seconds) { return fmt::format("{:.4g} ms  {:.1f} GFLOPS", seconds * 1e3, gflops(c, seconds)); }

// Splits as text, choices as numbers.
OrderedJson config_json(const Space& space, const std::string& text) {
  OrderedJson out = OrderedJson::object();
  const Config config = space.parse(text);
  for (size_t k : space.knobs_at_work(config)) {
    const Knob& knob = space.knobs()[k];
    const std::vector<int64_t>& choice = knob.choices[static_cast<size_t>(config.choices[k])];
    if (knob.kind == KnobKind::kChoice) {
      out[knob.name] = choice.front();
    } else {
      out[knob.name] = knob.text_of(config.choices[k]);
    }
  }
  return out;
}

}  // namespace

std::string text_report(const SessionOutcome& o, const ReportContext& c) {
  std::string text = fmt::format("workload  {}\ntarget    {}\n", to_string(c.workload), c.target);
  if (o.default_config) text += fmt::format("default   {}\n", time_line(c, o.default_config->seconds));
  if (o.best) {
    text += fmt::format("best      {}", time_line(c, o.best->seconds));
    if (o.default_config) text += fmt::format("  {:.2f}x the default", o.default_config->seconds / o.best->seconds);
    text += fmt::format("  ({}, spread {:.1f}%)\nconfig    {}\n", o.best->confirmed ? "confirmed" : "provisional", 100 * o.best->spread, o.best->config);
  }
  text += fmt::format("trials    {}", o.trials);
  if (o.resumed > 0) text += fmt::format(", {} of them from earlier sessions", o.resumed);
  std::string failed;
  for (const auto& [status, n] : o.by_status)
    if (status != "ok") failed += fmt::format("{}{} {}", failed.empty() ? "" : ", ", n, status);
  if (!failed.empty()) text += fmt::format("; failed: {}", failed);
  if (o.trials > o.resumed) text += fmt::format("; {:.1f} s, {:.1f}/s", o.accounting.total, new_trials(o) / o.accounting.total);
  text += fmt::format("; {}\ndatabase  {}\n", o.stopped_by, c.db);
  if (o.best) text += fmt::format("next      {}\n", c.next_command);
  return text;
}

std::string json_report(const SessionOutcome& o, const ReportContext& c) {
  OrderedJson j;
  j["workload"] = to_string(c.workload);
  j["target"] = c.target;
  j["space"] = c.space.fingerprint().hex();
  if (o.best) {
    j["best"] = {{"config", config_json(c.space, o.best->config)},
                 {"time_ms", o.best->seconds * 1e3},
                 {"gflops", gflops(c, o.best->seconds)},
                 {"spread", o.best->spread},
                 {"confirmed", o.best->confirmed}};
  } else {
    j["best"] = nullptr;
  }
  if (o.default_config) {
    j["default"] = {{"time_ms", o.default_config->seconds * 1e3}, {"gflops", gflops(c, o.default_config->seconds)}};
  } else {
    j["default"] = nullptr;
  }
  j["trials"] = o.trials;
  j["by_status"] = OrderedJson(o.by_status);
  j["seconds"] = o.accounting.total;
  j["trials_per_second"] = o.accounting.total > 0 ? new_trials(o) / o.accounting.total : 0;
  j["db"] = c.db;
  return j.dump();
}

}  // namespace hone
