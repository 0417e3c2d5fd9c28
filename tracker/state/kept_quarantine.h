// Agents and devices that people quarantined by hand, kept in a small file: neither a restart of the tracker nor an
// agent's messages end it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hone::tracker {

/// Names of devices (AGENT/cpu) and of agents, which stand for all their devices; they need not be here. A value:
/// copies of one that has a file write the same file.
class KeptQuarantine {
 public:
  /// An empty one, which ends with this process.
  KeptQuarantine() = default;
  /// Reads the file at `path`, and makes it where there is none. A usage error of one line names a file that cannot be
  /// read or written, or is damaged.
  static StatusOr<KeptQuarantine> open(const std::string& path);

  /// The device is in it, by its own name or by its agent's.
  bool holds(const std::string& device) const;
  /// The name itself, or a device of the agent of that name, is in it.
  bool names(const std::string& name) const;
  const std::set<std::string>& names() const { return names_; }

  /// The device or agent is in it from now on. Usage error, and nothing has changed, when the file cannot be written,
  /// or when there are too many names.
  Status begin(const std::string& name);
  /// The device, or the agent with all its devices, is no longer in it. Where it holds the whole agent of a device, its
  /// other devices (`siblings`, which may name the device, too) stay. Errors as begin().
  Status end(const std::string& name, const std::set<std::string>& siblings);

 private:
  Status keep(std::set<std::string> names);

  std::string path_;  // empty: no file
  std::set<std::string> names_;
};

}  // namespace hone::tracker
