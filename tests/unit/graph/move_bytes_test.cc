// Bytes are moved before they are dequantised.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

const std::string kInput = "graph g\ninput \"x\" %x u8[2, 6, 5]\n";
const std::string kDequantised =
    "%c = elementwise(op=cast:f32,shape=2x6x5,operands=none,dtype=u8) %x\n"
    "%s = elementwise(op=sub[7]+mul[0.5],shape=2x6x5,operands=none) %c\n";

TEST(MoveBytes, ThroughSeveralMoves) {
  const Graph g = read_graph(kInput + kDequantised +
                             "%r = reshape(shape=2x6x5,to=2x2x3x5) %s\n%t = transpose(shape=2x2x3x5,perm=0:2:1:3) %r\n"
                             "%y = slice(shape=2x3x2x5,begin=0:1:0:0,step=1:1:1:1,size=2x2x2x5) %t\n"
                             "output \"y\" %y f32[2, 2, 2, 5]\n");
  const Graph made = move_bytes(g, test_context());
  const std::string text = to_string(made);
  EXPECT_THAT(text, HasSubstr("transpose(shape=2x2x3x5,perm=0:2:1:3,dtype=u8)"));
  EXPECT_THAT(text, HasSubstr("elementwise(op=cast:f32+sub[7]+mul[0.5],shape=2x2x2x5,"));
  EXPECT_EQ(count_of(made, "elementwise"), 1);
  expect_same_values(g, made);
}

TEST(MoveBytes, ConcatenationsOfWhatIsDequantisedAlike) {
  const auto concatenated = [](const std::string& other) {
    return kInput + kDequantised + "input \"z\" %z u8[2, 3, 5]\n" + "%d = elementwise(op=" + other +
           ",shape=2x3x5,operands=none,dtype=u8) %z\n" +
           "%y = concat(shapes=2x6x5:2x3x5,axis=1) %s %d\noutput \"y\" %y f32[2, 9, 5]\n";
  };
  // Inputs stand first in a text.
  const auto read = [](std::string text) {
    const std::string second = "input \"z\" %z u8[2, 3, 5]\n";
    text.erase(text.find(second), second.size());
    text.insert(text.find("%c ="), second);
    return read_graph(text);
  };
  const Graph alike = read(concatenated("cast:f32+sub[7]+mul[0.5]"));
  EXPECT_THAT(to_string(move_bytes(alike, test_context())), HasSubstr("concat(shapes=2x6x5:2x3x5,axis=1,dtype=u8)"));
  expect_same_values(alike, move_bytes(alike, test_context()));
  const Graph other = read(concatenated("cast:f32+sub[8]+mul[0.5]"));
  EXPECT_EQ(to_string(move_bytes(other, test_context())), to_string(other));
}

// Texts of nodes behind each other are none of one node: a conversion joins the function before it. And one node holds
// so many functions and no more.
TEST(MoveBytes, FunctionsOfSeveralNodes) {
  const Graph wide = read_graph(kInput + kDequantised +
                                "%d = elementwise(op=cast:f64,shape=2x6x5,operands=none) %s\n%y = "
                                "transpose(shape=2x6x5,perm=1:0:2,dtype=f64) %d\noutput \"y\" %y f64[6, 2, 5]\n");
  EXPECT_THAT(to_string(move_bytes(wide, test_context())), HasSubstr("op=cast:f32+sub[7]+mul[0.5]:f64,shape=6x2x5"));
  expect_same_values(wide, move_bytes(wide, test_context()));
  std::string lines = kInput + kDequantised;
  std::string last = "s";
  for (int i = 0; i < 20; ++i) {
    const std::string next = "m" + std::to_string(i);
    lines += "%" + next + " = elementwise(op=mul[1.5],shape=2x6x5,operands=none) %" + last + "\n";
    last = next;
  }
  const Graph many =
      read_graph(lines + "%y = transpose(shape=2x6x5,perm=1:0:2) %" + last + "\noutput \"y\" %y f32[6, 2, 5]\n");
  EXPECT_EQ(to_string(move_bytes(many, test_context())), to_string(many));
}

// Floats that others read stay there for them; other functions stay in front.
TEST(MoveBytes, OthersStay) {
  const Graph g = read_graph(kInput + kDequantised +
                             "%y = transpose(shape=2x6x5,perm=1:0:2) %s\noutput \"y\" %y f32[6, 2, 5]\noutput \"s\" %s "
                             "f32[2, 6, 5]\n");
  const Graph made = move_bytes(g, test_context());
  EXPECT_THAT(to_string(made), HasSubstr("transpose(shape=2x6x5,perm=1:0:2,dtype=u8) %x"));
  expect_same_values(g, made);
  const std::string text = kInput +
                           "%s = elementwise(op=cast:f32+sigmoid,shape=2x6x5,operands=none,dtype=u8) %x\n"
                           "%y = transpose(shape=2x6x5,perm=1:0:2) %s\noutput \"y\" %y f32[6, 2, 5]\n";
  EXPECT_EQ(to_string(move_bytes(read_graph(text), test_context())), to_string(read_graph(text)));
}

}  // namespace
}  // namespace hone
