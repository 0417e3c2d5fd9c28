#include "db/cli/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "base/key.h"
#include "base/text.h"
#include "base/time_text.h"

namespace hone::db {
namespace {

// In UTC. A damaged file may have any number.
std::string day_text(int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm day{};
  return gmtime_r(&seconds, &day)
             ? fmt::format("{:04}-{:02}-{:02}", day.tm_year + int64_t{1900}, day.tm_mon + 1, day.tm_mday)
             : "-";
}

// A smaller one is preferred: confirmed rows first, then quiet ones, then fast ones.
auto rank(const BestRow& row) { return std::tuple(!row.confirmed, row.disturbed, row.seconds); }

// Short texts of the targets; whole texts for targets that would otherwise be called the same.
std::map<std::string, std::string> target_names(const std::vector<BestRow>& rows) {
  std::map<std::string, std::set<std::string>> called;
  for (const BestRow& row : rows) called[short_target(row.target)].insert(row.target);
  std::map<std::string, std::string> out;
  for (const auto& [name, targets] : called)
    for (const std::string& target : targets) out[target] = targets.size() == 1 ? name : target;
  return out;
}

// A config that no template here has is called by its kind.
std::string name_of(const BestRow& row, const BestInWords& words) {
  if (!words.name.empty()) return words.name;
  const StatusOr<ConfigKey> key = parse_config_key(row.config);
  if (!key.ok()) return "-";
  if (const auto* vendor = std::get_if<VendorConfig>(&*key)) return vendor->library + " " + vendor->version;
  return std::holds_alternative<TextConfig>(*key) ? "text" : "-";
}

}  // namespace

std::vector<BestRow> one_per_workload(const std::vector<BestRow>& rows) {
  std::map<std::pair<std::string, std::string>, const BestRow*> chosen;
  for (const BestRow& row : rows) {
    const BestRow*& best = chosen[{row.workload, row.target}];
    if (!best || rank(row) < rank(*best)) best = &row;
  }
  std::vector<BestRow> out;
  for (const auto& [key, row] : chosen) out.push_back(*row);
  return out;
}

std::string short_target(const std::string& target) {
  std::istringstream words(target);
  std::string out, word, model, threads;
  words >> out;
  while (words >> word) {
    const auto value = [&](std::string_view flag) {
      return word.rfind(flag, 0) == 0 ? word.substr(flag.size()) : std::string();
    };
    for (const char* flag : {"-mcpu=", "-arch=", "-device="})
      if (model.empty()) model = value(flag);
    if (threads.empty()) threads = value("-threads=");
  }
  if (!model.empty()) out += " " + model;
  return threads.empty() ? out : out + " x" + threads;
}

std::string listing(const std::vector<BestRow>& rows, const DescribeBest& describe, size_t columns) {
  if (rows.empty()) return "";
  using Line = std::array<std::string, 7>;
  std::vector<Line> lines = {{"ms", "GFLOPS", "config", "standing", "measured", "target", "workload"}};
  const std::map<std::string, std::string> targets = target_names(rows);
  for (const BestRow& row : rows) {
    const BestInWords words = describe ? describe(row) : BestInWords();
    lines.push_back({ms_text(row.seconds), words.gflops > 0 ? fmt::format("{:.1f}", words.gflops) : "-",
                     name_of(row, words), row.standing(), day_text(row.updated_at), targets.at(row.target),
                     row.workload});
  }
  std::array<size_t, 7> width{};
  for (const Line& line : lines)
    for (size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], clean_line(line[i]).size());
  std::string out;
  for (const Line& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string cell = clean_line(line[i]);
      text += (i ? "  " : "");
      text += i < 2                 ? fmt::format("{:>{}}", cell, width[i])
              : i + 1 < line.size() ? fmt::format("{:<{}}", cell, width[i])
                                    : cell;
    }
    out += (columns > 0 ? short_line(text, columns - 1) : text) + "\n";
  }
  return out;
}

std::string standing_legend(const std::vector<BestRow>& rows) {
  const auto any = [&](auto has) { return std::any_of(rows.begin(), rows.end(), has); };
  std::string out;
  if (any([](const BestRow& row) { return !row.confirmed; }))
    out += "provisional: timed in a search, and not yet confirmed by timing it again\n";
  if (any([](const BestRow& row) { return row.disturbed; }))
    out += "disturbed: others used the machine, or it was throttled, while this was timed\n";
  return out;
}

}  // namespace hone::db
