#include "base/text.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Text, ControlCharactersAreC0DelAndC1) {
  for (const char* text : {"\x1b[31m", "a\nb", "\x7f", "\xc2\x80", "\xc2\x9f", "\t"})
    EXPECT_TRUE(has_controls(text)) << text;
  EXPECT_TRUE(has_controls(std::string_view("a\0b", 3)));
  for (const char* text : {"", "plain", "caf\xc3\xa9", "\xc2\xa0", "\xe2\x80\xa6"})
    EXPECT_FALSE(has_controls(text)) << text;
}

TEST(Text, CleanLinesObeyNothing) {
  EXPECT_EQ(clean_line("a\x1b[31mb\nc\xc2\x9b"
                       "d"),
            "a [31mb c d");
  EXPECT_EQ(clean_lines("a\x1b[31mb\nc\r\n"), "a [31mb\nc \n");
  EXPECT_EQ(clean_line("a\x9b\xff"), "a??") << "bytes that are no UTF-8: some terminals take them for C1";
  EXPECT_EQ(clean_line("caf\xc3\xa9", 4), "caf") << "cut between characters";
}

TEST(Text, LinesKeepTabs) { EXPECT_EQ(clean_lines("a\tb\n\vc"), "a\tb\n c"); }

TEST(Text, ShortLinesSayThatTheyWereCut) {
  EXPECT_EQ(short_line("four", 4), "four");
  EXPECT_EQ(short_line("fives", 4), "five…");
  EXPECT_EQ(short_line("caf\xc3\xa9s", 4), "caf…") << "cut between characters";
  EXPECT_EQ(short_line("a\nb", 4), "a b");
}

TEST(Text, ValidUtf8KeepsAllButWhatIsNone) {
  EXPECT_EQ(valid_utf8("caf\xc3\xa9\n\x1b\x7f"), "caf\xc3\xa9\n\x1b\x7f");
  EXPECT_EQ(valid_utf8("a\xff\xc3"), "a??");
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "???") << "half of a pair";
  EXPECT_EQ(valid_utf8("\xc0\x80"), "??") << "longer than it must be";
  EXPECT_EQ(valid_utf8(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
}

}  // namespace
}  // namespace hone
