// Recurrent layers of ONNX: against one computed step by step in doubles, and refusals.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

#include "compiler/graph/passes/passes.h"
#include "compiler/ops/recurrence.h"
#include "tests/unit/graph/after_pass.h"
#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Doubles = std::vector<double>;
using Activation = std::function<double(double)>;

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

// A layer of ONNX with its numbers, [directions, …] as there.
struct Layer {
  std::string op;
  int64_t gates, steps, batch, in, hidden, directions = 1;
  std::string direction = "forward";
  bool has_bias = true, has_states = true, has_peepholes = false, is_coupled = false, resets_sum = false,
       batch_first = false;
  std::vector<int64_t> lengths;  // none: all are whole
  Activation f = &sigmoid, g = [](double v) { return std::tanh(v); }, h = g;
  double clip = INFINITY;
  Floats x, w, r, b, h0, c0, p;

  bool has_cell() const { return op == "LSTM"; }
  void draw(int seed) {
    x = numbers(steps * batch * in, seed), w = numbers(directions * gates * hidden * in, seed + 1);
    r = numbers(directions * gates * hidden * hidden, seed + 2), b = numbers(directions * 2 * gates * hidden, seed + 3);
    h0 = numbers(directions * batch * hidden, seed + 4), c0 = numbers(directions * batch * hidden, seed + 5);
    p = numbers(directions * 3 * hidden, seed + 6);
    if (!has_bias) b.assign(b.size(), 0);
    if (!has_states) h0.assign(h0.size(), 0), c0.assign(c0.size(), 0);
    if (!has_peepholes) p.assign(p.size(), 0);
  }
};

// Where an element of [first, second, inner] lies; the other way round where `swapped`.
size_t at(int64_t first, int64_t second, int64_t i, int64_t firsts, int64_t seconds, int64_t inner, bool swapped) {
  return static_cast<size_t>(swapped ? (second * firsts + first) * inner + i : (first * seconds + second) * inner + i);
}

// Y [steps, directions, batch, hidden], then the last states.
struct Run {
  Doubles y, h, c;
};

// One direction of one sequence.
void run_sequence(const Layer& l, int64_t d, int64_t b, Run* out) {
  const int64_t n = l.hidden, gn = l.gates * n;
  const bool backwards = l.direction == "reverse" || d == 1;
  Doubles h(static_cast<size_t>(n)), c = h;
  for (int64_t j = 0; j < n; ++j) {
    h[static_cast<size_t>(j)] = l.h0[at(d, b, j, l.directions, l.batch, n, l.batch_first)];
    c[static_cast<size_t>(j)] = l.c0[at(d, b, j, l.directions, l.batch, n, l.batch_first)];
  }
  const int64_t length = l.lengths.empty() ? l.steps : l.lengths[static_cast<size_t>(b)];
  for (int64_t s = 0; s < l.steps; ++s) {
    const int64_t t = backwards ? l.steps - 1 - s : s;
    if (t >= length) continue;
    const auto of_input = [&](int64_t gate, int64_t j) {
      const int64_t row = gate * n + j;
      double sum = l.b[static_cast<size_t>(d * 2 * gn + row)];
      for (int64_t k = 0; k < l.in; ++k)
        sum += static_cast<double>(l.w[static_cast<size_t>((d * gn + row) * l.in + k)]) *
               l.x[at(t, b, k, l.steps, l.batch, l.in, l.batch_first)];
      return sum;
    };
    const auto of_state = [&](int64_t gate, int64_t j, const Doubles& state) {
      const int64_t row = gate * n + j;
      double sum = l.b[static_cast<size_t>(d * 2 * gn + gn + row)];
      for (int64_t k = 0; k < n; ++k)
        sum += static_cast<double>(l.r[static_cast<size_t>((d * gn + row) * n + k)]) * state[static_cast<size_t>(k)];
      return sum;
    };
    const auto clipped = [&](double v) { return std::min(std::max(v, -l.clip), l.clip); };
    const auto gate = [&](int64_t g, int64_t j) { return of_input(g, j) + of_state(g, j, h); };
    const auto peephole = [&](int64_t which, int64_t j, double cell) {
      return l.p[static_cast<size_t>((d * 3 + which) * n + j)] * cell;
    };
    Doubles next(h.size()), reset(h.size());
    for (int64_t j = 0; j < n && l.op == "GRU"; ++j)
      reset[static_cast<size_t>(j)] = l.f(clipped(gate(1, j))) * (l.resets_sum ? 1 : h[static_cast<size_t>(j)]);
    for (int64_t j = 0; j < n; ++j) {
      const auto e = static_cast<size_t>(j);
      if (l.op == "RNN") {
        next[e] = l.f(clipped(gate(0, j)));
      } else if (l.op == "GRU") {
        const double z = l.f(clipped(gate(0, j)));
        const double own = l.resets_sum ? reset[e] * of_state(2, j, h) : of_state(2, j, reset);
        next[e] = (1 - z) * l.g(clipped(of_input(2, j) + own)) + z * h[e];
      } else {
        const double before = c[e], i = l.f(clipped(gate(0, j) + peephole(0, j, before))),
                     forget = l.is_coupled ? 1 - i : l.f(clipped(gate(2, j) + peephole(2, j, before)));
        c[e] = forget * before + i * l.g(clipped(gate(3, j)));
        next[e] = l.f(clipped(gate(1, j) + peephole(1, j, c[e]))) * l.h(c[e]);
      }
    }
    h = next;
    for (int64_t j = 0; j < n; ++j)
      out->y[static_cast<size_t>(((t * l.directions + d) * l.batch + b) * n + j)] = h[static_cast<size_t>(j)];
  }
  for (int64_t j = 0; j < n; ++j) {
    out->h[static_cast<size_t>((d * l.batch + b) * n + j)] = h[static_cast<size_t>(j)];
    out->c[static_cast<size_t>((d * l.batch + b) * n + j)] = c[static_cast<size_t>(j)];
  }
}

