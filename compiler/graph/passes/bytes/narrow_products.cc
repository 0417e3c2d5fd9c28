// conv(mul[0.02](sub[124](cast:f32(bytes))), 0.004 * weights)
// ->   mul[0.00008](cast:f32(conv(bytes, weights) - 124 * sum of weights))     with a border of 124
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <numeric>

#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/bytes.h"
#include "compiler/graph/passes/bytes/whole_weights.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/constants.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/rewrite/of_bytes.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// Numbers of bytes: (byte - zero) * scale.
struct Grid {
  double scale;
  int64_t zero;
};

// The steps that a table of values has, one for each byte in ascending order from `least` on.
std::optional<Grid> grid_of(const std::vector<double>& table, int64_t least) {
  const double scale = (table.back() - table.front()) / static_cast<double>(kBytes - 1);
  if (!std::isfinite(scale) || scale == 0) return std::nullopt;
  const double zero = std::round(static_cast<double>(least) - table.front() / scale);
  if (zero < static_cast<double>(least) || zero >= static_cast<double>(least + kBytes)) return std::nullopt;
  constexpr double kRoundings = 1e-6;  // of f32, some of them, in the largest value
  for (size_t i = 0; i < table.size(); ++i)
    if (std::abs(table[i] - (static_cast<double>(least) + static_cast<double>(i) - zero) * scale) >
        kRoundings * kBytes * std::abs(scale))
      return std::nullopt;
  return Grid{scale, static_cast<int64_t>(zero)};
}

// A value that bytes were dequantised to: u8 in the new graph, and their scale and zero point.
struct Bytes {
  ValueId value;
  Grid steps;
  ValueId zero = kNoValue;  // one that only a call knows, of one element; steps.zero is added to it
};

// Whether a node computes each element from one, by functions and numbers alone.
bool is_function(const Node& n) { return is<ops::Elementwise>(n) && n.inputs.size() == 1 && n.outputs.size() == 1; }
bool is_movement(const Node& n) { return is<ops::Reshape, ops::Transpose>(n); }

// Channels that a word of an image of few lacks.
int64_t missing_channels(const ConvShape& s) {
  constexpr int64_t kFew = 16;
  return s.groups == 1 && s.ci < kFew ? missing_of_word(s.ci) : 0;
}

