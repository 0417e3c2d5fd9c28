// Runs a part of a sandbox test in a process of its own.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace hone::agent {

// Runs `body` in a child; its return value is the exit code.
template <class Body>
int in_child(const Body& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline bool opens(const std::string& path, int flags = O_RDONLY) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

}  // namespace hone::agent
