#include "tuner/driver/tasks_file.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/plain_file.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/user_operator.h"

namespace hone {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<double> number(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Throws UserError.
WeightedWorkload parse_line(const OperatorTable& operators, std::vector<std::string> words) {
  WeightedWorkload out;
  if (words.size() > 1)
    if (const std::optional<double> weight = number(words.back())) {
      HONE_USER_CHECK(std::isfinite(*weight) && *weight > 0 && *weight <= 1e9)
          << "weight " << words.back() << " must be above 0 and at most 1e9";
      out.weight = *weight;
      words.pop_back();
    }
  if (words[0].find('(') != std::string::npos) {
    std::string text;
    for (const std::string& word : words) text += word;
    const size_t end = text.rfind(')');
    HONE_USER_CHECK(end == std::string::npos || end + 1 == text.size())
        << "'" << text.substr(end + 1) << "' after the workload is not a weight";
    out.workload = without_extremes(Workload::parse(operators, text));
  } else {
    HONE_USER_CHECK(words.size() <= 2) << "'" << words[2]
                                       << "': a line is TASK k=v,... and a weight, or a workload and a weight";
    HONE_USER_CHECK(words.size() < 2 || words[1].find('=') != std::string::npos)
        << "'" << words[1] << "' is neither k=v,... nor a weight";
    out.workload = without_extremes(Workload::parse(operators, words[0], words.size() == 2 ? words[1] : ""));
  }
  return out;
}

}  // namespace

StatusOr<std::vector<WeightedWorkload>> parse_tasks(const OperatorTable& operators, const std::string& text,
                                                    const std::string& path) {
  std::vector<WeightedWorkload> tasks;
  std::map<std::string, size_t> line_of;
  std::istringstream in(text);
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    try {
      tasks.push_back(parse_line(operators, words));
    } catch (const UserError& e) {
      return usage_error(fmt::format("{}:{}: {}", path, number, e.what()));
    }
    const auto [it, fresh] = line_of.emplace(to_string(tasks.back().workload), number);
    if (!fresh)
      return usage_error(
          fmt::format("{}:{}: the same workload as in line {}; one line with the sum of the weights is meant", path,
                      number, it->second));
  }
  if (tasks.empty()) return usage_error(fmt::format("{}: no workload in it", path));
  return tasks;
}

StatusOr<std::vector<WeightedWorkload>> read_tasks(const OperatorTable& operators, const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{16} << 20;
  const StatusOr<std::string> text = read_plain_file(path, kMostBytes);
  if (!text.ok()) return usage_error("--tasks " + message_of(text.status()));
  return parse_tasks(operators, *text, path);
}

std::string tasks_text(const std::vector<WeightedWorkload>& tasks) {
  std::string text;
  for (const WeightedWorkload& t : tasks) text += fmt::format("{}  {}\n", to_string(t.workload), t.weight);
  return text;
}

std::string short_text(const Workload& w) {
  if (is_user_operator(w)) return user_label(w);
  std::vector<std::string> different;
  auto usual = w.op->attributes.begin();
  for (const Attributes::Item& a : w.attributes)
    if (a.text != (usual++)->fallback) different.push_back(a.name + "=" + a.text);
  return different.empty() ? w.operator_name() : w.operator_name() + " " + absl::StrJoin(different, ",");
}

}  // namespace hone
