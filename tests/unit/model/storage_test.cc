// Layers that need no code because their values lie in place: views, slices and concatenations.
#include "compiler/model/plan/storage.h"

#include <gtest/gtest.h>

#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

ValueId value_of(const Graph& g, const std::string& name) {
  for (size_t v = 0; v < g.values.size(); ++v)
    if (g.values[v].name == name) return static_cast<ValueId>(v);
  throw std::runtime_error("no value " + name);
}
size_t node_of(const Graph& g, const std::string& output) {
  for (size_t n = 0; n < g.nodes.size(); ++n)
    if (g.nodes[n].outputs[0] == value_of(g, output)) return n;
  throw std::runtime_error("no node " + output);
}

// Two values computed from an input: %a and %b, f32[1, 2, 6].
constexpr const char* kBegin = R"(graph g
input "x" %x f32[1, 2, 6]
%a = elementwise(op=relu,shape=1x2x6) %x
%b = elementwise(op=exp,shape=1x2x6) %x
)";

TEST(Storage, SlicesThatFollowEachOtherArePartsOfTheirInput) {
  const Graph g = read_graph(std::string(kBegin) + R"(
%row = slice(shape=1x2x6,begin=0:1:0,step=1,size=1x1x6) %a
%rest = slice(shape=1x1x6,begin=0:0:2,step=1,size=1x1x4) %row
%columns = slice(shape=1x2x6,begin=0:0:1,step=1,size=1x2x3) %a
%odd = slice(shape=1x2x6,begin=0:0:1,step=1:1:2,size=1x1x3) %a
%back = slice(shape=1x2x6,begin=0:1:0,step=1:-1:1,size=1x2x6) %a
%y = elementwise(op=relu,shape=1x1x4) %rest
output "y" %y f32[1, 1, 4]
output "columns" %columns f32[1, 2, 3]
output "odd" %odd f32[1, 1, 3]
output "back" %back f32[1, 2, 6]
)");
  const Storage s(g);
  EXPECT_TRUE(s.is_free(node_of(g, "row")));
  EXPECT_EQ(s.root(value_of(g, "rest")), value_of(g, "a"));
  EXPECT_EQ(s.offset(value_of(g, "rest")), (6 + 2) * 4);
  for (const char* name : {"columns", "odd", "back", "y"}) {
    EXPECT_FALSE(s.is_free(node_of(g, name))) << name;
    EXPECT_EQ(s.root(value_of(g, name)), value_of(g, name)) << name;
  }
}

TEST(Storage, ConcatenatedValuesArePartsOfTheResult) {
  const Graph g = read_graph(std::string(kBegin) + R"(
%flat = reshape(shape=1x2x6,to=1x12) %a
%wide = reshape(shape=1x2x6,to=1x12) %b
%both = concat(shapes=1x12:1x12,axis=1) %flat %wide
%c = elementwise(op=relu,shape=1x24) %both
%all = concat(shapes=1x24:1x24,axis=1) %both %c
%y = elementwise(op=relu,shape=1x48) %all
output "y" %y f32[1, 48]
)");
  const Storage s(g);
  EXPECT_TRUE(s.is_free(node_of(g, "both")));
  EXPECT_TRUE(s.is_free(node_of(g, "all")));
  const auto lies = [&](const char* name, int64_t offset) {
    EXPECT_EQ(s.root(value_of(g, name)), value_of(g, "all")) << name;
    EXPECT_EQ(s.offset(value_of(g, name)), offset) << name;
  };
  lies("a", 0);
  lies("wide", 12 * 4);
  lies("b", 12 * 4);
  lies("both", 0);
  lies("c", 24 * 4);
}

TEST(Storage, OfListsThatGrowTheLongestHoldsAll) {
  const Graph g = read_graph(std::string(kBegin) + R"(
%two = concat(shapes=1x2x6:1x2x6,axis=1) %a %b
%c = elementwise(op=relu,shape=1x4x6) %two
%three = concat(shapes=1x2x6:1x2x6:1x4x6,axis=1) %a %b %c
%d = elementwise(op=relu,shape=1x8x6) %three
%four = concat(shapes=1x2x6:1x2x6:1x4x6:1x8x6,axis=1) %a %b %c %d
%last = concat(shapes=1x4x6:1x8x6,axis=1) %c %d
%y = elementwise(op=relu,shape=1x16x6) %four
%z = elementwise(op=relu,shape=1x12x6) %last
output "y" %y f32[1, 16, 6]
output "z" %z f32[1, 12, 6]
)");
  const Storage s(g);
  const auto lies = [&](const char* name, int64_t offset) {
    EXPECT_EQ(s.root(value_of(g, name)), value_of(g, "four")) << name;
    EXPECT_EQ(s.offset(value_of(g, name)), offset) << name;
  };
  for (const char* name : {"two", "three", "four", "last"}) EXPECT_TRUE(s.is_free(node_of(g, name))) << name;
  lies("a", 0);
  lies("b", 12 * 4);
  lies("two", 0);
  lies("c", 24 * 4);
  lies("three", 0);
  lies("d", 48 * 4);
  lies("last", 24 * 4);
}

