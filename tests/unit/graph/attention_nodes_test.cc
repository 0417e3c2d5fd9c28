// Attention and rotary positions as single nodes, against their definitions in plain loops.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::HasSubstr;

int64_t count_of(const Extents& shape) {
  int64_t n = 1;
  for (const int64_t e : shape) n *= e;
  return n;
}

// [batch, heads, rows, size], whatever the memory looks like.
struct Heads {
  int64_t batch, heads, rows, size;
  std::function<double(int64_t b, int64_t h, int64_t r, int64_t e)> at;
};
// Heads of a tensor [batch, rows, heads * size].
Heads flat(const Floats& v, int64_t batch, int64_t heads, int64_t rows, int64_t size) {
  return {batch, heads, rows, size, [=](int64_t b, int64_t h, int64_t r, int64_t e) {
            return double{v[static_cast<size_t>(((b * rows + r) * heads + h) * size + e)]};
          }};
}
Heads apart(const Floats& v, int64_t batch, int64_t heads, int64_t rows, int64_t size) {
  return {batch, heads, rows, size, [=](int64_t b, int64_t h, int64_t r, int64_t e) {
            return double{v[static_cast<size_t>(((b * heads + h) * rows + r) * size + e)]};
          }};
}
Heads behind(const Heads& past, const Heads& now) {
  return {now.batch, now.heads, past.rows + now.rows, now.size, [=](int64_t b, int64_t h, int64_t r, int64_t e) {
            return r < past.rows ? past.at(b, h, r, e) : now.at(b, h, r - past.rows, e);
          }};
}
// As [batch, heads, rows, size].
std::vector<double> elements(const Heads& x) {
  std::vector<double> out;
  for (int64_t b = 0; b < x.batch; ++b)
    for (int64_t h = 0; h < x.heads; ++h)
      for (int64_t r = 0; r < x.rows; ++r)
        for (int64_t e = 0; e < x.size; ++e) out.push_back(x.at(b, h, r, e));
  return out;
}

constexpr double kNever = -INFINITY;
using Bias = std::function<double(int64_t b, int64_t h, int64_t q, int64_t k)>;
const Bias kNoBias = [](int64_t, int64_t, int64_t, int64_t) { return 0.0; };

// softmax(softcapped Q K^T scale + bias) V; flat: as [batch, rows, heads * size].
std::vector<double> attention(const Heads& q, const Heads& k, const Heads& v, double scale, const Bias& bias,
                              bool is_flat, double softcap = 0) {
  std::vector<double> out(static_cast<size_t>(q.batch * q.heads * q.rows * v.size));
  for (int64_t b = 0; b < q.batch; ++b)
    for (int64_t h = 0; h < q.heads; ++h)
      for (int64_t r = 0; r < q.rows; ++r) {
        const int64_t of = h / (q.heads / k.heads);
        std::vector<double> score(static_cast<size_t>(k.rows));
        double most = kNever, sum = 0;
        for (int64_t j = 0; j < k.rows; ++j) {
          double dot = 0;
          for (int64_t e = 0; e < q.size; ++e) dot += q.at(b, h, r, e) * k.at(b, of, j, e);
          dot *= scale;
          if (softcap > 0) dot = softcap * std::tanh(dot / softcap);
          score[static_cast<size_t>(j)] = dot + bias(b, h, r, j);
          most = std::max(most, score[static_cast<size_t>(j)]);
        }
        for (double& s : score) sum += s = std::exp(s - most);
        for (int64_t e = 0; e < v.size; ++e) {
          double total = 0;
          for (int64_t j = 0; j < k.rows; ++j) total += score[static_cast<size_t>(j)] / sum * v.at(b, of, j, e);
          const int64_t at =
              is_flat ? ((b * q.rows + r) * q.heads + h) * v.size + e : ((b * q.heads + h) * q.rows + r) * v.size + e;
          out[static_cast<size_t>(at)] = total;
        }
      }
  return out;
}

// The first `turned` elements of each row, at `position` of each row.
Heads rotated(const Heads& x, int64_t turned, bool pairs, const std::function<double(int64_t b, int64_t r)>& position,
              const std::function<double(double position, int64_t i)>& angle) {
  return {x.batch, x.heads, x.rows, x.size, [=](int64_t b, int64_t h, int64_t r, int64_t e) {
            if (e >= turned) return x.at(b, h, r, e);
            const int64_t half = turned / 2, i = pairs ? e / 2 : e % half;
            const bool is_first = pairs ? e % 2 == 0 : e < half;
            const double a = angle(position(b, r), i), first = x.at(b, h, r, pairs ? 2 * i : i),
                         second = x.at(b, h, r, pairs ? 2 * i + 1 : i + half);
            return is_first ? first * std::cos(a) - second * std::sin(a) : first * std::sin(a) + second * std::cos(a);
          }};
}
double angle(double position, int64_t i) { return position / std::pow(10.0, static_cast<double>(i)); }
// Tables of `most` positions.
TestModel& with_tables(TestModel& m, int64_t most, int64_t half) {
  Floats cos, sin;
  for (int64_t p = 0; p < most; ++p)
    for (int64_t i = 0; i < half; ++i) {
      cos.push_back(static_cast<float>(std::cos(angle(static_cast<double>(p), i))));
      sin.push_back(static_cast<float>(std::sin(angle(static_cast<double>(p), i))));
    }
  return m.floats("cos", {most, half}, cos).floats("sin", {most, half}, sin);
}

