#include "compiler/frontend/onnx/node/bodies.h"

#include <algorithm>

#include "base/text.h"
#include "compiler/frontend/lowering/ragged.h"
#include "compiler/frontend/onnx/node/sequence_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

constexpr int64_t kMostTurns = 4096;  // of a loop

const Graph& graph_of(const NodeContext& c, std::string_view name) {
  const Attribute* found = c.find(name);
  HONE_USER_CHECK(found) << "it has no " << name;
  return found->g();
}

// An If whose condition is known becomes that branch. For other conditions both branches are computed, and the outputs
// are selected: a branch has no effects.
void run_if(const BodyNode& n) {
  NodeContext& c = n.c;
  const Operand& condition = c.in(0);
  HONE_USER_CHECK(element_count(condition.type.shape) == 1 && condition.type.dtype.is_bool() && !condition.ragged)
      << "its condition is " << to_string(condition.type);
  using Outputs = std::vector<Operand>;
  const auto branch = [&](const char* name) {
    Outputs outputs = n.run(graph_of(c, name), {});
    HONE_USER_CHECK(outputs.size() == static_cast<size_t>(c.node.output_size())) << "its branch has other outputs";
    return outputs;
  };
  if (const auto known = c.l.data_of(condition))
    return void(c.outputs = branch(known->numbers()[0] ? "then_branch" : "else_branch"));
  const auto before = n.unsupported;
  std::string why;
  const auto if_possible = [&](const char* name) -> std::optional<Outputs> {
    try {
      return branch(name);
    } catch (const UserError& e) {
      why = e.what();
      return std::nullopt;
    }
  };
  const auto if_true = if_possible("then_branch"), if_false = if_possible("else_branch");
  if (!if_true && !if_false) throw UserError("neither of its branches is supported");
  if (if_true && if_false) {
    for (size_t o = 0; o < if_true->size(); ++o) c.outputs[o] = chosen(c.l, condition, (*if_true)[o], (*if_false)[o]);
    return;
  }
  // The other branch is mostly for other shapes: the note says why its nodes are not supported.
  for (const auto& [what, nodes] : n.unsupported)
    if (!before.contains(what)) why = what;
  n.unsupported = before;
  constexpr size_t kMostOfWhy = 400;
  n.notes.push_back(fmt::format("{} takes its {}; calls that take the other branch fail: {}", c.node.name(),
                                if_true ? "then_branch" : "else_branch", short_line(why, kMostOfWhy)));
  const Operand one = c.l.reshape(condition, {1}), holds = if_true ? one : c.l.pointwise("not", {one});
  c.outputs = if_true ? *if_true : *if_false;
  for (Operand& x : c.outputs) {
    HONE_USER_CHECK(!x.sequence && !x.is_nothing)
        << "an output of a branch is " << described(x) << ", and which branch is taken is known only when it runs";
    HONE_USER_CHECK(!x.is_empty()) << "an output without elements of a branch is not supported";
    x.id = c.l.b.add_one("require", {}, {x.id, c.l.value(holds)});
  }
}

// The outputs of a loop's iterations, stacked along a new axis.
Operand stacked(Lowering& l, const std::vector<Operand>& turns, int64_t axis) {
  HONE_USER_CHECK(!turns.empty()) << "a loop that collects and takes no turn is not supported";
  std::vector<Operand> parts;
  for (const Operand& t : turns) {
    HONE_USER_CHECK(!t.ragged) << "it collects what is ragged";
    HONE_USER_CHECK(!t.sequence && !t.is_nothing) << "it collects " << described(t);
    Extents shape = t.type.shape;
    shape.insert(shape.begin() + axis_of(axis, shape.size() + 1), 1);
    parts.push_back(l.reshape(t, shape));
  }
  return l.concat(parts, axis_of(axis, parts[0].rank()));
}

// Whether a loop takes its next turn: known, or a bool that a call finds out.
struct GoesOn {
  bool may = true;
  std::optional<Operand> does = std::nullopt;  ///< none: as `may` says
};

