// Recurrent layers of floats. Those over sequences begin each call with zeros as their states; those of one step have
// them as states of the model.
#include <array>
#include <cmath>

#include "compiler/frontend/lowering/operators/linear.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// A fused activation as a chain.
std::string chain_of(int8_t function) {
  enum : int8_t { kNone, kRelu, kReluMinusOneToOne, kRelu6, kTanh };
  switch (function) {
    case kNone: return "mul[1.0]";
    case kRelu: return "relu";
    case kReluMinusOneToOne: return "clip[-1.0;1.0]";
    case kRelu6: return "relu6";
    case kTanh: return "tanh";
    default: break;
  }
  throw UserError(fmt::format("the fused activation {} is not supported", static_cast<int>(function)));
}

void require_floats(const NodeContext& c) {
  HONE_USER_CHECK(c.has(0) && c.read[0]->type.dtype == f32) << "layers with states of floats are supported";
}

// x [steps, batch, k] from what a file has first: batches, or steps.
Operand by_steps(Lowering& l, const Operand& x, bool is_time_major) {
  HONE_USER_CHECK(x.rank() == 3 && !x.is_empty()) << "an input " << to_string(x.type);
  return is_time_major ? x : l.transpose(x, {1, 0, 2});
}

// The first one of a direction's inputs of each kind: of the gates i, f, c, o, and of peepholes i, f, o.
struct LstmInputs {
  size_t weights = 1, recurrent = 5, peepholes = 9, biases = 12, projection = 16, hidden = 18, cell = 19;
};
constexpr size_t kInputGate = 0, kForgetGate = 1, kCellGate = 2, kOutputGate = 3;
constexpr std::array kGatesOfGraph = {kInputGate, kOutputGate, kForgetGate, kCellGate};

struct LstmHow {
  int8_t activation = 0;
  float cell_clip = 0;
  bool is_reverse = false;
};

// A layer in one direction.
class Lstm {
 public:
  Lstm(NodeContext& c, const LstmInputs& at, const LstmHow& how) : c_(c), l_(c.l), at_(at), how_(how) {
    HONE_USER_CHECK(c.in(at.weights + kForgetGate).rank() == 2) << "weights " << to_string(c.in(at.weights + 1).type);
    hidden_ = c.in(at.weights + kForgetGate).type.shape[0];
    is_coupled_ = !c.has(at.weights + kInputGate);
    HONE_USER_CHECK(c.has(at.recurrent + kInputGate) != is_coupled_ && c.has(at.biases + kInputGate) != is_coupled_)
        << "its input gate has weights without others";
    HONE_USER_CHECK(!c.has(at.projection)) << "projections of states are not supported";
    HONE_USER_CHECK(std::isfinite(how.cell_clip) && how.cell_clip >= 0) << "cell_clip=" << how.cell_clip;
  }

  // x [steps, batch, k]; states [batch, hidden], or none: zeros. Gives [steps, batch, hidden] and the last cell.
  std::array<Operand, 2> run(const Operand& x, const std::optional<Operand>& hidden,
                             const std::optional<Operand>& cell) {
    const int64_t steps = x.type.shape[0], batch = x.type.shape[1], k = x.type.shape[2];
    const Operand sums =
        linear(l_, l_.reshape(x, {steps * batch, k}), gates(at_.weights, {hidden_, k}), gates(at_.biases, {hidden_}));
    const auto state = [&](const std::optional<Operand>& given) {
      if (!given) return l_.value(l_.filled(0, {f32, {batch, hidden_}}));
      HONE_USER_CHECK(given->type.shape == (Extents{batch, hidden_})) << "a state " << to_string(given->type);
      return l_.value(*given);
    };
    std::vector<ValueId> inputs{l_.as(sums, {steps, batch, 4 * hidden_}),
                                l_.as(gates(at_.recurrent, {hidden_, hidden_}), {4, hidden_, hidden_}), state(hidden),
                                state(cell)};
    AttributeTexts given{{"g", chain_of(how_.activation)}, {"h", chain_of(how_.activation)}};
    if (how_.cell_clip > 0) given.emplace_back("cell_clip", fmt::format("{}", how_.cell_clip));
    if (how_.is_reverse) given.emplace_back("reverse", "1");
    if (c_.has(at_.peepholes + 1)) {
      given.emplace_back("peepholes", "1");
      inputs.push_back(l_.value(peepholes()));
    }
    const std::vector<ValueId> made = l_.b.add("lstm", given, inputs);
    return {Operand{made[0], l_.b.type(made[0])}, Operand{made.back(), l_.b.type(made.back())}};
  }

