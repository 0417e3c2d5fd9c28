#include "compiler/ops/products/dense_nbits.h"

#include <fmt/format.h>

#include <cmath>

#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/prologue.h"

namespace hone {
namespace {

constexpr const char* kEachBlock = "each";

// Value: std::optional<int64_t>.
AttributeParser zero_point() {
  return [](std::string_view text, const AttributeContext& context) {
    std::optional<int64_t> zero;
    if (text != kEachBlock) zero = parse_number(fmt::format("{}: {}", context.op, context.name), text, 0, 255);
    return ParsedAttribute{zero ? std::to_string(*zero) : kEachBlock, zero};
  };
}

NbitsShape shape_of(const Attributes& a) {
  const NbitsShape s{
      a.number("m"),    a.number("n"),     a.number("k"),
      a.number("bits"), a.number("block"), a.get<std::optional<int64_t>>("zero"),
  };
  HONE_USER_CHECK(s.bits == 4 || s.bits == 8) << "dense_nbits: bits=" << s.bits << " is not supported; allowed: 4, 8";
  HONE_USER_CHECK(s.block % s.per_word() == 0)
      << "dense_nbits: block=" << s.block << " is no whole number of 32-bit words of " << s.per_word() << " numbers";
  HONE_USER_CHECK(s.k % s.block == 0) << "dense_nbits: k=" << s.k << " is no whole number of blocks of " << s.block;
  HONE_USER_CHECK(!s.zero || *s.zero < int64_t{1} << s.bits)
      << "dense_nbits: zero=" << *s.zero << " does not fit " << s.bits << " bits";
  HONE_USER_CHECK(a.get<DTypes>("dtype").accumulate == f32)
      << "dense_nbits: dtype=" << a.text("dtype") << " is not supported; allowed: f32, f16, bf16";
  element_count({s.m, s.n, s.blocks()});
  element_count({s.m, s.k});
  element_count({s.n, s.k});
  return s;
}

AttributeTexts infer_nbits(std::span<const TensorType> inputs) {
  const TensorType &a = input_of_rank(inputs, 0, "a", 2), &b = input_of_rank(inputs, 1, "b", 2),
                   &scales = input_of_rank(inputs, 2, "scales", 2);
  const int64_t k = a.shape[1], words = b.shape[1], blocks = scales.shape[1];
  HONE_USER_CHECK(k % std::max<int64_t>(1, words) == 0 && k % std::max<int64_t>(1, blocks) == 0 && words > 0 &&
                  blocks > 0 && 32 % (k / words) == 0)
      << "dense_nbits: k=" << k << ", " << words << " words and " << blocks << " blocks of a row do not go together";
  return {
      {"m", std::to_string(a.shape[0])},          {"n", std::to_string(b.shape[0])},     {"k", std::to_string(k)},
      {"bits", std::to_string(32 / (k / words))}, {"block", std::to_string(k / blocks)}, {"dtype", to_string(a.dtype)}};
}

// `of` by the value of `index`, from 0 to count - 1.
Expr pick(const Expr& index, int64_t count, const std::function<Expr(int64_t)>& of) {
  Expr out = of(count - 1);
  for (int64_t i = count - 2; i >= 0; --i) out = select(eq(index, make_whole(i, index->dtype)), of(i), out);
  return out;
}

// The factor of number `number` of a word when it is not shifted down: the value of its lowest bit.
double position_value(int64_t number, int64_t bits) { return std::exp2(static_cast<double>(number * bits)); }

// Number `i` of a word, times its place value in its half of the word: a mask of the word, or of its upper half.
Expr number_in_place(const Expr& word, int64_t i, int64_t bits) {
  const int64_t half = 16 / bits, position = i % half * bits;
  const auto power = [](int64_t p) { return int64_t{1} << p; };
  const Expr own_half = i < half ? word : floor_div(word, power(16));
  return floor_mod(floor_div(own_half, power(position)), power(bits)) * power(position);
}

}  // namespace

const NbitsShape& nbits_shape(const Workload& w) { return w.shape_as<NbitsShape>(); }

namespace {

// The inputs, by the names that the stages know them by.
struct NbitsInputs {
  Tensor x, b, scales, zeros;  // x: the input behind its prologue; zeros: null where all blocks have the same
};

NbitsInputs inputs_of(const Workload& w, Definition* d) {
  const NbitsShape& s = nbits_shape(w);
  const Tensor a = placeholder("a", {s.m, s.k}, dtypes_of(w).in);
  NbitsInputs in{{}, placeholder("b", {s.n, s.words()}, u32), placeholder("scales", {s.n, s.blocks()}, f32), {}};
  d->inputs = {{a, ParamRole::kInput}, {in.b, ParamRole::kConstant}, {in.scales, ParamRole::kConstant}};
  if (!s.zero) {
    in.zeros = placeholder("zeros", {s.n, s.blocks()}, u8);
    d->inputs.emplace_back(in.zeros, ParamRole::kConstant);
  }
  in.x = through_prologue(w, a, 1, d);
  return in;
}

// The stages behind `blocks`, whose numbers are `more` than they should be.
void add_up(const Workload& w, const NbitsInputs& in, const Tensor& blocks, int64_t more, Definition* d) {
  const NbitsShape& s = nbits_shape(w);
  Tensor sums;
  std::vector<Tensor> reads{in.scales, blocks};
  if (!s.zero || *s.zero + more != 0) {
    sums = compute_reduce("sums", {s.m, s.blocks()}, {"m", "block"}, {in.x}, [&](const std::vector<Expr>& i) {
      const Axis number = reduce_axis("number", s.block);
      return sum(cast(f32, in.x(i[0], i[1] * s.block + number)), {number});
    });
    reads.push_back(sums);
  }
  if (!s.zero) reads.push_back(in.zeros);
  d->anchor = compute_reduce("matmul", {s.m, s.n}, {"m", "n"}, reads, [&](const std::vector<Expr>& i) {
    const Axis block = reduce_axis("block", s.blocks());
    Expr own = blocks(i[0], i[1], block);
    if (sums.node()) {
      const auto offset = static_cast<double>(more);
      const Expr zero = s.zero ? make_float(static_cast<double>(*s.zero) + offset)
                        : more ? cast(f32, in.zeros(i[1], block)) + make_float(offset)
                               : cast(f32, in.zeros(i[1], block));
      own = own - zero * sums(i[0], block);
    }
    return sum(in.scales(i[1], block) * own, {block});
  });
  d->outputs = {d->anchor};
  // An f32 is split into two parts, which leave out its last bits. f16 and bf16 are exact.
  if (s.bits == 4 && dtypes_of(w).in == f32) d->factor_error = 0x1p-16;
  add_epilogue(w, 1, {"m", "n"}, d);
}

}  // namespace

Definition dense_nbits(const Workload& w) {
  const NbitsShape& s = nbits_shape(w);
  Definition d;
  const NbitsInputs in = inputs_of(w, &d);
  const int64_t per_word = s.per_word(), half = 16 / s.bits;
  const Tensor scaled = compute("scaled", {s.m, s.k}, {"m", "k"}, {in.x}, [&](const std::vector<Expr>& i) {
    const Expr position = floor_mod(i[1], half);
    return cast(f32, in.x(i[0], i[1])) *
           pick(position, half, [&](int64_t p) { return make_float(1 / position_value(p, s.bits)); });
  });
  const Tensor blocks = compute_reduce(
      "blocks", {s.m, s.n, s.blocks()}, {"m", "n", "block"}, {scaled, in.b}, [&](const std::vector<Expr>& i) {
        const Axis word = reduce_axis("word", s.block / per_word), number = reduce_axis("number", per_word);
        const Expr bits = in.b(i[1], i[2] * (s.block / per_word) + word);
        const Expr own = pick(number, per_word, [&](int64_t n) { return number_in_place(bits, n, s.bits); });
        return sum(scaled(i[0], i[2] * s.block + word * per_word + number) * cast(f32, own), {word, number});
      });
  add_up(w, in, blocks, 0, &d);
  return d;
}

Definition dense_nbits_in_pairs(const Workload& w) {
  const NbitsShape& s = nbits_shape(w);
  HONE_ICHECK(s.bits == 4) << s.bits << " bits";
  constexpr int64_t kNumbers = 8, kPairs = 4, kMore = 16;  // of a word; added to a number
  Definition d;
  const NbitsInputs in = inputs_of(w, &d);
  const Tensor parts = compute("parts", {2, s.m, s.k}, {"part", "m", "k"}, {in.x}, [&](const std::vector<Expr>& i) {
    const Expr number = floor_mod(i[2], kNumbers);
    const Expr x = cast(f32, in.x(i[1], i[2] - number + floor_div(number, 2) + floor_mod(number, 2) * kPairs));
    const Expr first = cast(bf16, x);
    return select(eq(i[0], make_int(0)), first, cast(bf16, x - cast(f32, first)));
  });
  const Tensor blocks = compute_reduce(
      "blocks", {s.m, s.n, s.blocks()}, {"m", "n", "block"}, {parts, in.b}, [&](const std::vector<Expr>& i) {
        const Axis word = reduce_axis("word", s.block / kNumbers), number = reduce_axis("number", kPairs),
                   part = reduce_axis("part", 2);
        const Expr bits = in.b(i[1], i[2] * (s.block / kNumbers) + word),
                   at = i[2] * s.block + word * kNumbers + number * 2;
        const auto numbers = [&](int64_t first) {
          return pick(number, kPairs, [&](int64_t n) {
            return cast(bf16, floor_mod(floor_div(bits, int64_t{1} << (first + n) * s.bits), kMore) + kMore);
          });
        };
        return sum(
            call(Intrinsic::kDot2, {parts(part, i[0], at), parts(part, i[0], at + 1), numbers(0), numbers(kPairs)}),
            {word, number, part});
      });
  add_up(w, in, blocks, kMore, &d);
  return d;
}

int64_t parts_of(const Workload& w) {
  const DType in = dtypes_of(w).in;
  return in == bf16 ? 1 : in == f16 ? 2 : 3;
}

Definition dense_nbits_in_parts(const Workload& w, int64_t rows) {
  const NbitsShape& s = nbits_shape(w);
  const int64_t more = s.bits == 4 ? 16 : 0;  // added to a number
  Definition d;
  const NbitsInputs in = inputs_of(w, &d);
  const Tensor parts =
      compute("parts", {parts_of(w), rows, s.k}, {"part", "m", "k"}, {in.x}, [&](const std::vector<Expr>& i) {
        Expr rest = cast(f32, in.x(i[1], i[2]));
        if (rows > s.m) rest = select(lt(i[1], s.m), rest, make_float(0));
        std::vector<Expr> all;
        for (int64_t p = 0; p < parts_of(w); ++p) {
          all.push_back(cast(bf16, rest));
          rest = rest - cast(f32, all.back());
        }
        return pick(i[0], parts_of(w), [&](int64_t p) { return all[static_cast<size_t>(p)]; });
      });
  const Tensor numbers = compute("numbers", {s.n, s.k}, {"n", "k"}, {in.b}, [&](const std::vector<Expr>& i) {
    const Expr word = in.b(i[0], floor_div(i[1], s.per_word()));
    return pick(floor_mod(i[1], make_int(s.per_word())), s.per_word(), [&](int64_t n) {
      const Expr number = floor_mod(floor_div(word, int64_t{1} << n * s.bits), int64_t{1} << s.bits);
      return cast(bf16, more ? number + more : number);
    });
  });
  const Tensor blocks = compute_reduce(
      "blocks", {rows, s.n, s.blocks()}, {"m", "n", "block"}, {parts, numbers}, [&](const std::vector<Expr>& i) {
        const Axis number = reduce_axis("number", s.block), part = reduce_axis("part", parts_of(w));
        const Expr at = i[2] * s.block + number;
        return sum(cast(f32, parts(part, i[0], at)) * cast(f32, numbers(i[1], at)), {number, part});
      });
  add_up(w, in, blocks, more, &d);
  return d;
}

Operator dense_nbits_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "dense_nbits";
  op.summary = "C[m,n] = A[m,k] W[n,k], W of 4 or 8 bits with a scale for each block along k";
  const auto input = [](const Attributes& a) { return std::vector<int64_t>{a.number("m"), a.number("k")}; };
  const auto output = [](const Attributes& a) { return std::vector<int64_t>{a.number("m"), a.number("n")}; };
  op.attributes = {
      {"m", "1", whole_number()},
      {"n", "4096", whole_number()},
      {"k", "4096", whole_number()},
      {"bits", "4", whole_number()},
      {"block", "32", whole_number()},
      {"zero", "8", zero_point()},
      {"dtype", "f32", float_dtype()},
      {"epilogue", "none", epilogue(functions, {output, 1, /*has_rows=*/true})},
      prologue_attribute(functions, {input, 1}),
  };
  op.shape = [](const Attributes& a) { return std::any(shape_of(a)); };
  op.infer = &infer_nbits;
  op.define = &dense_nbits;
  op.flops = [](const Workload& w) {
    const NbitsShape& s = nbits_shape(w);
    return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  };
  return op;
}

}  // namespace hone
