// The primitives of schedules as a table: the row of each documents its rewrite, effects, requirements and results, and
// nothing else does. Python's signatures and docstrings are made of the rows, and so is the site's reference.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "compiler/schedule/step.h"

namespace hone {

/// Up to four of something, as a constant.
template <class T>
class AFew {
 public:
  constexpr AFew(std::initializer_list<T> given) {
    for (const T& t : given) all_[count_++] = t;
  }
  constexpr const T* begin() const { return all_.data(); }
  constexpr const T* end() const { return all_.data() + count_; }
  constexpr size_t size() const { return count_; }

 private:
  std::array<T, 4> all_{};
  size_t count_ = 0;
};

struct PrimitiveParameter {
  const char* name = "";  ///< Python's; `*loops` stands for any number of them
  /// The value where it is left out. Only the last parameter has one.
  std::optional<int64_t> otherwise = std::nullopt;
  bool is_otherwise_shown = true;  ///< in the signature; not where that value stands for none
};

/// A method of Schedule, in C++ (compiler/schedule/schedule.h) and in Python (hone.te.Schedule). Texts are of lines as
/// the source has them, in reStructuredText, and name parameters as Python does.
struct PrimitiveRow {
  const char* name;
  AFew<PrimitiveParameter> parameters;
  std::string_view returns;  ///< loop, loops, block or blocks; empty: nothing
  std::string_view rewrite;  ///< before -> after
  std::string_view text;     ///< its effect, with the requirements that its users meet first
  std::string_view limits;   ///< further effects, requirements and refusals
  AFew<Primitive> steps;     ///< the recorded step; none: it is recorded as steps of other primitives
};

std::span<const PrimitiveRow> primitive_table();

/// InternalError when there is none of that name.
const PrimitiveRow& primitive_row(std::string_view name);

}  // namespace hone