Run run_in_recurrent(const Layer& l) {
  const auto states = static_cast<size_t>(l.directions * l.batch * l.hidden);
  Run out{Doubles(static_cast<size_t>(l.steps) * states), Doubles(states), Doubles(states)};
  for (int64_t d = 0; d < l.directions; ++d)
    for (int64_t b = 0; b < l.batch; ++b) run_sequence(l, d, b, &out);
  return out;
}

// The model of the layer, whose batch is the first extent where the layer says so; x is its input, and the lengths.
TestModel model_of_in_recurrent(const Layer& l) {
  TestModel m(14);
  const auto swapped = [&](int64_t a, int64_t b, int64_t c) {
    return l.batch_first ? std::vector<int64_t>{b, a, c} : std::vector<int64_t>{a, b, c};
  };
  const std::vector<int64_t> x = swapped(l.steps, l.batch, l.in), state = swapped(l.directions, l.batch, l.hidden);
  m.input("x", {x.begin(), x.end()});
  if (!l.lengths.empty()) m.input("lengths", {l.batch}, 6);
  m.floats("w", {l.directions, l.gates * l.hidden, l.in}, l.w);
  m.floats("r", {l.directions, l.gates * l.hidden, l.hidden}, l.r);
  if (l.has_bias) m.floats("b", {l.directions, 2 * l.gates * l.hidden}, l.b);
  if (l.has_states) m.floats("h0", state, l.h0).floats("c0", state, l.c0);
  if (l.has_peepholes) m.floats("p", {l.directions, 3 * l.hidden}, l.p);
  std::vector<std::string> inputs{
      "x", "w", "r", l.has_bias ? "b" : "", l.lengths.empty() ? "" : "lengths", l.has_states ? "h0" : ""};
  if (l.has_cell()) inputs.push_back(l.has_states ? "c0" : "");
  if (l.has_peepholes) inputs.push_back("p");
  m.node(l.op, inputs, l.has_cell() ? std::vector<std::string>{"y", "h", "c"} : std::vector<std::string>{"y", "h"});
  m.number("hidden_size", l.hidden).text("direction", l.direction);
  if (l.op == "GRU") m.number("linear_before_reset", l.resets_sum ? 1 : 0);
  if (l.is_coupled) m.number("input_forget", 1);
  if (l.batch_first) m.number("layout", 1);
  if (std::isfinite(l.clip)) m.real("clip", static_cast<float>(l.clip));
  m.output("y").output("h");
  if (l.has_cell()) m.output("c");
  return m;
}

