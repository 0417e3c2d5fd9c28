#include "compiler/frontend/onnx/encoding.h"

#include <cmath>
#include <limits>
#include <set>

#include "base/check.h"
#include "compiler/frontend/onnx/lowering.h"

namespace hone::onnx {
namespace {

struct Format {
  int data_type;  // ONNX's number
  const char* name;
  int bits;
  DType dtype;
  // Of floats: the function that makes codes of numbers, the mantissa's bits, and the exponent's bias.
  const char* function = nullptr;
  int mantissa = 0, bias = 0;
};

constexpr Format kFormats[] = {
    {},
    {21, "UINT4", 4, u8},
    {22, "INT4", 4, i8},
    {25, "UINT2", 2, u8},
    {26, "INT2", 2, i8},
    {17, "FLOAT8E4M3FN", 8, u8, "e4m3fn", 3, 7},
    {18, "FLOAT8E4M3FNUZ", 8, u8, "e4m3fnuz", 3, 8},
    {19, "FLOAT8E5M2", 8, u8, "e5m2", 2, 15},
    {20, "FLOAT8E5M2FNUZ", 8, u8, "e5m2fnuz", 2, 16},
    {23, "FLOAT4E2M1", 4, u8, "e2m1", 1, 1},
    {24, "FLOAT8E8M0", 8, u8, "e8m0", 0, 127},
};

const Format& format_of(Encoding e) { return kFormats[static_cast<size_t>(e)]; }

bool is_nan(Encoding e, int code) {
  switch (e) {
    case Encoding::kE4M3FN: return (code & 0x7F) == 0x7F;
    case Encoding::kE5M2: return (code & 0x7F) > 0x7C;
    case Encoding::kE4M3FNUZ:
    case Encoding::kE5M2FNUZ: return code == 0x80;
    case Encoding::kE8M0: return code == 0xFF;
    default: return false;
  }
}

float number_of_code(Encoding e, int code) {
  const Format& f = format_of(e);
  if (is_nan(e, code)) return std::numeric_limits<float>::quiet_NaN();
  if (e == Encoding::kE8M0) return std::ldexp(1.0f, code - f.bias);
  if (code >> f.bits) return 0;  // no code
  const int sign = 1 << (f.bits - 1), size = code & (sign - 1);
  if (e == Encoding::kE5M2 && size == 0x7C)
    return code & sign ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  const int exponent = size >> f.mantissa, digits = size & ((1 << f.mantissa) - 1);
  const int whole = exponent ? digits + (1 << f.mantissa) : digits;
  const float v = std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - f.bias - f.mantissa);
  return code & sign ? -v : v;
}

Operand table_of(Lowering& l, Encoding e) {
  std::string bytes;
  for (int code = 0; code < 256; ++code) {
    const float v = number_of_code(e, code);
    bytes.append(reinterpret_cast<const char*>(&v), sizeof(v));
  }
  return l.constant(TensorData({f32, {256}}, std::move(bytes)), name_of(e));
}

// Which rows move elements as they are.
bool moves_elements(const NodeContext& c) {
  static const std::set<std::string_view> kMove = {
      "Reshape",  "Flatten",      "Squeeze",        "Unsqueeze",       "Transpose",       "Concat",   "Slice",
      "Split",    "Gather",       "GatherElements", "GatherND",        "Expand",          "Tile",     "Pad",
      "Identity", "DepthToSpace", "SpaceToDepth",   "Trilu",           "ReverseSequence", "Compress", "Where",
      "Shape",    "Size",         "TensorScatter",  "ScatterElements", "ScatterND",       "Scatter"};
  return c.node.domain().empty() && kMove.contains(c.node.op_type()) && c.text("reduction", "none") == "none";
}

// Rows that decode and encode, and those that hand operands on as they are.
bool knows_encodings(const NodeContext& c) {
  static const std::set<std::string_view> kKnow = {
      "Cast",           "CastLike",      "QuantizeLinear", "DequantizeLinear",   "SequenceConstruct", "SequenceAt",
      "SequenceInsert", "SequenceErase", "Optional",       "OptionalHasElement", "OptionalGetElement"};
  return kKnow.contains(c.node.op_type());
}

}  // namespace

