// Models of a few bytes that ask for much: refused in short lines, within an address space that they do not fill.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

constexpr int64_t kMany = int64_t{1} << 24;

// 0 … 2^24 - 1, made of three numbers.
TestModel with_range(int64_t opset = 13) {
  TestModel m(opset);
  m.input("x", {1}).numbers("zero", {}, {0}).numbers("many", {}, {kMany}).numbers("one", {}, {1});
  m.node("Range", {"zero", "many", "one"}, {"places"});
  return m;
}

// Ends the process: with 0 where `f` finds nothing wrong within so much more memory.
template <class F>
[[noreturn]] void run_within(int64_t megabytes, const F& f) {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0;
  statm >> pages;
  const auto most = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (megabytes << 20));
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
  f();
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(Bomb, ATensorHasAtMost32Axes) {
  const ModelFolder f;
  const std::vector<int64_t> most(32, 1), more(33, 1);
  TestModel m;
  m.input("x", {1}).numbers("most", {32}, most).node("Reshape", {"x", "most"}, {"y"}).output("y");
  EXPECT_EQ(f.import(m).graph.outputs[0].type.shape, most);
  const std::string line = "a tensor of 33 axes; 32 are the most";
  m.numbers("more", {33}, more).node("Reshape", {"x", "more"}, {"z"}).output("z");
  EXPECT_THAT(f.refusal(m), HasSubstr(line));
  TestModel expanded;
  expanded.input("x", {1}).numbers("more", {33}, more).node("Expand", {"x", "more"}, {"z"}).output("z");
  EXPECT_THAT(f.refusal(expanded), HasSubstr(line));
  TestModel filled;
  filled.input("x", {1}).numbers("more", {33}, std::vector<int64_t>(33, 0));
  filled.node("ConstantOfShape", {"more"}, {"z"}).output("z");
  EXPECT_THAT(f.refusal(filled), HasSubstr("its shape has 33 elements; 32 are the most"));
  TestModel unsqueezed;
  unsqueezed.input("x", std::vector<TestDim>(20, 1)).numbers("axes", {13}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  unsqueezed.node("Unsqueeze", {"x", "axes"}, {"z"}).output("z");
  EXPECT_THAT(f.refusal(unsqueezed), HasSubstr(line));
  TestModel given;
  given.input("x", std::vector<TestDim>(33, 1)).node("Relu", {"x"}, {"z"}).output("z");
  EXPECT_THAT(f.refusal(given), HasSubstr("input 'x' has 33 axes; 32 are the most"));
  TestModel known;
  known.floats("c", more, {1}).node("Relu", {"c"}, {"z"}).output("z");
  EXPECT_THAT(f.refusal(known), HasSubstr("tensor 'c': it has 33 axes; 32 are the most"));
}

// Shapes of 2^24 axes, one a node: 134 MB each.
TEST(Bomb, AxesAndShapesOfARangeAreRefusedUnmade) {
  const ModelFolder f;
  const auto refuse = [&](const char* op) {
    TestModel m = with_range();
    for (int i = 0; i < 40; ++i) m.node(op, {"x", "places"}, {"y" + std::to_string(i)}).output("y" + std::to_string(i));
    const std::string line = f.refusal(m);
    EXPECT_THAT(line, AllOf(HasSubstr("has 16777216 elements"), HasSubstr("40 nodes"))) << op;
    EXPECT_LT(line.size(), 300u) << op;
  };
  for (const char* op : {"Unsqueeze", "Squeeze", "Reshape", "Expand", "Tile", "ReduceSum", "Pad"})
    EXPECT_EXIT(run_within(1024, [&] { refuse(op); }), testing::ExitedWithCode(0), "") << op;
}

// Texts of attributes that are megabytes long, in each of many nodes.
TEST(Bomb, TextsOfErrorsAreShort) {
  const ModelFolder f;
  const std::string long_text(1 << 20, 'x');
  TestModel m;
  m.input("x", {1, 1, 2, 2});
  for (int i = 0; i < 300; ++i) {
    const std::string y = "y" + std::to_string(i);
    m.node("Pad", {"x", "x"}, {y}).text("mode", i == 0 ? long_text : "m" + y).output(y);
    m.last->set_name(i == 0 ? long_text : y);
    m.last->set_op_type(i == 0 ? long_text : "None" + y);
  }
  const std::string text = f.refusal(m);
  EXPECT_LT(text.size(), 20000u);
  std::istringstream lines(text);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LT(line.size(), 700u);
  EXPECT_EQ(count, 101u) << "a heading, and a hundred of what is not supported";
}

TEST(Bomb, CountsWithoutElementsAreRefused) {
  const ModelFolder f;
  const auto suppression = [&](const TestModel& numbers) {
    TestModel m = numbers;
    m.input("boxes", {1, 2, 4}).input("scores", {1, 1, 2});
    m.node("NonMaxSuppression", {"boxes", "scores", "most"}, {"y"}).output("y");
    return f.refusal(m);
  };
  EXPECT_THAT(suppression(TestModel().numbers("most", {0}, {})),
              HasSubstr("max_output_boxes_per_class is s64[0]; one whole number is meant"));
  EXPECT_THAT(suppression(TestModel().numbers("most", {2}, {1, 2})), HasSubstr("is s64[2]; one whole number is meant"));
  EXPECT_THAT(suppression(TestModel().floats("most", {}, {1})), HasSubstr("is f32[]; one whole number is meant"));
  EXPECT_EQ(suppression(TestModel().numbers("most", {1}, {1})), "accepted");
}

// The text of the error reads an input that is not there.
TEST(Bomb, MissingInputsAreNamed) {
  const ModelFolder f;
  TestModel m(18);
  m.input("data", {2, 3}).input("updates", {4});
  m.node("ScatterElements", {"data", "", "updates"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(m),
            "it has nodes that are not supported:\n  ScatterElements (opset 18): input 1 is missing; 1 node: "
            "ScatterElements_y");
  TestModel quantised;
  quantised.input("x", {2, 3, 4}).node("QAttention", {"x", ""}, {"y"}).output("y");
  quantised.last->set_domain("com.microsoft");
  EXPECT_THAT(f.refusal(quantised), EndsWith("input 1 is missing; 1 node: QAttention_y"));
  TestModel grouped;
  grouped.input("x", {2, 3, 4}).node("GroupQueryAttention", {"", "x", "x"}, {"y"}).output("y");
  grouped.last->set_domain("com.microsoft");
  EXPECT_THAT(f.refusal(grouped), EndsWith("input 0 is missing; 1 node: GroupQueryAttention_y"));
}

// Elements that are made along an axis are counted before they are written out.
TEST(Bomb, AxesOfRegionsAndOfResizedImagesAreCounted) {
  constexpr int64_t kLong = int64_t{1} << 31;
  const auto counted = [](const TestModel& m, const std::string& line) {
    EXPECT_EXIT(run_within(256, [&] { EXPECT_THAT(ModelFolder().refusal(m), HasSubstr(line)); }),
                testing::ExitedWithCode(0), "");
  };
  TestModel regions(16);
  regions.input("x", {1, 1, kLong, 1}).input("r", {1, 4}).input("i", {1}, kInt64);
  regions.node("RoiAlign", {"x", "r", "i"}, {"y"}).output("y");
  counted(regions, "2147483648 places along an axis");
  TestModel images(16);
  images.input("x", {kLong, 1, 1, 1}).input("r", {1, 4}).input("i", {1}, kInt64);
  images.node("RoiAlign", {"x", "r", "i"}, {"y"}).output("y");
  counted(images, "2147483648 images");
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{2, kLong}, {kLong, 5}, {kLong, kLong - 1}}) {
    TestModel resized(18);
    resized.input("x", {1, from}).numbers("s", {2}, {1, to}).node("Resize", {"x", "", "", "s"}, {"y"});
    resized.text("mode", "cubic").number("antialias", 1).output("y");
    counted(resized, "weights of " + std::to_string(to) + " elements");
  }
}

}  // namespace
}  // namespace hone
