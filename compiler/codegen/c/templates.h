// Templates of the functions that emitted C text calls. Private to codegen/c.
#pragma once

#include <span>
#include <string_view>

#include "compiler/ir/dtype.h"

namespace hone {

/// `RESULT NAME_TYPE(PARAMETERS) { BODY }` with the letters that helpers.cc explains. Where scalars and vectors differ,
/// or number types, there are several of one name.
struct FunctionTemplate {
  enum class For : uint8_t { kAll, kScalars, kVectors };
  std::string_view name;
  For lanes = For::kAll;
  /// The types it is for: letters of `f` (floats), `i` (signed), `u` (unsigned); empty: all.
  std::string_view kinds;
  int bits = 0;  ///< of a lane; 0: any
  std::string_view result, parameters, body;
};

/// The template of function `name` over values of `t`; null: there is none.
const FunctionTemplate* template_of(std::string_view name, DType t);

/// Selection, memory, integers.
std::span<const FunctionTemplate> basic_templates();
/// Functions of analysis, and floats of 16 bits.
std::span<const FunctionTemplate> math_templates();

}  // namespace hone
