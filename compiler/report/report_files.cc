#include "compiler/report/report_files.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/exit_code.h"
#include "base/plain_file.h"
#include "compiler/report/compare_reports.h"
#include "compiler/report/report_json.h"
#include "compiler/report/report_page.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

ModelReport read_report(const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  const StatusOr<std::string> text = read_plain_file(path, kMostBytes);
  HONE_USER_CHECK(text.ok()) << "--compare " << message_of(text.status());
  return parse_report(*text, path);
}

}  // namespace

StatusOr<std::optional<ModelReport>> check_report_flags(const std::vector<std::string>& reports,
                                                        const std::string& compare) {
  for (const std::string& report : reports) {
    const std::string extension = fs::path(report).extension();
    if (extension != ".html" && extension != ".json")
      return usage_error("--report " + report + ": .html for a page, .json for its data");
  }
  if (compare.empty()) return std::optional<ModelReport>();
  if (reports.empty()) return usage_error("--compare belongs to --report");
  return std::optional<ModelReport>(read_report(compare));
}

Status write_reports(const ModelReport& report, const std::optional<ModelReport>& before,
                     const std::vector<std::string>& files) {
  OrderedJson j = report_json(report);
  if (before) j["compared"] = compare_reports(*before, report);
  for (const std::string& file : files)
    HONE_RETURN_IF_ERROR(
        write_atomically(file, fs::path(file).extension() == ".json" ? json_line(j) + "\n" : report_page(j)));
  return absl::OkStatus();
}

std::string time_now() { return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(std::time(nullptr))); }

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      if (const size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "";
}

}  // namespace hone
