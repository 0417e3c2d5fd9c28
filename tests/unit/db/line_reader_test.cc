#include "db/line_reader.h"

#include <gmock/gmock.h>

#include <sstream>

namespace hone::db {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  LineReader lines(in);
  std::vector<std::string> out;
  for (std::string line; lines.next(&line);) out.push_back(line);
  EXPECT_TRUE(lines.status().ok());
  return out;
}

TEST(LineReader, SplitsLikeGetline) {
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_THAT(lines_of("a"), ElementsAre("a"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("a"));
  EXPECT_THAT(lines_of("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines_of("\n"), ElementsAre(""));
  EXPECT_THAT(lines_of(std::string("a\0b\r\n", 5)), ElementsAre(std::string("a\0b\r", 4)));
  const std::string x(65535, 'x'), y(65536, 'y'), z(200'000, 'z');  // about the size of what is read at once
  EXPECT_THAT(lines_of(x + "\n" + y + "\n" + z), ElementsAre(x, y, z));
}

TEST(LineReader, GivesALineAgainOnRequest) {
  std::istringstream in("a\nb\n");
  LineReader lines(in);
  std::string line;
  ASSERT_TRUE(lines.next(&line));
  lines.again();
  ASSERT_TRUE(lines.next(&line));
  EXPECT_EQ(line, "a");
  EXPECT_EQ(lines.number(), 1);
  ASSERT_TRUE(lines.next(&line));
  EXPECT_EQ(line, "b");
  EXPECT_EQ(lines.number(), 2);
  EXPECT_FALSE(lines.next(&line));
}

TEST(LineReader, ALineMayBeSoLongAndNoLonger) {
  const std::string longest(kMostLineBytes, 'x');
  EXPECT_THAT(lines_of(longest + "\nb"), ElementsAre(longest, "b"));
  std::istringstream in("a\n" + longest + "x\nb\n");
  LineReader lines(in);
  std::string line;
  ASSERT_TRUE(lines.next(&line));
  EXPECT_FALSE(lines.next(&line));
  EXPECT_EQ(lines.number(), 2);
  EXPECT_TRUE(absl::IsInvalidArgument(lines.status()));
  EXPECT_FALSE(lines.next(&line)) << "nothing after it";
}

}  // namespace
}  // namespace hone::db
