#include "base/json.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace hone {
namespace {

const char kNames[] = "esc\x1b[31m del\x7f c1\xc2\x9b nel\xc2\x85 caf\xc3\xa9";

TEST(JsonText, HasNoControlsAndSaysTheSame) {
  const Json j{{"name", kNames}, {"more", {1, 2}}};
  const std::string line = json_line(j);
  EXPECT_FALSE(has_controls(line)) << line;
  EXPECT_NE(line.find("\\u001b[31m del\\u007f c1\\u009b nel\\u0085 caf\xc3\xa9"), std::string::npos) << line;
  EXPECT_EQ(Json::parse(line), j);
  const std::string lines = json_lines(j);
  EXPECT_EQ(Json::parse(lines), j);
  EXPECT_NE(lines.find("\n \"name\""), std::string::npos) << lines;
  EXPECT_EQ(lines.find('\x7f'), std::string::npos);
}

TEST(JsonText, OfNoUtf8IsMade) {
  EXPECT_EQ(json_line(Json{"a\xff"}), "[\"a\xef\xbf\xbd\"]");
  EXPECT_EQ(json_lines(Json{"a\xff"}), "[\n \"a\xef\xbf\xbd\"\n]");
}

}  // namespace
}  // namespace hone
