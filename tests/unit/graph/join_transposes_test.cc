// Transposes of transposes with other shapes between them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "compiler/graph/passes/passes.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

// Joined, and views made simple.
Graph joined(const Graph& g) { return simplify_movement(join_transposes(g, test_context()), test_context()); }

// That both transposes of a graph stay.
void expect_apart(const Graph& g) {
  const Graph after = joined(g);
  EXPECT_EQ(count_of(after, "transpose"), 2) << to_string(after);
  expect_same_values(g, after);
}

// A deconvolution's: from blocks of channels to planes, pixels put in their places, and back.
TEST(JoinTransposes, ThroughPlanes) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[1, 4, 3, 5, 8]
%a = transpose(shape=1x4x3x5x8,perm=0:1:4:2:3) %x
%b = reshape(shape=1x4x8x3x5,to=1x2x2x8x3x5) %a
%c = transpose(shape=1x2x2x8x3x5,perm=0:3:4:1:5:2) %b
%d = reshape(shape=1x8x3x2x5x2,to=1x1x8x6x10) %c
%e = transpose(shape=1x1x8x6x10,perm=0:1:3:4:2) %d
output "e" %e f32[1, 1, 6, 10, 8]
)");
  const Graph after = joined(g);
  EXPECT_EQ(count_of(after, "transpose"), 1);
  EXPECT_THAT(to_string(after), HasSubstr("transpose(shape=2x2x3x5x8,perm=2:0:3:1:4"));
  expect_same_values(g, after);
}

TEST(JoinTransposes, ToNothing) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[6, 8]
%a = transpose(shape=6x8,perm=1:0) %x
%b = reshape(shape=8x6,to=2x4x6) %a
%c = transpose(shape=2x4x6,perm=2:0:1) %b
output "c" %c f32[6, 2, 4]
)");
  const Graph after = joined(g);
  EXPECT_EQ(count_of(after, "transpose"), 0);
  expect_same_values(g, after);
}

// A shuffle of two groups in front of blocks of 4: pairs of elements would be moved one by one.
TEST(JoinTransposes, NotWhereFewElementsStayTogether) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[2, 6, 9]
%a = transpose(shape=2x6x9,perm=1:0:2) %x
%b = reshape(shape=6x2x9,to=3x4x9) %a
%c = transpose(shape=3x4x9,perm=0:2:1) %b
output "c" %c f32[3, 9, 4]
)");
  expect_apart(g);
}

// Rows of 4 are no pieces of rows of 3.
TEST(JoinTransposes, NotOfAxesThatCrossEachOther) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[3, 4]
%a = transpose(shape=3x4,perm=1:0) %x
%b = reshape(shape=4x3,to=3x4) %a
%c = transpose(shape=3x4,perm=1:0) %b
output "c" %c f32[4, 3]
)");
  expect_apart(g);
}

TEST(JoinTransposes, OthersStillReadTheFirst) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[4, 6]
%a = transpose(shape=4x6,perm=1:0) %x
%b = reshape(shape=6x4,to=2x3x4) %a
%c = transpose(shape=2x3x4,perm=1:2:0) %b
output "a" %a f32[6, 4]
output "c" %c f32[3, 4, 2]
)");
  expect_same_values(g, joined(g));
}

// Chains of random transposes under random shapes: never other values, and where shapes are pieces of each other, one.
TEST(JoinTransposes, RandomChains) {
  std::mt19937_64 random(9);
  int joints = 0;
  for (int round = 0; round < 200; ++round) {
    std::string text = "graph g\ninput \"x\" %v0 f32[2, 12, 8, 10]\n";
    Extents shape{2, 12, 8, 10};
    const int moves = 2 + static_cast<int>(random() % 3);
    for (int m = 0; m < moves; ++m) {
      // Another shape: two neighbours become one, or an axis of 4 two, or one of 1 comes in.
      Extents other = shape;
      const size_t at = random() % other.size();
      if (random() % 3 == 0 && other.size() < 6) other.insert(other.begin() + static_cast<std::ptrdiff_t>(at), 1);
      if (random() % 2 == 0 && at + 1 < other.size()) {
        other[at] *= other[at + 1];
        other.erase(other.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      } else if (other[at] % 2 == 0 && other.size() < 6) {
        other[at] /= 2;
        other.insert(other.begin() + static_cast<std::ptrdiff_t>(at), 2);
      }
      text += fmt::format("%r{} = reshape(shape={},to={}) %v{}\n", m, fmt::join(shape, "x"), fmt::join(other, "x"), m);
      std::vector<size_t> perm(other.size());
      std::iota(perm.begin(), perm.end(), size_t{0});
      std::shuffle(perm.begin(), perm.end(), random);
      text += fmt::format("%v{} = transpose(shape={},perm={}) %r{}\n", m + 1, fmt::join(other, "x"),
                          fmt::join(perm, ":"), m);
      shape.clear();
      for (const size_t axis : perm) shape.push_back(other[axis]);
    }
    text += fmt::format("output \"y\" %v{} f32[{}]\n", moves, fmt::join(shape, ", "));
    const Graph g = read_graph(text), after = joined(g);
    joints += count_of(after, "transpose") < moves ? 1 : 0;
    expect_same_values(g, after);
    if (HasFailure()) return;
  }
  EXPECT_GT(joints, 50);
}

}  // namespace
}  // namespace hone
