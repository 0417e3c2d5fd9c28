#include "tuner/cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "base/time_text.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/schedule/config_name.h"

namespace hone {
namespace {

double gflops(const Workload& w, double seconds) { return seconds > 0 ? flops(w) / seconds * 1e-9 : 0; }

// For a column: operators that only move elements have no rate.
std::string rate_of(const Workload& w, double seconds) {
  return only_moves(w) ? "-" : fmt::format("{:.1f}", gflops(w, seconds));
}

std::string time_line(const Workload& w, double seconds) {
  return fmt::format("{} ms  {:.1f} GFLOPS", ms_text(seconds), gflops(w, seconds));
}

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

// How many times faster the best is than the next finalist; nothing when that was not measured beside it.
std::optional<double> margin(const SessionOutcome& o) {
  if (!o.best || !o.second || !side_by_side(*o.best, *o.second)) return std::nullopt;
  return o.second->seconds / o.best->seconds - 1;
}

// How many times faster the best is than the default; nothing when they were not measured side by side.
std::optional<double> gain(const SessionOutcome& o) {
  if (!o.best || !o.default_config || !side_by_side(*o.best, *o.default_config)) return std::nullopt;
  return o.default_config->seconds / o.best->seconds;
}

std::string standing(const Ranked& r) {
  return std::string(r.confirmed ? "confirmed" : "provisional") + (r.disturbed ? ", disturbed" : "");
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

// How often nothing slowed the devices, which says how far to trust the session.
std::string quiet_line(const Accounting& a) {
  if (a.batches == 0) return "";
  std::string why;
  for (const auto& [what, trials] : a.disturbed_by)
    why += fmt::format("{}{} in {} trial{}", why.empty() ? "" : ", ", what, trials, trials == 1 ? "" : "s");
  const std::string others = a.drifted_batches == 0 ? "" : ", in the others something slowed a device";
  return fmt::format("quiet     {} of {} batches{}{}; devices idle {}\n", a.batches - a.drifted_batches, a.batches,
                     others, why.empty() ? "" : fmt::format(" ({})", why), percent(a.idle_share()));
}

std::string accuracy_text(const Accuracy& a) {
  if (!a.pairwise) return "";
  std::string text = fmt::format("model ordered {:.0f}% of the pairs rightly", 100 * *a.pairwise);
  if (a.peak1) text += fmt::format(", its first choice had {:.0f}% of its batch's best speed", 100 * *a.peak1);
  return text;
}

std::string failures_text(const std::map<std::string, uint64_t>& by_status) {
  std::string failed;
  for (const auto& [status, n] : by_status)
    if (status != "ok") failed += fmt::format("{}{} {}", failed.empty() ? "" : ", ", n, status);
  return failed;
}

std::string trials_line(size_t trials, size_t resumed, const std::map<std::string, uint64_t>& by_status,
                        const Accounting& a, const std::string& stopped_by) {
  std::string text = fmt::format("trials    {}", trials);
  if (resumed > 0) text += fmt::format(", {} of them from earlier sessions", resumed);
  if (const std::string failed = failures_text(by_status); !failed.empty()) text += fmt::format("; failed: {}", failed);
  if (trials > resumed)
    text += fmt::format("; {:.1f} s, {:.1f}/s", a.total, static_cast<double>(trials - resumed) / a.total);
  return text + fmt::format("; {}\n", stopped_by);
}

OrderedJson share_json(const std::optional<double>& x) { return x ? OrderedJson(*x) : OrderedJson(nullptr); }

void add_results(OrderedJson& j, const SessionOutcome& o, const Workload& w, const Space& space) {
  if (o.best) {
    j["best"] = {{"config", config_json(space, o.best->config)},
                 {"time_ms", o.best->seconds * 1e3},
                 {"gflops", gflops(w, o.best->seconds)},
                 {"spread", o.best->spread},
                 {"confirmed", o.best->confirmed},
                 {"disturbed", o.best->disturbed},
                 {"disturbed_by", o.best->disturbed_by},
                 {"of_default", gain(o) ? OrderedJson(1 / *gain(o)) : OrderedJson(nullptr)}};
  } else {
    j["best"] = nullptr;
  }
  if (o.default_config) {
    j["default"] = {{"time_ms", o.default_config->seconds * 1e3},
                    {"gflops", gflops(w, o.default_config->seconds)},
                    {"disturbed", o.default_config->disturbed}};
  } else {
    j["default"] = nullptr;
  }
}

OrderedJson accuracy_json(const Accuracy& a) {
  return {{"pairwise", share_json(a.pairwise)}, {"peak1", share_json(a.peak1)}, {"peak5", share_json(a.peak5)}};
}

void add_doubts(OrderedJson& j, const Accounting& a) {
  j["batches"] = a.batches;
  j["drifted_batches"] = a.drifted_batches;
  j["disturbed_by"] = a.disturbed_by;
  j["idle_share"] = a.idle_share();
}

}  // namespace

std::string text_report(const SessionOutcome& o, const ReportContext& c) {
  std::string text = fmt::format("workload  {}\ntarget    {}\n", to_string(c.workload), c.target);
  if (o.default_config) text += fmt::format("default   {}\n", time_line(c.workload, o.default_config->seconds));
  if (o.best) {
    text += fmt::format("best      {}", time_line(c.workload, o.best->seconds));
    if (const auto g = gain(o)) text += fmt::format("  {:.2f}x the default", *g);
    text += fmt::format("  ({}, spread {})\nconfig    {}\n", standing(*o.best), percent(o.best->spread),
                        c.space.describe(c.space.parse(o.best->config)));
    if (o.best->disturbed)
      text += fmt::format(
          "disturbed {} while this was timed: only times beside it compare with it; the same command confirms it again "
          "when it is quiet\n",
          o.best->disturbed_by.empty() ? db::disturbed_by({}) : o.best->disturbed_by);
    else if (!o.best->confirmed)
      text +=
          "confirm   it was not measured in turns with the default and the others yet; the same command does that\n";
  }
  if (const auto m = margin(o)) text += fmt::format("margin    {} ahead of the second finalist\n", percent(*m));
  text += quiet_line(o.accounting);
  if (const std::string a = accuracy_text(o.accuracy); !a.empty())
    text += fmt::format("model     {}\n", a.substr(a.find(' ') + 1));
  text += trials_line(o.trials, o.resumed, o.by_status, o.accounting, o.stopped_by);
  text += fmt::format("database  {}\n", c.db);
  if (o.best) text += fmt::format("next      {}\n", c.next_command);
  return text;
}

std::string json_report(const SessionOutcome& o, const ReportContext& c) {
  OrderedJson j;
  j["workload"] = to_string(c.workload);
  j["target"] = c.target;
  j["space"] = c.space.fingerprint().hex();
  add_results(j, o, c.workload, c.space);
  j["trials"] = o.trials;
  j["by_status"] = OrderedJson(o.by_status);
  j["ended"] = o.stopped_by;
  j["seconds"] = o.accounting.total;
  j["trials_per_second"] = o.accounting.total > 0 ? static_cast<double>(o.trials - o.resumed) / o.accounting.total : 0;
  j["db"] = c.db;
  j["margin"] = share_json(margin(o));
  add_doubts(j, o.accounting);
  j["accuracy"] = accuracy_json(o.accuracy);
  return json_line(j);
}

namespace {

bool is_untried(const SessionOutcome& o) { return o.trials == 0 && !o.best; }

// The report of several tasks.
struct Total {
  size_t trials = 0, resumed = 0;
  std::map<std::string, uint64_t> by_status;
  std::optional<double> best = 0, fallback = 0;  ///< weighted seconds; nothing when one of the tasks has none
  bool side_by_side = true;                      ///< both times of every task were confirmed
};

Total total_of(const TasksOutcome& o, const std::vector<ReportedTask>& tasks) {
  Total total;
  for (size_t t = 0; t < tasks.size(); ++t) {
    const SessionOutcome& task = o.tasks[t];
    total.trials += task.trials;
    total.resumed += task.resumed;
    for (const auto& [status, n] : task.by_status) total.by_status[status] += n;
    const auto add = [&](std::optional<double>& sum, const std::optional<Ranked>& r) {
      if (sum && r)
        *sum += tasks[t].weight * r->seconds;
      else
        sum.reset();
    };
    total.side_by_side = total.side_by_side && gain(task);
    add(total.best, task.best);
    add(total.fallback, task.default_config);
  }
  return total;
}

// Heaviest first; those without a time come last.
std::vector<size_t> by_time(const TasksOutcome& o, const std::vector<ReportedTask>& tasks) {
  std::vector<double> seconds;
  for (size_t t = 0; t < tasks.size(); ++t)
    seconds.push_back(o.tasks[t].best ? tasks[t].weight * o.tasks[t].best->seconds : 0);
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return seconds[a] > seconds[b]; });
  return order;
}

// The row of all tasks that the search did not come to, and their part of a run where the model was timed; empty where
// there are too few for that.
std::string untried_row(const TasksOutcome& o, const std::vector<ReportedTask>& tasks, size_t width) {
  constexpr size_t kFewest = 2;
  size_t untried = 0;
  double of_untried = 0, whole = 0;
  for (size_t t = 0; t < tasks.size(); ++t) {
    const double seconds = tasks[t].weight * o.tasks[t].seconds_now;
    whole += seconds;
    if (is_untried(o.tasks[t])) ++untried, of_untried += seconds;
  }
  if (untried < kFewest) return "";
  const std::string part = whole > 0 ? fmt::format(", {} of a run's time", percent(of_untried / whole)) : "";
  return fmt::format("{:{}}  no trials: {}{}\n", fmt::format("{} more", untried), width, o.stopped_by, part);
}

}  // namespace

