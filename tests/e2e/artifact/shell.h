// Programs run by the shell.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace hone {

struct Ran {
  int code;
  std::string output;  ///< of stdout and stderr
};
inline Ran shell(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  const int status = pclose(pipe);
  return {WEXITSTATUS(status), output};
}

inline const std::string kBin = HONE_BIN_DIR;

}  // namespace hone
