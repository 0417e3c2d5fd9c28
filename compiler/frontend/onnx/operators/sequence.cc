// Sequences and optionals, which exist only while the model is read: a sequence is a list of values of the graph, an
// optional is its value or nothing.
#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "compiler/frontend/onnx/node/bodies.h"
#include "compiler/frontend/onnx/node/sequence_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// The position given by an input, counted from 0; `fallback` when the input is left out.
int64_t position_in(const NodeContext& c, size_t input, size_t length, int64_t fallback) {
  if (!c.has(input)) return fallback;
  const int64_t given = c.constant_number(input, "position"), n = static_cast<int64_t>(length);
  HONE_USER_CHECK(given >= -n && given < n) << "position " << given << " in a sequence of " << length << " elements";
  return given < 0 ? given + n : given;
}

const Sequence& sequence_in(const NodeContext& c, size_t i) {
  HONE_USER_CHECK(c.in(i).sequence) << "input " << i << " is " << described(c.in(i)) << ", not a sequence";
  return *c.in(i).sequence;
}

// UserError for an operand that no sequence may hold.
void check_element(const Operand& x, const Sequence& others) {
  HONE_USER_CHECK(!x.sequence && !x.is_nothing) << described(x) << " is no element of a sequence";
  HONE_USER_CHECK(others.empty() || others[0].type.dtype == x.type.dtype)
      << "a sequence of " << to_string(others[0].type.dtype) << " has no element " << to_string(x.type);
}

void sequence_construct(NodeContext& c) {
  Sequence made;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    check_element(c.in(i), made);
    made.push_back(c.in(i));
  }
  c.outputs[0] = of_elements(c.l, std::move(made));
}

void sequence_empty(NodeContext& c) { c.outputs[0] = of_elements(c.l, {}); }

void sequence_at(NodeContext& c) {
  const Sequence& s = sequence_in(c, 0);
  c.in(1);
  c.outputs[0] = s[static_cast<size_t>(position_in(c, 1, s.size(), 0))];
}

// A new element stands in front of the one at its position, which may be the end.
void sequence_insert(NodeContext& c) {
  Sequence s = sequence_in(c, 0);
  check_element(c.in(1), s);
  const auto length = static_cast<int64_t>(s.size());
  int64_t at = c.has(2) ? c.constant_number(2, "position") : length;
  HONE_USER_CHECK(at >= -length && at <= length) << "position " << at << " in a sequence of " << length << " elements";
  if (at < 0) at += length;
  s.insert(s.begin() + at, c.in(1));
  c.outputs[0] = of_elements(c.l, std::move(s));
}

void sequence_erase(NodeContext& c) {
  Sequence s = sequence_in(c, 0);
  HONE_USER_CHECK(!s.empty()) << "a sequence without elements has none to erase";
  s.erase(s.begin() + position_in(c, 1, s.size(), static_cast<int64_t>(s.size()) - 1));
  c.outputs[0] = of_elements(c.l, std::move(s));
}

void sequence_length(NodeContext& c) { c.outputs[0] = c.l.number(static_cast<double>(sequence_in(c, 0).size()), i64); }

// The lengths of parts that `split` asks for: one number is the length of all but the last, which may be shorter.
Extents part_lengths(const NodeContext& c, int64_t extent) {
  const TensorData given = c.constant(1, "split");
  const Extents numbers = c.constant_numbers(1, "split", static_cast<size_t>(kMostOfSequence));
  Extents lengths = numbers;
  if (given.type().shape.empty()) {
    HONE_USER_CHECK(numbers[0] >= 1) << "parts of " << numbers[0] << " elements";
    lengths.clear();
    for (int64_t begin = 0; begin < extent; begin += std::min(numbers[0], extent - begin))
      lengths.push_back(std::min(numbers[0], extent - begin));
  }
  int64_t rest = extent;
  for (const int64_t n : lengths) {
    HONE_USER_CHECK(n >= 0 && n <= rest) << "parts of [" << join(numbers, ", ") << "] of " << extent << " elements";
    rest -= n;
  }
  HONE_USER_CHECK(rest == 0) << "parts of [" << join(numbers, ", ") << "] of " << extent << " elements";
  return lengths;
}

// Parts along an axis; without `split` they are of one element each, and `keepdims` says whether they have the axis.
void split_to_sequence(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t axis = axis_of(c.number("axis", 0), x.rank());
  const auto along = static_cast<size_t>(axis);
  const int64_t extent = x.type.shape[along];
  const bool is_squeezed = !c.has(1) && c.number("keepdims", 1) == 0;
  HONE_USER_CHECK(c.has(1) || extent <= kMostOfSequence)
      << "a sequence of " << extent << " elements; " << kMostOfSequence << " are the most";
  const Extents lengths = c.has(1) ? part_lengths(c, extent) : Extents(static_cast<size_t>(extent), 1);
  Sequence parts;
  Extents begin(x.rank(), 0), size = x.type.shape;
  for (const int64_t n : lengths) {
    size[along] = n;
    Operand part = c.l.slice(x, begin, Extents(x.rank(), 1), size);
    begin[along] += n;
    if (is_squeezed) {
      Extents shape = size;
      shape.erase(shape.begin() + axis);
      part = c.l.reshape(part, shape);
    }
    parts.push_back(std::move(part));
  }
  c.outputs[0] = of_elements(c.l, std::move(parts));
}

