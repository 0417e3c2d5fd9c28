#include "compiler/frontend/tflite/node/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "compiler/frontend/tflite/node/operator_names.h"

namespace hone::tflite {
namespace {

using frontend::Lowering;
using frontend::Operand;

enum : int32_t { kCallOnce = 129, kVarHandle = 142, kReadVariable = 143 };

template <class F>
void for_each_operator(const file::SubGraph& graph, const F& f) {
  for (size_t n = 0; graph.operators() && n < graph.operators()->size(); ++n)
    f(*graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(n)));
}

// Graphs that run once, before all others.
std::set<int64_t> initializing_graphs(const ModelFile& file) {
  std::set<int64_t> out;
  for (size_t g = 0; g < file.graph_count(); ++g)
    for_each_operator(file.graph(g), [&](const file::Operator& o) {
      if (number_of(file.code(o.code())) != kCallOnce) return;
      if (const auto* options = o.options_as_CallOnceOptions()) out.insert(options->graph());
    });
  return out;
}

bool is_zero(const TensorData& data) {
  return std::all_of(data.bytes().begin(), data.bytes().end(), [](char b) { return b == 0; });
}

}  // namespace

std::string variable_name(const file::Operator& node) {
  const auto* options = node.options_as_VariableOptions();
  HONE_USER_CHECK(options && options->name() && options->name()->size() > 0) << "its options have no name";
  const bool has_container = options->container() && options->container()->size() > 0;
  constexpr size_t kMostOfName = 200;
  return short_line((has_container ? options->container()->str() + "/" : "") + options->name()->str(), kMostOfName);
}

std::set<std::string> assigned_variables(ModelFile& file) {
  const std::set<int64_t> initializing = initializing_graphs(file);
  std::set<std::string> out;
  for (size_t g = 0; g < file.graph_count(); ++g) {
    if (initializing.contains(static_cast<int64_t>(g))) continue;
    std::map<int32_t, std::string> names;  // by the handle's tensor
    for_each_operator(file.graph(g), [&](const file::Operator& o) {
      const int32_t number = number_of(file.code(o.code()));
      if (number == kVarHandle && o.outputs() && o.outputs()->size() == 1 && o.options_as_VariableOptions())
        names[o.outputs()->Get(0)] = variable_name(o);
      if (number == kReadVariable || !o.inputs()) return;
      for (const int32_t input : *o.inputs())
        if (const auto found = names.find(input); found != names.end()) out.insert(found->second);
    });
  }
  return out;
}

States::State& States::of_name(const std::string& name, bool is_state) {
  const auto found = std::find_if(states_.begin(), states_.end(), [&](const State& s) { return s.name == name; });
  if (found != states_.end()) return *found;
  constexpr size_t kMostStates = 1 << 12;
  HONE_USER_CHECK(states_.size() < kMostStates) << "it has more than " << kMostStates << " variables";
  states_.push_back({.name = name, .is_state = is_state});
  return states_.back();
}

size_t States::variable(const std::string& name) {
  return static_cast<size_t>(&of_name(name, assigned_.contains(name)) - states_.data());
}

States::State& States::state(int64_t variable) {
  HONE_USER_CHECK(variable >= 0 && variable < static_cast<int64_t>(states_.size())) << "there is no such variable";
  return states_[static_cast<size_t>(variable)];
}

std::string States::free_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !ports_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

void States::make_input(Lowering& l, State* s) {
  if (s->input) return;
  HONE_USER_CHECK(s->type) << "variable '" << s->name << "' is read before it has a value";
  for (const int64_t e : s->type->shape) HONE_USER_CHECK(e > 0) << "variable '" << s->name << "' has no elements";
  s->input = Operand{l.b.input(free_name(s->name), *s->type), *s->type};
  s->value = s->input;
}

Operand States::read(Lowering& l, int64_t variable) {
  State& s = state(variable);
  if (s.is_state && !is_initializing) make_input(l, &s);
  HONE_USER_CHECK(s.value) << "variable '" << s.name << "' is read before it has a value";
  return *s.value;
}

void States::assign(Lowering& l, int64_t variable, const Operand& value) {
  State& s = state(variable);
  if (is_initializing) {
    const auto data = l.data_of(value);
    HONE_USER_CHECK(data) << "variable '" << s.name << "' begins with what must be known while the model is built";
    s.begins_with_zeros = is_zero(*data);
    s.type = value.type;
    s.value = value;
    return;
  }
  HONE_USER_CHECK(may_assign) << "it assigns to variable '" << s.name << "' in a branch that only a call chooses";
  HONE_USER_CHECK(s.is_state) << "variable '" << s.name << "' is assigned to";
  if (!s.type) s.type = value.type;
  HONE_USER_CHECK(*s.type == value.type) << "variable '" << s.name << "' is " << to_string(*s.type) << ", and becomes "
                                         << to_string(value.type);
  make_input(l, &s);
  s.value = value;
}

Operand States::of_layer(Lowering& l, const std::string& name, const TensorType& type) {
  State& s = of_name(name, true);
  if (!s.type) s.type = type;
  HONE_USER_CHECK(*s.type == type) << "state '" << name << "' is " << to_string(*s.type) << " and " << to_string(type);
  make_input(l, &s);
  return *s.value;
}

void States::set_of_layer(Lowering& l, const std::string& name, const Operand& value) {
  of_layer(l, name, value.type);
  of_name(name, true).value = value;
}

void States::finish(Lowering& l, std::vector<std::string>* notes) {
  for (const State& s : states_) {
    if (!s.input) continue;
    const std::string& input = s.name;
    const std::string output = free_name(input + "_next");
    l.b.output(output, s.value->id, s.value->type);
    notes->push_back(fmt::format("state {}: output {} is its input in the next call; it begins {}", input, output,
                                 s.begins_with_zeros ? "with zeros" : "as the file says"));
  }
}

}  // namespace hone::tflite
