// lstm, gru and rnn: recurrent layers in one direction. The input's part of the gates is a product for all steps ahead
// of them, with the biases; a step multiplies the previous state by its weights and applies the gates.
#include "compiler/ops/products/recurrent.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "compiler/ir/layout.h"
#include "compiler/ops/chain_stage.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

using Indices = std::vector<Expr>;
using Kind = RepeatedParam::Kind;

// The parsed attribute `f`, `g` or `h`.
struct Activation : TypedChain {};

RecurrentShape shape_of_recurrent(const Attributes& a, int64_t gates) {
  const RecurrentShape s{a.number("steps"), a.number("batch"), a.number("hidden"), gates};
  element_count({s.steps, s.batch, s.gates, s.hidden});
  element_count({s.gates, s.hidden, s.hidden});
  return s;
}

AttributeParser activation(const FunctionTable& functions) {
  const ChainSource of_state{[](const Attributes& a) {
                               return std::vector<int64_t>{a.number("batch"), a.number("hidden")};
                             },
                             std::nullopt};
  return [functions, of_state](std::string_view text, const AttributeContext& context) {
    const DType t = context.before.get<DTypes>("dtype").accumulate;
    ParsedAttribute out;
    Activation read{read_chain(text, context, functions, of_state, t, t, &out.text)};
    HONE_USER_CHECK(read.types.operands.empty() && read.types.result == t)
        << context.name << "=" << text << ": an activation is a function of numbers alone, and gives its own type";
    out.value = std::move(read);
    return out;
  };
}

// A number from 0 on, 0 for none. Value: double.
AttributeParser bound() {
  return [](std::string_view text, const AttributeContext& context) {
    double v = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    HONE_USER_CHECK(error == std::errc() && end == text.data() + text.size() && std::isfinite(v) && v >= 0)
        << context.op << ": " << context.name << "=" << text << " is no number from 0 on";
    std::string canonical = fmt::format("{}", v);
    std::erase(canonical, '+');  // which joins functions elsewhere in a key
    return ParsedAttribute{std::move(canonical), v};
  };
}

// A step in the making: its inputs and expressions for their elements.
class RecurrentStep {
 public:
  explicit RecurrentStep(const Workload& w)
      : w_(w),
        s_(recurrent_shape(w)),
        types_(dtypes_of(w)),
        x_(placeholder("x", {1, s_.batch, s_.gates * s_.hidden}, types_.in)),
        r_(placeholder("r", {s_.gates, s_.hidden, s_.hidden}, types_.in)),
        h_(placeholder("h", {s_.batch, s_.hidden}, types_.in)) {
    d_.inputs = {{x_, ParamRole::kInput}, {r_, ParamRole::kConstant}, {h_, ParamRole::kInput}};
  }

  Tensor input(const std::string& name, const std::vector<int64_t>& shape, ParamRole role) {
    d_.inputs.emplace_back(placeholder(name, shape, types_.in), role);
    return d_.inputs.back().first;
  }
  // Comes behind the other inputs.
  void add_mask() {
    if (!w_.attributes.get<bool>("masked")) return;
    alive_ = placeholder("alive", {1, s_.batch}, boolean);
    d_.inputs.emplace_back(alive_, ParamRole::kInput);
  }

  // The sums over `state` [b, hidden] for `count` gates from `first` on: [b, gate, hidden].
  Tensor products(const std::string& name, const Tensor& state, int64_t first, int64_t count) {
    const Tensor out =
        compute_reduce(name, {s_.batch, count, s_.hidden}, {"b", "g", "j"}, {state, r_}, [&](const Indices& i) {
          const Axis k = reduce_axis("k", s_.hidden);
          return sum(number(state(i[0], k)) * number(r_(i[1] + first, i[2], k)), {k});
        });
    if (!d_.anchor.node()) d_.anchor = out;
    return out;
  }
  // The input's sum for a gate.
  Expr x_at(int64_t gate, const Expr& b, const Expr& j) const {
    return number(x_(make_int(0), b, j + gate * s_.hidden));
  }
  Expr h_at(const Expr& b, const Expr& j) const { return number(h_(b, j)); }
  const Tensor& x() const { return x_; }
  const Tensor& h() const { return h_; }