void concat_from_sequence(NodeContext& c) {
  const Sequence& s = sequence_in(c, 0);
  HONE_USER_CHECK(!s.empty()) << "a sequence without elements is joined";
  HONE_USER_CHECK(c.find("axis")) << "it has no axis";
  const bool is_new = c.number("new_axis", 0) != 0;
  const int64_t axis = axis_of(c.number("axis", 0), s[0].rank() + (is_new ? 1 : 0));
  Sequence parts;
  for (const Operand& x : s) {
    HONE_USER_CHECK(x.rank() == s[0].rank()) << to_string(x.type) << " does not go with " << to_string(s[0].type);
    for (size_t d = 0; d < x.rank(); ++d)
      HONE_USER_CHECK(x.type.shape[d] == s[0].type.shape[d] || (!is_new && static_cast<int64_t>(d) == axis))
          << to_string(x.type) << " does not go with " << to_string(s[0].type) << " along axis " << axis;
    Extents shape = x.type.shape;
    if (is_new) shape.insert(shape.begin() + axis, 1);
    parts.push_back(is_new ? c.l.reshape(x, shape) : x);
  }
  c.outputs[0] = c.l.concat(parts, axis);
}

void optional(NodeContext& c) {
  c.outputs[0] = c.has(0) ? c.in(0) : Operand{};
  if (!c.has(0)) c.outputs[0].type = {f32, {0}};
  c.outputs[0].is_nothing = !c.has(0) || c.in(0).is_nothing;
}

void optional_has_element(NodeContext& c) {
  const bool has = c.has(0) && !c.in(0).is_nothing;
  c.outputs[0] = c.l.constant(TensorData({boolean, {}}, std::string(1, has ? '\1' : '\0')));
}

void optional_get_element(NodeContext& c) {
  HONE_USER_CHECK(!c.in(0).is_nothing) << "its optional holds nothing";
  c.outputs[0] = c.in(0);
}

}  // namespace

void map_sequence(const BodyNode& n) {
  NodeContext& c = n.c;
  const Attribute* body = c.find("body");
  HONE_USER_CHECK(body) << "it has no body";
  const size_t length = sequence_in(c, 0).size();
  for (size_t i = 1; i < c.inputs.size(); ++i)
    HONE_USER_CHECK(!c.in(i).sequence || c.in(i).sequence->size() == length)
        << "sequences of " << length << " and " << c.in(i).sequence->size() << " elements";
  HONE_USER_CHECK(body->g().output_size() == c.node.output_size()) << "its body has other outputs";
  std::vector<Sequence> results(static_cast<size_t>(c.node.output_size()));
  for (size_t e = 0; e < length; ++e) {
    std::vector<Operand> inputs;
    for (size_t i = 0; i < c.inputs.size(); ++i) inputs.push_back(c.in(i).sequence ? (*c.in(i).sequence)[e] : c.in(i));
    const std::vector<Operand> outputs = n.run(body->g(), inputs);
    for (size_t o = 0; o < results.size(); ++o) {
      check_element(outputs[o], results[o]);
      HONE_USER_CHECK(!outputs[o].ragged) << "an extent of what its body gives is known only when it runs";
      results[o].push_back(outputs[o]);
    }
  }
  for (size_t o = 0; o < results.size(); ++o) c.outputs[o] = of_elements(c.l, std::move(results[o]));
}

void check_sequences(const NodeContext& c) {
  static const std::unordered_set<std::string_view> takers = {"Identity",
                                                              "If",
                                                              "Loop",
                                                              "SequenceMap",
                                                              "SequenceAt",
                                                              "SequenceInsert",
                                                              "SequenceErase",
                                                              "SequenceConstruct",
                                                              "SequenceLength",
                                                              "ConcatFromSequence",
                                                              "Optional",
                                                              "OptionalHasElement",
                                                              "OptionalGetElement"};
  const bool is_own = c.node.domain().empty() || c.node.domain() == "ai.onnx";
  if (is_own && takers.contains(c.node.op_type())) return;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    HONE_USER_CHECK(!c.inputs[i] || (!c.inputs[i]->sequence && !c.inputs[i]->is_nothing))
        << "input " << i << " is " << described(*c.inputs[i]) << "; it takes tensors";
}

void add_sequence_operators(ConverterTable& t) {
  t[":SequenceConstruct"] = &sequence_construct;
  t[":SequenceEmpty"] = &sequence_empty;
  t[":SequenceAt"] = &sequence_at;
  t[":SequenceInsert"] = &sequence_insert;
  t[":SequenceErase"] = &sequence_erase;
  t[":SequenceLength"] = &sequence_length;
  t[":SplitToSequence"] = &split_to_sequence;
  t[":ConcatFromSequence"] = &concat_from_sequence;
  t[":Optional"] = &optional;
  t[":OptionalHasElement"] = &optional_has_element;
  t[":OptionalGetElement"] = &optional_get_element;
}

}  // namespace hone::onnx
