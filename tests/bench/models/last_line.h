// The last words of a program that failed.
#pragma once

#include <fstream>
#include <string>

#include "base/text.h"

namespace hone::bench {

/// The last line of `file` that is not empty, made harmless; empty when there is none.
inline std::string last_line(const std::string& file) {
  std::ifstream in(file);
  std::string line, last;
  while (std::getline(in, line))
    if (!line.empty()) last = line;
  return clean_line(last, 400);
}

}  // namespace hone::bench
