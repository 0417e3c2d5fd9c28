// Files that are whole or not there, also several that belong together.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace hone {

/// Each file is written beside its place first, as PATH.PID.part; commit() renames all of them. So a file without room
/// or permission is found while every old file is still in its place.
///
/// The file that was added last speaks for the others, as a header does for its object. The old one goes before any
/// other takes its place, and the new one comes last: while it is there it fits them, also where the process is killed
/// in between. A file that is missing then is noticed by its users, and the next build makes it. (A number in both that
/// a compiler or a loader compares would find a mismatch; this way there is none.)
class FileSet {
 public:
  /// `before_step` is called before each change of a file's place: tests end the process there.
  explicit FileSet(std::function<void()> before_step = {}) : before_step_(std::move(before_step)) {}
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;
  /// Removes files that did not take their places.
  ~FileSet();

  /// Writes a file that is to be at `path`. A path that is no file (a pipe, /dev/null) is written to at once. An error
  /// of `write` is returned as it is; other errors are usage errors of one line with the system's reason. Removes the
  /// .part files of `path` whose writers are gone.
  Status add(const std::string& path, const std::function<Status(std::ostream&)>& write);
  Status add(const std::string& path, std::string_view text);
  /// The parts one after the other.
  Status add(const std::string& path, std::initializer_list<std::string_view> parts);

  /// Where the bytes of each file that was added are until commit(), by the path that it is to have; none of devices.
  std::vector<std::pair<std::string, std::string>> written() const;

  /// The files take their places, in the order in which they were added. Where another build does the same with the
  /// same paths at the same time, and the last file would speak for files of that one, it is removed, and the error
  /// says so.
  Status commit();

 private:
  // A file that was written.
  struct Part {
    std::string path, fresh;
    int lock = -1;  // of the temporary file, held for as long as it has a writer
    bool is_placed = false;
  };
  static StatusOr<Part> make_part(const std::string& path);
  static bool is_in_place(const Part& part);
  void before_step() const {
    if (before_step_) before_step_();
  }

  const std::function<void()> before_step_;
  std::vector<Part> parts_;
};

}  // namespace hone
