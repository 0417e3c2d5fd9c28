// Which files a command reads and which it writes, so that it writes over none that it reads.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hone {

/// Whether two paths lead to one file: by their names, a link or a hard link. Neither need be there.
bool is_same_file(const std::string& a, const std::string& b);

/// All files of a command: every one that it was given, and every one that it will make. It is asked before the first
/// is written, and again where more have become known by then.
class CommandFiles {
 public:
  /// A file that is read. `what`: what its user calls it, `--db` or `the model`. An empty path is none.
  void reads(const std::string& what, const std::string& path);
  /// The files with these extensions that are in a folder, and in its folders, now. No folder: none.
  void reads_folder(const std::string& what, const std::string& folder, const std::vector<std::string>& extensions);
  /// A file that is made, or made anew, or changed in place, which makes it no input of itself. A path that is no file
  /// (a pipe, a terminal, /dev/null) is left out, as writing to it destroys nothing.
  void writes(const std::string& what, const std::string& path);

  /// A usage error of one line for the first file that would be written over one that is read, and for two that are
  /// written and are the same.
  Status check() const;

 private:
  struct Named {
    std::string what, path;
  };
  std::vector<Named> inputs_, outputs_;
};

}  // namespace hone