 private:
  // The input gate that a forget gate has with it: what is not kept is taken, 1 - sigmoid(x) = sigmoid(-x).
  Operand gate(size_t first, size_t which, const Extents& shape) {
    const bool is_other = which == kInputGate && is_coupled_;
    const Operand& x = c_.in(first + (is_other ? kForgetGate : which));
    HONE_USER_CHECK(x.type.shape == shape)
        << "input " << first + which << " is " << to_string(x.type) << ", not [" << join(shape, ", ") << "]";
    return is_other ? l_.pointwise("neg", {x}) : x;
  }
  // Those of all gates, in the graph's order.
  Operand gates(size_t first, const Extents& shape) {
    std::vector<Operand> all;
    for (const size_t which : kGatesOfGraph) all.push_back(gate(first, which, shape));
    return l_.concat(all, 0);
  }
  // Of i, o and f.
  Operand peepholes() {
    const auto of = [&](size_t which) {
      HONE_USER_CHECK(c_.in(at_.peepholes + which).type.shape == Extents{hidden_})
          << "peepholes " << to_string(c_.in(at_.peepholes + which).type);
      return l_.reshape(c_.in(at_.peepholes + which), {1, hidden_});
    };
    const Operand forget = of(1);
    return l_.concat({is_coupled_ ? l_.pointwise("neg", {forget}) : of(0), of(2), forget}, 0);
  }

  NodeContext& c_;
  Lowering& l_;
  const LstmInputs at_;
  const LstmHow how_;
  int64_t hidden_ = 0;
  bool is_coupled_ = false;
};

std::optional<Operand> given(const NodeContext& c, size_t i) { return c.has(i) ? c.inputs[i] : std::nullopt; }

Operand as_file(Lowering& l, const Operand& y, bool is_time_major) {
  return is_time_major ? y : l.transpose(y, {1, 0, 2});
}

void require_no_norms(const NodeContext& c, size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) HONE_USER_CHECK(!c.has(i)) << "norms of gates are not supported";
}

void lstm_of_sequence(NodeContext& c) {
  using Options = file::SequenceLstmOptions;
  require_floats(c);
  require_no_norms(c, 20, 4);
  HONE_USER_CHECK(!c.option(&Options::diagonal_recurrent_tensors)) << "diagonal weights are not supported";
  const bool is_time_major = c.option(&Options::time_major);
  const LstmInputs at;
  Lstm layer(c, at, {c.option(&Options::activation), c.option(&Options::cell_clip)});
  c.outputs[0] = as_file(
      c.l, layer.run(by_steps(c.l, c.in(0), is_time_major), given(c, at.hidden), given(c, at.cell))[0], is_time_major);
}

// A second direction has inputs of its own behind the first one's, and another output, or the same one.
void lstm_both_ways(NodeContext& c) {
  using Options = file::BothWaysLstmOptions;
  require_floats(c);
  for (size_t i = 39; i < c.inputs.size(); ++i) HONE_USER_CHECK(!c.has(i)) << "a second input is not supported";
  const bool is_time_major = c.option(&Options::time_major, true), merges = c.option(&Options::merges_outputs);
  c.require_outputs(merges ? 1 : 2);
  const Operand x = by_steps(c.l, c.in(0), is_time_major);
  const auto direction = [&](const LstmInputs& at, bool is_reverse) {
    Lstm layer(c, at, {c.option(&Options::activation), c.option(&Options::cell_clip), is_reverse});
    return as_file(c.l, layer.run(x, given(c, at.hidden), given(c, at.cell))[0], is_time_major);
  };
  const Operand forward = direction({1, 5, 9, 12, 16, 35, 36}, false),
                backward = direction({18, 22, 26, 29, 33, 37, 38}, true);
  c.outputs[0] = merges ? c.l.concat({forward, backward}, 2) : forward;
  if (!merges) c.outputs[1] = backward;
}

Operand layer_state(NodeContext& c, size_t i, const Extents& shape) {
  if (c.has(i)) return c.in(i);
  HONE_USER_CHECK(i < c.read.size() && c.read[i] && c.read[i]->is_variable) << "input " << i << " is no state";
  return c.states.of_layer(c.l, c.read[i]->name, {f32, shape});
}
void set_layer_state(NodeContext& c, size_t i, const Operand& value) {
  if (!c.has(i)) c.states.set_of_layer(c.l, c.read[i]->name, value);
}