std::string text_report(const TasksOutcome& o, const std::vector<ReportedTask>& tasks, const std::string& target,
                        const std::string& db) {
  size_t width = 4;
  for (const ReportedTask& t : tasks) width = std::max(width, t.label.size());
  std::string text =
      fmt::format("target    {}\n{:{}} {:>7} {:>7} {:>11} {:>11} {:>7} {:>9} {:>7}  config\n", target, "task", width,
                  "weight", "trials", "default ms", "best ms", "gain", "GFLOPS", "spread");
  const auto ms = [](const std::optional<Ranked>& r) { return r ? ms_text(r->seconds) : std::string("-"); };
  const std::string untried = untried_row(o, tasks, width);
  for (const size_t t : by_time(o, tasks)) {
    const SessionOutcome& task = o.tasks[t];
    if (!untried.empty() && is_untried(task)) continue;
    text += fmt::format("{:{}} {:>7} {:>7} {:>11} {:>11}", tasks[t].label, width,
                        fmt::format("{:.4g}", tasks[t].weight), task.trials, ms(task.default_config), ms(task.best));
    if (task.best)
      text += fmt::format(" {:>7} {:>9} {:>7}  {}{}", gain(task) ? fmt::format("{:.2f}x", *gain(task)) : "-",
                          rate_of(tasks[t].workload, task.best->seconds), percent(task.best->spread),
                          config_name(tasks[t].space, tasks[t].space.parse(task.best->config)),
                          task.best->confirmed && !task.best->disturbed ? "" : ", " + standing(*task.best));
    else
      text += fmt::format("  no result: {}", task.first_failure.empty() ? o.stopped_by : task.first_failure);
    text += "\n";
  }
  text += untried;
  const Total total = total_of(o, tasks);
  if (total.best) {
    text += fmt::format("total     {} ms weighted", ms_text(*total.best));
    if (total.fallback) text += fmt::format(", default {} ms", ms_text(*total.fallback));
    if (total.fallback && total.side_by_side) text += fmt::format(": {:.2f}x", *total.fallback / *total.best);
    text += "\n";
  }
  text += quiet_line(o.accounting);
  text += trials_line(total.trials, total.resumed, total.by_status, o.accounting, o.stopped_by);
  return text + fmt::format("database  {}\n", db);
}

