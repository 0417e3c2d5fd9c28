// LSTM layers of floats. Those over sequences begin each call with zeros as their states; those of one step have
// them as states of the model.
#include <array>
#include <cmath>

#include "compiler/frontend/lowering/operators/linear.h"
#include "compiler/frontend/tflite/node/layer_node.h"
#include "compiler/frontend/tflite/operators/lstm_steps.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// The first one of a direction's inputs of each kind: of the gates i, f, c, o, and of peepholes i, f, o.
struct LstmInputs {
  size_t weights = 1, recurrent = 5, peepholes = 9, biases = 12, projection = 16, hidden = 18, cell = 19;
  size_t norms = 20;  ///< 0: the operator has none
};
constexpr std::array kGatesOfGraph = {kInputGate, kOutputGate, kForgetGate, kCellGate};

struct LstmHow {
  int8_t activation = 0;
  float cell_clip = 0, projection_clip = 0;
  bool is_reverse = false;
};

// A layer in one direction.
class Lstm {
 public:
  Lstm(NodeContext& c, const LstmInputs& at, const LstmHow& how) : c_(c), l_(c.l), at_(at), how_(how) {
    HONE_USER_CHECK(c.in(at.weights + kForgetGate).rank() == 2 && !c.in(at.weights + kForgetGate).is_empty())
        << "weights " << to_string(c.in(at.weights + 1).type);
    hidden_ = c.in(at.weights + kForgetGate).type.shape[0];
    is_coupled_ = !c.has(at.weights + kInputGate);
    HONE_USER_CHECK(c.has(at.recurrent + kInputGate) != is_coupled_ && c.has(at.biases + kInputGate) != is_coupled_)
        << "its input gate has weights without others";
    for (const float clip : {how.cell_clip, how.projection_clip})
      HONE_USER_CHECK(std::isfinite(clip) && clip >= 0) << "it clips at " << clip;
    has_norms_ = at.norms > 0 && c.has(at.norms + kForgetGate);
    for (size_t g = 0; g < 4 && at.norms > 0; ++g)
      HONE_USER_CHECK(c.has(at.norms + g) == (has_norms_ && (g != kInputGate || !is_coupled_)))
          << "some of its gates have norms, and others none";
    HONE_USER_CHECK(c.has(at.projection) || !c.has(at.projection + 1))
        << "it has a bias of a projection without weights";
    HONE_USER_CHECK(c.has(at.projection) || c.in(at.recurrent + kForgetGate).type.shape == (Extents{hidden_, hidden_}))
        << "weights " << to_string(c.in(at.recurrent + kForgetGate).type) << " of " << hidden_ << " cells";
    output_ = hidden_;
    if (!c.has(at.projection)) return;
    const Operand& projection = c.in(at.projection);
    HONE_USER_CHECK(projection.rank() == 2 && projection.type.shape[1] == hidden_ && !projection.is_empty())
        << "a projection " << to_string(projection.type) << " of " << hidden_ << " cells";
    output_ = projection.type.shape[0];
  }
  // Numbers of a state.
  int64_t output_count() const { return output_; }

