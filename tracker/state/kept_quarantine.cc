#include "tracker/state/kept_quarantine.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <utility>

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "base/plain_file.h"

namespace hone::tracker {
namespace {

constexpr std::string_view kFirstLine = "hone tracker state 1", kEntry = "quarantined ", kLastLine = "end";
constexpr size_t kMaxNames = 4096, kMaxNameBytes = 256;
constexpr int64_t kMaxFileBytes = 2 << 20;

std::string agent_of(const std::string& device) { return device.substr(0, device.find('/')); }
bool is_of(const std::string& device, const std::string& agent) { return device.rfind(agent + "/", 0) == 0; }

std::string text_of(const std::set<std::string>& names) {
  std::string text = fmt::format("{}\n", kFirstLine);
  for (const std::string& name : names) text += fmt::format("{}{}\n", kEntry, name);
  return text + fmt::format("{}\n", kLastLine);
}

bool is_name(std::string_view name) {
  const auto is_control = [](unsigned char c) { return c < 32 || c == 127; };
  return !name.empty() && name.size() <= kMaxNameBytes && std::none_of(name.begin(), name.end(), is_control);
}

// The last line distinguishes a whole file from one that was cut off.
StatusOr<std::set<std::string>> names_from(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kFirstLine)
    return usage_error(fmt::format("not a state file of a tracker: its first line must be '{}'", kFirstLine));
  std::set<std::string> names;
  size_t number = 1;
  while (++number, std::getline(lines, line)) {
    if (line == kLastLine && lines.peek() == std::istringstream::traits_type::eof()) return names;
    if (line.rfind(kEntry, 0) != 0 || !is_name(line.substr(kEntry.size())) || names.size() >= kMaxNames)
      return usage_error(
          fmt::format("line {} is damaged: expected '{}NAME', at most {} times, and '{}' as the last line", number,
                      kEntry, kMaxNames, kLastLine));
    names.insert(line.substr(kEntry.size()));
  }
  return usage_error(fmt::format("the end is missing: its last line must be '{}'", kLastLine));
}

}  // namespace

StatusOr<KeptQuarantine> KeptQuarantine::open(const std::string& path) {
  KeptQuarantine out;
  out.path_ = path;
  std::set<std::string> names;
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 || errno != ENOENT) {
    HONE_ASSIGN_OR_RETURN(const std::string text, read_plain_file(path, kMaxFileBytes));
    auto read = names_from(text);
    if (!read.ok()) return usage_error(fmt::format("{}: {}", path, message_of(read.status())));
    names = *std::move(read);
  }
  // Written at once: where it cannot be, people learn it now, and not when they quarantine a device.
  HONE_RETURN_IF_ERROR(write_atomically(path, text_of(names)));
  out.names_ = std::move(names);
  return out;
}

bool KeptQuarantine::holds(const std::string& device) const {
  return names_.contains(device) || names_.contains(agent_of(device));
}

bool KeptQuarantine::names(const std::string& name) const {
  const auto next = names_.lower_bound(name + "/");
  return names_.contains(name) || (next != names_.end() && is_of(*next, name));
}

Status KeptQuarantine::keep(std::set<std::string> names) {
  if (names == names_) return absl::OkStatus();
  if (!path_.empty()) HONE_RETURN_IF_ERROR(write_atomically(path_, text_of(names)));
  names_ = std::move(names);
  return absl::OkStatus();
}

Status KeptQuarantine::begin(const std::string& name) {
  if (holds(name)) return absl::OkStatus();
  std::set<std::string> names = names_;
  std::erase_if(names, [&](const std::string& device) { return is_of(device, name); });
  names.insert(name);
  if (names.size() > kMaxNames)
    return usage_error(fmt::format(
        "{} devices are quarantined by hand, the most that are kept; quarantine whole agents instead", kMaxNames));
  return keep(std::move(names));
}

Status KeptQuarantine::end(const std::string& name, const std::set<std::string>& siblings) {
  std::set<std::string> names = names_;
  std::erase_if(names, [&](const std::string& one) { return one == name || is_of(one, name); });
  if (const std::string agent = agent_of(name); agent != name && names.erase(agent) > 0) {
    names.insert(siblings.begin(), siblings.end());
    names.erase(name);
  }
  return keep(std::move(names));
}

}  // namespace hone::tracker
