// RNN, GRU and LSTM: the input's part of all gates is one product for all steps, and a direction is one layer
// (ops/recurrent.h).
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "compiler/frontend/lowering/operators/linear.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// An activation as a chain, with {a} and {b} for alpha and beta if it takes them, and their defaults.
struct ActivationName {
  std::string_view onnx, chain;
  double alpha = 0, beta = 0;
};
constexpr ActivationName kActivations[] = {
    {"sigmoid", "sigmoid"},
    {"tanh", "tanh"},
    {"relu", "relu"},
    {"softsign", "softsign"},
    {"softplus", "softplus"},
    {"affine", "mul[{a}]+add[{b}]", 1, 0},
    {"leakyrelu", "leaky[{a}]", 0.01},
    {"thresholdedrelu", "thresholded_relu[{a}]", 1},
    {"scaledtanh", "mul[{b}]+tanh+mul[{a}]", 1, 1},
    {"hardsigmoid", "hard_sigmoid[{a};{b}]", 0.2f, 0.5},
    {"elu", "elu[{a}]", 1},
};

// A number where a chain could take it for an operand: 1 is a tensor of one element, 1.0 is not.
std::string plain_number(double v, DType t) {
  const std::string text = number_text(v, t);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

// The activations of all directions, in ONNX's order, each as a chain. The lists of alphas and betas have a number for
// each activation that takes one, in order.
std::vector<std::string> activations_of(const NodeContext& c, std::vector<std::string> names, DType t) {
  std::vector<std::string> out;
  std::array<int, 2> taken{};
  const std::array<const Attribute*, 2> given{c.find("activation_alpha"), c.find("activation_beta")};
  for (const std::string& name : names) {
    std::string lower;
    for (const char ch : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
    const auto* known =
        std::find_if(std::begin(kActivations), std::end(kActivations), [&](const auto& a) { return a.onnx == lower; });
    HONE_USER_CHECK(known != std::end(kActivations)) << "activation " << name << " is not supported";
    std::string chain(known->chain);
    for (size_t n = 0; n < 2; ++n) {
      const std::string_view position = n == 0 ? "{a}" : "{b}";
      const size_t at = chain.find(position);
      if (at == std::string::npos) continue;
      const bool is_given = given[n] && taken[n] < given[n]->floats_size();
      const double v = is_given ? static_cast<double>(given[n]->floats(taken[n]++))
                       : n == 0 ? known->alpha
                                : known->beta;
      HONE_USER_CHECK(std::isfinite(v)) << (n == 0 ? "activation_alpha=" : "activation_beta=") << v;
      chain.replace(at, position.size(), plain_number(v, t));
    }
    out.push_back(std::move(chain));
  }
  return out;
}

// The differences between LSTM, GRU and RNN.
struct Cell {
  std::string_view op;  // of the graph
  int64_t gates;
  std::vector<std::string> activations;  // f, g and h, unless the node names others
  AttributeTexts attributes;             // of the graph's operator
  bool has_cell_state;
  int64_t
      summed_biases;  // R's biases of the first so many gates are added to W x; the others are an input of their own
};

class Recurrence {
 public:
  Recurrence(NodeContext& c, Cell cell) : c_(c), l_(c.l), cell_(std::move(cell)) {
    const Operand& w = c.in(1);
    const int64_t gates = cell_.gates;
    const int64_t layout = c.number("layout", 0);
    HONE_USER_CHECK(layout == 0 || layout == 1) << "layout=" << layout;
    batch_first_ = layout == 1;
    HONE_USER_CHECK(c.in(0).rank() == 3) << "an input " << to_string(c.in(0).type);
    x_ = batch_first_ ? l_.transpose(c.in(0), {1, 0, 2}) : c.in(0);
    HONE_USER_CHECK(w.rank() == 3 && w.type.shape[1] % gates == 0 && !x_.is_empty() && !w.is_empty())
        << to_string(c.in(0).type) << " with weights " << to_string(w.type);
    steps_ = x_.type.shape[0], batch_ = x_.type.shape[1], hidden_ = w.type.shape[1] / gates;
    directions_ = w.type.shape[0];
    HONE_USER_CHECK(c.number("hidden_size", hidden_) == hidden_)
        << "hidden_size=" << c.number("hidden_size", hidden_) << " with weights " << to_string(w.type);
    const std::string direction = c.text("direction", "forward");
    HONE_USER_CHECK(direction == "forward" || direction == "reverse" || direction == "bidirectional")
        << "direction=" << direction;
    HONE_USER_CHECK(directions_ == (direction == "bidirectional" ? 2 : 1))
        << direction << " with " << to_string(w.type);
    reverse_first_ = direction == "reverse";
    read_activations();
    if (c.has(4)) read_lengths();
  }

  void run() {
    std::vector<Operand> y, hidden, cell;
    for (int64_t d = 0; d < directions_; ++d) {
      const std::vector<Operand> made = direction(d);
      y.push_back(l_.reshape(made[0], {steps_, 1, batch_, hidden_}));
      const bool is_reverse = reverse_first_ || d == 1;
      hidden.push_back(
          alive_ ? made[1] : l_.slice(made[0], {is_reverse ? 0 : steps_ - 1, 0, 0}, {1, 1, 1}, {1, batch_, hidden_}));
      if (cell_.has_cell_state) cell.push_back(made.back());
    }
    if (!c_.outputs.empty() && c_.is_wanted[0]) {
      const Operand all = y.size() == 1 ? y[0] : l_.concat(y, 1);
      c_.outputs[0] = batch_first_ ? l_.transpose(all, {2, 0, 1, 3}) : all;
    }
    if (c_.outputs.size() > 1) c_.outputs[1] = last_states(hidden);
    if (c_.outputs.size() > 2) {
      HONE_USER_CHECK(cell_.has_cell_state) << "it has two outputs";
      c_.outputs[2] = last_states(cell);
    }
  }

 private:
  void read_activations() {
    const DType t = x_.type.dtype;
    const size_t each = cell_.activations.size(), wanted = each * static_cast<size_t>(directions_);
    std::vector<std::string> names;
    if (const Attribute* given = c_.find("activations"); given && given->strings_size() > 0) {
      names.assign(given->strings().begin(), given->strings().end());
      HONE_USER_CHECK(names.size() == wanted) << names.size() << " activations; it has " << wanted;
    }
    while (names.size() < wanted) names.push_back(cell_.activations[names.size() % each]);
    activations_ = activations_of(c_, names, t);
    if (!c_.find("clip")) return;
    const double most = c_.real("clip", 0);
    HONE_USER_CHECK(most > 0) << "clip=" << most;
    if (std::isinf(most)) return;
    // Activations of gates clip their input; the third one, of the cell state, does not.
    for (size_t i = 0; i < activations_.size(); ++i)
      if (i % each < 2)
        activations_[i] = fmt::format("clip[{};{}]+{}", number_text(-most, t), number_text(most, t), activations_[i]);
  }

  // A sequence that has ended keeps its states, and shows zeros.
  void read_lengths() {
    const auto lengths = l_.data_of(c_.in(4));
    if (lengths && std::ranges::all_of(lengths->numbers(), [&](int64_t n) { return n == steps_; })) return;
    std::vector<int64_t> steps;
    HONE_USER_CHECK(l_.may_make(8 * steps_)) << "so many steps with lengths";
    for (int64_t s = 0; s < steps_; ++s) steps.push_back(s);
    const Operand of_sequence = l_.reshape(l_.cast(c_.in(4), i64), {1, batch_});
    alive_ = l_.pointwise("less", {l_.reshape(l_.numbers(steps), {steps_, 1}), of_sequence});
  }

  // All steps in one direction: the outputs of the layer's operator.
  std::vector<Operand> direction(int64_t d) {
    std::vector<ValueId> inputs{l_.value(sums_of_input(d)),
                                l_.as(rows_of(c_.in(2), d), {cell_.gates, hidden_, hidden_}), state(5, d)};
    if (cell_.has_cell_state) inputs.push_back(state(6, d));
    AttributeTexts given = cell_.attributes;
    if (cell_.summed_biases < cell_.gates)
      inputs.push_back(l_.value(c_.has(3) ? bias_of(d, cell_.gates + cell_.summed_biases, 1) : zeros({hidden_})));
    if (cell_.has_cell_state && c_.has(7)) {
      given.emplace_back("peepholes", "1");
      const Operand& p = c_.in(7);
      HONE_USER_CHECK(p.type.shape == Extents({directions_, 3 * hidden_})) << "peepholes " << to_string(p.type);
      inputs.push_back(l_.as(l_.slice(p, {d, 0}, {1, 1}, {1, 3 * hidden_}), {3, hidden_}));
    }
    if (alive_) {
      given.emplace_back("masked", "1");
      inputs.push_back(l_.value(*alive_));
    }
    if (reverse_first_ || d == 1) given.emplace_back("reverse", "1");
    const size_t each = cell_.activations.size();
    for (size_t i = 0; i < each; ++i)
      given.emplace_back(std::string(1, "fgh"[i]), activations_[static_cast<size_t>(d) * each + i]);
    std::vector<Operand> out;
    for (const ValueId v : l_.b.add(cell_.op, given, inputs)) out.push_back({v, l_.b.type(v)});
    return out;
  }

  // The rows of one direction, from w [directions, rows, k].
  Operand rows_of(const Operand& w, int64_t direction) {
    const int64_t rows = cell_.gates * hidden_;
    HONE_USER_CHECK(w.rank() == 3 && w.type.shape[0] == directions_ && w.type.shape[1] == rows && !w.is_empty())
        << "weights " << to_string(w.type);
    const int64_t k = w.type.shape[2];
    return l_.reshape(l_.slice(w, {direction, 0, 0}, {1, 1, 1}, {1, rows, k}), {rows, k});
  }
  // `count` gates' part of the bias from `first` on: of W's gates, then of R's.
  Operand bias_of(int64_t direction, int64_t first, int64_t count) {
    const Operand& bias = c_.in(3);
    HONE_USER_CHECK(bias.type.shape == Extents({directions_, 2 * cell_.gates * hidden_}))
        << "bias " << to_string(bias.type);
    return l_.reshape(l_.slice(bias, {direction, first * hidden_}, {1, 1}, {1, count * hidden_}), {count * hidden_});
  }
  Operand zeros(const Extents& shape) { return l_.broadcast(l_.number(0, x_.type.dtype), shape); }

  // W x with all that is added to it, [steps, batch, gates * hidden].
  Operand sums_of_input(int64_t direction) {
    const Operand w = rows_of(c_.in(1), direction);
    const Operand rows = l_.reshape(x_, {steps_ * batch_, x_.type.shape[2]});
    std::optional<Operand> bias;
    if (c_.has(3)) {
      Operand own = bias_of(direction, cell_.gates, cell_.summed_biases);
      if (cell_.summed_biases < cell_.gates) own = l_.concat({own, zeros({hidden_})}, 0);
      bias = l_.pointwise("add", {bias_of(direction, 0, cell_.gates), own});
    }
    return l_.reshape(linear(l_, rows, w, bias), {steps_, batch_, cell_.gates * hidden_});
  }
  ValueId state(size_t input, int64_t direction) {
    if (!c_.has(input)) return l_.value(zeros({batch_, hidden_}));
    const Operand& given = c_.in(input);
    HONE_USER_CHECK(given.rank() == 3) << "a state " << to_string(given.type);
    const Operand h = batch_first_ ? l_.transpose(given, {1, 0, 2}) : given;
    HONE_USER_CHECK(h.type.shape == Extents({directions_, batch_, hidden_})) << "a state " << to_string(given.type);
    return l_.as(l_.slice(h, {direction, 0, 0}, {1, 1, 1}, {1, batch_, hidden_}), {batch_, hidden_});
  }

  Operand last_states(const std::vector<Operand>& states) {
    std::vector<Operand> parts;
    for (const Operand& s : states) parts.push_back(l_.reshape(s, {1, batch_, hidden_}));
    const Operand all = parts.size() == 1 ? parts[0] : l_.concat(parts, 0);
    return batch_first_ ? l_.transpose(all, {1, 0, 2}) : all;
  }

  NodeContext& c_;
  Lowering& l_;
  const Cell cell_;
  int64_t steps_ = 0, batch_ = 0, hidden_ = 0, directions_ = 1;
  bool batch_first_ = false, reverse_first_ = false;
  Operand x_;
  std::vector<std::string> activations_;  // chains; of each direction in turn
  std::optional<Operand> alive_;          // [steps, batch]; none where all sequences are whole
};

void rnn(NodeContext& c) { Recurrence(c, {"rnn", 1, {"Tanh"}, {}, false, 1}).run(); }

// Gates z, r, h.
void gru(NodeContext& c) {
  const bool resets_sum = c.number("linear_before_reset", 0) != 0;
  Recurrence(c, {"gru", 3, {"Sigmoid", "Tanh"}, {{"reset_after", resets_sum ? "1" : "0"}}, false, resets_sum ? 2 : 3})
      .run();
}

// Gates i, o, f, c.
void lstm(NodeContext& c) {
  AttributeTexts attributes;
  if (c.number("input_forget", 0) != 0) attributes.emplace_back("coupled", "1");
  Recurrence(c, {"lstm", 4, {"Sigmoid", "Tanh", "Tanh"}, std::move(attributes), true, 4}).run();
}

}  // namespace

void add_recurrent_operators(ConverterTable& t) {
  t[":RNN"] = &rnn;
  t[":GRU"] = &gru;
  t[":LSTM"] = &lstm;
}

}  // namespace hone::onnx
