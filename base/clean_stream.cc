#include "base/clean_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace hone {
namespace {

// How many bytes at the end of `text` begin a character that has more of them.
size_t bytes_begun(std::string_view text) {
  for (size_t n = 1; n <= std::min<size_t>(3, text.size()); ++n) {
    const auto byte = static_cast<unsigned char>(text[text.size() - n]);
    if ((byte & 0xc0) == 0x80) continue;  // it goes on with a character
    const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > n ? n : 0;
  }
  return 0;
}

}  // namespace

bool CleanBuffer::pass_on(std::string_view text) {
  const std::string clean = clean_lines(text);
  return to_->sputn(clean.data(), static_cast<std::streamsize>(clean.size())) == std::ssize(clean);
}

std::streamsize CleanBuffer::xsputn(const char* text, std::streamsize size) {
  begun_.append(text, static_cast<size_t>(size));
  const std::string all = std::exchange(begun_, {});
  const size_t rest = bytes_begun(all);
  begun_ = all.substr(all.size() - rest);
  return pass_on(std::string_view(all).substr(0, all.size() - rest)) ? size : 0;
}

int CleanBuffer::overflow(int c) {
  if (c == traits_type::eof()) return 0;
  const char byte = static_cast<char>(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

void CleanBuffer::command(std::string_view text) {
  pass_on(std::exchange(begun_, {}));
  to_->sputn(text.data(), static_cast<std::streamsize>(text.size()));
}

void command_terminal(std::ostream& stream, std::string_view text) {
  if (auto* cleaned = dynamic_cast<CleanBuffer*>(stream.rdbuf()))
    cleaned->command(text);
  else
    stream << text;
}

}  // namespace hone
