// RNN, GRU and LSTM, a step after the other: what depends on the input alone is one product for all steps.
#include <algorithm>
#include <array>
#include <functional>

#include "compiler/frontend/onnx/lowering.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

constexpr int64_t kMostSteps = 4096;

// The layer in one direction.
class Recurrence {
 public:
  Recurrence(NodeContext& c, int64_t gates) : c_(c), l_(c.l), gates_(gates) {
    const Operand& w = c.in(1);
    batch_first_ = c.number("layout", 0) != 0;
    HONE_USER_CHECK(c.in(0).rank() == 3) << "an input " << to_string(c.in(0).type);
    x_ = batch_first_ ? l_.transpose(c.in(0), {1, 0, 2}) : c.in(0);
    HONE_USER_CHECK(x_.rank() == 3 && w.rank() == 3 && w.type.shape[1] % gates == 0 && !x_.is_empty())
        << to_string(c.in(0).type) << " with weights " << to_string(w.type);
    steps_ = x_.type.shape[0], batch_ = x_.type.shape[1], hidden_ = w.type.shape[1] / gates;
    directions_ = w.type.shape[0];
    const std::string direction = c.text("direction", "forward");
    HONE_USER_CHECK(direction == "forward" || direction == "reverse" || direction == "bidirectional")
        << "direction=" << direction;
    HONE_USER_CHECK(directions_ == (direction == "bidirectional" ? 2 : 1))
        << direction << " with " << to_string(w.type);
    HONE_USER_CHECK(steps_ * directions_ <= kMostSteps) << steps_ << " steps; " << kMostSteps << " are supported";
    reverse_first_ = direction == "reverse";
    HONE_USER_CHECK(!c.find("clip")) << "clip is not supported";
    if (c.has(4)) {
      const auto lengths = l_.data_of(c.in(4));
      const bool all = lengths && std::ranges::all_of(lengths->numbers(), [&](int64_t n) { return n == steps_; });
      if (!all) lengths_ = l_.reshape(l_.cast(c.in(4), i64), {batch_, 1});
    }
  }

  // `states`: of the input that each starts with. `step` takes a direction, the gates' sums of the input, and the
  // states, which it replaces. Outputs: all steps of the first state, then the last of each.
  using States = std::vector<Operand>;
  void run(const std::vector<size_t>& state_inputs,
           const std::function<void(int64_t direction, const Operand& sums, States*)>& step) {
    std::vector<std::vector<Operand>> all(static_cast<size_t>(steps_));
    std::vector<States> last(state_inputs.size());
    for (int64_t d = 0; d < directions_; ++d) {
      const Operand sums = sums_of_input(d);
      States states;
      for (const size_t i : state_inputs)
        states.push_back(c_.has(i) ? matrix_of_state(c_.in(i), d)
                                   : l_.broadcast(l_.number(0, x_.type.dtype), {batch_, hidden_}));
      const bool backwards = reverse_first_ || d == 1;
      for (int64_t s = 0; s < steps_; ++s) {
        const int64_t t = backwards ? steps_ - 1 - s : s;
        const Operand now =
            l_.reshape(l_.slice(sums, {t, 0, 0}, {1, 1, 1}, {1, batch_, gates_ * hidden_}), {batch_, gates_ * hidden_});
        const States before = states;
        step(d, now, &states);
        Operand seen = states[0];
        if (lengths_) {
          // A sequence that has ended keeps its states, and shows zeros.
          const Operand lasts = l_.pointwise("greater", {*lengths_, l_.number(static_cast<double>(t), i64)});
          for (size_t i = 0; i < states.size(); ++i) states[i] = l_.pointwise("where", {states[i], lasts, before[i]});
          seen = l_.pointwise("where", {seen, lasts, l_.number(0, x_.type.dtype)});
        }
        all[static_cast<size_t>(t)].push_back(seen);
      }
      for (size_t i = 0; i < states.size(); ++i) last[i].push_back(states[i]);
    }
    write_outputs(all, last);
  }