// One condition more.
void narrow(Lowering& l, GoesOn* goes_on, const Operand& condition) {
  HONE_USER_CHECK(element_count(condition.type.shape) == 1 && condition.type.dtype.is_bool() && !condition.ragged)
      << "its condition is " << to_string(condition.type);
  if (const auto known = l.data_of(condition)) {
    goes_on->may = goes_on->may && known->numbers()[0] != 0;
    return;
  }
  const Operand one = l.reshape(condition, {1});
  goes_on->does = goes_on->does ? l.pointwise("and", {*goes_on->does, one}) : one;
}

// Iterations are unrolled, so their number must be bounded. Iterations that a call does not take have no effect.
void run_loop(const BodyNode& n) {
  NodeContext& c = n.c;
  const Graph& body = graph_of(c, "body");
  GoesOn goes_on;
  int64_t most = INT64_MAX;
  std::optional<Operand> trips;
  if (c.has(0) && c.in(0).least) {
    const std::vector<int64_t> numbers = c.in(0).known->numbers();
    HONE_USER_CHECK(numbers.size() == 1) << "its trip count has " << numbers.size() << " elements, not one";
    most = numbers[0];
    trips = c.l.reshape(c.l.cast(whole(c.in(0)), i64), {1});
  } else if (c.has(0)) {
    most = c.constant_number(0, "trip count");
  }
  if (c.has(1)) narrow(c.l, &goes_on, c.in(1));
  std::vector<Operand> carried;
  for (size_t i = 2; i < c.inputs.size(); ++i) carried.push_back(c.in(i));
  HONE_USER_CHECK(static_cast<size_t>(body.output_size()) > carried.size())
      << "its body has " << body.output_size() << " outputs for " << carried.size() << " values";
  HONE_USER_CHECK(body.output_size() == c.node.output_size() + 1) << "its body has other outputs";
  std::vector<std::vector<Operand>> collected(static_cast<size_t>(body.output_size()) - 1 - carried.size());
  std::optional<Operand> taken;  // turns that a call takes, where that is not all of them
  const Operand yes = c.l.constant(TensorData({boolean, {}}, std::string(1, '\1')));
  for (int64_t turn = 0; turn < most && goes_on.may; ++turn) {
    HONE_USER_CHECK(turn < kMostTurns) << "more than " << kMostTurns << " turns are not supported";
    if (trips) narrow(c.l, &goes_on, c.l.pointwise("greater", {*trips, c.l.number(static_cast<double>(turn), i64)}));
    HONE_USER_CHECK(!goes_on.does || most < INT64_MAX)
        << "its condition depends on the inputs' elements, and it has no largest trip count";
    std::vector<Operand> inputs{c.l.number(static_cast<double>(turn), i64), yes};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const std::vector<Operand> outputs = n.run(body, inputs);
    if (goes_on.does && !taken) taken = c.l.numbers({turn});
    if (goes_on.does) taken = c.l.pointwise("add", {c.l.cast(*goes_on.does, i64), *taken});
    for (size_t i = 0; i < carried.size(); ++i)
      carried[i] = goes_on.does ? chosen(c.l, *goes_on.does, outputs[1 + i], carried[i]) : outputs[1 + i];
    for (size_t i = 0; i < collected.size(); ++i) collected[i].push_back(outputs[1 + carried.size() + i]);
    narrow(c.l, &goes_on, outputs[0]);
  }
  c.outputs = carried;
  // Without an iteration, one is computed all the same: its outputs have the types.
  std::vector<Operand> untaken;
  if (!collected.empty() && collected[0].empty()) {
    std::vector<Operand> inputs{c.l.number(0, i64), yes};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    untaken = n.run(body, inputs);
  }
  for (size_t i = 0; i < collected.size(); ++i) {
    if (!untaken.empty()) {
      const Operand& turn = untaken[1 + carried.size() + i];
      HONE_USER_CHECK(!turn.sequence && !turn.is_nothing) << "it collects " << described(turn);
      TensorType none = turn.type;
      none.shape.insert(none.shape.begin(), 0);
      c.outputs.push_back({kNoValue, none});
      continue;
    }
    c.outputs.push_back(stacked(c.l, collected[i], 0));
    if (taken) c.outputs.back().ragged = Ragged{0, c.l.value(*taken)};
  }
}

