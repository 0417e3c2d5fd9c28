// Products of dequantised bytes as sums of bytes.
#include <gmock/gmock.h>

#include <cstring>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

Graph narrowed(const Graph& g) { return narrow_products(g, test_context()); }

// Weights of two output channels: whole numbers times 0.5 and times 0.03.
const std::string kWeights =
    "%w = constant f32[2, 3, 1, 2] [0.5, -1, 63.5, 0, 2, -64, 0.03, -0.06, 0.09, 3.81, -3.84, 0]\n";

std::string conv_of(const std::string& type, const std::string& steps, const std::string& attributes = "pad=1") {
  return "graph g\ninput \"x\" %x " + type + "[1, 3, 4, 5]\n%d = elementwise(op=" + steps +
         ",shape=1x3x4x5,operands=none,dtype=" + type + ") %x\n" + kWeights +
         "%b = constant f32[2] [0.7, -0.2]\n%y = conv2d(n=1,ci=3,h=4,w=5,co=2,kh=1,kw=2," + attributes +
         ",layout=NCHW,epilogue=bias) %d %w %b\noutput \"y\" %y f32[1, 2, " +
         (attributes == "pad=1" ? "6, 6" : "4, 4") + "]\n";
}

TEST(NarrowProducts, ConvolutionsOfDequantisedBytesSumBytes) {
  const Graph g = read_graph(conv_of("u8", "cast:f32+sub[124]+mul[0.02]"));
  const Graph made = narrowed(g);
  const std::string text = to_string(made);
  // Three channels are filled up to a word, and the border is the zero point.
  EXPECT_THAT(text, HasSubstr("conv2d(n=1,ci=4,h=4,w=5,co=2,kh=1,kw=2,stride=1,pad=1,dilation=1,groups=1,layout=NCHW,"
                              "dtype=u8:s8:s32:s32,epilogue=none,border=124)"));
  expect_same_values(g, made, 1e-4);
}

TEST(NarrowProducts, WithoutPaddingThereIsNoBorder) {
  const Graph g = read_graph(conv_of("u8", "cast:f32+sub[124]+mul[0.02]", "pad=0"));
  EXPECT_THAT(to_string(narrowed(g)), testing::Not(HasSubstr("border")));
  expect_same_values(g, narrowed(g), 1e-4);
}

TEST(NarrowProducts, SignedBytesBecomeUnsignedOnes128Higher) {
  const Graph g = read_graph(conv_of("s8", "cast:f32+sub[-5]+mul[0.02]"));
  EXPECT_THAT(to_string(narrowed(g)), HasSubstr("border=123"));
  expect_same_values(g, narrowed(g), 1e-4);
}

// A negative scale, and functions of other spellings: only their results for each byte count.
TEST(NarrowProducts, AnyFunctionsThatGiveEqualStepsCount) {
  for (const char* steps :
       {"cast:f32+mul[-0.02]", "cast:f32+mul[0.02]+sub[2.48]", "cast:s32+sub[7]:f32+mul[0.5]", "cast:f32+rsub[12]"}) {
    const Graph g = read_graph(conv_of("u8", steps));
    EXPECT_THAT(to_string(narrowed(g)), HasSubstr("u8:s8:s32:s32")) << steps;
    expect_same_values(g, narrowed(g), 2e-3);
  }
  for (const char* steps : {"cast:f32+sub[3]+relu", "cast:f32+square", "cast:f32+sub[12.5]", "cast:f32+mul[0]",
                            "cast:f32+sub[300]", "cast:f32+exp"}) {
    const std::string text = conv_of("u8", steps);
    EXPECT_EQ(to_string(narrowed(read_graph(text))), to_string(read_graph(text))) << steps;
  }
}

TEST(NarrowProducts, WeightsThatAreNoWholeNumbersStay) {
  std::string text = conv_of("u8", "cast:f32+mul[0.02]");
  text.replace(text.find("63.5"), 4, "63.7");
  EXPECT_EQ(to_string(narrowed(read_graph(text))), to_string(read_graph(text)));
  text = conv_of("u8", "cast:f32+mul[0.02]");
  text.replace(text.find("63.5"), 4, "64.5");  // 129 steps
  EXPECT_EQ(to_string(narrowed(read_graph(text))), to_string(read_graph(text)));
}

