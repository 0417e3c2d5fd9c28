// Functions from a byte to a byte as tables.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

PassContext of_vectors() {
  PassContext c = test_context();
  c.lanes = 16;
  return c;
}

// Lines of elementwise operators on [2, 300]: `%name = op inputs`, of a type.
std::string line(const std::string& name, const std::string& op, const std::string& dtype, const std::string& inputs,
                 const std::string& operands = "none") {
  return "%" + name + " = elementwise(op=" + op + ",shape=2x300,operands=" + operands + ",dtype=" + dtype + ") " +
         inputs + "\n";
}
std::string graph_of(const std::string& lines, const std::string& in = "u8", const std::string& out = "u8") {
  return "graph g\ninput \"x\" %x " + in + "[2, 300]\n" + lines + "output \"y\" %y " + out + "[2, 300]\n";
}

TEST(UseTables, OneNode) {
  const Graph g =
      read_graph(graph_of(line("y", "cast:f32+sub[120]+mul[0.08]+sigmoid+mul[255]+round+saturate:u8", "u8", "%x")));
  const Graph made = use_tables(g, of_vectors());
  EXPECT_THAT(to_string(made), HasSubstr("lookup(shape=2x300,index=u8,dtype=u8) %x"));
  EXPECT_EQ(made.nodes.size(), 1U);
  expect_same_values(g, made);
}

// silu as exporters quantise it: two ways from one byte, one of them over another byte.
TEST(UseTables, SeveralNodesAndWays) {
  const std::string text =
      graph_of(line("d", "cast:f32+sub[5]+mul[0.05]", "s8", "%x") +
                   line("s", "sigmoid+div[0.0039]+round+saturate:u8", "f32", "%d") +
                   line("e", "cast:f32+mul[0.0039]", "u8", "%s") + line("m", "mul", "f32", "%d %e", "same") +
                   line("y", "div[0.04]+round+add[7]+saturate:s8", "f32", "%m"),
               "s8", "s8");
  const Graph g = read_graph(text), made = use_tables(g, of_vectors());
  EXPECT_THAT(to_string(made), HasSubstr("lookup(shape=2x300,index=s8,dtype=s8) %x"));
  EXPECT_EQ(made.nodes.size(), 1U);
  expect_same_values(g, made);
}

// The number of a scale may be a constant of one element; where several values are read, each byte has its table.
TEST(UseTables, ConstantsOfOneElement) {
  const std::string text = "graph g\ninput \"x\" %x u8[2, 300]\n%c = constant f32[1, 1] [0.03]\n" +
                           line("a", "cast:f32+mul+tanh+mul[127]+round+saturate:s8", "u8", "%x %c", "1x1") +
                           line("y", "cast:f32+mul+exp+round+saturate:u8", "s8", "%a %c", "1x1") +
                           "output \"y\" %y u8[2, 300]\noutput \"a\" %a s8[2, 300]\n";
  const Graph g = read_graph(text), made = use_tables(g, of_vectors());
  EXPECT_EQ(count_of(made, "lookup"), 2);
  EXPECT_EQ(made.nodes.size(), 2U);
  EXPECT_THAT(to_string(made), HasSubstr("lookup(shape=2x300,index=u8,dtype=u8) %x"));
  expect_same_values(g, made);
}

TEST(UseTables, WhatIsShortOrNoFunctionOfOneByteStays) {
  const auto unchanged = [](const std::string& text) {
    const Graph g = read_graph(text);
    EXPECT_EQ(to_string(use_tables(g, of_vectors())), to_string(g));
  };
  unchanged(
      graph_of(line("y", "cast:f32+sub[120]+mul[0.08]+relu+round+saturate:u8", "u8", "%x")));  // a few instructions
  unchanged(graph_of(line("y", "sigmoid+mul[255]+round+saturate:u8", "f32", "%x"), "f32"));    // of a float
  unchanged(graph_of(line("y", "cast:f32+sigmoid", "u8", "%x"), "u8", "f32"));                 // to a float
  unchanged("graph g\ninput \"x\" %x u8[2, 300]\ninput \"z\" %z u8[2, 300]\n" +                // of two bytes
            line("f", "cast:f32", "u8", "%z") +
            line("y", "cast:f32+mul+sigmoid+mul[255]+round+saturate:u8", "u8", "%x %f", "same") +
            "output \"y\" %y u8[2, 300]\n");
  unchanged("graph g\ninput \"x\" %x u8[2, 300]\n%c = constant f32[1, 300] fill 2\n" +  // by column
            line("y", "cast:f32+mul+sigmoid+mul[255]+round+saturate:u8", "u8", "%x %c", "1x300") +
            "output \"y\" %y u8[2, 300]\n");
  // On GPUs no image lies in blocks.
  const Graph g = read_graph(graph_of(line("y", "cast:f32+sigmoid+mul[255]+round+saturate:u8", "u8", "%x")));
  EXPECT_EQ(to_string(use_tables(g, test_context())), to_string(g));
}

// A lookup between convolutions in blocks of channels is in blocks, and its padding has the table's value.
TEST(UseTables, LookupsLieInBlocks) {
  const std::string conv =
      "conv2d(n=1,ci=60,h=6,w=6,co=60,kh=1,kw=1,pad=0,layout=NCHW,dtype=u8:s8:s32:s32,epilogue=cast:f32+mul[0.01]+"
      "round+saturate:"
      "u8)";
  std::string weights = "%w = constant s8[60, 60, 1, 1] fill 3\n";
  const std::string text = "graph g\ninput \"x\" %x u8[1, 60, 6, 6]\n" + weights + "%a = " + conv + " %x %w\n" +
                           "%t = constant u8[256] fill 9\n%b = lookup(shape=1x60x6x6) %a %t\n%y = " + conv +
                           " %b %w\noutput \"y\" %y u8[1, 60, 6, 6]\n";
  const Graph g = read_graph(text), made = choose_layouts(g, of_vectors());
  EXPECT_THAT(to_string(made), HasSubstr("lookup(shape=1x4x6x6x16,"));
  expect_same_values(g, made);
}

}  // namespace
}  // namespace hone
