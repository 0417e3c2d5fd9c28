// The linker's output on its way to a file.
#pragma once

#include <array>
#include <string>
#include <thread>

#include "base/file_set.h"
#include "base/status.h"

namespace hone {

/// A pipe for the linker to write to, and a thread that writes its output to a file of a set. lld would map a plain
/// file, and on a full disk a store to a mapping ends the process (SIGBUS); to a pipe it writes from memory.
class LinkerOutput {
 public:
  /// For the file `path`, to be added to `files`, which outlive this. UserError when the system has no pipe or thread
  /// for it.
  LinkerOutput(std::string path, FileSet& files);
  LinkerOutput(const LinkerOutput&) = delete;
  /// Without end_file() before, nothing is added.
  ~LinkerOutput() { end(/*is_whole=*/false); }

  /// The name under which this process opens the pipe.
  const char* pipe() const { return name_.c_str(); }
  /// The linker is done: afterwards the file is one of the set, whole. A usage error of one line when it cannot be
  /// written.
  Status end_file();

 private:
  void write();
  size_t next(char* to, size_t most);
  void end(bool is_whole);

  const std::string path_;
  FileSet& files_;
  std::array<int, 2> pipe_{-1, -1};
  int ended_ = -1;  // an event: no more comes
  std::string name_;
  bool is_whole_ = false;
  Status written_;
  std::thread writer_;
};

}  // namespace hone