std::vector<TestDim> dims(const Extents& shape) { return {shape.begin(), shape.end()}; }

std::vector<std::vector<double>> run(const ImportedModel& m, const std::vector<TensorData>& inputs) {
  std::vector<std::vector<double>> out;
  for (const TensorData& t : interpret(m.graph, inputs, &evaluate)) out.push_back(t.values());
  return out;
}
// All passes together keep the outputs and make one attention.
void expect_one_attention(const ImportedModel& m) {
  Graph g = m.graph;
  for (const auto& pass : {&recognize_rows, &fuse_elementwise, &fuse_epilogues, &simplify_movement, &fuse_attention})
    g = (*pass)(g, test_context());
  EXPECT_THAT(to_string(g), HasSubstr("= attention("));
}

TEST(AttentionNode, OfHeadsApart) {
  const ModelFolder f;
  const Floats q = numbers(2 * 4 * 3 * 6, 1), k = numbers(2 * 2 * 5 * 6, 2), v = numbers(2 * 2 * 5 * 7, 3);
  const Heads hq = apart(q, 2, 4, 3, 6), hk = apart(k, 2, 2, 5, 6), hv = apart(v, 2, 2, 5, 7);
  TestModel m(23);
  m.input("q", {2, 4, 3, 6}).input("k", {2, 2, 5, 6}).input("v", {2, 2, 5, 7});
  m.node("Attention", {"q", "k", "v"}, {"y", "", "", "s"}).number("qk_matmul_output_mode", 3).number("is_causal", 1);
  m.output("y").output("s");
  const ImportedModel model = f.import(m);
  EXPECT_EQ(model.graph.outputs[0].type.shape, (Extents{2, 4, 3, 7}));
  EXPECT_EQ(model.graph.outputs[1].type.shape, (Extents{2, 4, 3, 5}));
  const Bias causal = [](int64_t, int64_t, int64_t r, int64_t j) { return j <= r ? 0.0 : kNever; };
  const auto got = run(model, {tensor({2, 4, 3, 6}, q), tensor({2, 2, 5, 6}, k), tensor({2, 2, 5, 7}, v)});
  EXPECT_THAT(got[0], Near(attention(hq, hk, hv, 1 / std::sqrt(6.0), causal, false)));
  // The shares: attention over rows of a unit matrix.
  const Heads unit{2, 2, 5, 5, [](int64_t, int64_t, int64_t r, int64_t e) { return r == e ? 1.0 : 0.0; }};
  EXPECT_THAT(got[1], Near(attention(hq, hk, unit, 1 / std::sqrt(6.0), causal, false)));
}

TEST(AttentionNode, OfFlatHeadsWithACacheAMaskAndACap) {
  const ModelFolder f;
  const Floats q = numbers(2 * 3 * 24, 1), k = numbers(2 * 3 * 12, 2), v = numbers(2 * 3 * 12, 3),
               pk = numbers(2 * 2 * 4 * 6, 4), pv = numbers(2 * 2 * 4 * 6, 5), mask = numbers(3 * 7, 6);
  const Heads hq = flat(q, 2, 4, 3, 6), hk = behind(apart(pk, 2, 2, 4, 6), flat(k, 2, 2, 3, 6)),
              hv = behind(apart(pv, 2, 2, 4, 6), flat(v, 2, 2, 3, 6));
  TestModel m(23);
  m.input("q", {2, 3, 24}).input("k", {2, 3, 12}).input("v", {2, 3, 12});
  m.input("mask", {3, 7}).input("pk", {2, 2, 4, 6}).input("pv", {2, 2, 4, 6});
  m.node("Attention", {"q", "k", "v", "mask", "pk", "pv"}, {"y", "nk", "nv"});
  m.number("q_num_heads", 4).number("kv_num_heads", 2).number("is_causal", 1).real("scale", 0.75f);
  m.real("softcap", 0.5f);
  m.output("y").output("nk").output("nv");
  const Bias bias = [&](int64_t, int64_t, int64_t r, int64_t j) {
    return j <= r + 4 ? double{mask[static_cast<size_t>(r * 7 + j)]} : kNever;
  };
  const auto got = run(f.import(m), {tensor({2, 3, 24}, q), tensor({2, 3, 12}, k), tensor({2, 3, 12}, v),
                                     tensor({3, 7}, mask), tensor({2, 2, 4, 6}, pk), tensor({2, 2, 4, 6}, pv)});
  EXPECT_THAT(got[0], Near(attention(hq, hk, hv, 0.75, bias, true, 0.5)));
  EXPECT_EQ(got[1], elements(hk));
  EXPECT_EQ(got[2], elements(hv));
}

