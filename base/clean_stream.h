// Streams of the programs' output, cleaned: names of models, nodes and devices are foreign, and a terminal obeys them.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace hone {

/// Passes on written text without control characters (except line feeds and tabs) and without bytes that are no UTF-8
/// (as clean_lines()). A character may come in pieces.
class CleanBuffer final : public std::streambuf {
 public:
  /// `to` outlives it.
  explicit CleanBuffer(std::streambuf* to) : to_(to) {}
  /// Passes on the beginning of a character that never came to an end.
  ~CleanBuffer() override { pass_on(begun_); }

  /// Passes on `text` as it is.
  void command(std::string_view text);

 private:
  int overflow(int c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override { return to_->pubsync(); }
  bool pass_on(std::string_view text);

  std::streambuf* const to_;
  std::string begun_;  ///< the first bytes of a character
};

/// As long as it lives, text written to `stream` is cleaned.
class CleanStream {
 public:
  explicit CleanStream(std::ostream& stream)
      : stream_(stream), buffer_(stream.rdbuf()), before_(stream.rdbuf(&buffer_)) {}
  ~CleanStream() { stream_.rdbuf(before_); }
  CleanStream(const CleanStream&) = delete;
  CleanStream& operator=(const CleanStream&) = delete;

 private:
  std::ostream& stream_;
  CleanBuffer buffer_;
  std::streambuf* const before_;
};

/// Writes commands for the terminal to `stream`, past the cleaning: the program's own colours and moves. Text from
/// elsewhere in `text` must be clean.
void command_terminal(std::ostream& stream, std::string_view text);

}  // namespace hone
