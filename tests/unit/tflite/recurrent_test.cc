// Recurrent layers against loops.
#include <cmath>
#include <functional>

#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr int32_t kSteps = 5, kBatch = 2, kInput = 3, kHidden = 4;

using Doubles = std::vector<double>;

double at(const Floats& v, size_t i) { return static_cast<double>(v[i]); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Layer {
  bool is_coupled = false, has_peepholes = false, is_time_major = false;
  float clip = 0, scale = 1;
  int8_t activation = 4;  // tanh
  // By gate: i, f, c, o.
  Floats weights(size_t gate, int seed) const {
    return scaled(some_numbers(kHidden * kInput, seed + static_cast<int>(gate)));
  }
  Floats recurrent(size_t gate, int seed) const {
    return scaled(some_numbers(kHidden * kHidden, seed + 4 + static_cast<int>(gate)));
  }
  Floats bias(size_t gate, int seed) const { return scaled(some_numbers(kHidden, seed + 8 + static_cast<int>(gate))); }
  Floats peephole(size_t which, int seed) const { return some_numbers(kHidden, seed + 12 + static_cast<int>(which)); }
  Floats scaled(Floats v) const {
    for (float& x : v) x *= scale;
    return v;
  }
};

// One step of one sequence: h and c become the next ones.
void step(const Layer& l, int seed, const Doubles& x, Doubles* h, Doubles* c) {
  const auto sum = [&](size_t gate, size_t j) {
    double s = at(l.bias(gate, seed), j);
    for (size_t k = 0; k < kInput; ++k) s += at(l.weights(gate, seed), j * kInput + k) * x[k];
    for (size_t k = 0; k < kHidden; ++k) s += at(l.recurrent(gate, seed), j * kHidden + k) * (*h)[k];
    return s;
  };
  const auto activated = [&](double v) { return l.activation == 4 ? std::tanh(v) : std::max(v, 0.0); };
  Doubles next_h(kHidden), next_c(kHidden);
  for (size_t j = 0; j < kHidden; ++j) {
    const auto peeked = [&](size_t which, double cell) {
      return l.has_peepholes ? at(l.peephole(which, seed), j) * cell : 0;
    };
    const double f = sigmoid(sum(1, j) + peeked(1, (*c)[j]));
    const double i = l.is_coupled ? 1 - f : sigmoid(sum(0, j) + peeked(0, (*c)[j]));
    double cell = f * (*c)[j] + i * activated(sum(2, j));
    if (l.clip > 0) cell = std::clamp(cell, static_cast<double>(-l.clip), static_cast<double>(l.clip));
    next_c[j] = cell;
    next_h[j] = sigmoid(sum(3, j) + peeked(2, cell)) * activated(cell);
  }
  *h = next_h, *c = next_c;
}

Doubles input_at(const Floats& x, bool is_time_major, size_t b, size_t t) {
  Doubles out;
  for (size_t k = 0; k < kInput; ++k)
    out.push_back(at(x, (is_time_major ? t * kBatch + b : b * kSteps + t) * kInput + k));
  return out;
}

// [batch, steps, hidden], or steps first.
Doubles outputs_of_layer(const Layer& l, int seed, const Floats& x, bool is_reverse) {
  Doubles out(kSteps * kBatch * kHidden);
  for (size_t b = 0; b < kBatch; ++b) {
    Doubles h(kHidden), c(kHidden);
    for (size_t n = 0; n < kSteps; ++n) {
      const size_t t = is_reverse ? kSteps - 1 - n : n;
      step(l, seed, input_at(x, l.is_time_major, b, t), &h, &c);
      for (size_t j = 0; j < kHidden; ++j)
        out[(l.is_time_major ? t * kBatch + b : b * kSteps + t) * kHidden + j] = h[j];
    }
  }
  return out;
}

// The inputs of a layer behind the first one: weights, those of states, peepholes, biases, and none for projections.
std::vector<std::string> add_weights(TfliteModel* m, const Layer& l, int seed, const std::string& prefix) {
  std::vector<std::string> names;
  const auto add = [&](const char* kind, size_t which, const std::vector<int32_t>& shape, const Floats& v,
                       bool is_there) {
    names.push_back(is_there ? prefix + kind + std::to_string(which) : "");
    if (is_there) m->floats(names.back(), shape, v);
  };
  for (size_t g = 0; g < 4; ++g) add("w", g, {kHidden, kInput}, l.weights(g, seed), g > 0 || !l.is_coupled);
  for (size_t g = 0; g < 4; ++g) add("r", g, {kHidden, kHidden}, l.recurrent(g, seed), g > 0 || !l.is_coupled);
  for (size_t p = 0; p < 3; ++p)
    add("p", p, {kHidden}, l.peephole(p, seed), l.has_peepholes && (p > 0 || !l.is_coupled));
  for (size_t g = 0; g < 4; ++g) add("b", g, {kHidden}, l.bias(g, seed), g > 0 || !l.is_coupled);
  names.insert(names.end(), {"", ""});
  return names;
}

void add_state(TfliteModel* m, const std::string& name) {
  m->tensor(name, {kBatch, kHidden}, kTfFloat, {}, 0, {}, 0, true);
}

const std::vector<Layer> kLayers = {{},
                                    {.is_time_major = true},
                                    {.is_coupled = true},
                                    {.has_peepholes = true},
                                    {.is_coupled = true, .has_peepholes = true},
                                    {.clip = 0.4f, .scale = 3},
                                    {.clip = 10},
                                    {.activation = 1}};

std::vector<int32_t> input_shape(const Layer& l) {
  return l.is_time_major ? std::vector{kSteps, kBatch, kInput} : std::vector{kBatch, kSteps, kInput};
}

TEST(TfliteRecurrent, LstmOfSequences) {
  for (const Layer& l : kLayers) {
    TfliteModel m;
    m.input("x", input_shape(l));
    std::vector<std::string> inputs = add_weights(&m, l, 1, "");
    inputs.insert(inputs.begin(), "x");
    inputs.insert(inputs.end(), {"h", "c"});
    add_state(&m, "h");
    add_state(&m, "c");
    m.op(44, inputs, {"y"}, tables::CreateSequenceLstmOptions(m.b, l.activation, l.clip, 0, l.is_time_major))
        .output("y");
    const Floats x = some_numbers(kSteps * kBatch * kInput, 40);
    const std::vector<int32_t> shape = input_shape(l);
    EXPECT_THAT(outputs_of(m, {tensor({shape.begin(), shape.end()}, x)}), Near(outputs_of_layer(l, 1, x, false)));
  }
}

TEST(TfliteRecurrent, LstmBothWays) {
  for (const bool merges : {true, false})
    for (const bool is_time_major : {true, false}) {
      const Layer l{.is_time_major = is_time_major};
      TfliteModel m;
      m.input("x", input_shape(l));
      std::vector<std::string> inputs{"x"};
      for (const auto& [seed, prefix] : {std::pair{1, "f"}, {30, "b"}})
        for (const std::string& name : add_weights(&m, l, seed, prefix)) inputs.push_back(name);
      for (const char* state : {"fh", "fc", "bh", "bc"}) {
        add_state(&m, state);
        inputs.push_back(state);
      }
      inputs.resize(48);
      const auto options = tables::CreateBothWaysLstmOptions(m.b, 4, 0, 0, merges, is_time_major);
      if (merges)
        m.op(52, inputs, {"y"}, options).output("y");
      else
        m.op(52, inputs, {"y", "z"}, options).output("y").output("z");
      const Floats x = some_numbers(kSteps * kBatch * kInput, 40);
      const Doubles forward = outputs_of_layer(l, 1, x, false), backward = outputs_of_layer(l, 30, x, true);
      Doubles wanted;
      if (!merges) {
        wanted = forward;
        wanted.insert(wanted.end(), backward.begin(), backward.end());
      }
      for (size_t row = 0; merges && row < kSteps * kBatch; ++row)
        for (const Doubles* part : {&forward, &backward})
          for (size_t j = 0; j < kHidden; ++j) wanted.push_back((*part)[row * kHidden + j]);
      const std::vector<int32_t> shape = input_shape(l);
      EXPECT_THAT(outputs_of(m, {tensor({shape.begin(), shape.end()}, x)}), Near(wanted));
    }
}

// One step, twice: the second call begins with what the first one gave.
TEST(TfliteRecurrent, LstmOfOneStepHasStates) {
  const Layer l{.has_peepholes = true};
  TfliteModel m;
  m.input("x", {kBatch, kInput});
  std::vector<std::string> inputs = add_weights(&m, l, 1, "");
  inputs.insert(inputs.begin(), "x");
  inputs.insert(inputs.end(), {"h", "c"});
  add_state(&m, "h");
  add_state(&m, "c");
  m.op(16, inputs, {"y"}, tables::CreateLstmOptions(m.b, 4)).output("y");
  const TfliteFolder f;
  const ImportedModel model = f.import(m);
  ASSERT_EQ(model.graph.inputs.size(), 3u);
  EXPECT_EQ(model.graph.inputs[1].name, "h");
  EXPECT_EQ(model.graph.outputs[1].name, "h_next");
  EXPECT_EQ(model.graph.outputs[2].name, "c_next");
  EXPECT_THAT(model.notes[0], HasSubstr("state h: output h_next is its input in the next call; it begins with zeros"));
  TensorData hidden = tensor({kBatch, kHidden}, Floats(kBatch * kHidden)), cell = hidden;
  std::vector<Doubles> h(kBatch, Doubles(kHidden)), c = h;
  for (const int seed : {40, 41}) {
    const Floats x = some_numbers(kBatch * kInput, seed);
    const std::vector<TensorData> out = interpret(model.graph, {tensor({kBatch, kInput}, x), hidden, cell}, &evaluate);
    Doubles wanted, cells;
    for (size_t b = 0; b < kBatch; ++b) {
      Doubles row;
      for (size_t k = 0; k < kInput; ++k) row.push_back(at(x, b * kInput + k));
      step(l, 1, row, &h[b], &c[b]);
      wanted.insert(wanted.end(), h[b].begin(), h[b].end());
      cells.insert(cells.end(), c[b].begin(), c[b].end());
    }
    EXPECT_THAT(out[0].values(), Near(wanted));
    EXPECT_THAT(out[1].values(), Near(wanted));
    EXPECT_THAT(out[2].values(), Near(cells));
    hidden = out[1], cell = out[2];
  }
}

TEST(TfliteRecurrent, LstmOfOneProduct) {
  const Layer l;
  // Rows of all gates i, c, f, o; columns of the input, then of the state.
  Floats weight, bias;
  for (const size_t gate : {0, 2, 1, 3})
    for (size_t j = 0; j < kHidden; ++j) {
      for (size_t k = 0; k < kInput; ++k) weight.push_back(l.weights(gate, 1)[j * kInput + k]);
      for (size_t k = 0; k < kHidden; ++k) weight.push_back(l.recurrent(gate, 1)[j * kHidden + k]);
      bias.push_back(l.bias(gate, 1)[j]);
    }
  TfliteModel m;
  m.input("x", {kBatch, kInput}).input("h", {kBatch, kHidden}).input("c", {kBatch, kHidden});
  m.floats("w", {4 * kHidden, kInput + kHidden}, weight).floats("b", {4 * kHidden}, bias);
  m.op(16, {"x", "h", "w", "b", "c"}, {"y", "d", "joined", "sums"}, tables::CreateLstmOptions(m.b, 4, 0, 0, 1));
  m.output("y").output("d");
  const Floats x = some_numbers(kBatch * kInput, 40), h0 = some_numbers(kBatch * kHidden, 41),
               c0 = some_numbers(kBatch * kHidden, 42);
  Doubles hidden, cells;
  for (size_t b = 0; b < kBatch; ++b) {
    Doubles row, h, c;
    for (size_t k = 0; k < kInput; ++k) row.push_back(at(x, b * kInput + k));
    for (size_t k = 0; k < kHidden; ++k) h.push_back(at(h0, b * kHidden + k)), c.push_back(at(c0, b * kHidden + k));
    step(l, 1, row, &h, &c);
    hidden.insert(hidden.end(), h.begin(), h.end());
    cells.insert(cells.end(), c.begin(), c.end());
  }
  hidden.insert(hidden.end(), cells.begin(), cells.end());
  EXPECT_THAT(
      outputs_of(m, {tensor({kBatch, kInput}, x), tensor({kBatch, kHidden}, h0), tensor({kBatch, kHidden}, c0)}),
      Near(hidden));
}

// h = f(w x + r h + b)
Doubles rnn_step(const Layer& l, const Doubles& x, const Doubles& h) {
  Doubles next;
  for (size_t j = 0; j < kHidden; ++j) {
    double s = at(l.bias(0, 1), j);
    for (size_t k = 0; k < kInput; ++k) s += at(l.weights(0, 1), j * kInput + k) * x[k];
    for (size_t k = 0; k < kHidden; ++k) s += at(l.recurrent(0, 1), j * kHidden + k) * h[k];
    next.push_back(l.activation == 4 ? std::tanh(s) : l.activation == 1 ? std::max(s, 0.0) : s);
  }
  return next;
}

TEST(TfliteRecurrent, RnnOfSequences) {
  for (const Layer& l :
       {Layer{}, Layer{.is_time_major = true}, Layer{.activation = 1}, Layer{.scale = 0.5f, .activation = 0}}) {
    TfliteModel m;
    m.input("x", input_shape(l)).floats("w", {kHidden, kInput}, l.weights(0, 1));
    m.floats("r", {kHidden, kHidden}, l.recurrent(0, 1)).floats("b", {kHidden}, l.bias(0, 1));
    add_state(&m, "h");
    m.op(35, {"x", "w", "r", "b", "h"}, {"y"}, tables::CreateSequenceRnnOptions(m.b, l.is_time_major, l.activation));
    m.output("y");
    const Floats x = some_numbers(kSteps * kBatch * kInput, 40);
    Doubles wanted(kSteps * kBatch * kHidden);
    for (size_t b = 0; b < kBatch; ++b) {
      Doubles h(kHidden);
      for (size_t t = 0; t < kSteps; ++t) {
        h = rnn_step(l, input_at(x, l.is_time_major, b, t), h);
        for (size_t j = 0; j < kHidden; ++j)
          wanted[(l.is_time_major ? t * kBatch + b : b * kSteps + t) * kHidden + j] = h[j];
      }
    }
    const std::vector<int32_t> shape = input_shape(l);
    EXPECT_THAT(outputs_of(m, {tensor({shape.begin(), shape.end()}, x)}), Near(wanted));
  }
}

TEST(TfliteRecurrent, RnnOfOneStepHasAState) {
  const Layer l;
  TfliteModel m;
  m.input("x", {1, kInput}).floats("w", {kHidden, kInput}, l.weights(0, 1));
  m.floats("r", {kHidden, kHidden}, l.recurrent(0, 1)).floats("b", {kHidden}, l.bias(0, 1));
  m.tensor("h", {1, kHidden}, kTfFloat, {}, 0, {}, 0, true);
  m.op(24, {"x", "w", "r", "b", "h"}, {"y"}, tables::CreateRnnOptions(m.b, 4)).output("y");
  const Floats x = some_numbers(kInput, 40), h = some_numbers(kHidden, 41);
  Doubles wanted = rnn_step(l, {at(x, 0), at(x, 1), at(x, 2)}, {at(h, 0), at(h, 1), at(h, 2), at(h, 3)});
  wanted.insert(wanted.end(), wanted.begin(), wanted.end());  // of the next call, too
  EXPECT_THAT(outputs_of(m, {tensor({1, kInput}, x), tensor({1, kHidden}, h)}), Near(wanted));
}

TEST(TfliteRecurrent, WhatIsNotSupported) {
  const auto refusal = [](const std::function<void(TfliteModel*, std::vector<std::string>*)>& change) {
    TfliteModel m;
    m.input("x", {kBatch, kSteps, kInput});
    std::vector<std::string> inputs = add_weights(&m, {}, 1, "");
    inputs.insert(inputs.begin(), "x");
    inputs.insert(inputs.end(), {"h", "c", "", "", "", ""});
    add_state(&m, "h");
    add_state(&m, "c");
    change(&m, &inputs);
    m.op(44, inputs, {"y"}, tables::CreateSequenceLstmOptions(m.b, 4)).output("y");
    return TfliteFolder().refusal(m);
  };
  EXPECT_EQ(refusal([](TfliteModel*, auto*) {}), "accepted");
  EXPECT_THAT(refusal([](TfliteModel* m, auto* inputs) {
                m->floats("p", {2, kHidden}, Floats(2 * kHidden));
                inputs->at(16) = "p";
              }),
              HasSubstr("input 5 is f32[4, 4], not [4, 2]"));
  EXPECT_THAT(refusal([](TfliteModel* m, auto* inputs) {
                m->floats("n", {kHidden}, Floats(kHidden));
                inputs->at(21) = "n";
              }),
              HasSubstr("some of its gates have norms, and others none"));
  EXPECT_THAT(refusal([](TfliteModel*, auto* inputs) { inputs->at(1) = ""; }),
              HasSubstr("its input gate has weights without others"));
  EXPECT_THAT(refusal([](TfliteModel* m, auto* inputs) {
                m->floats("w", {kHidden, 2}, Floats(2 * kHidden));
                inputs->at(3) = "w";
              }),
              HasSubstr("input 3 is f32[4, 2], not [4, 3]"));
}

}  // namespace
}  // namespace hone::tflite