  // The product of the first state with R's gates from `first` to `first + count`, and the bias of these.
  Operand product(const Operand& h, int64_t direction, int64_t first, int64_t count, bool with_bias) {
    const Operand r = rows_of(c_.in(2), direction, first, count);
    if (with_bias && c_.has(3)) return times(h, r, bias_of(direction, gates_ + first, count));
    return times(h, r, std::nullopt);
  }
  Operand gate(const Operand& sums, int64_t which) {
    return l_.slice(sums, {0, which * hidden_}, {1, 1}, {batch_, hidden_});
  }
  Operand bias_of(int64_t direction, int64_t first, int64_t count) {
    return l_.reshape(l_.slice(c_.in(3), {direction, first * hidden_}, {1, 1}, {1, count * hidden_}),
                      {count * hidden_});
  }
  // Peephole `which`, [hidden].
  Operand peephole(int64_t direction, int64_t which) {
    return l_.reshape(l_.slice(c_.in(7), {direction, which * hidden_}, {1, 1}, {1, hidden_}), {hidden_});
  }
  Operand activated(const Operand& x, int64_t direction, size_t which, const std::vector<std::string>& usual) {
    const Attribute* given = c_.find("activations");
    const size_t at = static_cast<size_t>(direction) * usual.size() + which;
    std::string name = usual[which];
    if (given) {
      HONE_USER_CHECK(static_cast<size_t>(given->strings_size()) == usual.size() * static_cast<size_t>(directions_))
          << given->strings_size() << " activations";
      name = given->strings(static_cast<int>(at));
    }
    std::string lower;
    for (const char ch : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
    HONE_USER_CHECK(!c_.find("activation_alpha") && !c_.find("activation_beta")) << "activation_alpha is not supported";
    static const std::array<std::string, 5> kKnown = {"sigmoid", "tanh", "relu", "softsign", "softplus"};
    HONE_USER_CHECK(std::ranges::find(kKnown, lower) != kKnown.end()) << "activation " << name << " is not supported";
    return l_.pointwise(lower, {x});
  }
  Operand add(const Operand& a, const Operand& b) { return l_.pointwise("add", {a, b}); }
  Operand mul(const Operand& a, const Operand& b) { return l_.pointwise("mul", {a, b}); }
  bool has(size_t input) const { return c_.has(input); }
  Lowering& l() { return l_; }

 private:
  // Of [directions, rows, k] those of one direction and some gates.
  Operand rows_of(const Operand& w, int64_t direction, int64_t first, int64_t count) {
    HONE_USER_CHECK(w.rank() == 3 && w.type.shape[0] == directions_ && w.type.shape[1] == gates_ * hidden_)
        << "weights " << to_string(w.type);
    const int64_t k = w.type.shape[2];
    return l_.reshape(l_.slice(w, {direction, first * hidden_, 0}, {1, 1, 1}, {1, count * hidden_, k}),
                      {count * hidden_, k});
  }
  // x w^T + bias
  Operand times(const Operand& x, const Operand& w, const std::optional<Operand>& bias) {
    if (l_.data_of(w) && (!bias || l_.data_of(*bias)))
      return bias ? l_.dense(x, w, true, "bias", {*bias}) : l_.dense(x, w, true);
    const Operand out = l_.batch_matmul(x, l_.transpose(w, {1, 0}));
    return bias ? add(out, *bias) : out;
  }
  // Of all steps; with W's bias.
  Operand sums_of_input(int64_t direction) {
    const Operand w = rows_of(c_.in(1), direction, 0, gates_);
    const Operand rows = l_.reshape(x_, {steps_ * batch_, x_.type.shape[2]});
    const Operand out = times(rows, w, c_.has(3) ? std::optional(bias_of(direction, 0, gates_)) : std::nullopt);
    return l_.reshape(out, {steps_, batch_, gates_ * hidden_});
  }
  Operand matrix_of_state(const Operand& given, int64_t direction) {
    HONE_USER_CHECK(given.rank() == 3) << "a state " << to_string(given.type);
    const Operand h = batch_first_ ? l_.transpose(given, {1, 0, 2}) : given;
    HONE_USER_CHECK(h.type.shape == Extents({directions_, batch_, hidden_})) << "a state " << to_string(given.type);
    return l_.reshape(l_.slice(h, {direction, 0, 0}, {1, 1, 1}, {1, batch_, hidden_}), {batch_, hidden_});
  }
  void write_outputs(const std::vector<std::vector<Operand>>& all, const std::vector<States>& last) {
    const auto joined = [&](const std::vector<Operand>& parts) {
      std::vector<Operand> out;
      for (const Operand& p : parts) out.push_back(l_.reshape(p, {1, batch_, hidden_}));
      return out.size() == 1 ? out[0] : l_.concat(out, 0);
    };
    if (!c_.outputs.empty() && c_.is_wanted[0]) {
      std::vector<Operand> rows;
      for (const auto& step : all) rows.insert(rows.end(), step.begin(), step.end());
      const Operand y = l_.reshape(joined(rows), {steps_, directions_, batch_, hidden_});
      c_.outputs[0] = batch_first_ ? l_.transpose(y, {2, 0, 1, 3}) : y;
    }
    for (size_t i = 0; i < last.size() && i + 1 < c_.outputs.size(); ++i) {
      const Operand h = joined(last[i]);
      c_.outputs[i + 1] = batch_first_ ? l_.transpose(h, {1, 0, 2}) : h;
    }
  }

  NodeContext& c_;
  Lowering& l_;
  int64_t gates_, steps_ = 0, batch_ = 0, hidden_ = 0, directions_ = 1;
  bool batch_first_ = false, reverse_first_ = false;
  Operand x_;
  std::optional<Operand> lengths_;  // [batch, 1]; none where all sequences are whole
};

void rnn(NodeContext& c) {
  Recurrence r(c, 1);
  const std::vector<std::string> usual{"Tanh"};
  r.run({5}, [&](int64_t d, const Operand& sums, Recurrence::States* s) {
    Operand& h = (*s)[0];
    h = r.activated(r.add(r.product(h, d, 0, 1, true), sums), d, 0, usual);
  });
}

// Gates z, r, h: h' = (1 - z) g + z h.
void gru(NodeContext& c) {
  Recurrence r(c, 3);
  const bool linear_first = c.number("linear_before_reset", 0) != 0;
  const std::vector<std::string> usual{"Sigmoid", "Tanh"};
  r.run({5}, [&](int64_t d, const Operand& sums, Recurrence::States* s) {
    Operand& h = (*s)[0];
    Operand update, reset, candidate;
    if (linear_first) {
      const Operand own = r.product(h, d, 0, 3, true);
      update = r.activated(r.add(r.gate(own, 0), r.gate(sums, 0)), d, 0, usual);
      reset = r.activated(r.add(r.gate(own, 1), r.gate(sums, 1)), d, 0, usual);
      candidate = r.add(r.mul(reset, r.gate(own, 2)), r.gate(sums, 2));
    } else {
      const Operand own = r.product(h, d, 0, 2, true);
      update = r.activated(r.add(r.gate(own, 0), r.gate(sums, 0)), d, 0, usual);
      reset = r.activated(r.add(r.gate(own, 1), r.gate(sums, 1)), d, 0, usual);
      candidate = r.add(r.product(r.mul(reset, h), d, 2, 1, true), r.gate(sums, 2));
    }
    candidate = r.activated(candidate, d, 1, usual);
    // g + z (h - g)
    h = r.add(candidate, r.mul(update, r.l().pointwise("sub", {h, candidate})));
  });
}

// Gates i, o, f, c.
void lstm(NodeContext& c) {
  Recurrence r(c, 4);
  HONE_USER_CHECK(c.number("input_forget", 0) == 0) << "input_forget is not supported";
  const std::vector<std::string> usual{"Sigmoid", "Tanh", "Tanh"};
  r.run({5, 6}, [&](int64_t d, const Operand& sums, Recurrence::States* s) {
    Operand &h = (*s)[0], &cell = (*s)[1];
    const Operand own = r.add(r.product(h, d, 0, 4, true), sums);
    const auto peeked = [&](int64_t which, int64_t place, const Operand& state) {
      const Operand sum = r.gate(own, which);
      return r.has(7) ? r.add(sum, r.mul(state, r.peephole(d, place))) : sum;
    };
    const Operand input = r.activated(peeked(0, 0, cell), d, 0, usual),
                  forget = r.activated(peeked(2, 2, cell), d, 0, usual),
                  candidate = r.activated(r.gate(own, 3), d, 1, usual);
    cell = r.add(r.mul(forget, cell), r.mul(input, candidate));
    const Operand output = r.activated(peeked(1, 1, cell), d, 0, usual);
    h = r.mul(output, r.activated(cell, d, 2, usual));
  });
}

}  // namespace

void add_recurrent_rows(RowTable& t) {
  t[":RNN"] = &rnn;
  t[":GRU"] = &gru;
  t[":LSTM"] = &lstm;
}

}  // namespace hone::onnx
