// Attention and rotary positions: ONNX's own operators and the fused ones of optimizers. They are lowered to the form
// that exporters write, two products with a softmax between them, which the passes recognize.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

Operand part(Lowering& l, const Operand& x, size_t axis, int64_t begin, int64_t count) {
  Extents first(x.rank(), 0), size = x.type.shape;
  first[axis] = begin;
  size[axis] = count;
  return l.slice(x, first, Extents(x.rank(), 1), size);
}

Operand scaled(Lowering& l, const Operand& x, double by) {
  return by == 1 ? x : l.pointwise("mul[" + number_text(by, x.type.dtype) + "]", {x});
}

// [batch, rows, heads * size] -> [batch, heads, rows, size]
Operand split_heads(Lowering& l, const Operand& x, int64_t heads) {
  HONE_USER_CHECK(x.rank() == 3 && heads >= 1 && x.type.shape[2] % heads == 0)
      << heads << " heads of " << to_string(x.type);
  const Extents& s = x.type.shape;
  return l.transpose(l.reshape(x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}
Operand join_heads(Lowering& l, const Operand& x) {
  const Extents& s = x.type.shape;
  return l.reshape(l.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

// Each head of keys or values for all queries of its group, spelled as exporters do.
Operand repeated_heads(Lowering& l, const Operand& x, int64_t heads) {
  const Extents& s = x.type.shape;
  HONE_USER_CHECK(heads % s[1] == 0) << heads << " heads of queries and " << s[1] << " of keys and values";
  if (s[1] == heads) return x;
  const Operand apart = l.reshape(x, {s[0], s[1], 1, s[2], s[3]});
  return l.reshape(l.broadcast(apart, {s[0], s[1], heads / s[1], s[2], s[3]}), {s[0], heads, s[2], s[3]});
}

// The summand that hides a score. Finite, so that a row of only such scores is no NaN.
double least(DType t) {
  return t == f16 ? -65504.0 : t == f64 ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
}

// 0 where the mask of bools holds, `other` elsewhere.
Operand bias_of_mask(Lowering& l, const Operand& mask, DType t, double other) {
  return l.pointwise("where", {l.number(0, t), mask, l.number(other, t)});
}

constexpr int64_t kNoWindow = int64_t{1} << 40;

// [queries, keys]: query i sees keys up to `before` + i, the last `window` of them.
Operand causal_mask(Lowering& l, int64_t queries, int64_t keys, int64_t before, int64_t window = kNoWindow) {
  HONE_USER_CHECK(l.may_make(element_count({queries, keys, 8}))) << "a mask of " << queries << " x " << keys;
  std::string sees;
  sees.reserve(static_cast<size_t>(queries * keys));
  for (int64_t q = 0; q < queries; ++q)
    for (int64_t k = 0; k < keys; ++k) sees += k <= before + q && k > before + q - window ? '\1' : '\0';
  return l.constant(TensorData({boolean, {queries, keys}}, std::move(sees)));
}
Operand causal_bias(Lowering& l, int64_t queries, int64_t keys, int64_t before, DType t, int64_t window = kNoWindow) {
  return bias_of_mask(l, causal_mask(l, queries, keys, before, window), t, least(t));
}

// The output of attention with zeros where a query sees no key: the softmax of a row that is masked as a whole would
// give the mean of all values. `sees`: bools that broadcast to [batch, heads, queries, keys].
Operand without_blind(Lowering& l, const Operand& out, const Operand& sees) {
  const Operand any = l.reduce("max", l.cast(sees, i32), {static_cast<int64_t>(sees.rank()) - 1}, true);
  if (const auto known = l.data_of(any)) {
    const std::vector<int64_t> values = known->numbers();
    if (std::find(values.begin(), values.end(), 0) == values.end()) return out;
  }
  return l.pointwise("where", {out, l.pointwise("greater", {any, l.number(0, i32)}), l.number(0, out.type.dtype)});
}

struct Scoring {
  double scale = 1, softcap = 0;
  std::vector<Operand> biases;                 // broadcast to [batch, heads, queries, keys]
  DType softmax = f32;                         // its type
  std::optional<Operand> sink = std::nullopt;  // [heads]: a score more of each row, whose share goes nowhere
};

struct Attended {
  Operand out, dots, capped, scores, shares;  // `scores`: capped, and then biased
};

// softmax(Q K^T scale + biases) V of [batch, heads, rows, size]
Attended attend(Lowering& l, const Operand& q, const Operand& key, const Operand& value, const Scoring& how) {
  HONE_USER_CHECK(q.rank() == 4 && key.rank() == 4 && value.rank() == 4 && key.type.shape[1] == value.type.shape[1] &&
                  key.type.shape[2] == value.type.shape[2] && !q.is_empty() && !key.is_empty())
      << "queries " << to_string(q.type) << ", keys " << to_string(key.type) << ", values " << to_string(value.type);
  const int64_t heads = q.type.shape[1];
  const Operand keys = repeated_heads(l, key, heads), values = repeated_heads(l, value, heads);
  Attended a;
  a.dots = scaled(l, l.batch_matmul(q, l.transpose(keys, {0, 1, 3, 2})), how.scale);
  a.scores = a.dots;
  if (how.softcap > 0) a.scores = scaled(l, l.pointwise("tanh", {scaled(l, a.scores, 1 / how.softcap)}), how.softcap);
  a.capped = a.scores;
  const Extents shape = a.scores.type.shape;
  for (const Operand& bias : how.biases) a.scores = l.pointwise("add", {a.scores, bias});
  HONE_USER_CHECK(a.scores.type.shape == shape)
      << "a mask of [" << join(a.scores.type.shape, ", ") << "] for scores of [" << join(shape, ", ") << "]";
  const DType t = q.type.dtype;
  Operand in = l.cast(a.scores, how.softmax);
  if (how.sink) {
    const Operand sink = l.cast(l.reshape(*how.sink, {1, heads, 1, 1}), how.softmax);
    in = l.concat({in, l.broadcast(sink, {shape[0], heads, shape[2], 1})}, 3);
  }
  const Operand shares = l.add("softmax", {{"axis", "3"}}, {l.value(in)}, in.type.shape);
  a.shares = l.cast(how.sink ? part(l, shares, 3, 0, shape[3]) : shares, t);
  a.out = l.batch_matmul(a.shares, values);
  return a;
}

// Keys or values: those of earlier tokens, if any, with the new ones behind them.
Operand behind(Lowering& l, const NodeContext& c, size_t past, const Operand& now) {
  if (!c.has(past)) return now;
  const Extents &p = c.in(past).type.shape, &n = now.type.shape;
  HONE_USER_CHECK(p.size() == 4 && p[0] == n[0] && p[1] == n[1] && p[3] == n[3])
      << to_string(c.in(past).type) << " in front of " << to_string(now.type);
  return l.concat({c.in(past), now}, 2);
}

double scale_of(const NodeContext& c, const Operand& q) {
  const double given = c.real("scale", 0);
  return given == 0 ? 1 / std::sqrt(static_cast<double>(q.type.shape[3])) : given;
}

// ---- ONNX ----

// [batch, 1, queries or 1, keys]: each sequence has keys of its own number `lengths`, and the last query stands at the
// last of them where it is causal. A query in front of the first key sees none.
Operand unpadded_mask(Lowering& l, const Operand& lengths, const Operand& q, int64_t keys, bool is_causal) {
  const int64_t batch = q.type.shape[0], queries = q.type.shape[2];
  HONE_USER_CHECK(lengths.type.shape == Extents{batch} && lengths.type.dtype.is_integer())
      << "nonpad_kv_seqlen " << to_string(lengths.type) << " of " << batch << " sequences";
  const auto positions = [&](int64_t count, const Extents& shape, int64_t first) {
    Extents numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), first);
    return l.reshape(l.numbers(numbers), shape);
  };
  HONE_USER_CHECK(l.may_make(8 * keys) && l.may_make(8 * queries)) << "a mask of " << queries << " x " << keys;
  Operand end = l.reshape(l.cast(lengths, i64), {batch, 1, 1, 1});
  if (is_causal) end = l.pointwise("add", {end, positions(queries, {1, 1, queries, 1}, 1 - queries)});
  return l.pointwise("less", {positions(keys, {1, 1, 1, keys}, 0), end});
}

void attention(NodeContext& c) {
  Lowering& l = c.l;
  const bool is_flat = c.in(0).rank() == 3;
  const auto heads = [&](size_t i, const char* attribute) {
    return is_flat ? split_heads(l, c.in(i), c.number(attribute, 0)) : c.in(i);
  };
  const Operand q = heads(0, "q_num_heads"), key = heads(1, "kv_num_heads"), value = heads(2, "kv_num_heads");
  HONE_USER_CHECK(q.rank() == 4 && key.rank() == 4 && value.rank() == 4)
      << to_string(c.in(0).type) << ", " << to_string(c.in(1).type) << ", " << to_string(c.in(2).type);
  HONE_USER_CHECK(c.has(4) == c.has(5)) << "it has one of past_key and past_value";
  HONE_USER_CHECK(!c.has(6) || !c.has(4)) << "nonpad_kv_seqlen beside past_key is not supported";
  const Operand keys = behind(l, c, 4, key), values = behind(l, c, 5, value);
  const int64_t count = keys.type.shape[2];
  const DType t = q.type.dtype;
  Scoring how{scale_of(c, q), c.real("softcap", 0), {}, t};
  if (const int64_t given = c.number("softmax_precision", 0)) how.softmax = dtype_of(static_cast<int>(given), "");
  if (c.has(3)) {
    const Operand& mask = c.in(3);
    HONE_USER_CHECK(mask.rank() >= 2 && mask.type.shape.back() <= count && !mask.is_empty())
        << "a mask " << to_string(mask.type) << " for " << count << " keys";
    Operand bias = mask.type.dtype.is_bool() ? bias_of_mask(l, mask, t, least(t)) : l.cast(mask, t);
    // Keys behind the mask's do not count.
    if (Extents rest = mask.type.shape; rest.back() < count) {
      rest.back() = count - rest.back();
      bias = l.concat({bias, l.broadcast(l.number(least(t), t), rest)}, static_cast<int64_t>(rest.size()) - 1);
    }
    how.biases.push_back(bias);
  }
  // The positions that the operator itself lets a row see, besides the mask.
  std::optional<Operand> sees;
  if (c.has(6))
    sees = unpadded_mask(l, c.in(6), q, count, c.number("is_causal", 0) != 0);
  else if (c.number("is_causal", 0))
    sees = causal_mask(l, q.type.shape[2], count, c.has(4) ? c.in(4).type.shape[2] : 0);
  if (sees) how.biases.push_back(bias_of_mask(l, *sees, t, least(t)));
  const int64_t mode = c.number("qk_matmul_output_mode", 0);
  HONE_USER_CHECK(!c.wants(3) || (mode >= 0 && mode <= 3))
      << "qk_matmul_output_mode=" << mode << " is not supported; 0 to 3 are";
  const Attended a = attend(l, q, keys, values, how);
  // A query may see no key at all; of the causal mask alone it sees the first.
  const bool has_mask = c.has(3) && c.in(3).type.dtype.is_bool();
  if (has_mask && sees) {
    const int64_t seen = c.in(3).type.shape.back();
    sees = l.pointwise("and", {c.in(3), seen < count ? part(l, *sees, sees->rank() - 1, 0, seen) : *sees});
  } else if (has_mask) {
    sees = c.in(3);
  }
  const Operand out = has_mask || c.has(6) ? without_blind(l, a.out, *sees) : a.out;
  c.outputs[0] = is_flat ? join_heads(l, out) : out;
  if (c.wants(1)) c.outputs[1] = keys;
  if (c.wants(2)) c.outputs[2] = values;
  if (c.wants(3)) c.outputs[3] = mode == 0 ? a.dots : mode == 1 ? a.capped : mode == 2 ? a.scores : a.shares;
}

// x [batch, heads, rows, size], the first `turned` elements of each row rotated; cos, sin: [.., rows, turned / 2].
Operand rotated(Lowering& l, const Operand& x, const Operand& cos, const Operand& sin, int64_t turned, bool pairs) {
  const Extents& s = x.type.shape;
  const int64_t half = turned / 2;
  HONE_USER_CHECK(turned >= 2 && turned % 2 == 0 && turned <= s[3] && cos.type.shape == sin.type.shape &&
                  cos.type.shape.back() == half)
      << "rotations " << to_string(cos.type) << " of " << turned << " elements in " << to_string(x.type);
  const Operand in = part(l, x, 3, 0, turned);
  Operand first, second;
  if (pairs) {
    const Operand apart = l.reshape(in, {s[0], s[1], s[2], half, 2});
    first = l.reshape(part(l, apart, 4, 0, 1), {s[0], s[1], s[2], half});
    second = l.reshape(part(l, apart, 4, 1, 1), {s[0], s[1], s[2], half});
  } else {
    first = part(l, in, 3, 0, half);
    second = part(l, in, 3, half, half);
  }
  const auto product = [&](const Operand& a, const Operand& b) { return l.pointwise("mul", {a, b}); };
  const Operand real = l.pointwise("sub", {product(first, cos), product(second, sin)}),
                imaginary = l.pointwise("add", {product(first, sin), product(second, cos)});
  Operand out;
  if (pairs) {
    const Extents pair{s[0], s[1], s[2], half, 1};
    out = l.reshape(l.concat({l.reshape(real, pair), l.reshape(imaginary, pair)}, 4), {s[0], s[1], s[2], turned});
  } else {
    out = l.concat({real, imaginary}, 3);
  }
  return turned == s[3] ? out : l.concat({out, part(l, x, 3, turned, s[3] - turned)}, 3);
}

// The rows of a table [most, n] at the positions [batch, rows], for all heads.
Operand rows_of_table(Lowering& l, const Operand& table, const Operand& positions) {
  HONE_USER_CHECK(table.rank() == 2 && positions.rank() == 2)
      << "positions " << to_string(positions.type) << " in " << to_string(table.type);
  const Extents &p = positions.type.shape, shape{p[0], 1, p[1], table.type.shape[1]};
  return l.add("gather", {{"axis", "0"}}, {l.value(table), l.value(positions)}, shape);
}

// From `first`, a number: [1, count]
Operand positions_from(Lowering& l, const Operand& first, int64_t count) {
  Extents positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), 0);
  return l.pointwise("add", {l.reshape(l.numbers(positions), {1, count}), l.cast(first, i64)});
}

