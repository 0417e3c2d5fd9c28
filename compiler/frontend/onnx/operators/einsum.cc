// Einsum: products and sums over letters, two operands at a time.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// An operand, each axis with its letter. The axes of an ellipsis have letters from 0x80 on, the last axis the first.
struct Lettered {
  Operand x;
  std::string letters;
  int64_t extent(char letter) const {
    const size_t at = letters.find(letter);
    return at == std::string::npos ? 1 : x.type.shape[at];
  }
};

std::string ellipsis_letters(size_t count) {
  std::string out;
  for (size_t i = count; i-- > 0;) out += static_cast<char>(0x80 + i);
  return out;
}

std::string letters_of(std::string_view term, size_t rank) {
  std::string out;
  const size_t dots = term.find("...");
  const size_t named = term.size() - (dots == std::string_view::npos ? 0 : 3);
  HONE_USER_CHECK(dots == std::string_view::npos ? named == rank : named <= rank)
      << "'" << term << "' of " << rank << " axes";
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      out += ellipsis_letters(rank - named);
      i += 2;
      continue;
    }
    HONE_USER_CHECK(std::isalpha(static_cast<unsigned char>(term[i]))) << "'" << term << "'";
    out += term[i];
  }
  return out;
}

// A letter that stands twice is a diagonal: every (n + 1)th element of the two axes as one.
void take_diagonals(Lowering& l, Lettered* o) {
  for (size_t i = 0; i < o->letters.size(); ++i) {
    const size_t j = o->letters.find(o->letters[i], i + 1);
    if (j == std::string::npos) continue;
    const int64_t n = o->x.type.shape[i];
    HONE_USER_CHECK(o->x.type.shape[j] == n) << "letter '" << o->letters[i] << "' has two extents";
    Extents perm, shape;
    std::string letters;
    for (size_t d = 0; d < o->letters.size(); ++d)
      if (d != i && d != j) {
        perm.push_back(static_cast<int64_t>(d));
        shape.push_back(o->x.type.shape[d]);
        letters += o->letters[d];
      }
    perm.push_back(static_cast<int64_t>(i));
    perm.push_back(static_cast<int64_t>(j));
    shape.push_back(n * n);
    Operand flat = l.reshape(l.transpose(o->x, perm), shape);
    Extents step(shape.size(), 1);
    step.back() = n + 1;
    shape.back() = n;
    *o = {l.slice(flat, Extents(shape.size(), 0), step, shape), letters + o->letters[i]};
    i = static_cast<size_t>(-1);
  }
}

// Sums over the letters that `kept` does not have.
void sum_over_others(Lowering& l, const std::string& kept, Lettered* o) {
  Extents axes;
  std::string letters;
  for (size_t d = 0; d < o->letters.size(); ++d) {
    if (kept.find(o->letters[d]) == std::string::npos)
      axes.push_back(static_cast<int64_t>(d));
    else
      letters += o->letters[d];
  }
  *o = {l.reduce("sum", o->x, axes, false), letters};
}

// The axes in the order of `letters`; missing axes are added with extent 1.
Operand ordered(Lowering& l, const Lettered& o, const std::string& letters) {
  Extents perm, shape;
  for (const char letter : letters) {
    const size_t at = o.letters.find(letter);
    if (at != std::string::npos) perm.push_back(static_cast<int64_t>(at));
    shape.push_back(o.extent(letter));
  }
  HONE_ICHECK(perm.size() == o.letters.size()) << "letters are lost";
  return l.reshape(l.transpose(o.x, perm), shape);
}

// The product of two operands, summed over all letters but those of `kept`.
Lettered product(Lowering& l, Lettered a, Lettered b, const std::string& kept) {
  sum_over_others(l, kept + b.letters, &a);
  sum_over_others(l, kept + a.letters, &b);
  std::string both, summed, of_a, of_b;
  for (const char c : a.letters)
    (b.letters.find(c) == std::string::npos ? of_a : kept.find(c) == std::string::npos ? summed : both) += c;
  for (const char c : b.letters)
    if (a.letters.find(c) == std::string::npos) of_b += c;
  Extents shape;
  for (const char c : both) {
    HONE_USER_CHECK(a.extent(c) == b.extent(c) || a.extent(c) == 1 || b.extent(c) == 1)
        << "letter '" << c << "' has extents " << a.extent(c) << " and " << b.extent(c);
    shape.push_back(std::max(a.extent(c), b.extent(c)));
  }
  for (const char c : summed)
    HONE_USER_CHECK(a.extent(c) == b.extent(c))
        << "letter '" << c << "' has extents " << a.extent(c) << " and " << b.extent(c);
  if (summed.empty()) {
    const std::string letters = both + of_a + of_b;
    return {l.pointwise("mul", {ordered(l, a, letters), ordered(l, b, letters)}), letters};
  }
  const auto count = [](const Lettered& o, const std::string& letters) {
    int64_t n = 1;
    for (const char c : letters) n = element_count({n, o.extent(c)});
    return n;
  };
  const int64_t m = count(a, of_a), n = count(b, of_b), k = count(a, summed);
  const auto matrices = [&](const Lettered& o, const std::string& rest, const Extents& matrix) {
    Operand x = ordered(l, o, both + rest);
    Extents whole = shape;
    whole.insert(whole.end(), x.type.shape.begin() + static_cast<std::ptrdiff_t>(both.size()), x.type.shape.end());
    Extents out = shape;
    out.insert(out.end(), matrix.begin(), matrix.end());
    return l.reshape(l.broadcast(x, whole), out);
  };
  const Operand out = l.batch_matmul(matrices(a, of_a + summed, {m, k}), matrices(b, summed + of_b, {k, n}));
  for (const char c : of_a) shape.push_back(a.extent(c));
  for (const char c : of_b) shape.push_back(b.extent(c));
  return {l.cast(l.reshape(out, shape), a.x.type.dtype), both + of_a + of_b};  // sums of s8 are s32
}

