#include "base/shell_command.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "base/shell_word.h"

namespace hone {
namespace {

// The words that a shell passes to the program.
std::string words_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(("printf '<%s>' " + command).c_str(), "r");
  for (int c; pipe && (c = fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  if (pipe) pclose(pipe);
  return out;
}

TEST(ShellCommand, ComesThroughAShellAsItWas) {
  for (const std::string text : {"m.onnx",
                                 "a b",
                                 "batch=1|4|16",
                                 "it's",
                                 "'",
                                 "*",
                                 "$HOME",
                                 "`id`",
                                 "\"x\"",
                                 "a\\b",
                                 "~",
                                 "!x",
                                 "{a,b}",
                                 "#",
                                 "[ab]",
                                 "a;b",
                                 "a&b",
                                 "<x>",
                                 "(m=8)",
                                 "\xc3\xa9",
                                 "",
                                 " ",
                                 "image=u8:NHWC,mean=123.7:116.3,scale=1/255"})
    EXPECT_EQ(words_of(shell_quoted(text)), "<" + text + ">");
  EXPECT_EQ(words_of(ShellCommand("tuner").word("it's").option("--bind", "a b=1|2").flag("--json").text()),
            "<tuner><it's><--bind><a b=1|2><--json>");
}

TEST(ShellCommand, QuotesOnlyWhatAShellWouldChange) {
  for (const char* plain : {"m.onnx", "ci=128,h=28", "lab:9190", "/a/b-c_d.e", "u8:NHWC", "relu+add"})
    EXPECT_EQ(shell_quoted(plain), plain);
}

TEST(ShellCommand, HasNoFlagsWithoutAValue) {
  EXPECT_EQ(ShellCommand("tensorc").option("--db", "").options("--bind", {}).flag("--bench", false).text(), "tensorc");
}

// The parser takes the next word for a flag.
TEST(ShellCommand, KeepsValuesThatLookLikeFlags) {
  EXPECT_EQ(shell_option("--db", "-x y"), "'--db=-x y'");
  EXPECT_EQ(shell_option("--db", "-x"), "--db=-x");
}

}  // namespace
}  // namespace hone