void rotate(NodeContext& c, const Operand& cos_table, const Operand& sin_table, const std::optional<Operand>& positions,
            int64_t heads) {
  Lowering& l = c.l;
  const bool is_flat = c.in(0).rank() == 3;
  const Operand x = is_flat ? split_heads(l, c.in(0), heads) : c.in(0);
  HONE_USER_CHECK(x.rank() == 4) << to_string(x.type);
  const auto rows = [&](const Operand& table) {
    if (positions) return rows_of_table(l, table, *positions);
    HONE_USER_CHECK(table.rank() == 3) << "rotations " << to_string(table.type) << " without position_ids";
    return l.reshape(table, {table.type.shape[0], 1, table.type.shape[1], table.type.shape[2]});
  };
  const int64_t given = c.number("rotary_embedding_dim", 0);
  const Operand out =
      rotated(l, x, rows(cos_table), rows(sin_table), given ? given : x.type.shape[3], c.number("interleaved", 0) != 0);
  HONE_USER_CHECK(out.type.shape == x.type.shape)
      << "rotations " << to_string(cos_table.type) << " of " << to_string(x.type);
  c.outputs[0] = is_flat ? join_heads(l, out) : out;
}

void rotary_embedding(NodeContext& c) {
  rotate(c, c.in(1), c.in(2), c.has(3) ? std::optional(c.in(3)) : std::nullopt, c.number("num_heads", 0));
}

