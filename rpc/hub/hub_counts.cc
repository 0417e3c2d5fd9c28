#include "rpc/hub/hub_counts.h"

#include <fmt/format.h>

#include <iterator>

namespace hone::hub {

void HubCounts::answered(const std::string& page, int status, double seconds) {
  std::lock_guard lock(mutex_);
  Page& own = answers_[{page, status}];
  ++own.count;
  own.seconds += seconds;
}

void HubCounts::asked(size_t keys, size_t found) {
  std::lock_guard lock(mutex_);
  keys_ += keys, found_ += found;
}

void HubCounts::pushed(int64_t trials) {
  std::lock_guard lock(mutex_);
  trials_ += static_cast<uint64_t>(trials);
}

std::string HubCounts::text(const gate::Rejections* rejections) const {
  std::string out;
  const auto add = [&]<class... T>(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out), format, std::forward<T>(values)...);
  };
  const auto head = [&](const char* name, const char* type, const char* help) {
    add("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  };
  std::lock_guard lock(mutex_);
  head("hone_tophub_requests_total", "counter", "Requests answered, by page and status");
  for (const auto& [key, page] : answers_)
    add("hone_tophub_requests_total{{page=\"{}\",status=\"{}\"}} {}\n", key.first, key.second, page.count);
  head("hone_tophub_request_seconds_total", "counter", "Seconds spent on answering them");
  for (const auto& [key, page] : answers_)
    add("hone_tophub_request_seconds_total{{page=\"{}\",status=\"{}\"}} {}\n", key.first, key.second, page.seconds);
  head("hone_tophub_keys_total", "counter", "Workloads asked for");
  add("hone_tophub_keys_total {}\n", keys_);
  head("hone_tophub_keys_found_total", "counter", "Workloads asked for that had a best on their target");
  add("hone_tophub_keys_found_total {}\n", found_);
  head("hone_tophub_trials_total", "counter", "Trials that were brought and new");
  add("hone_tophub_trials_total {}\n", trials_);
  if (!rejections) return out;
  head("hone_rejected_total", "counter", "Peers turned away, by reason");
  for (const auto& [reason, count] : rejections->counts())
    add("hone_rejected_total{{reason=\"{}\"}} {}\n", reason, count);
  return out;
}

}  // namespace hone::hub
