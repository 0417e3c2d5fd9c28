// The types and functions that emitted C text rests on.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "compiler/ir/dtype.h"

namespace hone {

/// The type that values of `t` have in C: f32 for floats of 16 bits; i32 in the lanes of a vector of bools, all bits of
/// it or none.
DType value_type(DType t);

/// Collects the types and functions that a text uses, each once and behind its own dependencies. Types are called
/// `f32`, vectors of them `f32x8` (GCC's vector extension, which Clang has too); functions `exp_f32x8`. Templates hold
/// for scalars and for vectors: helpers.cc.
class Helpers {
 public:
  /// The C type of values of `t`; `int` for a bool.
  std::string type(DType t);
  /// The C type of elements of `t`, and of vectors of them, in memory.
  std::string memory(DType t);
  /// `NAME_TYPE`, a function over values of `t`. InternalError where there is no template of that name.
  std::string function(std::string_view name, DType t);
  /// The same over elements as they are in memory.
  std::string memory_function(std::string_view name, DType t);
  /// A conversion of number types, lane by lane: `i32x8_of_u8x8`. Floats must fit.
  std::string conversion(DType from, DType to);
  /// From floats to integers: numbers that do not fit become the nearest one, NaN 0.
  std::string saturation(DType from, DType to);

  /// arm_neon.h, where the compiler has matrix instructions.
  void need_arm_functions() { needs_arm_functions_ = true; }

  /// Everything that was asked for, to stand in front of the text.
  std::string text() const;

 private:
  void need_type(DType t);
  std::string instance(std::string_view name, DType t, const std::string& of);
  std::string filled(std::string_view text, DType t);

  std::set<std::string> known_;
  std::string types_, functions_;
  bool needs_arm_functions_ = false;
};

}  // namespace hone