// ---- com.microsoft ----

// Positions are one for each token, or that of the first.
void contrib_rotary_embedding(NodeContext& c) {
  const Operand &x = c.in(0), &cos = c.in(2);
  HONE_USER_CHECK(c.number("is_packed_batching", 0) == 0 && c.real("scale", 1) == 1)
      << "is_packed_batching and scale are not supported";
  HONE_USER_CHECK((x.rank() == 3 || x.rank() == 4) && cos.rank() == 2 && !cos.is_empty())
      << to_string(x.type) << ", " << to_string(cos.type);
  Operand positions = c.in(1);
  if (element_count(positions.type.shape) == 1)
    positions = positions_from(c.l, c.l.reshape(positions, {}), x.type.shape[x.rank() == 3 ? 1 : 2]);
  int64_t heads = c.number("num_heads", 0);
  if (heads == 0 && x.rank() == 3) heads = x.type.shape[2] / (2 * cos.type.shape[1]);
  rotate(c, cos, c.in(3), positions, heads);
}

// The summand of the scores for a mask of [batch], [batch, keys] or [batch, queries, keys] integers.
Operand bias_of_numbers(const NodeContext& c, const Operand& mask, int64_t batch, int64_t queries, int64_t keys,
                        DType t) {
  Lowering& l = c.l;
  const Extents& s = mask.type.shape;
  Operand sees;
  if (s == Extents{batch}) {  // how many keys there are
    Extents positions(static_cast<size_t>(keys));
    std::iota(positions.begin(), positions.end(), 0);
    sees = l.pointwise(
        "less", {l.reshape(l.numbers(positions), {1, 1, 1, keys}), l.reshape(l.cast(mask, i64), {batch, 1, 1, 1})});
  } else {
    HONE_USER_CHECK((s == Extents{batch, keys}) || (s == Extents{batch, queries, keys}))
        << "a mask " << to_string(mask.type) << " for " << queries << " queries and " << keys
        << " keys is not supported";
    const Operand same = l.reshape(mask, {batch, 1, s.size() == 2 ? 1 : queries, keys});
    sees = l.pointwise("greater", {same, l.number(0, mask.type.dtype)});
  }
  return bias_of_mask(l, sees, t, std::max(c.real("mask_filter_value", -10000), least(t)));
}