std::string json_report(const TasksOutcome& o, const std::vector<ReportedTask>& tasks, const std::string& target,
                        const std::string& db) {
  OrderedJson j;
  j["target"] = target;
  j["tasks"] = OrderedJson::array();
  for (size_t t = 0; t < tasks.size(); ++t) {
    OrderedJson task;
    task["workload"] = to_string(tasks[t].workload);
    task["weight"] = tasks[t].weight;
    task["space"] = tasks[t].space.fingerprint().hex();
    add_results(task, o.tasks[t], tasks[t].workload, tasks[t].space);
    task["trials"] = o.tasks[t].trials;
    task["by_status"] = OrderedJson(o.tasks[t].by_status);
    task["margin"] = share_json(margin(o.tasks[t]));
    task["accuracy"] = accuracy_json(o.tasks[t].accuracy);
    j["tasks"].push_back(std::move(task));
  }
  const Total total = total_of(o, tasks);
  const auto ms = [](const std::optional<double>& s) { return s ? OrderedJson(*s * 1e3) : OrderedJson(nullptr); };
  j["total"] = {{"time_ms", ms(total.best)}, {"default_time_ms", ms(total.fallback)}};
  j["trials"] = total.trials;
  j["by_status"] = OrderedJson(total.by_status);
  j["ended"] = o.stopped_by;
  j["seconds"] = o.accounting.total;
  j["trials_per_second"] =
      o.accounting.total > 0 ? static_cast<double>(total.trials - total.resumed) / o.accounting.total : 0;
  j["db"] = db;
  add_doubts(j, o.accounting);
  return json_line(j);
}

}  // namespace hone
