#include "tests/bench/models/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/time_text.h"

namespace hone::bench {
namespace {

std::string time_cell(double ms) { return fmt::format("{:>10}", ms > 0 ? ms_text(ms / 1e3) : "-"); }

std::string ratio_cell(double ratio) { return ratio > 0 ? fmt::format("{:>9.2f}", ratio) : fmt::format("{:>9}", "-"); }

// A machine always computes less than this beside its work.
constexpr double kQuiet = 0.2;

std::string configs_text(const Row& row) {
  std::string text;
  for (const auto& [source, count] : row.configs)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, source);
  return text;
}

// The sides that the ratios of a row or of a mean compare.
std::vector<std::string> compared(const Columns& c) {
  std::vector<std::string> names = {kUntuned};
  if (c.tuned) names.emplace_back(kTuned);
  return names;
}

std::string first_cells(const std::string& name, int threads) { return fmt::format("{:<26}{:>4}", name, threads); }

std::string means_text(const Report& report, const Columns& columns) {
  std::string text;
  const std::vector<std::string> groups = groups_of(report);
  for (const int threads : threads_of(report)) {
    std::vector<std::string> lines = groups.size() > 1 ? groups : std::vector<std::string>{};
    lines.emplace_back();
    for (const std::string& group : lines) {
      const size_t count = ratios(report, kUntuned, group, threads).size();
      if (count == 0) continue;
      text += first_cells(fmt::format("{} ({})", group.empty() ? "all" : group, count), threads) +
              std::string(static_cast<size_t>(20 + 10 * columns.tuned + 10 * columns.spinning), ' ');
      for (const std::string& name : compared(columns))
        text += ratio_cell(geometric_mean(ratios(report, name, group, threads)));
      text += "\n";
    }
  }
  return text.empty() ? "" : "geometric means\n" + text;
}

std::string starts_text(const Report& report) {
  std::string text;
  std::set<std::string> shown;
  for (const Row& row : report.rows) {
    if (!row.error.empty() || !shown.insert(row.model).second) continue;
    const auto ours = row.starts.find(row.starts.count(kTuned) ? kTuned : kUntuned), peer = row.starts.find(kPeer);
    if (ours == row.starts.end() || peer == row.starts.end()) continue;
    text += fmt::format("{:<30}{:>10.2f}{:>10.2f}{:>13.1f}{:>11.1f}{:>11.1f}{:>11.1f}\n", row.model,
                        static_cast<double>(row.artifact_bytes) / 1e6,
                        static_cast<double>(row.model_bytes + report.peer_library_bytes) / 1e6, ours->second.total(),
                        peer->second.library_ms, peer->second.open_ms, peer->second.first_run_ms);
  }
  if (text.empty()) return "";
  return fmt::format(
             "size in MB (Hone: the artifact; ONNX Runtime: its library and the model) and milliseconds until the "
             "first outputs\n{:<30}{:>10}{:>10}{:>13}{:>33}\n{:<30}{:>10}{:>10}{:>13}{:>11}{:>11}{:>11}\n",
             "", "size", "", "start", "start of ONNX Runtime", "", "Hone", "ONNX R.", "Hone", "library", "session",
             "first run") +
         text;
}

// A heading, a line for each operation and one for all, of equal lengths.
std::vector<std::string> operations_cells(const std::string& side, const std::vector<LayerTime>& layers) {
  const std::vector<OperationTime> operations = by_operation(layers);
  double all = 0;
  for (const OperationTime& o : operations) all += o.ms;
  std::vector<std::string> cells = {fmt::format("{:<24}{:>7}{}{:>7}", side, "layers", "        ms", "share")};
  const auto add = [&](const std::string& name, int count, double ms) {
    const double share = all > 0 ? 100 * ms / all : 0;
    cells.push_back(fmt::format("{:<24}{:>7}{}{:>6.1f}%", name.substr(0, 24), count, time_cell(ms), share));
  };
  OperationTime others;
  for (const OperationTime& o : operations) {
    if (o.ms >= 0.01 * all) {
      add(o.operation, o.layers, o.ms);
      continue;
    }
    others.layers += o.layers;
    others.ms += o.ms;
  }
  if (others.layers > 0) add("others", others.layers, others.ms);
  add("all", static_cast<int>(layers.size()), all);
  return cells;
}

}  // namespace

Columns columns_of(const Report& report) {
  Columns c;
  for (const Row& r : report.rows) {
    c.tuned = c.tuned || r.turns_ms.count(kTuned);
    c.spinning = c.spinning || r.turns_ms.count(kSpinningPeer);
  }
  return c;
}

std::string header_text(const Columns& c) {
  std::string text =
      "milliseconds of a run; the last columns are ONNX Runtime's time over ours: above 1 Hone is faster\n";
  text += fmt::format("{:<26}{:>4}{:>10}", "", "thr.", "untuned");
  if (c.tuned) text += fmt::format("{:>10}", "tuned");
  text += fmt::format("{:>10}", "ONNX R.");
  if (c.spinning) text += fmt::format("{:>10}", "spinning");
  text += fmt::format("{:>9}", "untuned");
  if (c.tuned) text += fmt::format("{:>9}", "tuned");
  return text + "  configs of the layers\n";
}

std::string row_text(const Row& row, const Columns& c) {
  std::string text = first_cells(row.model, row.threads);
  if (!row.error.empty()) return text + "  " + row.error + "\n";
  text += time_cell(row.ms(kUntuned));
  if (c.tuned) text += time_cell(row.ms(kTuned));
  text += time_cell(row.ms(kPeer));
  if (c.spinning) text += time_cell(row.ms(kSpinningPeer));
  for (const std::string& name : compared(c)) text += ratio_cell(row.ratio(name));
  text += "  " + configs_text(row);
  if (row.others_cpus > kQuiet) text += fmt::format("; beside others on {:.1f} CPUs", row.others_cpus);
  return text + "\n";
}

std::string layers_text(const Row& row) {
  if (!row.no_layers.empty()) return "  layers: " + row.no_layers + "\n";
  const auto ours = row.layers.find(row.layers.count(kTuned) ? kTuned : kUntuned), peer = row.layers.find(kPeer);
  if (ours == row.layers.end() || peer == row.layers.end()) return "";
  const std::vector<std::string> left = operations_cells(fmt::format("Hone, {}", ours->first), ours->second),
                                 right = operations_cells("ONNX Runtime", peer->second);
  const std::string none(left[0].size(), ' ');
  std::string text;
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i)
    text += fmt::format("  {}{}\n", i < left.size() ? left[i] : none, i < right.size() ? "    " + right[i] : "");
  return text;
}

std::string summary_text(const Report& report, const Columns& columns) {
  const std::string means = means_text(report, columns);
  return means.empty() ? ""
                       : fmt::format("{}\n{}\n{}; ONNX Runtime {}\n", means, starts_text(report), report.machine,
                                     report.peer_version);
}

}  // namespace hone::bench