// Numbers that only look whole beside larger ones: many of them add up.
TEST(NarrowProducts, SmallWeightsAndBiasesCount) {
  const auto dense = [](const std::string& weights, const std::string& bias) {
    return read_graph(R"(graph g
input "x" %x u8[2, 4]
%d = elementwise(op=cast:f32+mul[0.5],shape=2x4,operands=none,dtype=u8) %x
%w = constant f32[2, 4] [)" +
                      weights + "]\n%b = constant f32[2] [" + bias +
                      "]\n%y = dense(m=2,n=2,k=4,epilogue=bias) %d %w %b\noutput \"y\" %y f32[2, 2]\n");
  };
  const std::string whole = "1, 2, 3, 4, 100, 0, -100, 1";
  const Graph small = dense("1, 3e-5, -5e-5, 9e-5, 1, 2, 3, 4", "0, 0");
  EXPECT_EQ(to_string(narrowed(small)), to_string(small));
  // Half a step is 0.25 and 0.5: sums of bytes, and the bias behind them as it is.
  for (const auto& [bias, kept] : std::vector<std::pair<std::string, std::string>>{
           {"4e-4, 0", "0.0004, 0"}, {"0.25, 0.09", "0.25, 0.09"}, {"0, nan", "0, nan"}, {"inf, 1", "inf, 1"}}) {
    const Graph g = dense(whole, bias);
    const std::string text = to_string(narrowed(g));
    EXPECT_THAT(text, HasSubstr("u8:s8:s32:s32"));
    EXPECT_THAT(text, HasSubstr("f32[1, 2] [" + kept + "]"));
    if (bias.find('n') == std::string::npos) expect_same_values(g, narrowed(g), 1e-5);
  }
  // A bias of whole steps becomes one number with the part that the zero point adds.
  EXPECT_THAT(to_string(narrowed(dense(whole, "1.5, -7"))), HasSubstr("s32[1, 2] [3, -14]"));
  // A number that f32 has no digits for.
  std::string tiny = to_string(dense(whole, "0, 0"));
  tiny.replace(tiny.find("mul[0.5]"), 8, "mul[1e-42]");
  EXPECT_EQ(to_string(narrowed(read_graph(tiny))), tiny);
}

// A bias that sums of s32 have no room for stays apart.
TEST(NarrowProducts, SumsDoNotOverflow) {
  constexpr int64_t kSteps = 60000, kRoom = (int64_t{1} << 31) - kSteps * 255 * 128;
  std::string weights = "1";  // a step
  for (int64_t i = 1; i < kSteps; ++i) weights += ", 127";
  const auto graph = [&](int64_t bias) {
    return read_graph(
        "graph g\ninput \"x\" %x u8[1, 60000]\n%d = elementwise(op=cast:f32,shape=1x60000,operands=none,"
        "dtype=u8) %x\n%w = constant f32[1, 60000] [" +
        weights + "]\n%b = constant f32[1] [" + std::to_string(bias) +
        "]\n%y = dense(m=1,n=1,k=60000,epilogue=bias) %d %w %b\noutput \"y\" %y "
        "f32[1, 1]\n");
  };
  EXPECT_THAT(to_string(narrowed(graph(kRoom - 64))), HasSubstr("= constant s32[1, 1]"));
  EXPECT_THAT(to_string(narrowed(graph(kRoom + 64))), testing::Not(HasSubstr("= constant s32[1, 1]")));
}

TEST(NarrowProducts, DenseBehindViews) {
  const Graph g = read_graph(R"(graph g
input "x" %x u8[2, 2, 4]
%d = elementwise(op=cast:f32+sub[7]+mul[0.1],shape=2x2x4,operands=none,dtype=u8) %x
%r = reshape(shape=2x2x4,to=2x8) %d
%t = transpose(shape=2x8,perm=1:0) %r
%s = transpose(shape=8x2,perm=1:0) %t
%w = constant f32[3, 8] [1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8, 0, 0, 0, 0, 0, 0, 0, 0]
%b = constant f32[3] [0.1, 0.2, 0.35]
%y = dense(m=2,n=3,k=8,epilogue=bias) %s %w %b
output "y" %y f32[2, 3]
)");
  const std::string text = to_string(narrowed(g));
  EXPECT_THAT(text, HasSubstr("reshape(shape=2x2x4,to=2x8,dtype=u8) %x"));
  EXPECT_THAT(text, HasSubstr("dense(m=2,n=3,k=8,dtype=u8:s8:s32:s32,epilogue=none)"));
  EXPECT_THAT(text, HasSubstr("f32[1, 3] [0.1, 0.2, 0.35]")) << "a bias of no whole steps";
  expect_same_values(g, narrowed(g), 1e-4);
}

