// How much a terminal shows.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>

namespace hone {

/// The columns of the terminal that `fd` is: 100 where it does not say; 0: it is none, so nothing is to be cut.
inline size_t terminal_columns(int fd) {
  if (!isatty(fd)) return 0;
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

}  // namespace hone
