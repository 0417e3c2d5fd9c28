#include "compiler/codegen/llvm/link/linker_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"

namespace hone {

LinkerOutput::LinkerOutput(std::string path, FileSet& files)
    : path_(std::move(path)), files_(files), ended_(eventfd(0, EFD_CLOEXEC)) {
  std::string why;
  if (ended_ < 0 || pipe2(pipe_.data(), O_CLOEXEC) != 0) why = strerror(errno);
  name_ = "/proc/self/fd/" + std::to_string(pipe_[1]);
  if (why.empty()) try {
      writer_ = std::thread([this] { write(); });
    } catch (const std::system_error& e) {
      why = e.what();
    }
  if (why.empty()) return;
  end(false);
  HONE_USER_CHECK(false) << "cannot link '" << path_ << "': " << why;
}

Status LinkerOutput::end_file() {
  end(/*is_whole=*/true);
  return written_;
}

void LinkerOutput::write() {
  std::vector<char> part(size_t{1} << 16);
  written_ = files_.add(path_, [&](std::ostream& file) {
    while (const size_t n = next(part.data(), part.size())) file.write(part.data(), static_cast<std::streamsize>(n));
    return is_whole_ ? absl::OkStatus() : absl::CancelledError();
  });
  // Where the file could not be opened, the linker still waits for the pipe to be read.
  while (next(part.data(), part.size()) > 0) continue;
}

// Bytes that the linker wrote; 0: it is done. That the pipe has no other end is no sign of it: a process that was
// forked meanwhile keeps one.
size_t LinkerOutput::next(char* to, size_t most) {
  while (true) {
    pollfd both[] = {{pipe_[0], POLLIN, 0}, {ended_, POLLIN, 0}};
    if (poll(both, 2, -1) < 0) continue;  // a signal
    if (!(both[0].revents & POLLIN)) return 0;
    if (const ssize_t n = read(pipe_[0], to, most); n >= 0) return static_cast<size_t>(n);
  }
}

void LinkerOutput::end(bool is_whole) {
  if (writer_.joinable()) {
    is_whole_ = is_whole;
    eventfd_write(ended_, 1);
    writer_.join();
  }
  for (int* const fd : {&pipe_[0], &pipe_[1], &ended_})
    if (*fd >= 0) close(std::exchange(*fd, -1));
}

}  // namespace hone