// input W + bias, of one part of the columns. Parts of known weights are known.
Operand projected(NodeContext& c, int64_t begin, int64_t count) {
  Lowering& l = c.l;
  const Operand w = part(l, c.in(1), 1, begin, count);
  if (!l.data_of(c.in(1))) {
    const Operand out = l.batch_matmul(c.in(0), w);
    return c.has(2) ? l.pointwise("add", {out, part(l, c.in(2), 0, begin, count)}) : out;
  }
  if (!c.has(2)) return l.dense(c.in(0), w, false);
  return l.dense(c.in(0), w, false, "bias", {part(l, c.in(2), 0, begin, count)});
}

// Projections of one input, and attention.
void projected_attention(NodeContext& c) {
  Lowering& l = c.l;
  const Operand &x = c.in(0), &weights = c.in(1);
  HONE_USER_CHECK(x.rank() == 3 && weights.rank() == 2 && x.type.shape[2] == weights.type.shape[0])
      << to_string(x.type) << " times " << to_string(weights.type);
  HONE_USER_CHECK(c.number("do_rotary", 0) == 0) << "do_rotary is not supported";
  HONE_USER_CHECK(c.number("past_present_share_buffer", 0) == 0 && !c.has(6))
      << "past_present_share_buffer is not supported";
  const int64_t heads = c.number("num_heads", 0), all = weights.type.shape[1];
  const Extents sizes = c.numbers("qkv_hidden_sizes").value_or(Extents{all / 3, all / 3, all / 3});
  HONE_USER_CHECK(sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] >= 1 && sizes[0] <= all && sizes[2] >= 1 &&
                  sizes[2] <= all && sizes[0] + sizes[1] + sizes[2] == all)
      << "hidden sizes of " << join(sizes, ", ") << " in " << to_string(weights.type);
  HONE_USER_CHECK(!c.has(2) || c.in(2).type.shape == Extents{all}) << "a bias " << to_string(c.in(2).type);
  const Operand q = split_heads(l, projected(c, 0, sizes[0]), heads);
  Operand key = split_heads(l, projected(c, sizes[0], sizes[1]), heads),
          value = split_heads(l, projected(c, sizes[0] + sizes[1], sizes[2]), heads);
  int64_t before = 0;
  if (c.has(4)) {
    const Operand& past = c.in(4);
    const Extents& k = key.type.shape;
    HONE_USER_CHECK(past.rank() == 5 && past.type.shape[0] == 2 && sizes[2] == sizes[0] && past.type.shape[1] == k[0] &&
                    past.type.shape[2] == k[1] && past.type.shape[4] == k[3])
        << "past " << to_string(past.type) << " of keys " << to_string(key.type);
    before = past.type.shape[3];
    const auto with = [&](int64_t which, const Operand& now) {
      return l.concat({l.reshape(part(l, past, 0, which, 1), {k[0], k[1], before, k[3]}), now}, 2);
    };
    key = with(0, key);
    value = with(1, value);
  }
  const int64_t batch = x.type.shape[0], queries = x.type.shape[1], keys = key.type.shape[2];
  const DType t = x.type.dtype;
  Scoring how{scale_of(c, q), 0, {}, t};
  if (c.has(3)) how.biases.push_back(bias_of_numbers(c, c.in(3), batch, queries, keys, t));
  if (c.number("unidirectional", 0) && queries > 1) how.biases.push_back(causal_bias(l, queries, keys, before, t));
  if (c.has(5)) how.biases.push_back(c.in(5));
  c.outputs[0] = join_heads(l, attend(l, q, key, value, how).out);
  if (!c.wants(1)) return;
  const auto one = [&](const Operand& of) {
    Extents shape = of.type.shape;
    shape.insert(shape.begin(), 1);
    return l.reshape(of, shape);
  };
  c.outputs[1] = l.concat({one(key), one(value)}, 0);
}