TEST(AttentionNode, AMaskOfBoolsLeavesOut) {
  const ModelFolder f;
  const Floats q = numbers(2 * 3 * 4, 1), k = numbers(2 * 5 * 4, 2);
  const Heads hq = apart(q, 1, 2, 3, 4), hk = apart(k, 1, 2, 5, 4);
  TestModel m(23);
  m.input("q", {1, 2, 3, 4}).input("k", {1, 2, 5, 4}).input("mask", {1, 1, 1, 5}, kBool);
  m.node("Attention", {"q", "k", "k", "mask"}, {"y"}).output("y");
  const ImportedModel model = f.import(m);
  const auto got = run(model, {tensor({1, 2, 3, 4}, q), tensor({1, 2, 5, 4}, k),
                               TensorData({boolean, {1, 1, 1, 5}}, std::string("\1\0\1\1\0", 5))});
  const Bias bias = [](int64_t, int64_t, int64_t, int64_t j) { return j == 1 || j == 4 ? kNever : 0.0; };
  EXPECT_THAT(got[0], Near(attention(hq, hk, hk, 0.5, bias, false)));
}

// As in a batch that is padded on the left: ONNX Runtime has zeros there, too.
TEST(AttentionNode, AQueryThatSeesNoKeyGivesZeros) {
  const ModelFolder f;
  const Floats q = numbers(2 * 3 * 4, 1), k = numbers(2 * 3 * 4, 2);
  for (const bool is_known : {false, true}) {
    TestModel m(23);
    m.input("q", {1, 2, 3, 4}).input("k", {1, 2, 3, 4});
    if (is_known)
      m.tensor("mask", {1, 3}, kBool)->set_raw_data(std::string("\0\0\1", 3));
    else
      m.input("mask", {1, 3}, kBool);
    m.node("Attention", {"q", "k", "k", "mask"}, {"y"}).number("is_causal", 1).output("y");
    std::vector<TensorData> inputs{tensor({1, 2, 3, 4}, q), tensor({1, 2, 3, 4}, k)};
    if (!is_known) inputs.push_back(TensorData({boolean, {1, 3}}, std::string("\0\0\1", 3)));
    Floats expected(2 * 3 * 4, 0);
    for (size_t h = 0; h < 2; ++h)
      std::copy_n(k.begin() + static_cast<int64_t>(h * 12 + 8), 4, expected.begin() + static_cast<int64_t>(h * 12 + 8));
    EXPECT_THAT(run(f.import(m), inputs)[0], Near(expected)) << is_known;
  }
}

TEST(AttentionNode, KeysBehindAMaskDoNotCount) {
  const ModelFolder f;
  const Floats q = numbers(2 * 3 * 4, 1), k = numbers(2 * 5 * 4, 2), mask = numbers(3 * 3, 7);
  TestModel m(23);
  m.input("q", {1, 2, 3, 4}).input("k", {1, 2, 5, 4}).input("mask", {3, 3});
  m.node("Attention", {"q", "k", "k", "mask"}, {"y"}).output("y");
  const Bias bias = [&](int64_t, int64_t, int64_t r, int64_t j) {
    return j < 3 ? double{mask[static_cast<size_t>(r * 3 + j)]} : kNever;
  };
  EXPECT_THAT(run(f.import(m), {tensor({1, 2, 3, 4}, q), tensor({1, 2, 5, 4}, k), tensor({3, 3}, mask)})[0],
              Near(attention(apart(q, 1, 2, 3, 4), apart(k, 1, 2, 5, 4), apart(k, 1, 2, 5, 4), 0.5, bias, false)));
}

