#include "base/shell_word.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(ShellWord, IsQuotedOnlyWhereAShellWouldReadMoreIntoIt) {
  for (const char* plain : {"/a/b.onnx", "ci=128,h=28", "batch=1", "a@b:9190", "100%", "-x"})
    EXPECT_EQ(shell_quoted(plain), plain);
  EXPECT_EQ(shell_quoted("llvm -threads=2"), "'llvm -threads=2'");
  EXPECT_EQ(shell_quoted("batch=1|4"), "'batch=1|4'");
  EXPECT_EQ(shell_quoted("ann's.hone"), "'ann'\\''s.hone'");
  EXPECT_EQ(shell_quoted("~x"), "'~x'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace hone