// Zeros, where there are results: some operand has no elements.
Operand sums_of_nothing(Lowering& l, const std::vector<Lettered>& operands, const std::string& result) {
  std::map<char, int64_t> extents;
  for (const Lettered& o : operands)
    for (size_t d = 0; d < o.letters.size(); ++d) {
      int64_t& extent = extents.emplace(o.letters[d], 1).first->second;
      const int64_t own = o.x.type.shape[d];
      HONE_USER_CHECK(own == 1 || extent == 1 || own == extent)
          << "a letter stands for " << extent << " and for " << own << " elements";
      if (extent == 1) extent = own;
    }
  Extents shape;
  for (const char letter : result) shape.push_back(extents.at(letter));
  return l.filled(0, {operands[0].x.type.dtype, shape});
}

void einsum(NodeContext& c) {
  std::string equation = c.text("equation", "");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  constexpr size_t kMostOperands = 64;
  HONE_USER_CHECK(c.inputs.size() <= kMostOperands)
      << c.inputs.size() << " operands; " << kMostOperands << " are supported";
  std::vector<Lettered> operands;
  // Without an arrow the result has the axes of ellipses, then the letters that occur once, in alphabetical order.
  size_t ellipsis = 0;
  std::map<char, int> times;
  std::string_view terms = std::string_view(equation).substr(0, arrow);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const size_t comma = terms.find(',');
    HONE_USER_CHECK((comma == std::string_view::npos) == (i + 1 == c.inputs.size()))
        << "equation '" << equation << "' of " << c.inputs.size() << " operands";
    Lettered o{c.in(i), letters_of(terms.substr(0, comma), c.in(i).rank())};
    for (const char letter : o.letters) {
      if (static_cast<unsigned char>(letter) >= 0x80)
        ellipsis = std::max<size_t>(ellipsis, static_cast<unsigned char>(letter) - 0x80 + 1u);
      else
        ++times[letter];
    }
    if (!o.x.is_empty()) take_diagonals(c.l, &o);
    operands.push_back(std::move(o));
    if (comma != std::string_view::npos) terms = terms.substr(comma + 1);
  }
  HONE_USER_CHECK(!operands.empty()) << "it has no operands";
  std::string result;
  if (arrow == std::string::npos) {
    result = ellipsis_letters(ellipsis);
    for (const auto& [letter, n] : times)
      if (n == 1) result += letter;
  } else {
    const std::string_view term = std::string_view(equation).substr(arrow + 2);
    const bool dots = term.find("...") != std::string_view::npos;
    result = letters_of(term, term.size() - (dots ? 3 : 0) + (dots ? ellipsis : 0));
  }
  for (const char letter : result)
    HONE_USER_CHECK(std::any_of(operands.begin(), operands.end(),
                                [&](const Lettered& o) { return o.letters.find(letter) != std::string::npos; }))
        << "a letter of the result of '" << equation << "' stands in no operand";
  HONE_USER_CHECK(std::set<char>(result.begin(), result.end()).size() == result.size())
      << "a letter stands twice in the result of '" << equation << "'";
  if (std::any_of(operands.begin(), operands.end(), [](const Lettered& o) { return o.x.is_empty(); }))
    return void(c.outputs[0] = sums_of_nothing(c.l, operands, result));
  Lettered all = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    std::string kept = result;
    for (size_t later = i + 1; later < operands.size(); ++later) kept += operands[later].letters;
    all = product(c.l, all, operands[i], kept);
  }
  sum_over_others(c.l, result, &all);
  c.outputs[0] = ordered(c.l, all, result);
}

}  // namespace

void add_einsum_operators(ConverterTable& t) { t[":Einsum"] = &einsum; }

}  // namespace hone::onnx