  // x [steps, batch, k]; states [batch, output] and cells [batch, hidden], or none: zeros. Gives [steps, batch, output]
  // and the last cells.
  std::array<Operand, 2> run(const Operand& x, const std::optional<Operand>& hidden,
                             const std::optional<Operand>& cell) {
    if (has_norms_ || c_.has(at_.projection)) return run_by_steps(x, hidden, cell);
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
  Operand shaped(size_t i, const Extents& shape) {
    const Operand& x = c_.in(i);
    HONE_USER_CHECK(x.type.shape == shape)
        << "input " << i << " is " << to_string(x.type) << ", not [" << join(shape, ", ") << "]";
    return x;
  }
  std::array<Operand, 2> run_by_steps(const Operand& x, const std::optional<Operand>& hidden,
                                      const std::optional<Operand>& cell) {
    const int64_t steps = x.type.shape[0], batch = x.type.shape[1], k = x.type.shape[2];
    LstmSteps layer;
    layer.activation = how_.activation;
    layer.cell_clip = how_.cell_clip, layer.projection_clip = how_.projection_clip;
    layer.is_reverse = how_.is_reverse;
    std::vector<Operand> weights, biases;
    for (size_t g = 0; g < 4; ++g) {
      if (g == kInputGate && is_coupled_) continue;
      weights.push_back(shaped(at_.weights + g, {hidden_, k}));
      biases.push_back(shaped(at_.biases + g, {hidden_}));
      LstmGate& gate = layer.gates[g].emplace();
      gate.recurrent = shaped(at_.recurrent + g, {hidden_, output_});
      const size_t peephole = g == kOutputGate ? 2 : g;
      if (g != kCellGate && c_.has(at_.peepholes + 1)) gate.peephole = shaped(at_.peepholes + peephole, {hidden_});
      if (!has_norms_) continue;
      gate.norm = shaped(at_.norms + g, {hidden_});
      gate.bias = biases.back();
    }
    if (c_.has(at_.projection)) layer.projection = c_.in(at_.projection);
    if (c_.has(at_.projection + 1)) layer.projection_bias = shaped(at_.projection + 1, {output_});
    std::optional<Operand> bias;
    if (!has_norms_) bias = l_.concat(biases, 0);
    const Operand sums = linear(l_, l_.reshape(x, {steps * batch, k}), l_.concat(weights, 0), bias);
    const auto state = [&](const std::optional<Operand>& given, int64_t n) {
      if (!given) return l_.filled(0, {f32, {batch, n}});
      HONE_USER_CHECK(given->type.shape == (Extents{batch, n})) << "a state " << to_string(given->type);
      return *given;
    };
    const auto gates = static_cast<int64_t>(weights.size());
    return lstm_by_steps(l_, layer, l_.reshape(sums, {steps, batch, gates * hidden_}), state(hidden, output_),
                         state(cell, hidden_));
  }
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
  // Those of the gates i, o and f.
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
  int64_t hidden_ = 0, output_ = 0;
  bool is_coupled_ = false, has_norms_ = false;
};

void lstm_of_sequence(NodeContext& c) {
  using Options = file::SequenceLstmOptions;
  require_floats(c);
  HONE_USER_CHECK(!c.option(&Options::diagonal_recurrent_tensors)) << "diagonal weights are not supported";
  const bool is_time_major = c.option(&Options::time_major);
  const LstmInputs at;
  Lstm layer(c, at,
             {c.option(&Options::activation), c.option(&Options::cell_clip), c.option(&Options::projection_clip)});
  c.outputs[0] = as_file(c.l, layer.run(by_steps(c.l, c.in(0), is_time_major), c.given(at.hidden), c.given(at.cell))[0],
                         is_time_major);
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
    Lstm layer(c, at,
               {c.option(&Options::activation), c.option(&Options::cell_clip), c.option(&Options::projection_clip),
                is_reverse});
    return as_file(c.l, layer.run(x, c.given(at.hidden), c.given(at.cell))[0], is_time_major);
  };
  const Operand forward = direction({1, 5, 9, 12, 16, 35, 36, 0}, false),
                backward = direction({18, 22, 26, 29, 33, 37, 38, 0}, true);
  c.outputs[0] = merges ? c.l.concat({forward, backward}, 2) : forward;
  if (!merges) c.outputs[1] = backward;
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
  const LstmInputs at;
  Lstm layer(c, at,
             {c.option(&Options::activation), c.option(&Options::cell_clip), c.option(&Options::projection_clip)});
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() == 2 && !x.is_empty()) << "an input " << to_string(x.type);
  const Extents shape{x.type.shape[0], layer.output_count()},
      cells{x.type.shape[0], c.in(at.weights + kForgetGate).type.shape[0]};
  const Operand before = layer_state(c, at.hidden, shape), cell_before = layer_state(c, at.cell, cells);
  const auto [y, cell] = layer.run(c.l.reshape(x, {1, x.type.shape[0], x.type.shape[1]}), before, cell_before);
  c.outputs[0] = c.l.reshape(y, shape);
  set_layer_state(c, at.hidden, c.outputs[0]);
  set_layer_state(c, at.cell, c.l.reshape(cell, cells));
}

}  // namespace

void add_recurrent_operators(ConverterTable& t) {
  t.own[16] = {&lstm, Numbers::kReal, true};
  t.own[44] = {&lstm_of_sequence, Numbers::kReal, true};
  t.own[52] = {&lstm_both_ways, Numbers::kReal, true};
}

}  // namespace hone::tflite
