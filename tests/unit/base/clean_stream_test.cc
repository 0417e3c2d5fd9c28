#include "base/clean_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <streambuf>

namespace hone {
namespace {

TEST(CleanStream, ObeysNothingOfWhatIsWritten) {
  std::ostringstream out;
  {
    const CleanStream clean(out);
    out << "layer \x1b]0;title\x07 \x1b[31mred\x1b[0m\r\n" << '\t' << 7 << " caf\xc3\xa9 c1\xc2\x9b del\x7f\n";
  }
  EXPECT_EQ(out.str(), "layer  ]0;title   [31mred [0m \n\t7 caf\xc3\xa9 c1  del \n");
  out << "\x1b";
  EXPECT_EQ(out.str().back(), '\x1b') << "the stream is as it was";
}

TEST(CleanStream, CharactersMayComeInPieces) {
  const std::string text = "a\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80\xc2\x9b|\xff\xe2\x80|\xc3";
  std::ostringstream whole, bytes, flushed;
  {
    const CleanStream a(whole), b(bytes), c(flushed);
    whole << text;
    std::copy(text.begin(), text.end(), std::ostreambuf_iterator<char>(bytes));
    for (const char byte : text) flushed << byte << std::flush;
  }
  EXPECT_EQ(whole.str(), "a\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80 |???|?");
  EXPECT_EQ(bytes.str(), whole.str());
  EXPECT_EQ(flushed.str(), whole.str());
}

TEST(CleanStream, LetsTheProgramsOwnCommandsThrough) {
  std::ostringstream out, plain;
  {
    const CleanStream clean(out);
    out << "a\x1b[K\xc3";
    command_terminal(out, "\033[2A\r\033[K");
    out << "b\x1b[K";
  }
  EXPECT_EQ(out.str(), "a [K?\033[2A\r\033[Kb [K");
  command_terminal(plain, "\r\033[K");
  EXPECT_EQ(plain.str(), "\r\033[K");
}

TEST(CleanStream, SaysWhereWritingFails) {
  struct Full : std::streambuf {
  } full;
  std::ostream out(&full);
  const CleanStream clean(out);
  EXPECT_FALSE(out << "text");
}

}  // namespace
}  // namespace hone
