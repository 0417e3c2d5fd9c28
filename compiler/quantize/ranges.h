// The ranges that values of a model were seen to have, and the scale and zero point of bytes that cover one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace hone {

/// From the least number to the largest.
struct Range {
  double least = 0, most = 0;
  bool operator==(const Range&) const = default;
};

/// By the value's name in the imported graph.
using Ranges = std::map<std::string, Range>;

/// (byte - zero) * scale, byte from 0 to 255.
struct ByteScale {
  double scale = 1;  ///< as f32 holds it
  int64_t zero = 0;
};
/// The finest steps that cover a range and zero, which is one of them: ReLU, padding and absent inputs stay exact.
ByteScale scale_over(const Range& range);

/// A file of ranges: JSON, `{"hone_ranges": 1, "values": {"NAME": [LEAST, MOST]}}`.
std::string ranges_text(const Ranges& ranges);
/// UserError, one line, for a text that is no such file or has numbers that are not finite or in the wrong order.
/// `name`: of the file, for errors.
Ranges parse_ranges(std::string_view text, const std::string& name);
/// The same of a file's text. UserError, too, where it cannot be read.
Ranges read_ranges(const std::string& path);

}  // namespace hone
