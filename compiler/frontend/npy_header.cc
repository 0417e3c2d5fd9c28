#include "compiler/frontend/npy_header.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "compiler/graph/text.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kFixed = 10;  // magic, two bytes of version, two of length

// numpy's letters, of little-endian machines.
DType dtype_of_npy(std::string_view text) {
  static const std::pair<const char*, DType> kTypes[] = {{"<f4", f32}, {"<f8", f64}, {"<f2", f16}, {"|i1", i8},
                                                         {"<i2", i16}, {"<i4", i32}, {"<i8", i64}, {"|u1", u8},
                                                         {"<u2", u16}, {"<u4", u32}, {"<u8", u64}, {"|b1", boolean}};
  for (const auto& [name, type] : kTypes)
    if (text == name) return type;
  throw UserError("elements of numpy's type '" + short_line(text, 20) + "' are not supported");
}

// A Python dict of these three keys, in any order; each once.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  TensorType run() {
    expect("{");
    while (!takes("}")) {
      parse_entry();
      if (takes("}")) break;
      expect(",");
    }
    skip_blanks();
    require(rest_.empty() && type_ && shape_ && rows_first_);
    HONE_USER_CHECK(*rows_first_) << "columns come first in it; rows must";
    return {dtype_of_npy(*type_), *shape_};
  }

 private:
  static void require(bool holds) { HONE_USER_CHECK(holds) << "its header is not understood"; }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  bool takes(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) { require(takes(word)); }

  std::string_view quoted() {
    expect("'");
    const size_t end = rest_.find('\'');
    require(end != std::string_view::npos);
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void parse_entry() {
    const std::string_view key = quoted();
    expect(":");
    if (key == "descr" && !type_) {
      type_ = quoted();
    } else if (key == "fortran_order" && !rows_first_) {
      rows_first_ = takes("False");
      if (!*rows_first_) expect("True");
    } else {
      require(key == "shape" && !shape_);
      parse_shape();
    }
  }

  // (), (3,), (1, 3) or (1, 3, )
  void parse_shape() {
    shape_.emplace();
    for (expect("("); !takes(")");) {
      skip_blanks();
      int64_t extent = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      require(error == std::errc() && extent >= 0);
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      shape_->push_back(extent);
      HONE_USER_CHECK(shape_->size() <= kMostAxes) << "it has more than " << kMostAxes << " axes";
      if (takes(")")) return;
      expect(",");
    }
  }

  std::string_view rest_;
  std::optional<std::string_view> type_;
  std::optional<bool> rows_first_;
  std::optional<std::vector<int64_t>> shape_;
};

}  // namespace

NpyHeader npy_header(std::string_view file) {
  HONE_USER_CHECK(file.size() >= kFixed && file.starts_with(kMagic) && file[kMagic.size()] == 1)
      << "it is no .npy file of version 1";
  const auto byte = [&](size_t i) { return size_t{static_cast<unsigned char>(file[i])}; };
  const size_t length = byte(kFixed - 2) | byte(kFixed - 1) << 8;
  HONE_USER_CHECK(kFixed + length <= static_cast<size_t>(kMostNpyHeader))
      << "its header has " << length << " bytes; " << kMostNpyHeader << " at most are read";
  HONE_USER_CHECK(file.size() >= kFixed + length) << "it is truncated";
  NpyHeader out{HeaderParser(file.substr(kFixed, length)).run(), kFixed + length};
  element_count(out.type.shape);
  return out;
}

}  // namespace hone