// Sequences of their own lengths in one batch; causal ones end where their keys do, and of the second one the first
// query stands in front of all keys. Values as ONNX Runtime has them.
TEST(AttentionNode, SequencesEndWhereTheirKeysDo) {
  const ModelFolder f;
  const Floats q = numbers(2 * 2 * 3 * 4, 1), k = numbers(2 * 2 * 5 * 4, 2), v = numbers(2 * 2 * 5 * 4, 3);
  const Extents lengths{4, 2};
  for (const bool is_causal : {false, true})
    for (const bool has_mask : {false, true}) {
      TestModel m(24);
      m.input("q", {2, 2, 3, 4}).input("k", {2, 2, 5, 4}).input("v", {2, 2, 5, 4}).input("n", {2}, kInt64);
      m.tensor("mask", {3, 4}, kBool)->set_raw_data(std::string("\1\1\1\1\0\1\1\1\1\1\0\1", 12));
      m.node("Attention", {"q", "k", "v", has_mask ? "mask" : "", "", "", "n"}, {"y"});
      m.number("is_causal", is_causal).output("y");
      const Bias bias = [&](int64_t b, int64_t, int64_t r, int64_t j) {
        const int64_t n = lengths[static_cast<size_t>(b)];
        const bool is_hidden = has_mask && (j == 4 || (r == 1 && j == 0) || (r == 2 && j == 2));
        return !is_hidden && j < n && (!is_causal || j <= r + n - 3) ? 0.0 : kNever;
      };
      std::vector<double> wanted =
          attention(apart(q, 2, 2, 3, 4), apart(k, 2, 2, 5, 4), apart(v, 2, 2, 5, 4), 0.5, bias, false);
      for (double& w : wanted) w = std::isnan(w) ? 0 : w;
      EXPECT_THAT(outputs_of(f.import(m), {tensor({2, 2, 3, 4}, q), tensor({2, 2, 5, 4}, k), tensor({2, 2, 5, 4}, v),
                                           TensorData::of_numbers(lengths)}),
                  Near(wanted))
          << is_causal << has_mask;
    }
}

// Scores of queries and keys that are unit vectors: products, capped ones, those with the mask, shares.
TEST(AttentionNode, GivesScoresAtEachStage) {
  const ModelFolder f;
  const auto scores = [&](int64_t mode) {
    TestModel m(24);
    m.input("q", {1, 1, 1, 2}).input("k", {1, 1, 2, 2}).floats("mask", {1, 2}, {1, 3});
    m.node("Attention", {"q", "k", "k", "mask"}, {"y", "", "", "s"}).real("scale", 1).real("softcap", 2);
    m.number("qk_matmul_output_mode", mode).output("s");
    return outputs_of(f.import(m), {tensor({1, 1, 1, 2}, {1, 0}), tensor({1, 1, 2, 2}, {1, 0, 0, 1})});
  };
  const double capped = 2 * std::tanh(0.5), share = 1 / (1 + std::exp(3 - capped - 1));
  EXPECT_THAT(scores(0), Near(std::vector<double>{1, 0}));
  EXPECT_THAT(scores(1), Near(std::vector<double>{capped, 0}));
  EXPECT_THAT(scores(2), Near(std::vector<double>{capped + 1, 3}));
  EXPECT_THAT(scores(3), Near(std::vector<double>{share, 1 - share}));
}

TEST(AttentionNode, IsOneLayer) {
  const ModelFolder f;
  TestModel m(23);
  m.input("q", {1, 4, 8}).input("k", {1, 4, 8}).input("v", {1, 4, 8});
  m.node("Attention", {"q", "k", "v"}, {"y"}).number("q_num_heads", 2).number("kv_num_heads", 2);
  m.number("is_causal", 1).output("y");
  expect_one_attention(f.import(m));
}

TEST(AttentionNode, SaysWhatIsNotSupported) {
  const ModelFolder f;
  const auto refused = [&](const std::function<void(TestModel&)>& change, const std::vector<std::string>& inputs) {
    TestModel m(23);
    m.input("q", {1, 4, 8}).input("k", {1, 4, 8}).input("n", {1}, kInt64).input("w", {1, 4, 5});
    m.input("p", {1, 2, 3, 4});
    m.node("Attention", inputs, {"y", "", "", "s"});
    change(m);
    return f.refusal(m.output("y").output("s"));
  };
  const auto heads = [](TestModel& m) { m.number("q_num_heads", 2).number("kv_num_heads", 2); };
  EXPECT_THAT(refused([](TestModel&) {}, {"q", "k", "k"}), HasSubstr("0 heads of f32[1, 4, 8]"));
  EXPECT_EQ(refused(heads, {"q", "k", "k", "", "", "", "n"}), "accepted");
  EXPECT_THAT(refused(heads, {"q", "k", "k", "", "", "", "w"}), HasSubstr("nonpad_kv_seqlen f32[1, 4, 5] of 1"));
  EXPECT_THAT(refused(heads, {"q", "k", "k", "", "p", "p", "n"}), HasSubstr("nonpad_kv_seqlen beside past_key"));
  EXPECT_THAT(refused(heads, {"q", "k", "k", "", "k"}), HasSubstr("one of past_key and past_value"));
  EXPECT_THAT(refused(heads, {"q", "k", "k", "w"}), HasSubstr("a mask f32[1, 4, 5] for 4 keys"));
  EXPECT_THAT(refused(
                  [&](TestModel& m) {
                    heads(m);
                    m.number("qk_matmul_output_mode", 4);
                  },
                  {"q", "k", "k"}),
              HasSubstr("qk_matmul_output_mode=4"));
}