// All gates i, c, f, o have one weight [4 n, k + n] over an input beside the state; states are inputs and outputs.
void basic_lstm(NodeContext& c) {
  Lowering& l = c.l;
  c.require_outputs(4);
  const Operand &x = c.in(0), &hidden = c.in(1), &weight = c.in(2), &bias = c.in(3), &cell = c.in(4);
  HONE_USER_CHECK(x.rank() == 2 && hidden.rank() == 2 && cell.type == hidden.type && weight.rank() == 2 &&
                  x.type.shape[0] == hidden.type.shape[0] && !x.is_empty() && !hidden.is_empty())
      << to_string(x.type) << " with states " << to_string(hidden.type) << " and " << to_string(cell.type);
  const int64_t batch = x.type.shape[0], n = hidden.type.shape[1];
  HONE_USER_CHECK(weight.type.shape == (Extents{4 * n, x.type.shape[1] + n}) && bias.type.shape == Extents{4 * n})
      << "weights " << to_string(weight.type) << " and biases " << to_string(bias.type);
  const Operand both = l.concat({x, hidden}, 1), sums = linear(l, both, weight, bias);
  const auto gate = [&](int64_t which, const char* function) {
    return l.pointwise(function, {l.slice(sums, {0, which * n}, {1, 1}, {batch, n})});
  };
  const Operand next = l.pointwise("add", {l.pointwise("mul", {gate(0, "sigmoid"), gate(1, "tanh")}),
                                           l.pointwise("mul", {gate(2, "sigmoid"), cell})});
  c.outputs = {l.pointwise("mul", {gate(3, "sigmoid"), l.pointwise("tanh", {next})}), next, both, sums};
}

// One step.
void lstm(NodeContext& c) {
  using Options = file::LstmOptions;
  constexpr int8_t kBasic = 1;
  require_floats(c);
  if (c.option(&Options::kernel) == kBasic) return basic_lstm(c);
  require_no_norms(c, 20, 4);
  const LstmInputs at;
  Lstm layer(c, at, {c.option(&Options::activation), c.option(&Options::cell_clip)});
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() == 2 && !x.is_empty()) << "an input " << to_string(x.type);
  const Extents shape{x.type.shape[0], c.in(at.weights + kForgetGate).type.shape[0]};
  const Operand before = layer_state(c, at.hidden, shape), cell_before = layer_state(c, at.cell, shape);
  const auto [y, cell] = layer.run(c.l.reshape(x, {1, x.type.shape[0], x.type.shape[1]}), before, cell_before);
  c.outputs[0] = c.l.reshape(y, shape);
  set_layer_state(c, at.hidden, c.outputs[0]);
  set_layer_state(c, at.cell, c.l.reshape(cell, shape));
}

// Weights [n, k], those of the state [n, n], biases [n].
void require_rnn(const NodeContext& c, int64_t k) {
  const Operand &weight = c.in(1), &recurrent = c.in(2), &bias = c.in(3);
  const int64_t n = bias.rank() == 1 ? bias.type.shape[0] : 0;
  HONE_USER_CHECK(n > 0 && weight.type.shape == (Extents{n, k}) && recurrent.type.shape == (Extents{n, n}))
      << "weights " << to_string(weight.type) << " and " << to_string(recurrent.type) << ", biases "
      << to_string(bias.type);
}

void rnn_of_sequence(NodeContext& c) {
  using Options = file::SequenceRnnOptions;
  require_floats(c);
  Lowering& l = c.l;
  const bool is_time_major = c.option(&Options::time_major);
  const Operand x = by_steps(l, c.in(0), is_time_major);
  const int64_t steps = x.type.shape[0], batch = x.type.shape[1], k = x.type.shape[2];
  require_rnn(c, k);
  const int64_t n = c.in(3).type.shape[0];
  const Operand sums = linear(l, l.reshape(x, {steps * batch, k}), c.in(1), c.in(3));
  const Operand state = c.has(4) ? c.in(4) : l.filled(0, {f32, {batch, n}});
  HONE_USER_CHECK(state.type.shape == (Extents{batch, n})) << "a state " << to_string(state.type);
  const Operand y = l.add("rnn", {{"f", chain_of(c.option(&Options::activation))}},
                          {l.as(sums, {steps, batch, n}), l.as(c.in(2), {1, n, n}), l.value(state)});
  c.outputs[0] = as_file(l, y, is_time_major);
}

void rnn(NodeContext& c) {
  require_floats(c);
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() == 2 && !x.is_empty()) << "an input " << to_string(x.type);
  require_rnn(c, x.type.shape[1]);
  const Operand state = layer_state(c, 4, {x.type.shape[0], c.in(3).type.shape[0]});
  const Operand sum =
      c.l.pointwise("add", {linear(c.l, x, c.in(1), c.in(3)), linear(c.l, state, c.in(2), std::nullopt)});
  c.outputs[0] = activated(c.l, sum, c.option(&file::RnnOptions::activation));
  set_layer_state(c, 4, c.outputs[0]);
}

}  // namespace

void add_recurrent_operators(ConverterTable& t) {
  t.own[16] = {&lstm, Numbers::kReal, true};
  t.own[24] = {&rnn, Numbers::kReal, true};
  t.own[35] = {&rnn_of_sequence, Numbers::kReal, true};
  t.own[44] = {&lstm_of_sequence, Numbers::kReal, true};
  t.own[52] = {&lstm_both_ways, Numbers::kReal, true};
}

}  // namespace hone::tflite