// Queries, keys and values that are projected already; perhaps packed, or of another sequence with heads apart.
void multi_head_attention(NodeContext& c) {
  Lowering& l = c.l;
  const int64_t heads = c.number("num_heads", 0);
  HONE_USER_CHECK(!c.has(8) && !c.has(9)) << "past_sequence_length and cache_indirection are not supported";
  HONE_USER_CHECK(c.has(6) == c.has(7)) << "it has one of past_key and past_value";
  int64_t at = 0;
  // An input's heads, with its part of the bias added.
  const auto of_heads = [&](const Operand& x) {
    HONE_USER_CHECK(x.rank() == 3) << to_string(x.type) << " of " << heads << " heads";
    const int64_t size = x.type.shape.back(), begin = std::exchange(at, at + size);
    if (!c.has(3)) return split_heads(l, x, heads);
    HONE_USER_CHECK(c.in(3).rank() == 1 && at <= c.in(3).type.shape[0]) << "a bias " << to_string(c.in(3).type);
    return split_heads(l, l.pointwise("add", {x, part(l, c.in(3), 0, begin, size)}), heads);
  };
  // [batch, rows, heads, count, size]: the one of this number, as [batch, rows, heads * size].
  const auto unpacked = [&](const Operand& x, int64_t count, int64_t which) {
    const Extents& s = x.type.shape;
    HONE_USER_CHECK(x.rank() == 5 && s[2] == heads && s[3] == count)
        << to_string(x.type) << " of " << heads << " heads";
    return l.reshape(part(l, x, 3, which, 1), {s[0], s[1], heads * s[4]});
  };
  Operand q, key, value;
  if (c.in(0).rank() == 5) {
    q = of_heads(unpacked(c.in(0), 3, 0));
    key = of_heads(unpacked(c.in(0), 3, 1));
    value = of_heads(unpacked(c.in(0), 3, 2));
  } else {
    q = of_heads(c.in(0));
    if (c.in(1).rank() == 5) {
      key = of_heads(unpacked(c.in(1), 2, 0));
      value = of_heads(unpacked(c.in(1), 2, 1));
    } else if (c.in(1).rank() == 4) {
      key = c.in(1);
      value = c.in(2);
    } else {
      key = of_heads(c.in(1));
      value = of_heads(c.in(2));
    }
  }
  key = behind(l, c, 6, key);
  value = behind(l, c, 7, value);
  const int64_t batch = q.type.shape[0], queries = q.type.shape[2], keys = key.type.shape[2];
  const DType t = q.type.dtype;
  Scoring how{scale_of(c, q), 0, {}, t};
  if (c.has(4)) how.biases.push_back(bias_of_numbers(c, c.in(4), batch, queries, keys, t));
  const int64_t before = c.has(6) ? c.in(6).type.shape[2] : 0;
  if (c.number("unidirectional", 0) && keys > before + 1)
    how.biases.push_back(causal_bias(l, queries, keys, before, t));
  if (c.has(5)) how.biases.push_back(c.in(5));
  const Attended a = attend(l, q, key, value, how);
  c.outputs[0] = join_heads(l, a.out);
  if (c.wants(1)) c.outputs[1] = key;
  if (c.wants(2)) c.outputs[2] = value;
  if (c.wants(3)) c.outputs[3] = a.dots;
}

