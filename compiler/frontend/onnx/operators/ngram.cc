// How often sequences of whole numbers occur in others: TfIdfVectorizer.
#include <algorithm>

#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// Counts of each gram of n numbers in x [batch, length]: [batch, grams]. The numbers of an occurrence are equally far
// apart, with at most `skips` others between two neighbours.
Operand counts_of(Lowering& l, const Operand& x, const std::vector<int64_t>& grams, int64_t n, int64_t skips) {
  const int64_t batch = x.type.shape[0], length = x.type.shape[1], count = static_cast<int64_t>(grams.size()) / n;
  Operand sum = l.broadcast(l.number(0, f32), {batch, count});
  for (int64_t skip = 0; skip <= (n == 1 ? 0 : skips); ++skip) {
    const int64_t positions = length - (n - 1) * (skip + 1);
    if (positions <= 0) break;
    Operand found;
    for (int64_t i = 0; i < n; ++i) {
      std::vector<int64_t> wanted;
      for (int64_t g = 0; g < count; ++g) wanted.push_back(grams[static_cast<size_t>(g * n + i)]);
      const Operand there =
          l.reshape(l.slice(x, {0, i * (skip + 1)}, {1, 1}, {batch, positions}), {batch, positions, 1});
      const Operand same = l.pointwise("equal", {l.broadcast(there, {batch, positions, count}), l.numbers(wanted)});
      found = i ? l.pointwise("and", {found, same}) : same;
    }
    sum = l.pointwise("add", {sum, l.reduce("sum", l.cast(found, f32), {1}, false)});
  }
  return sum;
}

void tf_idf(NodeContext& c) {
  Lowering& l = c.l;
  HONE_USER_CHECK(c.in(0).rank() == 1 || c.in(0).rank() == 2) << to_string(c.in(0).type);
  HONE_USER_CHECK(c.in(0).type.dtype.is_integer()) << to_string(c.in(0).type) << "; whole numbers are supported";
  const auto numbers = [&](const char* name) {
    const auto given = c.numbers(name);
    HONE_USER_CHECK(given && !given->empty()) << "it has no " << name;
    return *given;
  };
  const Extents pool = numbers("pool_int64s"), starts = numbers("ngram_counts"), targets = numbers("ngram_indexes");
  const int64_t least = c.number("min_gram_length", 1), most = c.number("max_gram_length", 1),
                skips = c.number("max_skip_count", 0);
  constexpr int64_t kMostSkips = 64;
  HONE_USER_CHECK(least >= 1 && least <= most && most <= static_cast<int64_t>(starts.size()) && skips >= 0 &&
                  skips <= kMostSkips)
      << "grams of " << least << " to " << most << " numbers with " << skips << " left out, and " << starts.size()
      << " ngram_counts";
  const bool is_flat = c.in(0).rank() == 1;
  const Operand given = l.cast(c.in(0), i64), x = is_flat ? l.reshape(given, {1, given.type.shape[0]}) : given;
  HONE_USER_CHECK(!x.is_empty()) << "a tensor without elements is not supported";
  const int64_t batch = x.type.shape[0];
  // Grams in the pool's order; those that are too short or long are not counted.
  std::vector<Operand> parts;
  int64_t all = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t n = static_cast<int64_t>(i) + 1, begin = starts[i],
                  end = i + 1 < starts.size() ? starts[i + 1] : static_cast<int64_t>(pool.size());
    HONE_USER_CHECK(begin >= 0 && begin <= end && end <= static_cast<int64_t>(pool.size()) && (end - begin) % n == 0)
        << "ngram_counts [" << join(starts, ", ") << "] of " << pool.size() << " numbers";
    if (begin == end) continue;
    all += (end - begin) / n;
    parts.push_back(n < least || n > most ? l.broadcast(l.number(0, f32), {batch, (end - begin) / n})
                                          : counts_of(l, x, {pool.begin() + begin, pool.begin() + end}, n, skips));
  }
  HONE_USER_CHECK(all == static_cast<int64_t>(targets.size())) << targets.size() << " ngram_indexes for " << all;
  Operand counts = l.concat(parts, 1);
  const std::string mode = c.text("mode", "");
  HONE_USER_CHECK(mode == "TF" || mode == "IDF" || mode == "TFIDF") << "mode=" << mode;
  if (mode == "IDF") counts = l.pointwise("minimum[1.0]", {counts});
  if (const Attribute* weights = c.find("weights"); weights && mode != "TF") {
    HONE_USER_CHECK(weights->floats_size() == all) << weights->floats_size() << " weights for " << all << " grams";
    std::string bytes;
    for (const float w : weights->floats()) bytes.append(reinterpret_cast<const char*>(&w), sizeof w);
    counts = l.pointwise("mul", {counts, l.constant(TensorData({f32, {all}}, std::move(bytes)))});
  }
  // Each result is a gram's, or that of the zero behind them.
  const auto [first, last] = std::minmax_element(targets.begin(), targets.end());
  HONE_USER_CHECK(*first >= 0 && *last < int64_t{1} << 31 && l.may_make(8 * (*last + 1)))
      << "ngram_indexes from " << *first << " to " << *last;
  const int64_t width = *last + 1;
  std::vector<int64_t> from(static_cast<size_t>(width), all);
  for (size_t i = 0; i < targets.size(); ++i) {
    int64_t& gram = from[static_cast<size_t>(targets[i])];
    HONE_USER_CHECK(gram == all) << "two grams have the index " << targets[i];
    gram = static_cast<int64_t>(i);
  }
  const Operand with_zero = l.concat({counts, l.broadcast(l.number(0, f32), {batch, 1})}, 1);
  c.outputs[0] = l.add("gather", {{"axis", "1"}}, {l.value(with_zero), l.value(l.numbers(from))},
                       is_flat ? Extents{width} : Extents{batch, width});
}

}  // namespace

void add_ngram_operators(ConverterTable& t) { t[":TfIdfVectorizer"] = &tf_idf; }

}  // namespace hone::onnx