// Weights that are quantised alone, as language models have them.
TEST(NarrowProducts, FewRowsOfFloatsReadWeightsAsBytes) {
  std::string weights;
  for (int i = 0; i < 256 * 256; ++i) weights += (i ? ", " : "") + std::to_string((i * 37 % 255 - 127) * 0.5);
  const auto graph = [&](int rows) {
    const std::string m = std::to_string(rows);
    return read_graph("graph g\ninput \"x\" %x f32[" + m + ", 256]\n%w = constant f32[256, 256] [" + weights +
                      "]\n%b = constant f32[256] fill 3\n%y = dense(m=" + m +
                      ",n=256,k=256,epilogue=bias) %x %w %b\noutput \"y\" %y f32[" + m + ", 256]\n");
  };
  EXPECT_THAT(to_string(narrowed(graph(1))), HasSubstr("dense(m=1,n=256,k=256,dtype=f32:s8:f32:f32,epilogue=none)"));
  expect_same_values(graph(1), narrowed(graph(1)), 0.05);
  EXPECT_THAT(to_string(narrowed(graph(2))), HasSubstr("dtype=f32,epilogue=bias")) << "small enough for a cache";
}

// 256 rows of 256 whole numbers by `number`, in blocks of 64 with a scale each.
Graph weights_in_blocks(const std::function<int(int element, int block)>& number) {
  std::string weights;
  for (int i = 0; i < 256 * 256; ++i)
    weights += (i ? ", " : "") + std::to_string(number(i, i / 64) * (0.25 + i / 64 % 3 * 0.0917));
  return read_graph("graph g\ninput \"x\" %x f32[1, 256]\n%w = constant f32[256, 256] [" + weights +
                    "]\n%b = constant f32[256] fill 3\n%y = dense(m=1,n=256,k=256,epilogue=bias) %x %w %b\n"
                    "output \"y\" %y f32[1, 256]\n");
}
TEST(NarrowProducts, WeightsInBlocksAreReadAsTheyAreStored) {
  const auto check = [](const Graph& g, const std::string& wanted) {
    const Graph n = narrowed(g);
    EXPECT_THAT(to_string(n), HasSubstr("dense_nbits(m=1,n=256,k=256," + wanted + ",dtype=f32,epilogue=bias)"));
    expect_same_values(g, n, 0.05);
  };
  check(weights_in_blocks([](int i, int) { return i * 37 % 16 - 8; }), "bits=4,block=64,zero=8");
  check(weights_in_blocks([](int i, int) { return i * 37 % 16; }), "bits=4,block=64,zero=0");
  check(weights_in_blocks([](int i, int block) { return i * 37 % 16 - block % 16; }), "bits=4,block=64,zero=each");
  check(weights_in_blocks([](int i, int) { return i * 37 % 256 - 128; }), "bits=8,block=64,zero=128");
  const auto one_zero_each = [](int i, int block) { return block % 5 == 0 ? 0 : i * 37 % 16 - 8; };
  check(weights_in_blocks(one_zero_each), "bits=4,block=64,zero=8");
  // With one scale a row 4 bits are read as such, too; a number that fits no scale leaves all as they are.
  std::string text = to_string(narrowed(weights_in_blocks([](int i, int) { return i % 3 == 0 ? 1 : -2; })));
  EXPECT_THAT(text, HasSubstr("bits=4,block=64"));
  Graph odd = weights_in_blocks([](int i, int) { return i * 37 % 16 - 8; });
  std::string bytes(odd.value(odd.nodes[0].inputs[1]).constant->bytes().begin(),
                    odd.value(odd.nodes[0].inputs[1]).constant->bytes().end());
  const float irrational = 0.7310585f;
  std::memcpy(bytes.data() + 4 * 40000, &irrational, 4);
  odd.values[static_cast<size_t>(odd.nodes[0].inputs[1])].constant = TensorData({f32, {256, 256}}, bytes);
  EXPECT_THAT(to_string(narrowed(odd)), HasSubstr("dense(m=1,n=256,k=256,dtype=f32,epilogue=bias)"));
}

// As QLinearConv is imported: differences in s16.
TEST(NarrowProducts, DifferencesOfWholeNumbersAreExact) {
  const Graph g = read_graph(R"(graph g
input "x" %x u8[1, 4, 3, 3]
%d = elementwise(op=cast:s16+sub[100],shape=1x4x3x3,operands=none,dtype=u8) %x
%c = constant s16[4, 1, 2, 2] [1, -2, 127, -128, 5, 6, 7, 8, 0, 0, 0, 0, 1, 1, 1, 1]
%b = constant s32[4] [1000, -7, 0, 12345678]
%y = depthwise_conv2d(n=1,c=4,h=3,w=3,kh=2,kw=2,pad=1,layout=NCHW,dtype=s16:s16:s32:s32,epilogue=bias) %d %c %b
output "y" %y s32[1, 4, 4, 4]
)");
  EXPECT_THAT(to_string(narrowed(g)), HasSubstr("dtype=u8:s8:s32:s32,epilogue=none,border=100"));
  expect_same_values(g, narrowed(g));
}

