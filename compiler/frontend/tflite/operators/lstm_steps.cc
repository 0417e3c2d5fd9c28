#include "compiler/frontend/tflite/operators/lstm_steps.h"

#include "compiler/frontend/lowering/operators/linear.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

constexpr int64_t kMostWrittenSteps = 512;

Operand limited(Lowering& l, const Operand& x, float bound) {
  if (bound <= 0) return x;
  const auto number = [&](float v) { return l.number(static_cast<double>(v), f32); };
  return l.pointwise("minimum", {l.pointwise("maximum", {x, number(-bound)}), number(bound)});
}

// (x - mean) / sqrt(variance + 1e-8), of each row.
Operand normalized(Lowering& l, const Operand& x) {
  const Operand apart = l.pointwise("sub", {x, l.reduce("mean", x, {1}, true)});
  const Operand variance = l.reduce("mean", l.pointwise("square", {apart}), {1}, true);
  return l.pointwise("div", {apart, l.pointwise("sqrt", {l.pointwise("add", {variance, l.number(1e-8, f32)})})});
}

class Writer {
 public:
  Writer(Lowering& l, const LstmSteps& layer, int64_t batch, int64_t n) : l_(l), layer_(layer), batch_(batch), n_(n) {
    std::vector<Operand> all;
    for (const auto& gate : layer.gates)
      if (gate) all.push_back(gate->recurrent);
    recurrent_ = l.concat(all, 0);
  }

  // One step from the sums [batch, gates * n] of its input.
  void step(const Operand& of_input, Operand* hidden, Operand* cell) {
    sums_ = l_.pointwise("add", {of_input, linear(l_, *hidden, recurrent_, std::nullopt)});
    const auto sigmoid = [&](size_t which, const Operand& c) { return l_.pointwise("sigmoid", {gate(which, c)}); };
    const Operand forget = sigmoid(kForgetGate, *cell);
    const Operand take =
        layer_.gates[kInputGate] ? sigmoid(kInputGate, *cell) : l_.pointwise("sub", {l_.number(1, f32), forget});
    const Operand candidate = activated(l_, gate(kCellGate, *cell), layer_.activation);
    *cell =
        limited(l_, l_.pointwise("add", {l_.pointwise("mul", {forget, *cell}), l_.pointwise("mul", {take, candidate})}),
                layer_.cell_clip);
    *hidden = l_.pointwise("mul", {sigmoid(kOutputGate, *cell), activated(l_, *cell, layer_.activation)});
    if (layer_.projection)
      *hidden = limited(l_, linear(l_, *hidden, *layer_.projection, layer_.projection_bias), layer_.projection_clip);
  }

 private:
  // The sums of a gate, with what the cell adds, and normalized.
  Operand gate(size_t which, const Operand& cell) {
    int64_t at = 0;
    for (size_t g = 0; g < which; ++g) at += layer_.gates[g] ? n_ : 0;
    const LstmGate& g = *layer_.gates[which];
    Operand x = l_.slice(sums_, {0, at}, {1, 1}, {batch_, n_});
    const auto row = [&](const Operand& v) { return l_.reshape(v, {1, n_}); };
    if (g.peephole) x = l_.pointwise("add", {x, l_.pointwise("mul", {cell, row(*g.peephole)})});
    if (g.norm) x = l_.pointwise("add", {l_.pointwise("mul", {normalized(l_, x), row(*g.norm)}), row(*g.bias)});
    return x;
  }

  Lowering& l_;
  const LstmSteps& layer_;
  const int64_t batch_, n_;
  Operand recurrent_, sums_;
};

}  // namespace

std::array<Operand, 2> lstm_by_steps(Lowering& l, const LstmSteps& layer, const Operand& sums, Operand hidden,
                                     Operand cell) {
  const int64_t steps = sums.type.shape[0], batch = sums.type.shape[1], all = sums.type.shape[2];
  HONE_USER_CHECK(steps <= kMostWrittenSteps)
      << steps << " steps of a layer with projections or norms; " << kMostWrittenSteps << " are the most";
  Writer writer(l, layer, batch, cell.type.shape[1]);
  std::vector<Operand> states(static_cast<size_t>(steps));
  for (int64_t n = 0; n < steps; ++n) {
    const int64_t t = layer.is_reverse ? steps - 1 - n : n;
    writer.step(l.reshape(l.slice(sums, {t, 0, 0}, {1, 1, 1}, {1, batch, all}), {batch, all}), &hidden, &cell);
    states[static_cast<size_t>(t)] = l.reshape(hidden, {1, batch, hidden.type.shape[1]});
  }
  return {l.concat(states, 0), cell};
}

}  // namespace hone::tflite
