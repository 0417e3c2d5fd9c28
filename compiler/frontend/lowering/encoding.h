// Types that models store and nothing computes with: integers of 2 and 4 bits, floats of 4 and 8. In a graph each
// element is a byte: an integer's value (s8, u8), or a float's code (u8).
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/dtype.h"

namespace hone::frontend {

class Lowering;
struct Operand;

enum class Encoding : uint8_t {
  kPlain,  ///< plain numbers of the dtype
  kUint4,
  kInt4,
  kUint2,
  kInt2,
  kE4M3FN,
  kE4M3FNUZ,
  kE5M2,
  kE5M2FNUZ,
  kE2M1,
  kE8M0,
};

/// The encoding's name in errors, which is ONNX's: `FLOAT8E4M3FN`. Not for kPlain.
std::string name_of(Encoding e);
/// Bits of an element in a file: 2, 4 or 8.
int bits_of(Encoding e);
bool is_float(Encoding e);
/// The type that stores its elements in a graph: u8 or s8.
DType stored_type(Encoding e);

struct ElementType {
  DType dtype;  ///< in a graph
  Encoding encoding = Encoding::kPlain;
};

/// The numbers: f32 of floats, s8 or u8 of integers. Plain operands stay themselves.
Operand decoded(Lowering& l, const Operand& x);

/// How numbers that an encoding has not become ones that it has.
struct Rounding {
  bool saturates = true;  ///< numbers beyond a float's greatest one become that one, not NaN or infinity
  int direction = 1;      ///< of FLOAT8E8M0: up, down (-1), or to the nearest (0)
};
/// Plain numbers as elements of `to`: floats are rounded to the nearest, halves to the even one; of integers the
/// lowest bits stay. Under kPlain x itself.
Operand encoded(Lowering& l, const Operand& x, Encoding to, const Rounding& how = {});

}  // namespace hone::frontend