TEST(Storage, WhatCannotMoveIsCopied) {
  const auto is_free = [](const std::string& lines, const std::string& name) {
    const Graph g = read_graph(kBegin + lines);
    return Storage(g).is_free(node_of(g, name));
  };
  const std::string end = "output \"y\" %y f32[1, 4, 6]\n";
  EXPECT_TRUE(is_free("%y = concat(shapes=1x2x6:1x2x6,axis=1) %a %b\n" + end, "y")) << "the caller's tensor is written";
  EXPECT_FALSE(is_free("%y = concat(shapes=1x2x6:1x2x6,axis=1) %a %a\n" + end, "y")) << "twice";
  EXPECT_FALSE(is_free("%y = concat(shapes=1x2x6:1x2x6,axis=1) %a %x\n" + end, "y")) << "an input";
  EXPECT_FALSE(is_free("%y = concat(shapes=1x2x6:1x2x6,axis=1) %a %b\noutput \"b\" %b f32[1, 2, 6]\n" + end, "y"));
  EXPECT_FALSE(
      is_free("%v = reshape(shape=1x2x6,to=12) %b\n%y = concat(shapes=1x2x6:1x2x6,axis=1) %a %b\n"
              "output \"v\" %v f32[12]\n" +
                  end,
              "y"))
      << "a view is an output";
  EXPECT_FALSE(is_free("%k = constant f32[1, 2, 6] fill 1\n%y = concat(shapes=1x2x6:1x2x6,axis=1) %a %k\n" + end, "y"));
  EXPECT_FALSE(
      is_free("%s = slice(shape=1x2x6,begin=0:1:0,step=1,size=1x1x6) %a\n"
              "%y = concat(shapes=1x1x6:1x2x6,axis=1) %s %b\noutput \"y\" %y f32[1, 3, 6]\n",
              "y"))
      << "a part of something";
  EXPECT_FALSE(is_free("%y = concat(shapes=1x2x6:1x2x6,axis=2) %a %b\noutput \"y\" %y f32[1, 2, 12]\n", "y"))
      << "rows by turns";
  // The first of two that want a value has it.
  const std::string twice =
      "%y = concat(shapes=1x2x6:1x2x6,axis=1) %a %b\n%z = concat(shapes=1x2x6:1x2x6,axis=1) %b %a\n"
      "output \"z\" %z f32[1, 4, 6]\n" +
      end;
  EXPECT_TRUE(is_free(twice, "y"));
  EXPECT_FALSE(is_free(twice, "z"));
}

// Buffers of GPUs begin at certain bytes alone: a value that would lie elsewhere is copied.
TEST(Storage, PartsBeginAtTheAlignmentThatIsAskedFor) {
  const Graph g = read_graph(std::string(kBegin) + R"(
%row = slice(shape=1x2x6,begin=0:1:0,step=1,size=1x1x6) %a
%rest = slice(shape=1x1x6,begin=0:0:2,step=1,size=1x1x4) %row
%all = concat(shapes=1x2x6:1x2x6,axis=1) %a %b
%y = elementwise(op=relu,shape=1x1x4) %rest
%z = elementwise(op=relu,shape=1x4x6) %all
output "y" %y f32[1, 1, 4]
output "z" %z f32[1, 4, 6]
)");
  const auto are_free = [&](int64_t alignment) {
    const Storage s(g, nullptr, alignment);
    std::vector<bool> out;
    for (const char* name : {"row", "rest", "all"}) {
      out.push_back(s.is_free(node_of(g, name)));
      EXPECT_EQ(out.back(), s.why_copied(node_of(g, name)).empty());
      EXPECT_EQ(s.offset(value_of(g, name)) % alignment, 0);
    }
    return out;
  };
  EXPECT_EQ(are_free(8), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(are_free(24), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(are_free(48), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(are_free(64), (std::vector<bool>{false, false, false}));
}

}  // namespace
}  // namespace hone