  // A state: [b, hidden], computed from `reads`.
  Tensor state(const std::string& name, const std::vector<Tensor>& reads,
               const std::function<Expr(const Expr& b, const Expr& j)>& value) const {
    return compute(name, {s_.batch, s_.hidden}, {"b", "j"}, reads,
                   [&](const Indices& i) { return cast(types_.in, value(i[0], i[1])); });
  }
  // The same, which stays as it was (`before`) where a sequence has ended.
  Tensor kept_state(const std::string& name, std::vector<Tensor> reads, const Tensor& before,
                    const std::function<Expr(const Expr& b, const Expr& j)>& value) const {
    if (!is_masked()) return state(name, reads, value);
    reads.push_back(before);
    reads.push_back(alive_);
    return state(name, reads, [&](const Expr& b, const Expr& j) {
      return select(alive_(make_int(0), b), value(b, j), number(before(b, j)));
    });
  }
  // Outputs: the step's result, [1, b, hidden], and, for sequences that may have ended and whose results are zeros
  // then, the state; otherwise the two are the same.
  void show(const std::vector<Tensor>& reads, const std::function<Expr(const Expr& b, const Expr& j)>& value) {
    const auto shown = [&](const std::vector<Tensor>& of, const std::function<Expr(const Indices&)>& element) {
      return compute("y", {1, s_.batch, s_.hidden}, {"s", "b", "j"}, of, element);
    };
    if (!is_masked()) {
      d_.outputs = {shown(reads, [&](const Indices& i) { return cast(types_.in, value(i[1], i[2])); })};
      return;
    }
    const Tensor hidden = kept_state("hidden", reads, h_, value);
    d_.outputs = {shown({hidden, alive_},
                        [&](const Indices& i) {
                          return select(alive_(make_int(0), i[1]), hidden(i[1], i[2]), make_const(0, types_.in));
                        }),
                  hidden};
  }

  Expr activated(const char* attribute, const Expr& x) const {
    const auto& a = w_.attributes.get<Activation>(attribute);
    return apply(a.chain, a.types, x, [](size_t) { return Expr(); });
  }
  Expr number(const Expr& e) const { return cast(types_.accumulate, e); }
  bool is_masked() const { return static_cast<bool>(alive_.node()); }
  const RecurrentShape& shape() const { return s_; }
  Definition& definition() { return d_; }

 private:
  const Workload& w_;
  const RecurrentShape& s_;
  const DTypes types_;
  Tensor x_, r_, h_, alive_;
  Definition d_;
};

// Gates i, o, f, c. Peepholes read the cell: i and f the previous one, o the new one. With coupled gates f is 1 -
// i.
Definition lstm(const Workload& w) {
  RecurrentStep step(w);
  const int64_t n = step.shape().hidden;
  const Tensor c = step.input("c", {step.shape().batch, n}, ParamRole::kInput);
  const bool has_peepholes = w.attributes.get<bool>("peepholes");
  const Tensor p = has_peepholes ? step.input("p", {3, n}, ParamRole::kConstant) : Tensor();
  step.add_mask();
  const Tensor own = step.products("own", step.h(), 0, 4);
  const auto gate = [&](int64_t which, const Expr& b, const Expr& j) {
    return step.x_at(which, b, j) + step.number(own(b, make_int(which), j));
  };
  const auto peeked = [&](int64_t which, int64_t peephole, const Tensor& cell, const Expr& b, const Expr& j) {
    const Expr sum = gate(which, b, j);
    return step.activated("f",
                          has_peepholes ? sum + step.number(cell(b, j)) * step.number(p(make_int(peephole), j)) : sum);
  };
  std::vector<Tensor> reads{step.x(), own};
  if (has_peepholes) reads.push_back(p);
  std::vector<Tensor> of_cell = reads;
  of_cell.push_back(c);
  const bool is_coupled = w.attributes.get<bool>("coupled");
  const auto most = w.attributes.get<double>("cell_clip");
  const Tensor cell = step.kept_state("cell", of_cell, c, [&](const Expr& b, const Expr& j) {
    const Expr takes = peeked(0, 0, c, b, j);
    const Expr keeps = is_coupled ? make_float(1, takes->dtype) - takes : peeked(2, 2, c, b, j);
    const Expr next = keeps * step.number(c(b, j)) + takes * step.activated("g", gate(3, b, j));
    return most > 0 ? min(max(next, make_float(-most, next->dtype)), make_float(most, next->dtype)) : next;
  });
  reads.push_back(cell);
  step.show(reads, [&](const Expr& b, const Expr& j) {
    return peeked(1, 1, cell, b, j) * step.activated("h", step.number(cell(b, j)));
  });
  step.definition().outputs.push_back(cell);
  return step.definition();
}