// As MatMulInteger behind DynamicQuantizeLinear.
TEST(NarrowProducts, ZeroPointsOfACallAreSubtractedBehindTheSum) {
  const Graph g = read_graph(R"(graph g
input "x" %x u8[2, 4]
input "z" %z u8[1]
%s = elementwise(op=cast:s16,shape=1,operands=none,dtype=u8) %z
%r = reshape(shape=1,to=1x1,dtype=s16) %s
%c = elementwise(op=cast:s16,shape=2x4,operands=none,dtype=u8) %x
%d = elementwise(op=sub,shape=2x4,operands=1x1,dtype=s16) %c %r
%w = constant s16[3, 4] [1, 2, 3, 4, -128, 127, -5, 6, 0, 0, 0, 0]
%y = dense(m=2,n=3,k=4,dtype=s16:s16:s32:s32) %d %w
output "y" %y s32[2, 3]
)");
  EXPECT_THAT(to_string(narrowed(g)), HasSubstr("dense(m=2,n=3,k=4,dtype=u8:s8:s32:s32,epilogue=none) %x"));
  expect_same_values(g, narrowed(g));
}

// As ConvInteger behind DynamicQuantizeLinear: the border is the zero point, which is put around the bytes. A number
// that may be no byte cannot be the border.
TEST(NarrowProducts, ZeroPointsOfACallAreTheBorder) {
  const auto graph = [](const std::string& type, const std::string& zero_type, const std::string& task,
                        const std::string& weights) {
    return read_graph("graph g\ninput \"x\" %x " + type + "[2, 2, 4, 5]\ninput \"z\" %z " + zero_type + "[1]\n" +
                      "%s = elementwise(op=cast:s16,shape=1,operands=none,dtype=" + zero_type +
                      ") %z\n%r = reshape(shape=1,to=1x1x1x1,dtype=s16) %s\n%c = elementwise(op=cast:s16," +
                      "shape=2x2x4x5,operands=none,dtype=" + type + ") %x\n%d = elementwise(op=sub,shape=2x2x4x5," +
                      "operands=1x1x1x1,dtype=s16) %c %r\n" + weights + "%y = " + task +
                      "h=4,w=5,kh=1,kw=2,pad=1:0:2:1,layout=NCHW,dtype=s16:s16:s32:s32) %d %w\n" +
                      "output \"y\" %y s32[2, 2, 7, 5]\n");
  };
  const std::string direct = "conv2d(n=2,ci=2,co=2,", each = "depthwise_conv2d(n=2,c=2,";
  const std::string of_all = "%w = constant s16[2, 2, 1, 2] [1, 2, 3, -4, -128, 127, -5, 6]\n",
                    of_each = "%w = constant s16[2, 1, 1, 2] [1, -2, 127, 4]\n";
  for (const std::string type : {"u8", "s8"})
    for (const bool is_direct : {true, false}) {
      const Graph g = graph(type, type, is_direct ? direct : each, is_direct ? of_all : of_each);
      EXPECT_THAT(to_string(narrowed(g)), HasSubstr("pad=0,dilation=1")) << type;
      EXPECT_THAT(to_string(narrowed(g)), HasSubstr("dtype=u8:s8:s32:s32")) << type;
      expect_same_values(g, narrowed(g));
    }
  const Graph other = graph("u8", "s32", direct, of_all);
  EXPECT_EQ(to_string(narrowed(other)), to_string(other));
  // So large that the border is not written down.
  const Graph huge = read_graph(
      "graph g\ninput \"x\" %x u8[1, 1, 8388608, 8388608]\ninput \"z\" %z u8[1]\n"
      "%s = elementwise(op=cast:s16,shape=1,operands=none,dtype=u8) %z\n"
      "%r = reshape(shape=1,to=1x1x1x1,dtype=s16) %s\n"
      "%c = elementwise(op=cast:s16,shape=1x1x8388608x8388608,operands=none,dtype=u8) %x\n"
      "%d = elementwise(op=sub,shape=1x1x8388608x8388608,operands=1x1x1x1,dtype=s16) %c %r\n"
      "%w = constant s16[1, 1, 1, 1] [3]\n%y = conv2d(n=1,ci=1,co=1,h=8388608,w=8388608,kh=1,kw=1,pad=1,layout=NCHW,"
      "dtype=s16:s16:s32:s32) %d %w\noutput \"y\" %y s32[1, 1, 8388610, 8388610]\n");
  EXPECT_EQ(to_string(narrowed(huge)), to_string(huge));
}