std::vector<TensorData> inputs_of(const Layer& l) {
  std::vector<TensorData> out{
      tensor(l.batch_first ? Extents{l.batch, l.steps, l.in} : Extents{l.steps, l.batch, l.in}, l.x)};
  if (l.lengths.empty()) return out;
  const std::vector<int32_t> lengths(l.lengths.begin(), l.lengths.end());
  out.push_back({{i32, {l.batch}}, std::string(reinterpret_cast<const char*>(lengths.data()), 4 * lengths.size())});
  return out;
}

void expect_as_step_by_step(const Layer& l, const TestModel& m) {
  const ModelFolder f;
  const ImportedModel imported = f.import(m);
  const auto got = interpret(imported.graph, inputs_of(l), &evaluate);
  const Run wanted = run_in_recurrent(l);
  Doubles y = wanted.y, h = wanted.h, c = wanted.c;
  if (l.batch_first) {
    for (int64_t t = 0; t < l.steps; ++t)
      for (int64_t d = 0; d < l.directions; ++d)
        for (int64_t b = 0; b < l.batch; ++b)
          for (int64_t j = 0; j < l.hidden; ++j) {
            const auto from = static_cast<size_t>((d * l.batch + b) * l.hidden + j),
                       to = static_cast<size_t>((b * l.directions + d) * l.hidden + j);
            y[static_cast<size_t>(((b * l.steps + t) * l.directions + d) * l.hidden + j)] =
                wanted.y[static_cast<size_t>(t * l.directions * l.batch * l.hidden) + from];
            h[to] = wanted.h[from], c[to] = wanted.c[from];
          }
  }
  EXPECT_THAT(got[0].values(), Near(y));
  EXPECT_THAT(got[1].values(), Near(h));
  if (l.has_cell()) {
    EXPECT_THAT(got[2].values(), Near(c));
  }
  // GPUs get the steps one by one.
  const Graph unrolled = unroll_steps(imported.graph, test_context());
  for (const Node& n : unrolled.nodes) EXPECT_FALSE(recurrence_of(n.workload)) << to_string(n.workload);
  const auto one_by_one = interpret(unrolled, inputs_of(l), &evaluate);
  for (size_t o = 0; o < got.size(); ++o) EXPECT_THAT(one_by_one[o].values(), Near(got[o].values()));
}

TEST(Recurrent, AsStepByStep) {
  std::mt19937 random(5);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const char* directions[] = {"forward", "reverse", "bidirectional"};
  for (int i = 0; i < 60; ++i) {
    Layer l;
    l.op = i % 3 == 0 ? "LSTM" : i % 3 == 1 ? "GRU" : "RNN";
    l.gates = i % 3 == 0 ? 4 : i % 3 == 1 ? 3 : 1;
    l.steps = 1 + below(6), l.batch = 1 + below(4), l.in = 1 + below(5), l.hidden = 1 + below(9);
    l.direction = directions[below(3)];
    l.directions = l.direction == "bidirectional" ? 2 : 1;
    l.has_bias = below(4) > 0, l.has_states = below(2) == 0, l.batch_first = below(3) == 0;
    l.has_peepholes = l.has_cell() && below(2) == 0;
    l.is_coupled = l.has_cell() && i % 2 == 0;
    l.resets_sum = below(2) == 0;
    if (l.op == "RNN") l.f = [](double v) { return std::tanh(v); };
    if (below(4) == 0) l.clip = 0.75;
    if (below(2) == 0)
      for (int64_t b = 0; b < l.batch; ++b) l.lengths.push_back(below(l.steps + 1));
    l.draw(i);
    SCOPED_TRACE(
        fmt::format("{}: {} {} steps={} batch={} hidden={}", i, l.op, l.direction, l.steps, l.batch, l.hidden));
    expect_as_step_by_step(l, model_of_in_recurrent(l));
  }
}

// Sets the activations of the layer's node, and their numbers.
void set_activations(TestModel* m, const std::vector<std::string>& names, const Floats& alphas, const Floats& betas) {
  const auto named = [&](const char* name) {
    onnx::Attribute* a = m->last->add_attribute();
    a->set_name(name);
    return a;
  };
  onnx::Attribute *list = named("activations"), *alpha = named("activation_alpha"), *beta = named("activation_beta");
  for (const std::string& name : names) list->add_strings(name);
  for (const float v : alphas) alpha->add_floats(v);
  for (const float v : betas) beta->add_floats(v);
}

