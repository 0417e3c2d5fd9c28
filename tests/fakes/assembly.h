// Reads assembly texts: the instructions of innermost loops.
#pragma once

#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace hone {

// The innermost loops of an assembly text: the lines from a label to the jump back to it, without another label
// between.
inline std::vector<std::vector<std::string>> innermost_loops(const std::string& assembly) {
  static const std::regex label(R"(^(\.L[A-Za-z0-9_]+):.*)"),
      jump(R"(^\s+(?:j[a-z]+|b\.[a-z]+|cbn?z|tbn?z|b)\s.*?(\.L[A-Za-z0-9_]+)\s*$)");
  std::vector<std::vector<std::string>> out;
  std::vector<std::string> lines;
  std::string current, line;
  std::istringstream in(assembly);
  while (std::getline(in, line)) {
    std::smatch match;
    if (std::regex_match(line, match, label)) {
      current = match[1];
      lines.clear();
    } else if (std::regex_match(line, match, jump)) {
      if (match[1] == current) out.push_back(lines);
    } else {
      lines.push_back(line);
    }
  }
  return out;
}

inline int count_matching(const std::vector<std::string>& lines, const std::string& pattern) {
  const std::regex re(pattern);
  int n = 0;
  for (const std::string& l : lines) n += std::regex_search(l, re);
  return n;
}

// A vector stored, or one on the stack.
inline const char kX86Store[] = R"(\s+v?mov[a-z0-9]*\s+%[xyz]mm[0-9]+, .*\(|\(%r[sb]p)";
inline const char kArmStore[] = R"(\s+st[rp]\s+q|\[sp)";

}  // namespace hone
