// Recurrent layers without gates, and filters over the last steps, of floats.
#include "compiler/frontend/lowering/operators/linear.h"
#include "compiler/frontend/tflite/node/layer_node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// Weights [n, k], those of the state [n, n], biases [n], at inputs `first` and the next ones; a state [batch, n]
// behind.
void require_rnn(const NodeContext& c, int64_t k, size_t first = 1) {
  const Operand &weight = c.in(first), &recurrent = c.in(first + 1), &bias = c.in(first + 2);
  const int64_t n = bias.rank() == 1 ? bias.type.shape[0] : 0;
  HONE_USER_CHECK(n > 0 && weight.type.shape == (Extents{n, k}) && recurrent.type.shape == (Extents{n, n}))
      << "weights " << to_string(weight.type) << " and " << to_string(recurrent.type) << ", biases "
      << to_string(bias.type);
}

// x [steps, batch, k]; gives [steps, batch, n].
Operand rnn_of_steps(NodeContext& c, const Operand& x, size_t first, int8_t activation, bool is_reverse) {
  Lowering& l = c.l;
  const int64_t steps = x.type.shape[0], batch = x.type.shape[1], k = x.type.shape[2];
  require_rnn(c, k, first);
  const int64_t n = c.in(first + 2).type.shape[0];
  const Operand sums = linear(l, l.reshape(x, {steps * batch, k}), c.in(first), c.in(first + 2));
  const Operand state = c.has(first + 3) ? c.in(first + 3) : l.filled(0, {f32, {batch, n}});
  HONE_USER_CHECK(state.type.shape == (Extents{batch, n})) << "a state " << to_string(state.type);
  AttributeTexts given{{"f", chain_of(activation)}};
  if (is_reverse) given.emplace_back("reverse", "1");
  return l.add("rnn", given, {l.as(sums, {steps, batch, n}), l.as(c.in(first + 1), {1, n, n}), l.value(state)});
}

void rnn_of_sequence(NodeContext& c) {
  using Options = file::SequenceRnnOptions;
  require_floats(c);
  const bool is_time_major = c.option(&Options::time_major);
  const Operand x = by_steps(c.l, c.in(0), is_time_major);
  c.outputs[0] = as_file(c.l, rnn_of_steps(c, x, 1, c.option(&Options::activation), false), is_time_major);
}

void rnn_both_ways(NodeContext& c) {
  using Options = file::BothWaysRnnOptions;
  require_floats(c);
  for (size_t i = 9; i < c.inputs.size(); ++i) HONE_USER_CHECK(!c.has(i)) << "a second input is not supported";
  const bool is_time_major = c.option(&Options::time_major), merges = c.option(&Options::merges_outputs);
  c.require_outputs(merges ? 1 : 2);
  const Operand x = by_steps(c.l, c.in(0), is_time_major);
  const auto direction = [&](size_t first, bool is_reverse) {
    return as_file(c.l, rnn_of_steps(c, x, first, c.option(&Options::activation), is_reverse), is_time_major);
  };
  const Operand forward = direction(1, false), backward = direction(5, true);
  c.outputs[0] = merges ? c.l.concat({forward, backward}, 2) : forward;
  if (!merges) c.outputs[1] = backward;
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

// Each unit has `rank` filters: a product with the input, and one over what that gave in the last steps, which the
// state [batch, filters * memory] keeps. Weights [filters, k] and [filters, memory].
void svdf(NodeContext& c) {
  using Options = file::SvdfOptions;
  require_floats(c);
  Lowering& l = c.l;
  constexpr size_t kBias = 3, kState = 4;
  const Operand &x = c.in(0), &features = c.in(1), &times = c.in(2);
  const int64_t rank = c.option(&Options::rank);
  HONE_USER_CHECK(x.rank() == 2 && !x.is_empty() && features.rank() == 2 && times.rank() == 2 && rank >= 1 &&
                  features.type.shape[1] == x.type.shape[1] && times.type.shape[0] == features.type.shape[0] &&
                  features.type.shape[0] % rank == 0 && !times.is_empty())
      << "weights " << to_string(features.type) << " and " << to_string(times.type) << " of " << to_string(x.type)
      << ", rank " << rank;
  const int64_t batch = x.type.shape[0], filters = times.type.shape[0], memory = times.type.shape[1],
                units = filters / rank;
  const Operand before = l.reshape(layer_state(c, kState, {batch, filters * memory}), {batch, filters, memory});
  const Operand newest = l.reshape(linear(l, x, features, std::nullopt), {batch, filters, 1});
  const Operand kept =
      memory == 1 ? newest : l.concat({l.slice(before, {0, 0, 1}, {1, 1, 1}, {batch, filters, memory - 1}), newest}, 2);
  const Operand products = l.pointwise("mul", {kept, l.reshape(times, {1, filters, memory})});
  Operand sums = l.reduce("sum", l.reshape(products, {batch, units, rank * memory}), {2}, false);
  if (const auto bias = c.given(kBias)) {
    HONE_USER_CHECK(bias->type.shape == Extents{units})
        << "a bias " << to_string(bias->type) << " of " << units << " units";
    sums = l.pointwise("add", {sums, l.reshape(*bias, {1, units})});
  }
  c.outputs[0] = activated(l, sums, c.option(&Options::activation));
  set_layer_state(c, kState, l.reshape(kept, {batch, filters * memory}));
}

}  // namespace

void add_rnn_operators(ConverterTable& t) {
  t.own[24] = {&rnn, Numbers::kReal, true};
  t.own[27] = {&svdf, Numbers::kReal, true};
  t.own[35] = {&rnn_of_sequence, Numbers::kReal, true};
  t.own[46] = {&rnn_both_ways, Numbers::kReal, true};
}

}  // namespace hone::tflite