TEST(RotaryEmbedding, TurnsPairsOrHalves) {
  const ModelFolder f;
  for (const bool pairs : {false, true})
    for (const bool is_flat : {false, true})
      for (const int64_t turned : {6, 4}) {
        const Extents shape = is_flat ? Extents{2, 3, 12} : Extents{2, 2, 3, 6};
        const Floats x = numbers(count_of(shape), 3);
        TestModel m(23);
        m.input("x", dims(shape)).input("p", {2, 3}, kInt64);
        with_tables(m, 9, turned / 2);
        m.node("RotaryEmbedding", {"x", "cos", "sin", "p"}, {"y"}).number("interleaved", pairs);
        m.number("rotary_embedding_dim", turned == 6 ? 0 : turned).number("num_heads", is_flat ? 2 : 0).output("y");
        const std::vector<int64_t> places{3, 0, 8, 1, 1, 5};
        const Heads in = is_flat ? flat(x, 2, 2, 3, 6) : apart(x, 2, 2, 3, 6);
        const auto position = [&](int64_t b, int64_t r) {
          return static_cast<double>(places[static_cast<size_t>(b * 3 + r)]);
        };
        Heads wanted = rotated(in, turned, pairs, position, &angle);
        if (is_flat) {  // elements in the order of [batch, rows, heads, size]
          const Heads by_rows = wanted;
          wanted = {2, 3, 2, 6, [=](int64_t b, int64_t r, int64_t h, int64_t e) { return by_rows.at(b, h, r, e); }};
        }
        EXPECT_THAT(run(f.import(m), {tensor(shape, x), TensorData::of_numbers(places).reshaped({2, 3})})[0],
                    Near(elements(wanted)))
            << pairs << is_flat << turned;
      }
}

TEST(RotaryEmbedding, WithoutPositionsItsTablesHaveARowForEachToken) {
  const ModelFolder f;
  const Floats x = numbers(2 * 3 * 4, 3);
  TestModel m(23);
  with_tables(m.input("x", {1, 2, 3, 4}), 3, 2);
  m.numbers("to", {3}, {1, 3, 2}).node("Reshape", {"cos", "to"}, {"c"}).node("Reshape", {"sin", "to"}, {"s"});
  m.node("RotaryEmbedding", {"x", "c", "s"}, {"y"}).output("y");
  const Heads wanted = rotated(
      apart(x, 1, 2, 3, 4), 4, false, [](int64_t, int64_t r) { return static_cast<double>(r); }, &angle);
  EXPECT_THAT(run(f.import(m), {tensor({1, 2, 3, 4}, x)})[0], Near(elements(wanted)));
}

TEST(RotaryEmbedding, OfMicrosoftTakesTheFirstPosition) {
  const ModelFolder f;
  const Floats x = numbers(2 * 3 * 8, 3);
  TestModel m;
  with_tables(m.input("x", {2, 3, 8}).input("p", {1}, kInt64), 9, 2);
  of_microsoft(m.node("RotaryEmbedding", {"x", "p", "cos", "sin"}, {"y"})).output("y");
  const Heads turned = rotated(
      flat(x, 2, 2, 3, 4), 4, false, [](int64_t, int64_t r) { return static_cast<double>(5 + r); }, &angle);
  const Heads wanted{2, 3, 2, 4, [&](int64_t b, int64_t r, int64_t h, int64_t e) { return turned.at(b, h, r, e); }};
  EXPECT_THAT(run(f.import(m), {tensor({2, 3, 8}, x), TensorData::of_numbers({5})})[0], Near(elements(wanted)));
}

// Projects, too: [batch, tokens, hidden] by [hidden, 3 * hidden].
TEST(MicrosoftAttention, ProjectsMasksAndKeepsItsPast) {
  const ModelFolder f;
  const Floats x = numbers(2 * 3 * 8, 1), w = numbers(8 * 24, 2), bias = numbers(24, 3),
               past = numbers(2 * 2 * 2 * 2 * 4, 4);
  TestModel m;
  m.input("x", {2, 3, 8}).floats("w", {8, 24}, w).floats("b", {24}, bias).input("past", {2, 2, 2, 2, 4});
  m.input("mask", {2, 5}, 6);
  of_microsoft(m.node("Attention", {"x", "w", "b", "mask", "past"}, {"y", "present"}));
  m.number("num_heads", 2).number("unidirectional", 1).output("y").output("present");
  const auto part = [&](int64_t which) {
    return Heads{2, 2, 3, 4, [&, which](int64_t b, int64_t h, int64_t r, int64_t e) {
                   const int64_t column = which * 8 + h * 4 + e;
                   double sum = bias[static_cast<size_t>(column)];
                   for (int64_t i = 0; i < 8; ++i)
                     sum +=
                         double{x[static_cast<size_t>((b * 3 + r) * 8 + i)]} * w[static_cast<size_t>(i * 24 + column)];
                   return sum;
                 }};
  };
  const auto earlier = [&](size_t which) {
    return apart(Floats(past.begin() + static_cast<std::ptrdiff_t>(which * 32),
                        past.begin() + static_cast<std::ptrdiff_t>(which * 32 + 32)),
                 2, 2, 2, 4);
  };
  const Heads key = behind(earlier(0), part(1)), value = behind(earlier(1), part(2));
  const std::vector<int64_t> mask{1, 1, 1, 1, 1, 0, 1, 1, 0, 1};
  const Bias bias_of = [&](int64_t b, int64_t, int64_t r, int64_t j) {
    return (mask[static_cast<size_t>(b * 5 + j)] ? 0.0 : -10000.0) + (j <= r + 2 ? 0 : kNever);
  };
  const auto got = run(f.import(m), {tensor({2, 3, 8}, x), tensor({2, 2, 2, 2, 4}, past),
                                     TensorData::of_numbers(mask, i32).reshaped({2, 5})});
  EXPECT_THAT(got[0], Near(attention(part(0), key, value, 0.5, bias_of, true)));
  std::vector<double> present = elements(key);
  for (const double v : elements(value)) present.push_back(v);
  EXPECT_THAT(got[1], Near(present));
}