class ProductNarrower : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    if (is<ops::MaxPool2d>(n)) return narrow_pool(n);
    if (is<ops::BatchMatmul>(n)) return narrow_both(n);
    return is<ops::Conv2d, ops::DepthwiseConv2d, ops::Dense>(n) && narrow(n);
  }

 private:
  // x - y of whole numbers, y of one element.
  bool subtracts_one(const Node& n) const {
    return is<ops::Elementwise>(n) && n.workload.attributes.text("op") == "sub" && n.inputs.size() == 2 &&
           dtype(n.outputs[0]) == i16 && has_one_element(n.inputs[1]);
  }

  // The byte from which the whole number `zero` was converted; kNoValue when it may be no byte.
  ValueId byte_behind(ValueId zero) const {
    const Node* n = producer<ops::Elementwise>(in_front_of<ops::Reshape, ops::Transpose>(zero));
    if (!n || !is_function(*n) || n->workload.attributes.text("op") != "cast:s16") return kNoValue;
    return is_byte(dtype(n->inputs[0])) ? n->inputs[0] : kNoValue;
  }

  // Whether where the border is may be written down, an element of a plane each.
  static bool can_have_border(const ConvShape& s) {
    constexpr int64_t kMostElements = 1 << 24;
    return s.h + s.pad_top + s.pad_bottom <= kMostElements / (s.w + s.pad_left + s.pad_right);
  }

  // An image of bytes inside of its convolution's border, which is the zero point that only a call knows.
  ValueId with_border(ValueId image, const Bytes& bytes, const ConvShape& s) {
    const auto padded = [&](ValueId v) {
      return b_.pad(v, {0, 0, s.pad_top, s.pad_left}, {0, 0, s.pad_bottom, s.pad_right});
    };
    const std::vector<uint8_t> inside(static_cast<size_t>(s.h * s.w), 1);
    const ValueId zero = b_.elementwise(fmt::format("cast:s16+add[{}]:u8", bytes.steps.zero),
                                        with_shape(now(byte_behind(bytes.zero)), {1, 1, 1, 1}));
    const ValueId is_inside = padded(b_.constant(tensor_of({boolean, {1, 1, s.h, s.w}}, inside)));
    return b_.elementwise("where", padded(image), {is_inside, zero});
  }

  // The results of functions for each byte; the function nearest to the bytes is the last of the list.
  std::vector<double> table_of(const std::vector<const Node*>& functions, DType bytes) const {
    TensorData x = all_bytes(bytes);
    for (auto f = functions.rbegin(); f != functions.rend(); ++f)
      x = evaluated(elementwise_shape((*f)->workload).chain, {x}, c_);
    return x.values();
  }

  // The bytes that a product's input `v` is made of. The functions may stand before and behind views.
  std::optional<Bytes> bytes_behind(ValueId v) {
    std::vector<const Node*> functions, movements;
    ValueId zero = kNoValue;
    while (!is_byte(dtype(v))) {
      const Node* n = producer(v);
      // Before that no function but a conversion: zeros are whole numbers of bytes.
      if (n && functions.empty() && zero == kNoValue && subtracts_one(*n)) {
        zero = n->inputs[1];
        v = n->inputs[0];
        continue;
      }
      if (!n || !(is_function(*n) || is_movement(*n))) return std::nullopt;
      (is_function(*n) ? functions : movements).push_back(n);
      v = n->inputs[0];
    }
    if (functions.empty()) return std::nullopt;
    const DType type = dtype(v);
    const auto steps = grid_of(table_of(functions, type), type == u8 ? 0 : -kBytes / 2);
    if (!steps || (zero != kNoValue && steps->scale != 1)) return std::nullopt;
    Bytes out{now(v), *steps, zero};
    if (type == i8) {
      out.value = unsigned_of(v);
      out.steps.zero += kBytes / 2;
    }
    for (auto m = movements.rbegin(); m != movements.rend(); ++m)
      out.value = b_.add(with_elements((*m)->workload, u8), {out.value}).front();
    return out;
  }

  // s8 as u8, 128 more.
  ValueId unsigned_of(ValueId v) {
    auto known = unsigned_.find(v);
    if (known == unsigned_.end()) known = unsigned_.emplace(v, b_.elementwise("cast:s16+add[128]:u8", now(v))).first;
    return known->second;
  }

  // The largest of numbers in ascending steps is that of the largest byte.
  bool narrow_pool(const Node& n) {
    if (has_epilogue(n) || has_prologue(n) || dtypes_of(n.workload).in != f32) return false;
    const auto bytes = bytes_behind(n.inputs[0]);
    if (!bytes || bytes->steps.scale <= 0 || bytes->zero != kNoValue) return false;
    const ValueId most = b_.add(with_elements(n.workload, u8), {bytes->value}).front();
    const auto text = [](auto number) { return argument_text(static_cast<float>(number)); };
    return replace(
        n, b_.elementwise(fmt::format("cast:f32+sub[{}]+mul[{}]", text(bytes->steps.zero), text(bytes->steps.scale)),
                          most));
  }

  static bool is_of_f32(const DTypes& t) { return t.in == f32 && t.weight == f32 && t.out == f32 && !t.tf32; }

  bool narrow(const Node& n) {
    const ConvShape* image_shape = is<ops::Dense>(n) ? nullptr : &conv_shape(n.workload);
    const DTypes& t = dtypes_of(n.workload);
    const bool of_floats = is_of_f32(t),
               of_numbers = t.in == i16 && t.weight == i16 && t.accumulate == i32 && t.out == i32,
               has_bias = n.workload.attributes.text("epilogue") == "bias";
    if (!(of_floats || of_numbers) || has_epilogue(n) != has_bias || has_prologue(n) || !is_constant(n.inputs[1]) ||
        (image_shape && layout_of(n.workload).in != "NCHW") || (has_bias && !is_constant(n.inputs[2])))
      return false;
    const TensorData& weight = data(n.inputs[1]);
    const auto channels = static_cast<size_t>(weight.type().shape[0]);
    const int64_t each = weight.elements() / static_cast<int64_t>(channels);
    if (each > (int64_t{1} << 31) / (kBytes * kMostFactor)) return false;  // sums of s32
    const auto bytes = bytes_behind(n.inputs[0]);
    if (!bytes) return of_floats && !image_shape && narrow_weights(n);
    if (of_numbers && bytes->steps.scale != 1) return false;
    const bool has_own_border = has_border(n) && bytes->zero != kNoValue;
    if (has_own_border && (byte_behind(bytes->zero) == kNoValue || !can_have_border(*image_shape))) return false;
    const auto whole = whole_weights(weight);
    if (!whole) return false;
    std::vector<double> scales(channels);
    for (size_t c = 0; c < channels; ++c) {
      scales[c] = bytes->steps.scale * whole->scales[c];
      if (!std::isnormal(static_cast<float>(scales[c]))) return false;  // digits would be lost
    }

    // A few input channels are filled up to a word, because four bytes are multiplied at once.
    const int64_t missing = is<ops::Conv2d>(n) ? missing_channels(*image_shape) : 0;
    const auto with_zeros = [&](ValueId v) { return b_.pad(v, {0, 0, 0, 0}, {0, missing, 0, 0}); };
    const ValueId weights = with_zeros(of_weights(n, tensor_of({i8, weight.type().shape}, whole->numbers)));
    ValueId x = with_zeros(bytes->value);
    if (has_own_border) x = with_border(x, *bytes, *image_shape);
    const auto border = has_border(n) && !has_own_border ? std::optional(bytes->steps.zero) : std::nullopt;
    ValueId v = b_.add(sums_of_bytes(n.workload, b_.type(x).shape, border), {x, weights}).front();
    Extents by_channel(b_.type(v).shape.size(), 1);
    by_channel[channel_axis(by_channel)] = static_cast<int64_t>(channels);
    const auto apply = [&](const std::string& op, TensorData operand) {
      v = b_.elementwise(op, v, {of_weights(n, std::move(operand))});
    };

    // The zero point's part of each sum, and the bias, when it is a whole number of steps.
    std::vector<int32_t> sums(channels), shift(channels);
    for (size_t c = 0; c < channels; ++c) {
      const auto begin = whole->numbers.begin() + static_cast<std::ptrdiff_t>(c) * each;
      sums[c] = static_cast<int32_t>(std::accumulate(begin, begin + each, int64_t{0}));
      shift[c] = static_cast<int32_t>(-bytes->steps.zero * sums[c]);
    }
    if (bytes->zero != kNoValue) {
      const ValueId zero = b_.elementwise("cast:s32", with_shape(now(bytes->zero), Extents(by_channel.size(), 1)));
      const ValueId own = b_.constant(tensor_of({i32, by_channel}, sums));
      v = b_.elementwise("sub", v, {b_.elementwise("mul", own, {zero})});
    }
    const double room = 0x1p31 - static_cast<double>(each * (kBytes - 1) * kMostFactor);  // that s32 leaves a bias
    const bool joins_bias = has_bias && join_bias(data(n.inputs[2]).values(), scales, room, &shift);
    if (std::any_of(shift.begin(), shift.end(), [](int32_t s) { return s != 0; }))
      apply("add", tensor_of({i32, by_channel}, shift));
    if (of_floats) {
      v = b_.elementwise("cast:f32", v);
      apply("mul", floats_of({f32, by_channel}, scales));
    }
    if (has_bias && !joins_bias) apply("add", data(n.inputs[2]).reshaped(by_channel));
    return replace(n, v);
  }

  // Whether the value's only reader makes bytes of it, by functions of one element, perhaps moved.
  bool becomes_bytes(ValueId v) const {
    constexpr int kMostFunctions = 8;
    for (int i = 0; i < kMostFunctions; ++i) {
      const Node* n = only_reader(v);
      if (!n || !(is_function(*n) || is_movement(*n))) return false;
      v = n->outputs[0];
      if (is_byte(dtype(v))) return true;
    }
    return false;
  }

  // u8 as s8, 128 less.
  ValueId signed_of(ValueId v) { return b_.elementwise("cast:s16+sub[128]:s8", v); }
  // The sums of whole numbers along an axis, which stays as one of one element, times a number.
  ValueId sums_of(ValueId v, int64_t axis, int64_t factor) {
    v = b_.elementwise("cast:s32", v);
    v = b_.add_one("reduce", {{"op", "sum"}, {"axes", std::to_string(axis)}, {"keepdims", "1"}}, {v});
    return factor == 1 ? v : b_.elementwise(fmt::format("mul[{}]", whole_text(factor)), v);
  }
  // Exact, where a float is not.
  static std::string whole_text(int64_t number) { return number == 1 ? "1.0" : std::to_string(number); }

  // Two inputs of bytes and a result of bytes: mostly one input is the result of another product or of a softmax. The
  // smaller one becomes signed, as one of a dot product's factors is. With x, y their bytes and p, q their zero points:
  // sum of (x - p) (y - q)   =   sum of x y - p * sum of y - q * sum of x + k p q
  bool narrow_both(const Node& n) {
    const DTypes& t = dtypes_of(n.workload);
    const ProductShape& s = product_shape(n.workload);
    if (!is_of_f32(t) || has_epilogue(n) || has_prologue(n) || s.k > (int64_t{1} << 31) / (kBytes * kBytes) ||
        !becomes_bytes(n.outputs[0]))
      return false;
    const auto x = bytes_behind(n.inputs[0]), y = x ? bytes_behind(n.inputs[1]) : std::nullopt;
    if (!x || !y || x->zero != kNoValue || y->zero != kNoValue) return false;
    const auto scale = static_cast<float>(x->steps.scale * y->steps.scale);
    if (!std::isnormal(scale)) return false;
    // GPUs multiply u8 by s8 alone.
    const bool first_is_signed = c_.lanes > 0 && s.m <= s.n;
    const ValueId a = first_is_signed ? signed_of(x->value) : x->value,
                  c = first_is_signed ? y->value : signed_of(y->value);
    const int64_t p = x->steps.zero - (first_is_signed ? kBytes / 2 : 0),
                  q = y->steps.zero - (first_is_signed ? 0 : kBytes / 2);
    const int64_t missing = missing_of_word(s.k);  // zeros add nothing
    const std::vector<ValueId> factors{b_.pad(a, {0, 0, 0}, {0, 0, missing}), b_.pad(c, {0, 0, 0}, {0, missing, 0})};
    ValueId v = b_.add(matmul_of_bytes(n.workload, first_is_signed, s.k + missing), factors).front();
    const auto function = [&](const std::string& op, std::vector<ValueId> operands) {
      v = b_.elementwise(op, v, std::move(operands));
    };
    if (p != 0) function("sub", {sums_of(c, 1, p)});
    if (q != 0) function("sub", {sums_of(a, 2, q)});
    if (p != 0 && q != 0) function(fmt::format("add[{}]", whole_text(s.k * p * q)), {});
    function("cast:f32", {});
    function(fmt::format("mul[{}]", argument_text(scale)), {});
    return replace(n, v);
  }

  // A product of few rows of floats is bound by reading its weights; bytes are a quarter of them. Converting them costs
  // more than that gains when they lie in a cache and several rows share them: with 3072 x 768 weights one row takes
  // 0.60 of the time and four 1.17, with 4096 x 4096 0.18 and 0.37 (Zen 4, one thread).
  bool narrow_weights(const Node& n) {
    constexpr int64_t kFewRows = 4, kLeastWeights = 1 << 16, kBeyondCaches = 1 << 22;
    const TensorData& weight = data(n.inputs[1]);
    const int64_t rows = shape(n.inputs[0])[0];
    if (rows > kFewRows || weight.elements() < (rows == 1 ? kLeastWeights : kBeyondCaches)) return false;
    const auto blocks = whole_blocks(weight);
    if (!blocks) return false;
    if (blocks->bits == 4 || blocks->size < weight.type().shape[1]) return narrow_blocks(n, *blocks);
    const auto whole = whole_weights(weight);
    if (!whole) return false;
    const ValueId numbers = of_weights(n, tensor_of({i8, weight.type().shape}, whole->numbers));
    ValueId v = b_.add(with_weights_of_bytes(n.workload), {now(n.inputs[0]), numbers}).front();
    const Extents by_channel{1, weight.type().shape[0]};
    v = b_.elementwise("mul", v, {of_weights(n, floats_of({f32, by_channel}, whole->scales))});
    if (n.inputs.size() > 2) v = b_.elementwise("add", v, {of_weights(n, data(n.inputs[2]).reshaped(by_channel))});
    return replace(n, v);
  }

  // Narrows a product with these weights.
  bool narrow_blocks(const Node& n, const WholeBlocks& w) {
    const int64_t numbers_of_word = 32 / w.bits, rows = shape(n.inputs[1])[0], columns = shape(n.inputs[1])[1];
    if (w.size % numbers_of_word != 0) return false;
    std::vector<uint32_t> words(w.numbers.size() / static_cast<size_t>(numbers_of_word));
    for (size_t i = 0; i < w.numbers.size(); ++i)
      words[i / static_cast<size_t>(numbers_of_word)] |= static_cast<uint32_t>(w.numbers[i])
                                                         << static_cast<int64_t>(i) % numbers_of_word * w.bits;
    const bool one_zero = std::all_of(w.zeros.begin(), w.zeros.end(), [&](uint8_t z) { return z == w.zeros[0]; });
    std::vector<ValueId> inputs{now(n.inputs[0]),
                                of_weights(n, tensor_of({u32, {rows, columns / numbers_of_word}}, words)),
                                of_weights(n, tensor_of({f32, {rows, columns / w.size}}, w.scales))};
    if (!one_zero) inputs.push_back(of_weights(n, tensor_of({u8, {rows, columns / w.size}}, w.zeros)));
    const bool has_bias = n.inputs.size() > 2;
    if (has_bias) inputs.push_back(now(n.inputs[2]));
    return replace(n, b_.add_one("dense_nbits",
                                 {{"zero", one_zero ? std::to_string(w.zeros[0]) : "each"},
                                  {"epilogue", has_bias ? "bias" : "none"}},
                                 inputs));
  }

  // A constant, named after the weights.
  ValueId of_weights(const Node& n, TensorData data) { return b_.constant(std::move(data), name(n.inputs[1])); }

  // Adds a bias to `shift`, in units of `scales`. False, and nothing changed, where it is no whole number of them, or
  // has no room.
  static bool join_bias(const std::vector<double>& bias, const std::vector<double>& scales, double room,
                        std::vector<int32_t>* shift) {
    std::vector<int32_t> out = *shift;
    for (size_t c = 0; c < bias.size(); ++c) {
      const double exact = bias[c] / scales[c], whole = std::round(exact);
      constexpr double kRoundings = 1e-6, kMostOff = 0.05;  // of f32; of a step
      const bool is_whole = std::abs(exact - whole) <= std::min(kRoundings * std::abs(exact), kMostOff);
      if (!is_whole || std::abs(whole) >= room) return false;  // no NaN is
      // Sums wrap around on the way; the final result fits.
      out[c] = static_cast<int32_t>(static_cast<uint32_t>(out[c]) + static_cast<uint32_t>(static_cast<int64_t>(whole)));
    }
    *shift = std::move(out);
    return true;
  }

  std::map<ValueId, ValueId> unsigned_;  ///< by value of s8, as one of u8 in the new graph
};

}  // namespace

Graph narrow_products(const Graph& g, const PassContext& context) { return rewritten_by<ProductNarrower>(g, context); }

}  // namespace hone
