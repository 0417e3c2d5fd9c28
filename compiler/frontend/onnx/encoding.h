// Types that models store and nothing computes with: integers of 2 and 4 bits, floats of 4 and 8. In a graph each
// element is a byte: an integer's value (s8, u8), or a float's code (u8).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/ir/dtype.h"

namespace hone::onnx {

class Lowering;
struct NodeContext;
struct Operand;

enum class Encoding : uint8_t {
  kPlain,  ///< the elements are what their dtype says
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

/// ONNX's name: `FLOAT8E4M3FN`. Of an encoding, not of plain elements.
std::string name_of(Encoding e);
/// Of an element in a file: 2, 4 or 8.
int bits_of(Encoding e);
bool is_float(Encoding e);

struct ElementType {
  DType dtype;  ///< in a graph
  Encoding encoding = Encoding::kPlain;
};
/// The type of ONNX's number `data_type`. UserError for strings and complex numbers; `what` begins its message.
ElementType element_type_of(int data_type, const std::string& what);
/// The same where nothing is stored: UserError for the encodings, too.
DType dtype_of(int data_type, const std::string& what);

/// The numbers: f32 of floats, s8 or u8 of integers. Plain operands stay themselves.
Operand decoded(Lowering& l, const Operand& x);

/// How numbers that an encoding has not become ones that it has.
struct Rounding {
  bool saturates = true;  ///< what is beyond a float's greatest number becomes that one, and not NaN or infinity
  int direction = 1;      ///< of FLOAT8E8M0: up, down (-1), or to the nearest (0)
};
/// As the node's attributes `saturate` and `round_mode` have it.
Rounding rounding_of(const NodeContext& c);
/// Plain numbers as elements of `to`, as ONNX's Cast makes them: floats are rounded to the nearest, halves to the even
/// one; of integers the lowest bits stay. Under kPlain x itself.
Operand encoded(Lowering& l, const Operand& x, Encoding to, const Rounding& how = {});

/// Whether some input is encoded, and the node does not itself know what that is.
bool wants_run_encoded(const NodeContext& c);
/// Of such a node, which moves elements without reading them: `run` with inputs as plain bytes; the outputs have the
/// inputs' encoding. UserError for a node that computes with an input that is encoded, and for two encodings.
void run_encoded(NodeContext& c, const std::function<void(NodeContext&)>& run);

}  // namespace hone::onnx
