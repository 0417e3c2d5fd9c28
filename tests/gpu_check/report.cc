#include "tests/gpu_check/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/time_text.h"

namespace hone::gpu_check {
namespace {

OrderedJson value_of(const Json* record, const char* key) {
  return record && record->contains(key) ? OrderedJson((*record)[key]) : OrderedJson(nullptr);
}

OrderedJson suite_json(const Journal& journal, const std::vector<Step>& steps) {
  int64_t done = 0;
  OrderedJson wrong = OrderedJson::array();
  for (const Step& s : steps) {
    const Json* record = s.kind == StepKind::kSuite ? journal.find(s.name) : nullptr;
    if (!record) continue;
    ++done;
    if (!record->value("ok", false))
      wrong.push_back(
          {{"workload", to_string(s.workload)}, {"config", s.config}, {"error", record->value("error", "")}});
  }
  return {
      {"configs", done},
      {"planned", std::count_if(steps.begin(), steps.end(), [](const Step& s) { return s.kind == StepKind::kSuite; })},
      {"wrong", wrong}};
}

OrderedJson row_json(const Journal& journal, const std::string& name, const Workload& w, const std::string& peer) {
  const Json *tune = journal.find("tune/" + name), *bench = journal.find("bench/" + name),
             *other = journal.find("peer/" + name);
  OrderedJson row{{"name", name},
                  {"workload", to_string(w)},
                  {"trials", value_of(tune, "trials")},
                  {"default_ms", value_of(bench, "default_ms")},
                  {"tuned_ms", value_of(bench, "tuned_ms")}};
  row["gflops"] =
      row["tuned_ms"].is_number() ? OrderedJson(flops(w) / row["tuned_ms"].get<double>() * 1e-6) : OrderedJson(nullptr);
  row["config"] = value_of(bench, "config");
  row[peer + "_ms"] = value_of(other, "time_ms");
  row["peer_over_ours"] = row["tuned_ms"].is_number() && row[peer + "_ms"].is_number()
                              ? OrderedJson(row[peer + "_ms"].get<double>() / row["tuned_ms"].get<double>())
                              : OrderedJson(nullptr);
  std::string error;
  for (const Json* record : {tune, bench, other})
    if (record && error.empty()) error = record->value("error", "");
  if (!error.empty()) row["error"] = error;
  return row;
}

// Trials of all tuning, and their outcomes.
OrderedJson session_json(const Journal& journal) {
  int64_t trials = 0, failed = 0;
  std::map<std::string, int64_t> by_status;
  for (const auto& [step, record] : journal.records()) {
    if (!step.starts_with("tune/") || !record.contains("by_status")) continue;
    for (const auto& [status, count] : record["by_status"].items()) {
      by_status[status] += count.get<int64_t>();
      trials += count.get<int64_t>();
      if (status != "ok" && status != "device_lost" && status != "cancelled") failed += count.get<int64_t>();
    }
  }
  OrderedJson out{{"trials", trials}, {"by_status", by_status}};
  out["failed_share"] =
      trials > 0 ? OrderedJson(static_cast<double>(failed) / static_cast<double>(trials)) : OrderedJson(nullptr);
  out["c6_trials_per_second"] = value_of(journal.find("tune/C6"), "trials_per_second");
  return out;
}

// The line for a step that went wrong.
void add_error(OrderedJson& errors, const std::string& step, const Json* record) {
  if (record && record->contains("error")) errors.push_back(step + ": " + (*record)["error"].get<std::string>());
}

OrderedJson layers_json(const Journal& journal, const std::vector<Step>& steps) {
  OrderedJson out;
  out["models"] = OrderedJson::array();
  OrderedJson errors = OrderedJson::array();
  for (const Step& s : steps) {
    if (s.kind != StepKind::kLayers && s.kind != StepKind::kTuneLayers) continue;
    add_error(errors, s.name, journal.find(s.name));
    if (s.kind == StepKind::kLayers) out["models"].push_back(s.model.name);
  }
  const Json* tune = journal.find("tune/layers");
  for (const char* key : {"operators", "trials"}) out[key] = value_of(tune, key);
  const Json* total = tune && tune->contains("total") ? &(*tune)["total"] : nullptr;
  out["default_ms"] = value_of(total, "default_time_ms");
  out["tuned_ms"] = value_of(total, "time_ms");
  out["errors"] = std::move(errors);
  return out;
}

// PyTorch's best in f32, which computes what Hone does, over ours.
OrderedJson torch_over_ours(const OrderedJson& row) {
  std::optional<double> best;
  for (const TorchWay& way : torch_ways())
    if (const OrderedJson& ms = row["torch"][way.name()]; way.precision == "f32" && ms.is_number())
      best = std::min(best.value_or(ms.get<double>()), ms.get<double>());
  return best && row["tuned_ms"].is_number() ? OrderedJson(*best / row["tuned_ms"].get<double>())
                                             : OrderedJson(nullptr);
}

void add_models(OrderedJson& report, const Journal& journal, const std::vector<Step>& steps) {
  report["models"] = OrderedJson::array();
  report["torch_missing"] = nullptr;
  for (const Step& s : steps) {
    if (s.kind != StepKind::kModelTime) continue;
    const Json* ours = journal.find(s.name);
    OrderedJson row{{"name", s.model.name},
                    {"default_ms", value_of(ours, "default_ms")},
                    {"tuned_ms", value_of(ours, "tuned_ms")},
                    {"torch", OrderedJson::object()}};
    OrderedJson errors = OrderedJson::array();
    add_error(errors, s.name, ours);
    for (const TorchWay& way : torch_ways()) {
      const std::string name = fmt::format("torch/{}/{}", s.model.name, way.name());
      const Json* theirs = journal.find(name);
      row["torch"][way.name()] = value_of(theirs, "time_ms");
      add_error(errors, name, theirs);
      if (theirs && theirs->contains("missing")) report["torch_missing"] = (*theirs)["missing"];
    }
    row["torch_over_ours"] = torch_over_ours(row);
    row["errors"] = std::move(errors);
    report["models"].push_back(std::move(row));
  }
}

std::string ms_of(const OrderedJson& value) {
  return value.is_number() ? ms_text(value.get<double>() / 1e3) : "not measured";
}

std::string text_of(const OrderedJson& value, const char* format) {
  return value.is_number() ? fmt::format(fmt::runtime(format), value.get<double>()) : "not measured";
}

}  // namespace

OrderedJson report_json(const Journal& journal, const std::vector<Step>& steps) {
  OrderedJson report;
  report["complete"] = std::all_of(steps.begin(), steps.end(), [&](const Step& s) {
    return journal.find(s.name) && journal.find(s.name)->value("finished", false);
  });
  report["target"] = value_of(journal.find("device"), "target");
  for (const char* key : {"version", "machine", "date", "commit", "command"})
    report[key] = value_of(journal.find("device"), key);
  report["suite"] = suite_json(journal, steps);
  const Json* model = journal.find("model/small");
  report["model"] = {{"ok", value_of(model, "ok")}, {"time_ms", value_of(model, "time_ms")}};
  if (model && model->contains("error")) report["model"]["error"] = (*model)["error"];
  report["tables"] = OrderedJson::array();
  for (const Group& group : tables()) {
    OrderedJson table{{"title", group.title}, {"peer", group.peer}, {"expected", group.expected}};
    OrderedJson rows = OrderedJson::array();
    double logs = 0;
    int compared = 0;
    for (const auto& [name, workload] : group.rows) {
      if (std::none_of(steps.begin(), steps.end(), [&name = name](const Step& s) { return s.row == name; })) continue;
      rows.push_back(row_json(journal, name, workload, group.peer));
      if (rows.back()["peer_over_ours"].is_number())
        logs += std::log(rows.back()["peer_over_ours"].get<double>()), ++compared;
    }
    table["mean"] = compared > 0 ? OrderedJson(std::exp(logs / compared)) : OrderedJson(nullptr);
    table["rows"] = std::move(rows);
    if (!table["rows"].empty()) report["tables"].push_back(std::move(table));
  }
  report["session"] = session_json(journal);
  const auto has = [&](StepKind kind) {
    return std::any_of(steps.begin(), steps.end(), [&](const Step& s) { return s.kind == kind; });
  };
  if (has(StepKind::kLayers)) report["layers"] = layers_json(journal, steps);
  if (has(StepKind::kModelTime)) add_models(report, journal, steps);
  report["has_tables"] = has(StepKind::kSuite) || has(StepKind::kModel) || has(StepKind::kTune);
  return report;
}

namespace {

std::string lines_of(const OrderedJson& errors) {
  std::string out;
  for (const auto& error : errors) out += fmt::format("- {}\n", error.get<std::string>());
  return out.empty() ? "" : "\n" + out;
}

std::string layers_markdown(const OrderedJson& layers) {
  return fmt::format(
      "\n## Layers of models\n\n{} models, {} operators: {} trials; the sum of their layers' times: {} ms "
      "by default, {} ms tuned.\n{}",
      layers["models"].size(), text_of(layers["operators"], "{:.0f}"), text_of(layers["trials"], "{:.0f}"),
      ms_of(layers["default_ms"]), ms_of(layers["tuned_ms"]), lines_of(layers["errors"]));
}

std::string models_markdown(const OrderedJson& report) {
  std::string out = "\n## Models\n\n";
  if (report["torch_missing"].is_string())
    out += fmt::format("PyTorch was not timed: {}.\n\n", report["torch_missing"].get<std::string>());
  out += "| | default ms | tuned ms |";
  for (const TorchWay& way : torch_ways()) out += fmt::format(" {}, {} |", way.mode, way.precision);
  out += " best f32 over ours |\n| --- | --- | --- |";
  for (size_t i = 0; i <= torch_ways().size(); ++i) out += " --- |";
  out += "\n";
  std::string errors;
  for (const auto& row : report["models"]) {
    out += fmt::format("| {} | {} | {} |", row["name"].get<std::string>(), ms_of(row["default_ms"]),
                       ms_of(row["tuned_ms"]));
    for (const TorchWay& way : torch_ways()) out += fmt::format(" {} |", ms_of(row["torch"][way.name()]));
    out += fmt::format(" {} |\n", text_of(row["torch_over_ours"], "{:.2f}"));
    errors += lines_of(row["errors"]);
  }
  return out + errors;
}

std::string tables_markdown(const OrderedJson& report) {
  const auto& suite = report["suite"];
  std::string out;
  out += fmt::format("Suite: {} of {} configs checked against the reference, {} wrong.\n",
                     suite["configs"].get<int64_t>(), suite["planned"].get<int64_t>(), suite["wrong"].size());
  for (const auto& wrong : suite["wrong"])
    out += fmt::format("- `{}` `{}`: {}\n", wrong["workload"].get<std::string>(), wrong["config"].get<std::string>(),
                       wrong["error"].get<std::string>());
  const auto& model = report["model"];
  out += fmt::format("\nA small convolutional net as one artifact: {}.\n",
                     model.contains("error")   ? model["error"].get<std::string>()
                     : model["ok"].is_null()   ? "not looked at"
                     : model["ok"].get<bool>() ? "right, " + ms_of(model["time_ms"]) + " ms"
                                               : "wrong");
  const auto& session = report["session"];
  out += fmt::format(
      "\nTuning: {} trials, {} of them failed (expected: at most 2%); C6: {} trials/s (expected: at least 10).\n",
      session["trials"].get<int64_t>(),
      session["failed_share"].is_number() ? fmt::format("{:.1f}%", 100 * session["failed_share"].get<double>())
                                          : "none measured",
      text_of(session["c6_trials_per_second"], "{:.1f}"));
  for (const auto& table : report["tables"]) {
    const std::string peer = table["peer"];
    out += fmt::format("\n## {}\n\nGeometric mean of {}'s time over ours: {} (expected: at least {:.1f}).\n\n",
                       table["title"].get<std::string>(), peer, text_of(table["mean"], "{:.2f}"),
                       table["expected"].get<double>());
    out += fmt::format(
        "| | trials | default ms | tuned ms | GFLOPS | {} ms | over ours | config |\n| --- | --- | --- | --- | --- | "
        "--- | --- | --- |\n",
        peer);
    for (const auto& row : table["rows"]) {
      const std::string last = row.contains("error")       ? row["error"].get<std::string>()
                               : row["config"].is_string() ? "`" + row["config"].get<std::string>() + "`"
                                                           : "";
      out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", row["name"].get<std::string>(),
                         text_of(row["trials"], "{:.0f}"), ms_of(row["default_ms"]), ms_of(row["tuned_ms"]),
                         text_of(row["gflops"], "{:.1f}"), ms_of(row[peer + "_ms"]),
                         text_of(row["peer_over_ours"], "{:.2f}"), last);
    }
  }
  return out;
}

}  // namespace

std::string report_markdown(const OrderedJson& report) {
  const auto word = [&](const char* key) { return report[key].is_string() ? report[key].get<std::string>() : "?"; };
  std::string out =
      fmt::format("# gpu-check\n\nHone {} (commit {}) on `{}`{}, {}{}\n\n", word("version"), word("commit"),
                  word("target"), word("machine") == word("target") ? "" : ", " + word("machine"), word("date"),
                  report["complete"].get<bool>() ? "." : ". Not complete: the same command goes on.");
  if (report["has_tables"].get<bool>()) out += tables_markdown(report);
  if (report.contains("layers")) out += layers_markdown(report["layers"]);
  if (report.contains("models")) out += models_markdown(report);
  return out;
}

}  // namespace hone::gpu_check