TEST(MicrosoftAttention, IsOneLayer) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {1, 3, 8}).floats("w", {8, 24}, numbers(8 * 24, 2)).floats("b", {24}, numbers(24, 3));
  m.input("mask", {1, 3}, 6);
  of_microsoft(m.node("Attention", {"x", "w", "b", "mask"}, {"y"})).number("num_heads", 2).output("y");
  expect_one_attention(f.import(m));
}

TEST(MultiHeadAttention, ReadsKeysPackedOrNotWithItsBias) {
  const ModelFolder f;
  const Floats q = numbers(2 * 3 * 8, 1), k = numbers(2 * 5 * 8, 2), v = numbers(2 * 5 * 8, 3), bias = numbers(24, 4),
               more = numbers(2 * 3 * 5, 5);
  const auto with_bias = [&](const Heads& x, size_t which) {
    return Heads{x.batch, x.heads, x.rows, x.size, [&, which, x](int64_t b, int64_t h, int64_t r, int64_t e) {
                   return x.at(b, h, r, e) + bias[which * 8 + static_cast<size_t>(h * 4 + e)];
                 }};
  };
  const std::vector<int64_t> lengths{4, 2};
  const Bias masked = [&](int64_t b, int64_t h, int64_t r, int64_t j) {
    return (j < lengths[static_cast<size_t>(b)] ? 0 : -10000.0) + more[static_cast<size_t>((h * 3 + r) * 5 + j)];
  };
  const auto wanted = attention(with_bias(flat(q, 2, 2, 3, 4), 0), with_bias(flat(k, 2, 2, 5, 4), 1),
                                with_bias(flat(v, 2, 2, 5, 4), 2), 0.5, masked, true);
  const TensorData mask = TensorData::of_numbers(lengths, i32);
  for (const bool packed : {false, true}) {
    Floats kv;  // [2, 5, 2 heads, 2, 4]
    for (size_t row = 0; row < 10; ++row)
      for (size_t h = 0; h < 2; ++h)
        for (const Floats* from : {&k, &v})
          kv.insert(kv.end(), &(*from)[row * 8 + h * 4], &(*from)[row * 8 + h * 4 + 4]);
    TestModel m;
    m.input("q", {2, 3, 8});
    if (packed)
      m.input("k", {2, 5, 2, 2, 4});
    else
      m.input("k", {2, 5, 8}).input("v", {2, 5, 8});
    m.input("mask", {2}, 6).input("more", {1, 2, 3, 5}).floats("b", {24}, bias);
    of_microsoft(m.node("MultiHeadAttention", {"q", "k", packed ? "" : "v", "b", "mask", "more"}, {"y"}));
    m.number("num_heads", 2).output("y");
    std::vector<TensorData> inputs{tensor({2, 3, 8}, q)};
    if (packed)
      inputs.push_back(tensor({2, 5, 2, 2, 4}, kv));
    else
      inputs.insert(inputs.end(), {tensor({2, 5, 8}, k), tensor({2, 5, 8}, v)});
    inputs.insert(inputs.end(), {mask, tensor({1, 2, 3, 5}, more)});
    EXPECT_THAT(run(f.import(m), inputs)[0], Near(wanted)) << packed;
  }
}