// Gates z, r, h: candidate + z (before - candidate). The reset gate scales the candidate's sum over the state, or the
// state that it sums over.
Definition gru(const Workload& w) {
  RecurrentStep step(w);
  const bool resets_sum = w.attributes.get<bool>("reset_after");
  const Tensor bias = resets_sum ? step.input("bias", {step.shape().hidden}, ParamRole::kConstant) : Tensor();
  step.add_mask();
  const auto gated = [&](int64_t which, const Tensor& own, int64_t at, const Expr& b, const Expr& j) {
    return step.activated("f", step.x_at(which, b, j) + step.number(own(b, make_int(at), j)));
  };
  const auto mixed = [&](const Expr& update, const Expr& candidate, const Expr& b, const Expr& j) {
    return candidate + update * (step.h_at(b, j) - candidate);
  };
  if (resets_sum) {
    const Tensor own = step.products("own", step.h(), 0, 3);
    step.show({step.x(), step.h(), own, bias}, [&](const Expr& b, const Expr& j) {
      const Expr sum = step.number(own(b, make_int(2), j)) + step.number(bias(j));
      return mixed(gated(0, own, 0, b, j), step.activated("g", step.x_at(2, b, j) + gated(1, own, 1, b, j) * sum), b,
                   j);
    });
    return step.definition();
  }
  const Tensor resets = step.products("resets", step.h(), 1, 1);
  const Tensor reset = step.state("reset", {step.x(), step.h(), resets}, [&](const Expr& b, const Expr& j) {
    return gated(1, resets, 0, b, j) * step.h_at(b, j);
  });
  const Tensor updates = step.products("updates", step.h(), 0, 1), own = step.products("own", reset, 2, 1);
  step.show({step.x(), step.h(), updates, own}, [&](const Expr& b, const Expr& j) {
    return mixed(gated(0, updates, 0, b, j),
                 step.activated("g", step.x_at(2, b, j) + step.number(own(b, make_int(0), j))), b, j);
  });
  return step.definition();
}

Definition rnn(const Workload& w) {
  RecurrentStep step(w);
  step.add_mask();
  const Tensor own = step.products("own", step.h(), 0, 1);
  step.show({step.x(), own}, [&](const Expr& b, const Expr& j) {
    return step.activated("f", step.x_at(0, b, j) + step.number(own(b, make_int(0), j)));
  });
  return step.definition();
}

// By the names of the inputs and the number of the outputs, as the definitions above have them.
std::optional<Recurrence> recurrence_of_layer(const Workload& w) {
  const RecurrentShape& s = recurrent_shape(w);
  if (s.steps == 1) return std::nullopt;
  const std::vector<std::pair<std::string, std::string>> one{{"steps", "1"}, {"reverse", "0"}};
  Recurrence out{Workload::changed(w, one), {s.steps, w.attributes.get<bool>("reverse"), {}}};
  const Definition d = define(out.step);
  const size_t y = d.inputs.size();
  const bool is_masked = w.attributes.get<bool>("masked");
  for (const auto& [tensor, role] : d.inputs) {
    if (tensor->name == "x" || tensor->name == "alive")
      out.how.params.push_back({Kind::kPart});
    else if (tensor->name == "h")
      out.how.params.push_back({Kind::kState, is_masked ? y + 1 : y});
    else if (tensor->name == "c")
      out.how.params.push_back({Kind::kState, y + d.outputs.size() - 1});
    else
      out.how.params.push_back({Kind::kWhole});
  }
  out.how.params.push_back({Kind::kPart});
  out.how.params.resize(y + d.outputs.size(), {Kind::kState});
  return out;
}