// Both factors come from the caller: zero points are taken off the sums, whatever they are, and words are filled up.
TEST(NarrowProducts, OfTwoInputs) {
  const auto product = [](const std::string& x, const std::string& p, const std::string& y, const std::string& q,
                          int rows, const std::string& behind) {
    const std::string m = std::to_string(rows);
    return "graph g\ninput \"x\" %x " + x + "[2, " + m + ", 6]\ninput \"y\" %y " + y + "[2, 6, 7]\n" +
           "%a = elementwise(op=cast:f32+sub[" + p + "]+mul[0.5],shape=2x" + m + "x6,operands=none,dtype=" + x +
           ") %x\n%b = elementwise(op=cast:f32+sub[" + q + "]+mul[0.25],shape=2x6x7,operands=none,dtype=" + y +
           ") %y\n%c = batch_matmul(b=2,m=" + m + ",n=7,k=6) %a %b\n" + behind;
  };
  const auto quantised = [](int rows) {
    const std::string m = std::to_string(rows);
    return "%r = reshape(shape=2x" + m + "x7,to=2x1x" + m + "x7) %c\n%z = elementwise(op=mul[0.125]+round+add[9]" +
           "+saturate:u8,shape=2x1x" + m + "x7,operands=none) %r\noutput \"z\" %z u8[2, 1, " + m + ", 7]\n";
  };
  PassContext of_cpu = test_context();
  of_cpu.lanes = 16;
  for (const auto& [x, p] : {std::pair("u8", "0"), {"u8", "128"}, {"u8", "255"}, {"s8", "0"}, {"s8", "-128"}})
    for (const auto& [y, q] : {std::pair("u8", "0"), {"u8", "128"}, {"u8", "3"}, {"s8", "0"}, {"s8", "127"}})
      for (const int rows : {3, 9}) {
        const Graph g = read_graph(product(x, p, y, q, rows, quantised(rows)));
        const Graph made = narrow_products(g, of_cpu);
        EXPECT_THAT(to_string(made), HasSubstr(rows == 3 ? "k=8,dtype=s8:u8:s32:s32" : "k=8,dtype=u8:s8:s32:s32"));
        expect_same_values(g, made);
        EXPECT_THAT(to_string(narrowed(g)), HasSubstr("k=8,dtype=u8:s8:s32:s32")) << "of a GPU";
        expect_same_values(g, narrowed(g));
      }
  // The zero points' own product is more than a float holds exactly.
  const auto wide = [](int64_t k) {
    const std::string n = std::to_string(k);
    return read_graph("graph g\ninput \"x\" %x u8[1, 1, " + n + "]\ninput \"y\" %y u8[1, " + n +
                      ", 1]\n%a = elementwise(op=cast:f32+sub[251],shape=1x1x" + n +
                      ",operands=none,dtype=u8) %x\n%b = elementwise(op=cast:f32+sub[253],shape=1x" + n +
                      "x1,operands=none,dtype=u8) %y\n%c = batch_matmul(b=1,m=1,n=1,k=" + n +
                      ") %a %b\n%z = elementwise(op=round+saturate:u8,shape=1x1x1,operands=none) %c\noutput \"z\" %z "
                      "u8[1, 1, 1]\n");
  };
  EXPECT_THAT(to_string(narrow_products(wide(9999), of_cpu)), HasSubstr("add[311158881]"));
  EXPECT_THAT(to_string(narrow_products(wide(32769), of_cpu)), testing::Not(HasSubstr("s8:u8")));
  // A product that gives floats stays: a softmax of it may be one kernel with both products.
  const Graph g = read_graph(product("u8", "3", "u8", "5", 3, "output \"c\" %c f32[2, 3, 7]\n"));
  EXPECT_EQ(to_string(narrow_products(g, of_cpu)), to_string(g));
}

TEST(NarrowProducts, PoolingsPickBytes) {
  const Graph g = read_graph(R"(graph g
input "x" %x u8[1, 2, 4, 4]
%d = elementwise(op=cast:f32+sub[9]+mul[0.5],shape=1x2x4x4,operands=none,dtype=u8) %x
%y = max_pool2d(n=1,c=2,h=4,w=4,kh=3,kw=3,stride=1,pad=1,layout=NCHW) %d
output "y" %y f32[1, 2, 4, 4]
)");
  EXPECT_THAT(to_string(narrowed(g)), HasSubstr("layout=NCHW,dtype=u8) %x"));
  expect_same_values(g, narrowed(g));
}

}  // namespace
}  // namespace hone