// Causal attention of a decoder: several heads of queries share those of keys and values, rotated by where they stand.
// A cache has no more rows than there are tokens, so that the new ones come behind them.
void group_query_attention(NodeContext& c) {
  Lowering& l = c.l;
  const int64_t heads = c.number("num_heads", 0), groups = c.number("kv_num_heads", 0);
  HONE_USER_CHECK(heads >= 1 && heads <= 65536 && groups >= 1 && heads % groups == 0 && c.in(0).rank() == 3)
      << to_string(c.in(0).type) << " of " << heads << " heads of queries and " << groups << " of keys and values";
  const bool is_smooth = c.number("smooth_softmax", 0) > 0;
  HONE_USER_CHECK(!c.has(11) || (!is_smooth && c.in(11).type.shape == Extents{heads}))
      << "head_sink " << to_string(c.in(11).type) << " of " << heads << " heads"
      << (is_smooth ? " beside smooth_softmax" : "");
  for (const char* quantised : {"k_quant_type", "v_quant_type"})
    HONE_USER_CHECK(c.text(quantised, "NONE") == "NONE") << quantised << " is not supported";
  HONE_USER_CHECK(c.has(3) == c.has(4)) << "it has one of past_key and past_value";
  Operand q = c.in(0), key, value;
  if (c.has(1)) {
    key = c.in(1);
    value = c.in(2);
  } else {  // packed
    const int64_t size = q.type.shape[2] / (heads + 2 * groups);
    HONE_USER_CHECK(size * (heads + 2 * groups) == q.type.shape[2]) << "packed heads in " << to_string(q.type);
    key = part(l, c.in(0), 2, heads * size, groups * size);
    value = part(l, c.in(0), 2, (heads + groups) * size, groups * size);
    q = part(l, c.in(0), 2, 0, heads * size);
  }
  q = split_heads(l, q, heads);
  key = split_heads(l, key, groups);
  value = split_heads(l, value, groups);
  const int64_t batch = q.type.shape[0], queries = q.type.shape[2], before = c.has(3) ? c.in(3).type.shape[2] : 0,
                keys = before + queries;
  // The position of the last token of each sequence.
  const Operand& last = c.in(5);
  HONE_USER_CHECK(element_count(last.type.shape) == batch) << "seqlens_k " << to_string(last.type);
  const auto known = last.known ? last.known : l.data_of(last);
  if (before > 0 && known) {
    for (const int64_t position : known->numbers())
      HONE_USER_CHECK(position == keys - 1)
          << "seqlens_k says " << position + 1 << " tokens; the cache and the new ones are " << keys
          << ", and caches with room are not supported";
  }
  HONE_USER_CHECK(before == 0 || known || batch == 1)
      << "its seqlens_k must be known while the model is built where there are several sequences with a cache";
  if (before > 0 && !known && !l.rows_are_counted) {
    // A cache with room is another model: a call that says so has no result.
    const Operand position = l.reshape(l.cast(last, i64), {1});
    const Operand is_full = l.pointwise("equal", {position, l.number(static_cast<double>(keys - 1), i64)});
    q.id = l.b.add_one("require", {}, {l.value(q), l.value(is_full)});
  }
  if (c.number("do_rotary", 0)) {
    Operand positions;
    if (c.has(9)) {
      positions = c.in(9);
    } else if (before == 0) {
      positions = positions_from(l, l.number(0, i64), queries);
    } else {
      const Operand first = l.pointwise(
          "add", {l.cast(l.reshape(last, {batch, 1}), i64), l.number(static_cast<double>(1 - queries), i64)});
      positions = l.reshape(positions_from(l, first, queries), {batch, queries});
    }
    const Operand cos = rows_of_table(l, c.in(7), positions), sin = rows_of_table(l, c.in(8), positions);
    const bool pairs = c.number("rotary_interleaved", 0) != 0;
    const int64_t turned = 2 * c.in(7).type.shape[1];
    q = rotated(l, q, cos, sin, turned, pairs);
    key = rotated(l, key, cos, sin, turned, pairs);
  }
  key = behind(l, c, 3, key);
  value = behind(l, c, 4, value);
  const int64_t window = c.number("local_window_size", -1);
  HONE_USER_CHECK(window != 0) << "local_window_size=0 is not supported; -1 is no window";
  const bool has_window = window > 0 && window < keys;
  // Where the last key stands changes with each call then.
  HONE_USER_CHECK(!has_window || !l.rows_are_counted)
      << "local_window_size=" << window << " of a cache that grows to " << keys << " rows is not supported";
  const DType t = q.type.dtype;
  Scoring how{scale_of(c, q), c.real("softcap", 0), {}, t};
  if (queries > 1 || has_window)
    how.biases.push_back(causal_bias(l, queries, keys, before, t, has_window ? window : kNoWindow));
  if (c.has(10)) how.biases.push_back(c.in(10));
  if (c.has(11)) how.sink = c.in(11);
  if (is_smooth) how.sink = l.broadcast(l.number(0, t), {heads});
  c.outputs[0] = join_heads(l, attend(l, q, key, value, how).out);
  if (c.wants(1)) c.outputs[1] = key;
  if (c.wants(2)) c.outputs[2] = value;
}

}  // namespace

void add_attention_operators(ConverterTable& t) {
  t[":Attention"] = &attention;
  t[":RotaryEmbedding"] = &rotary_embedding;
  t["com.microsoft:RotaryEmbedding"] = &contrib_rotary_embedding;
  t["com.microsoft:Attention"] = &projected_attention;
  t["com.microsoft:MultiHeadAttention"] = &multi_head_attention;
  t["com.microsoft:GroupQueryAttention"] = &group_query_attention;
}

}  // namespace hone::onnx