std::string name_of(Encoding e) { return format_of(e).name; }
int bits_of(Encoding e) { return format_of(e).bits; }
bool is_float(Encoding e) { return format_of(e).function; }

ElementType element_type_of(int data_type, const std::string& what) {
  for (const Format& f : kFormats)
    if (f.name && f.data_type == data_type) return {f.dtype, static_cast<Encoding>(&f - kFormats)};
  return {dtype_of(data_type, what)};
}

DType dtype_of(int data_type, const std::string& what) {
  switch (data_type) {
    case 1: return f32;
    case 2: return u8;
    case 3: return i8;
    case 4: return u16;
    case 5: return i16;
    case 6: return i32;
    case 7: return i64;
    case 9: return boolean;
    case 10: return f16;
    case 11: return f64;
    case 12: return u32;
    case 13: return u64;
    case 16: return bf16;
    default: break;
  }
  std::string name = data_type == 0                       ? "undefined"
                     : data_type == 8                     ? "string"
                     : data_type == 14 || data_type == 15 ? "a complex number"
                                                          : fmt::format("ONNX's type {}", data_type);
  for (const Format& f : kFormats)
    if (f.name && f.data_type == data_type) name = f.name;
  throw UserError(fmt::format("{}its elements are {}, which is not supported", what, name));
}

Operand decoded(Lowering& l, const Operand& x) {
  Operand codes = x;
  codes.encoding = Encoding::kPlain;
  if (!is_float(x.encoding)) return codes;
  if (x.is_empty()) return {kNoValue, {f32, x.type.shape}};
  return l.add("lookup", {}, {l.value(codes), l.value(table_of(l, x.encoding))}, x.type.shape);
}

Rounding rounding_of(const NodeContext& c) {
  const std::string mode = c.text("round_mode", "up");
  HONE_USER_CHECK(mode == "up" || mode == "down" || mode == "nearest") << "round_mode=" << mode;
  return {c.number("saturate", 1) != 0, mode == "up" ? 1 : mode == "down" ? -1 : 0};
}

Operand encoded(Lowering& l, const Operand& x, Encoding to, const Rounding& how) {
  if (to == Encoding::kPlain) return x;
  const Format& f = format_of(to);
  Operand out;
  if (x.is_empty()) {
    out = {kNoValue, {f.dtype, x.type.shape}};
  } else if (f.function) {
    const std::string numbers = to == Encoding::kE8M0 ? fmt::format("[{};{}]", how.direction, int{how.saturates})
                                : how.saturates       ? ""
                                                      : "[0]";
    out = l.pointwise(f.function + numbers + ":u8", {x.type.dtype == f64 ? x : l.cast(x, f32)});
  } else {
    // Whole numbers modulo 2^bits, the least of which is 0 or half of it below.
    const int all = 1 << f.bits, below = f.dtype == i8 ? all / 2 : 0;
    out =
        l.pointwise(fmt::format("add[{}]+mod[{}]+sub[{}]:{}", below, all, below, to_string(f.dtype)), {l.cast(x, i32)});
  }
  out.encoding = to;
  return out;
}

bool wants_run_encoded(const NodeContext& c) {
  if (knows_encodings(c)) return false;
  for (const auto& x : c.inputs)
    if (x && x->encoding != Encoding::kPlain) return true;
  return false;
}

void run_encoded(NodeContext& c, const std::function<void(NodeContext&)>& run) {
  std::optional<Operand> first;
  NodeContext codes = c;
  for (auto& x : codes.inputs) {
    if (!x || x->encoding == Encoding::kPlain) continue;
    HONE_USER_CHECK(moves_elements(c)) << "an input is " << name_of(x->encoding)
                                       << ", which models store and nothing computes with: a Cast makes floats of it";
    if (!first) first = x;
    HONE_USER_CHECK(x->encoding == first->encoding)
        << "inputs of " << name_of(first->encoding) << " and of " << name_of(x->encoding);
    x->encoding = Encoding::kPlain;
  }
  run(codes);
  c.outputs = std::move(codes.outputs);
  // A shape is none of the elements.
  for (Operand& out : c.outputs)
    if (out.type.dtype == first->type.dtype) out.encoding = first->encoding;
}

}  // namespace hone::onnx
