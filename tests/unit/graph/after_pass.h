// The graph that a pass makes, as text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compiler/graph/element_text.h"
#include "compiler/graph/evaluate.h"
#include "compiler/ir/layout.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {

using GraphPass = Graph (*)(const Graph&, const PassContext&);

// The lines of a text that `is_wanted` chooses.
template <class Choice>
std::string lines_where(const std::string& text, const Choice& is_wanted) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (is_wanted(line)) out += line + "\n";
    at = end + 1;
  }
  return out;
}

// The nodes and outputs of a pass's result; it is verified and its text read again.
inline std::string lines_of(const Graph& g) {
  verify(g);
  const std::string text = to_string(g);
  EXPECT_EQ(to_string(read_graph(text)), text);
  return lines_where(text,
                     [](const std::string& line) { return !line.starts_with("graph") && !line.starts_with("input"); });
}
// The nodes alone.
inline std::string nodes_of(const Graph& g) {
  verify(g);
  return lines_where(to_string(g), [](const std::string& line) {
    return line.find(" = ") != std::string::npos && line.find(" = constant ") == std::string::npos;
  });
}
inline std::string after(GraphPass pass, const std::string& lines) {
  return lines_of(pass(read_graph("graph g\n" + lines), test_context()));
}
// The same lines as canonical texts.
inline void expect_unchanged(GraphPass pass, const std::string& lines) {
  EXPECT_EQ(after(pass, lines), lines_of(read_graph("graph g\n" + lines)));
}

// Elements of an input: small ones, and all bytes where it is one of bytes, which saturate then, and are negative.
inline std::string input_elements(const TensorType& t, size_t input) {
  const int64_t count = element_count(t.shape);
  std::string out = filled_elements(t.dtype, count, input + 1);
  for (int64_t i = 0; (t.dtype == u8 || t.dtype == i8) && i < count; ++i)
    out[static_cast<size_t>(i)] = static_cast<char>((i * 167 + static_cast<int64_t>(input) * 59 + i / 256) % 256);
  return out;
}

// Interpreted on the same inputs, both give the same outputs, off by `tolerance` at most.
inline void expect_same_values(const Graph& before, const Graph& after, double tolerance = 0) {
  verify(after);
  std::vector<TensorData> inputs;
  for (const Port& p : before.inputs) inputs.emplace_back(p.type, input_elements(p.type, inputs.size()));
  const auto wanted = interpret(before, inputs, &evaluate), got = interpret(after, inputs, &evaluate);
  ASSERT_FALSE(wanted.empty()) << "nothing to compare";
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t o = 0; o < got.size(); ++o) {
    EXPECT_EQ(got[o].type(), wanted[o].type());
    EXPECT_THAT(got[o].values(), testing::Pointwise(testing::DoubleNear(tolerance), wanted[o].values()))
        << to_string(before);
  }
}

// The pass makes `wanted` of these lines, and both compute the same, off by `tolerance` at most.
inline void expect_becomes(GraphPass pass, const std::string& lines, const std::string& wanted, double tolerance = 0) {
  const Graph before = read_graph("graph g\n" + lines), made = pass(before, test_context());
  EXPECT_EQ(lines_of(made), wanted);
  expect_same_values(before, made, tolerance);
}

inline int count_of(const Graph& g, std::string_view task) {
  return static_cast<int>(
      std::count_if(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return n.workload.operator_name() == task; }));
}

}  // namespace hone
