// What a pass makes of a graph, as text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/graph/read_graph.h"

namespace hone {

using GraphPass = Graph (*)(const Graph&, const PassContext&);

// The nodes and outputs of what a pass makes; the result is verified and its text read again.
inline std::string lines_of(const Graph& g) {
  verify(g);
  const std::string text = to_string(g);
  EXPECT_EQ(to_string(read_graph(text)), text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (!line.starts_with("graph") && !line.starts_with("input")) out += line + "\n";
    at = end + 1;
  }
  return out;
}
inline std::string after(GraphPass pass, const std::string& lines) {
  return lines_of(pass(read_graph("graph g\n" + lines), test_context()));
}
// The same lines as canonical texts.
inline void expect_unchanged(GraphPass pass, const std::string& lines) {
  EXPECT_EQ(after(pass, lines), lines_of(read_graph("graph g\n" + lines)));
}

}  // namespace hone