void run_scan(const BodyNode& n) {
  NodeContext& c = n.c;
  HONE_USER_CHECK(c.opset >= 9) << "Scan of opset 8 is not supported";
  const Graph& body = graph_of(c, "body");
  const int64_t sequences = c.number("num_scan_inputs", 0);
  HONE_USER_CHECK(sequences >= 1 && sequences <= static_cast<int64_t>(c.inputs.size()))
      << "num_scan_inputs=" << sequences << " of " << c.inputs.size() << " inputs";
  const int64_t states = static_cast<int64_t>(c.inputs.size()) - sequences, results = body.output_size() - states;
  HONE_USER_CHECK(results >= 0 && body.output_size() == c.node.output_size())
      << "its body has " << body.output_size() << " outputs for " << states << " states";
  const auto each = [&](std::string_view name, int64_t count) {
    const Extents given = c.numbers(name).value_or(Extents(static_cast<size_t>(count), 0));
    HONE_USER_CHECK(static_cast<int64_t>(given.size()) == count) << given.size() << " " << name;
    return given;
  };
  const Extents axes = each("scan_input_axes", sequences), backwards = each("scan_input_directions", sequences),
                result_axes = each("scan_output_axes", results),
                results_backwards = each("scan_output_directions", results);
  std::vector<Operand> carried;
  for (int64_t i = 0; i < states; ++i) carried.push_back(c.in(static_cast<size_t>(i)));
  std::optional<int64_t> turns;
  const auto sequence = [&](int64_t s) -> const Operand& { return c.in(static_cast<size_t>(states + s)); };
  const auto axis = [&](int64_t s) {
    return static_cast<size_t>(axis_of(axes[static_cast<size_t>(s)], sequence(s).rank()));
  };
  for (int64_t s = 0; s < sequences; ++s) {
    HONE_USER_CHECK(!sequence(s).ragged) << "the extent of a sequence is known only when it runs";
    const int64_t extent = sequence(s).type.shape[axis(s)];
    HONE_USER_CHECK(!turns || *turns == extent) << "sequences of " << *turns << " and " << extent;
    turns = extent;
  }
  HONE_USER_CHECK(*turns <= kMostTurns) << "more than " << kMostTurns << " turns are not supported";
  std::vector<std::vector<Operand>> collected(static_cast<size_t>(results));
  for (int64_t turn = 0; turn < *turns; ++turn) {
    std::vector<Operand> inputs = carried;
    for (int64_t s = 0; s < sequences; ++s) {
      const Operand& x = sequence(s);
      Extents begin(x.rank(), 0), size = x.type.shape, shape = x.type.shape;
      begin[axis(s)] = backwards[static_cast<size_t>(s)] ? *turns - 1 - turn : turn;
      size[axis(s)] = 1;
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis(s)));
      inputs.push_back(c.l.reshape(c.l.slice(x, begin, Extents(x.rank(), 1), size), shape));
    }
    const std::vector<Operand> outputs = n.run(body, inputs);
    carried.assign(outputs.begin(), outputs.begin() + states);
    for (int64_t r = 0; r < results; ++r)
      collected[static_cast<size_t>(r)].push_back(outputs[static_cast<size_t>(states + r)]);
  }
  c.outputs = carried;
  for (size_t r = 0; r < collected.size(); ++r) {
    if (results_backwards[r]) std::reverse(collected[r].begin(), collected[r].end());
    c.outputs.push_back(stacked(c.l, collected[r], result_axes[r]));
  }
}

}  // namespace

const std::unordered_map<std::string_view, BodyConverter>& body_converters() {
  static const std::unordered_map<std::string_view, BodyConverter> all = {
      {"If", &run_if}, {"Loop", &run_loop}, {"Scan", &run_scan}, {"SequenceMap", &map_sequence}};
  return all;
}

}  // namespace hone::onnx