AttributeTexts infer_recurrent(std::span<const TensorType> inputs) {
  const TensorType &x = input_of_rank(inputs, 0, "x", 3), &h = input_of_rank(inputs, 2, "h", 2);
  return {{"batch", std::to_string(h.shape[0])},
          {"hidden", std::to_string(h.shape[1])},
          {"dtype", to_string(h.dtype)},
          {"steps", std::to_string(x.shape[0])}};
}

// `activations`: names and defaults. `own`: attributes of this layer alone.
Operator recurrent(const FunctionTable& functions, const char* name, int64_t gates, const char* summary,
                   const std::vector<std::pair<const char*, const char*>>& activations, std::vector<Attribute> own,
                   Definition (*define)(const Workload&)) {
  Operator op;
  op.name = name;
  op.summary = summary;
  op.attributes = {{"batch", "1", whole_number()}, {"hidden", "128", whole_number()}, {"dtype", "f32", float_dtype()}};
  int operations = 4;
  for (const auto& [attribute, usual] : activations) {
    op.attributes.push_back({attribute, usual, activation(functions)});
    operations += 8;
  }
  for (Attribute& a : own) op.attributes.push_back(std::move(a));
  for (const char* later : {"steps", "reverse", "masked"}) {
    const bool is_number = std::string_view(later) == "steps";
    op.attributes.push_back({later, is_number ? "1" : "0", is_number ? whole_number() : flag(), true});
  }
  op.shape = [gates](const Attributes& a) { return std::any(shape_of_recurrent(a, gates)); };
  op.infer = &infer_recurrent;
  op.define = define;
  op.recurrence = &recurrence_of_layer;
  op.flops = [operations](const Workload& w) {
    const RecurrentShape& s = recurrent_shape(w);
    const auto sums =
        static_cast<double>(s.steps) * static_cast<double>(s.batch) * static_cast<double>(s.gates * s.hidden);
    return sums * (2 * static_cast<double>(s.hidden) + operations);
  };
  return op;
}

}  // namespace

const RecurrentShape& recurrent_shape(const Workload& w) { return w.shape_as<RecurrentShape>(); }

Operator lstm_operator(const FunctionTable& functions) {
  return recurrent(
      functions, "lstm", 4,
      "y, cell = LSTM of x[steps,batch,4 hidden] (sums of the input, with all biases), r[4,hidden,hidden], "
      "states h and c; gates i, o, f, c; coupled=1: f is 1 - i; cell_clip=10: cells stay "
      "between -10 and 10; f, g, h: activations of gates, candidate, cell",
      {{"f", "sigmoid"}, {"g", "tanh"}, {"h", "tanh"}},
      {{"peepholes", "0", flag(), true}, {"coupled", "0", flag(), true}, {"cell_clip", "0", bound(), true}}, &lstm);
}

Operator gru_operator(const FunctionTable& functions) {
  return recurrent(functions, "gru", 3,
                   "y = GRU of x[steps,batch,3 hidden] (sums of the input, with biases), r[3,hidden,hidden], state h; "
                   "gates z, r, h; reset_after=1: the reset gate scales r h + bias, reset_after=0: h",
                   {{"f", "sigmoid"}, {"g", "tanh"}}, {{"reset_after", "1", flag()}}, &gru);
}

Operator rnn_operator(const FunctionTable& functions) {
  return recurrent(
      functions, "rnn", 1,
      "y = f(x + r h) of x[steps,batch,hidden] (sums of the input, with biases), r[1,hidden,hidden], state h",
      {{"f", "tanh"}}, {}, &rnn);
}

}  // namespace hone