// A decoder's step and its prompt; packed, with rotations, and known or unknown numbers of tokens.
TEST(GroupQueryAttention, TurnsByPlacesAndKeepsItsCache) {
  const ModelFolder f;
  for (const int64_t past : {0, 4})
    for (const int64_t rows : {1, 3})
      for (const bool is_known : {false, true}) {
        const Floats qkv = numbers(rows * 8 * 4, 1), pk = numbers(2 * past * 4, 2), pv = numbers(2 * past * 4, 3);
        // 4 heads of queries, 2 of keys, 2 of values.
        const auto heads = [&](int64_t first, int64_t count) {
          return Heads{1, count, rows, 4, [=](int64_t, int64_t h, int64_t r, int64_t e) {
                         return double{qkv[static_cast<size_t>((r * 8 + first + h) * 4 + e)]};
                       }};
        };
        const auto position = [&](int64_t, int64_t r) { return static_cast<double>(past + r); };
        const Heads q = rotated(heads(0, 4), 4, false, position, &angle),
                    key = behind(apart(pk, 1, 2, past, 4), rotated(heads(4, 2), 4, false, position, &angle)),
                    value = behind(apart(pv, 1, 2, past, 4), heads(6, 2));
        TestModel m;
        with_tables(m.input("qkv", {1, rows, 32}), 9, 2);
        if (past > 0) m.input("pk", {1, 2, past, 4}).input("pv", {1, 2, past, 4});
        if (is_known)
          m.tensor("last", {1}, 6)->add_int32_data(static_cast<int>(past + rows - 1));
        else
          m.input("last", {1}, 6);
        m.numbers("total", {1}, {past + rows});
        const std::string k = past ? "pk" : "", v = past ? "pv" : "";
        of_microsoft(
            m.node("GroupQueryAttention", {"qkv", "", "", k, v, "last", "total", "cos", "sin"}, {"y", "nk", "nv"}));
        m.number("num_heads", 4).number("kv_num_heads", 2).number("do_rotary", 1);
        m.output("y").output("nk").output("nv");
        std::vector<TensorData> inputs{tensor({1, rows, 32}, qkv)};
        if (past > 0) inputs.insert(inputs.end(), {tensor({1, 2, past, 4}, pk), tensor({1, 2, past, 4}, pv)});
        if (!is_known) inputs.push_back(TensorData::of_numbers({past + rows - 1}, i32));
        const auto got = run(f.import(m), inputs);
        const Bias causal = [&](int64_t, int64_t, int64_t r, int64_t j) { return j <= r + past ? 0.0 : kNever; };
        EXPECT_THAT(got[0], Near(attention(q, key, value, 0.5, causal, true))) << past << rows << is_known;
        EXPECT_THAT(got[1], Near(elements(key)));
        EXPECT_THAT(got[2], Near(elements(value)));
      }
}

