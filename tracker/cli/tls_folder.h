// The folder of `tracker init-tls`: a run's changes are there as a whole, or not at all.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace hone::tracker {

/// New files are written into a folder inside, which gets its final name when all of them are on the disk; only then
/// each takes its place. A run that was killed while they do is finished by the next one, one that was killed before
/// has changed nothing.
class TlsFolder {
 public:
  explicit TlsFolder(const std::string& path);
  ~TlsFolder();
  TlsFolder(const TlsFolder&) = delete;
  TlsFolder& operator=(const TlsFolder&) = delete;

  /// Keeps other runs out and finishes the work that an earlier one had begun; nothing to do where there is no folder
  /// yet. InvalidArgument when another run is at work in it.
  Status open();

  std::string path(const std::string& name) const;
  bool has(const std::string& name) const;
  /// NAME of each NAME.pem, in order.
  std::vector<std::string> certificates() const;

  /// A file that must not be there yet.
  Status add(const std::string& name, const std::string& text);
  /// One that may; its owner and its mode stay.
  void replace(const std::string& name, const std::string& text) { files_[name] = text; }

  /// Makes the folder where there is none. Leaves the process's umask at 077.
  Status write();

 private:
  Status lock();
  Status stage(const std::string& name, const std::string& text) const;
  Status move_in() const;

  std::string path_;
  int fd_ = -1;
  std::map<std::string, std::string> files_;
  std::set<std::string> added_;
};

}  // namespace hone::tracker