// Alphas and betas are taken in order by those that have one.
TEST(Recurrent, ActivationsWithNumbers) {
  Layer l{"LSTM", 4, 3, 2, 3, 5};
  l.f = [](double v) { return std::min(std::max(0.3 * v + 0.4, 0.0), 1.0); };
  l.g = [](double v) { return 1.5 * std::tanh(0.5 * v); };
  l.h = [](double v) { return v < 0 ? 0.1 * v : v; };
  l.draw(3);
  TestModel m = model_of_in_recurrent(l);
  set_activations(&m, {"HardSigmoid", "ScaledTanh", "LeakyRelu"}, {0.3f, 1.5f, 0.1f}, {0.4f, 0.5f});
  expect_as_step_by_step(l, m);

  Layer r{"RNN", 1, 2, 1, 3, 4};
  r.draw(7);
  const auto with = [&](const std::vector<std::string>& names, const Floats& alphas) {
    TestModel one = model_of_in_recurrent(r);
    set_activations(&one, names, alphas, {1});
    return one;
  };
  r.f = [](double v) { return 2 * v + 1; };
  expect_as_step_by_step(r, with({"affine"}, {2}));
  r.f = [](double v) { return std::tanh(v); };
  expect_as_step_by_step(r, with({}, {}));
  const ModelFolder f;
  EXPECT_THAT(f.refusal(with({"Cube"}, {})), HasSubstr("activation Cube is not supported"));
  EXPECT_THAT(f.refusal(with({"Affine"}, {INFINITY})), HasSubstr("activation_alpha=inf"));
  EXPECT_THAT(f.refusal(with({"Affine", "Tanh"}, {1})), HasSubstr("2 activations; it has 1"));
}

Graph imported(Layer l) {
  l.draw(1);
  const ModelFolder f;
  return f.import(model_of_in_recurrent(l)).graph;
}

TEST(Recurrent, ALayerIsOneNode) {
  const Graph g = imported({"LSTM", 4, 500, 1, 3, 5});
  EXPECT_EQ(count_of(g, "lstm"), 1);
  EXPECT_LT(g.nodes.size(), 12u) << to_string(g);
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const ModelFolder f;
  const auto lstm = [&](std::vector<TestDim> x, const std::vector<int64_t>& w, const std::vector<int64_t>& r) {
    TestModel m(14);
    m.input("x", x).input("w", {w.begin(), w.end()}).input("r", {r.begin(), r.end()});
    m.node("LSTM", {"x", "w", "r"}, {"y"}).number("hidden_size", 2).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(lstm({2, 1, 3}, {1, 8, 3}, {1, 8, 2}), "accepted");
  EXPECT_EQ(lstm({5000, 1, 3}, {1, 8, 3}, {1, 8, 2}), "accepted");
  EXPECT_THAT(lstm({2, 1, 3}, {1, 7, 3}, {1, 8, 2}), HasSubstr("with weights f32[1, 7, 3]"));
  EXPECT_THAT(lstm({2, 1, 3}, {1, 8, 3}, {1, 12, 2}), HasSubstr("weights f32[1, 12, 2]"));
  EXPECT_THAT(lstm({2, 1, 3}, {2, 8, 3}, {2, 8, 2}), HasSubstr("forward with f32[2, 8, 3]"));
  EXPECT_THAT(lstm({2, 1, 4}, {1, 8, 3}, {1, 8, 2}), HasSubstr("times"));
  EXPECT_THAT(lstm({}, {1, 8, 3}, {1, 8, 2}), HasSubstr("an input f32[]"));
  EXPECT_THAT(lstm({2, 1, 3}, {1, 12, 3}, {1, 12, 3}), HasSubstr("hidden_size=2 with weights f32[1, 12, 3]"));
  for (const bool is_input : {true, false}) {
    TestModel m(14);
    m.input("x", is_input ? std::vector<TestDim>{} : std::vector<TestDim>{1, 2, 3});
    m.input("h", {}).floats("w", {1, 1, 3}, {1, 2, 3}).floats("r", {1, 1, 1}, {1});
    m.node("RNN", {"x", "w", "r", "", "", "h"}, {"y"}).number("layout", 1).output("y");
    EXPECT_THAT(f.refusal(m), HasSubstr(is_input ? "an input f32[]" : "a state f32[]"));
  }
}

}  // namespace
}  // namespace hone