TEST(GroupQueryAttention, RefusesCachesWithRoom) {
  const ModelFolder f;
  const auto refused = [&](int64_t batch, int64_t last, int64_t window) {
    TestModel m;
    m.input("q", {batch, 1, 8}).input("k", {batch, 1, 4}).input("pk", {batch, 1, 6, 4});
    if (last >= 0)
      m.tensor("last", {1}, 6)->add_int32_data(static_cast<int>(last));
    else
      m.input("last", {batch}, 6);
    m.numbers("total", {1}, {7});
    of_microsoft(m.node("GroupQueryAttention", {"q", "k", "k", "pk", "pk", "last", "total"}, {"y"}));
    m.number("num_heads", 2).number("kv_num_heads", 1).number("local_window_size", window).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(refused(1, 6, -1), "accepted");
  EXPECT_EQ(refused(1, -1, 7), "accepted");
  EXPECT_THAT(refused(1, 3, -1), HasSubstr("seqlens_k says 4 tokens; the cache and the new ones are 7"));
  EXPECT_THAT(refused(2, -1, -1), HasSubstr("seqlens_k must be known"));
  EXPECT_EQ(refused(1, 6, 4), "accepted");
  EXPECT_THAT(refused(1, 6, 0), HasSubstr("local_window_size=0 is not supported"));
}

// A query sees its own key and those before it, `window` in all.
TEST(GroupQueryAttention, SeesAWindowOfKeys) {
  const ModelFolder f;
  for (const int64_t past : {0, 5})
    for (const int64_t rows : {1, 4})
      for (const int64_t window : {1, 3}) {
        const Floats q = numbers(rows * 8, 1), k = numbers(rows * 4, 2), v = numbers(rows * 4, 3),
                     pk = numbers(past * 4, 4), pv = numbers(past * 4, 5);
        TestModel m;
        m.input("q", {1, rows, 8}).input("k", {1, rows, 4}).input("v", {1, rows, 4});
        if (past > 0) m.input("pk", {1, 1, past, 4}).input("pv", {1, 1, past, 4});
        m.input("last", {1}, 6).numbers("total", {1}, {past + rows});
        of_microsoft(
            m.node("GroupQueryAttention", {"q", "k", "v", past ? "pk" : "", past ? "pv" : "", "last", "total"}, {"y"}));
        m.number("num_heads", 2).number("kv_num_heads", 1).number("local_window_size", window).output("y");
        std::vector<TensorData> inputs{tensor({1, rows, 8}, q), tensor({1, rows, 4}, k), tensor({1, rows, 4}, v)};
        if (past > 0) inputs.insert(inputs.end(), {tensor({1, 1, past, 4}, pk), tensor({1, 1, past, 4}, pv)});
        inputs.push_back(TensorData::of_numbers({past + rows - 1}, i32));
        const Bias near = [&](int64_t, int64_t, int64_t r, int64_t j) {
          return j <= past + r && past + r - j < window ? 0.0 : kNever;
        };
        EXPECT_THAT(outputs_of(f.import(m), inputs),
                    Near(attention(flat(q, 1, 2, rows, 4), behind(apart(pk, 1, 1, past, 4), flat(k, 1, 1, rows, 4)),
                                   behind(apart(pv, 1, 1, past, 4), flat(v, 1, 1, rows, 4)), 0.5, near, true)))
            << past << " " << rows << " " << window;
      }
}

// A score more in each row, of 0 or one for each head, takes a share that goes nowhere: as a key with a value of zeros.
TEST(GroupQueryAttention, SharesWithASink) {
  const ModelFolder f;
  for (const bool is_smooth : {true, false}) {
    const Floats q = numbers(3 * 8, 1), k = numbers(3 * 4, 2), v = numbers(3 * 4, 3), sinks{0.5F, -1.25F};
    TestModel m;
    m.input("q", {1, 3, 8}).input("k", {1, 3, 4}).input("v", {1, 3, 4}).floats("sinks", {2}, sinks);
    m.tensor("last", {1}, 6)->add_int32_data(2);
    m.numbers("total", {1}, {3});
    std::vector<std::string> in{"q", "k", "v", "", "", "last", "total", "", "", "", "", "sinks"};
    if (is_smooth) in.resize(7);
    of_microsoft(m.node("GroupQueryAttention", in, {"y"}));
    m.number("num_heads", 2).number("kv_num_heads", 1).number("smooth_softmax", is_smooth ? 1 : 0).output("y");
    const Heads none{1, 1, 1, 4, [](int64_t, int64_t, int64_t, int64_t) { return 0.0; }};
    const Bias causal = [&](int64_t, int64_t h, int64_t r, int64_t j) {
      if (j == 0) return is_smooth ? 0.0 : double{sinks[static_cast<size_t>(h)]};
      return j - 1 <= r ? 0.0 : kNever;
    };
    EXPECT_THAT(outputs_of(f.import(m), {tensor({1, 3, 8}, q), tensor({1, 3, 4}, k), tensor({1, 3, 4}, v)}),
                Near(attention(flat(q, 1, 2, 3, 4), behind(none, flat(k, 1, 1, 3, 4)),
                               behind(none, flat(v, 1, 1, 3, 4)), 0.5, causal, true)))
        << is_smooth;
  }
}

TEST(GroupQueryAttention, OfACacheWithRoomIsNoResult) {
  const ModelFolder f;
  TestModel m;
  m.input("q", {1, 1, 8}).input("k", {1, 1, 4}).input("pk", {1, 1, 6, 4}).input("last", {1}, 6);
  m.numbers("total", {1}, {7});
  of_microsoft(m.node("GroupQueryAttention", {"q", "k", "k", "pk", "pk", "last", "total"}, {"y"}));
  m.number("num_heads", 2).number("kv_num_heads", 1).output("y");
  const ImportedModel made = f.import(m);
  const auto run = [&](int64_t last) {
    return outputs_of(made, {tensor({1, 1, 8}, numbers(8, 1)), tensor({1, 1, 4}, numbers(4, 2)),
                             tensor({1, 1, 6, 4}, numbers(24, 3)), TensorData::of_numbers({last}, i32)});
  };
  EXPECT_EQ(run(6).size(), 8u);
  EXPECT_THROW(run(3), UserError);
}

// Between sequences of other lengths query i sees the keys up to i.
TEST(MultiHeadAttention, OfOneDirectionCountsFromTheFirstKey) {
  const ModelFolder f;
  for (const int64_t keys : {2, 4, 6}) {
    const Floats q = numbers(4 * 6, 1), k = numbers(keys * 6, 2), v = numbers(keys * 6, 3);
    TestModel m;
    m.input("q", {1, 4, 6}).input("k", {1, keys, 6}).input("v", {1, keys, 6});
    of_microsoft(m.node("MultiHeadAttention", {"q", "k", "v"}, {"y"})).number("num_heads", 2);
    m.number("unidirectional", 1).output("y");
    const Bias causal = [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i ? 0.0 : kNever; };
    const std::vector<double> wanted = attention(flat(q, 1, 2, 4, 3), flat(k, 1, 2, keys, 3), flat(v, 1, 2, keys, 3),
                                                 1 / std::sqrt(3.0), causal, true);
    EXPECT_THAT(outputs_of(f.import(m), {tensor({1, 4, 6}, q), tensor({1, keys, 6}, k), tensor({1, keys, 6}, v)}),
                Near(wanted))
        << keys;
  }
}

}  // namespace
}  // namespace hone
