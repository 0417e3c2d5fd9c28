#include "compiler/frontend/tflite/import.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "compiler/frontend/lowering/input_binding.h"
#include "compiler/frontend/lowering/operators/user_node.h"
#include "compiler/frontend/tflite/metadata/metadata.h"
#include "compiler/frontend/tflite/node/bodies.h"
#include "compiler/frontend/tflite/node/operator_names.h"
#include "compiler/frontend/tflite/node/own_node.h"
#include "compiler/frontend/tflite/node/quantized_node.h"

namespace hone {
namespace tflite {
namespace {

constexpr size_t kMostNodes = 1 << 20, kMostPorts = 1 << 12, kMostOperands = 1 << 14;
constexpr size_t kDeepestRun = 64;        // subgraphs that run each other
constexpr size_t kMostUnsupported = 100;  // kinds of what is not supported: then it is said
constexpr size_t kMostOfText = 300;
constexpr const char* kReplaced = "tflite::";  // in front of operators' kinds, as --replace names them

using Indices = flatbuffers::Vector<int32_t>;

size_t size_of(const Indices* indices) { return indices ? indices->size() : 0; }

// The inputs that a caller gives, their names each once.
std::vector<int64_t> inputs_of(const ModelFile& file) {
  const Indices* inputs = file.graph().inputs();
  HONE_USER_CHECK(size_of(inputs) <= kMostPorts) << "it has more than " << kMostPorts << " inputs";
  return inputs ? std::vector<int64_t>(inputs->begin(), inputs->end()) : std::vector<int64_t>();
}

std::string name_of_port(const std::map<int64_t, std::string>& names, int64_t index, const TensorInfo& t) {
  const auto found = names.find(index);
  return found == names.end() ? t.name : found->second;
}

// Under the names of a signature, where the file has one.
std::vector<DeclaredInput> declared_inputs(ModelFile& file) {
  std::vector<DeclaredInput> out;
  std::set<std::string> names;
  const PortNames ports = file.port_names();
  for (const int64_t index : inputs_of(file)) {
    const TensorInfo& t = file.tensor(index);
    const std::string name = name_of_port(ports.inputs, index, t);
    HONE_USER_CHECK(!t.is_variable && !t.is_resource) << "input '" << name << "' is a variable, which is not supported";
    HONE_USER_CHECK(!t.is_complex) << "input '" << name << "' is of complex numbers, which is not supported";
    HONE_USER_CHECK(names.insert(name).second) << "two inputs are called '" << name << "'";
    DeclaredInput& input = out.emplace_back();
    input.name = name;
    input.element = {t.type.dtype};
    input.shape.emplace();
    for (const std::optional<int64_t>& extent : t.declared) input.shape->push_back({extent, ""});
  }
  return out;
}

// Names of the main graph's outputs; of several that would be alike the later ones are numbered.
std::vector<std::string> output_names(ModelFile& file) {
  const Indices* outputs = file.graph().outputs();
  HONE_USER_CHECK(size_of(outputs) >= 1) << "it has no outputs";
  HONE_USER_CHECK(size_of(outputs) <= kMostPorts) << "it has more than " << kMostPorts << " outputs";
  const PortNames ports = file.port_names();
  std::map<std::string, int> uses;
  std::vector<std::string> names;
  for (const int32_t index : *outputs) {
    const std::string name = name_of_port(ports.outputs, index, file.tensor(index));
    const int before = uses[name]++;
    names.push_back(before ? fmt::format("{}_{}", name, before) : name);
  }
  return names;
}

std::set<std::string> names_of_ports(ModelFile& file) {
  const std::vector<std::string> outputs = output_names(file);
  std::set<std::string> names(outputs.begin(), outputs.end());
  for (const DeclaredInput& input : declared_inputs(file)) names.insert(input.name);
  return names;
}

class Importer {
 public:
  Importer(ModelFile& file, const std::string& name, const OperatorTable& operators, const ImportOptions& options)
      : file_(file),
        options_(options),
        builder_(operators, name, options.most_work),
        lowering_(builder_, options.most_work / 2),
        states_(assigned_variables(file), names_of_ports(file)) {}

  ImportedModel import() {
    if (options_.users) check_users();
    const std::vector<DeclaredInput> declared = declared_inputs(file_);
    const auto inputs = bind_inputs(declared, options_, "", lowering_, &notes_);
    const std::vector<int64_t> indices = inputs_of(file_);
    Scope scope;
    for (size_t i = 0; i < indices.size(); ++i) scope.values.emplace(indices[i], inputs.at(declared[i].name));
    run(&scope);
    report_unsupported();
    add_outputs(&scope);
    states_.finish(lowering_, &notes_);
    std::vector<std::string> names;
    for (const DeclaredInput& input : declared) names.push_back(input.name);
    Graph graph = builder_.take();
    ModelMetadata metadata = metadata_of(file_, names, output_names(file_), graph);
    return {std::move(graph), std::move(notes_), std::move(metadata)};
  }

 private:
  // A graph that runs.
  struct Scope {
    size_t graph = 0;
    std::map<int64_t, Operand> values = {};  ///< by the tensor's index
    std::set<int64_t> unknown = {};          ///< tensors whose operators are not supported
  };

  // Operators that users define are none of Hone's.
  void check_users() const {
    for (const std::string& name : options_.users->names())
      HONE_USER_CHECK(!converters().custom.contains(name)) << "'" << name << "' is an operator that Hone has";
  }

  // Whether an operator works on tensors that only its own meaning knows.
  static void check_tensors(const NodeContext& c) {
    for (const auto* tensors : {&c.read, &c.computed})
      for (const TensorInfo* t : *tensors)
        HONE_USER_CHECK(!t || (!t->is_variable && !t->is_complex && !t->is_resource))
            << "it works on '" << t->name << "', which is a variable or of complex numbers";
  }

  // That the definition computes what the operator does: on its own inputs where they are constants, at random
  // elsewhere.
  void check_replacement(const NodeContext& c, const OperatorCall& call, const Converter* convert) {
    HONE_USER_CHECK(convert) << "it runs other subgraphs; operators that do not are replaced";
    GraphBuilder builder(builder_.operators(), "node", options_.most_work);
    ImageLowering side(builder, lowering_);
    NodeContext own{c.node, c.number, c.custom, {}, c.read, c.computed, {}, side, states_};
    std::vector<std::optional<TensorData>> known;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      own.inputs.emplace_back();
      if (!c.has(i)) continue;
      known.push_back(lowering_.data_of(c.in(i)));
      own.inputs.back() = known.back() ? side.constant(*known.back())
                                       : Operand{builder.input("x" + std::to_string(i), c.in(i).type), c.in(i).type};
    }
    own.outputs.resize(c.outputs.size());
    run_operator(own, *convert);
    for (size_t o = 0; o < own.outputs.size(); ++o)
      builder.output("y" + std::to_string(o), own.outputs[o].id, own.outputs[o].type);
    if (std::string note = compare_replacement(builder.take(), *options_.users, call, known); !note.empty())
      notes_.push_back(std::move(note));
  }

  // The elements are what the file has: of quantised tensors whole numbers. `convert`: of an operator with a meaning of
  // its own, which is replaced; null where there is none.
  void run_user_operator(NodeContext& c, const std::string& named, const std::string& op, bool replaces,
                         const Converter* convert) {
    check_tensors(c);
    const OperatorCall call = operator_call(op, named, attributes_of(c), c.inputs);
    if (replaces) check_replacement(c, call, convert);
    std::vector<Operand> made = user_node(lowering_, *options_.users, call, c.inputs);
    HONE_USER_CHECK(c.outputs.size() <= made.size())
        << "it has " << c.outputs.size() << " outputs, and the definition of " << op << " has " << made.size();
    made.resize(c.outputs.size());
    c.outputs = std::move(made);
    check_types(c);
    for (size_t o = 0; o < c.outputs.size(); ++o) {
      const size_t axes = c.computed[o]->declared.size();
      HONE_USER_CHECK(axes == 0 || axes == c.outputs[o].rank())
          << "its definition gives " << to_string(c.outputs[o].type) << ", and the model declares '"
          << c.computed[o]->name << "' with " << axes << " axes";
    }
  }

  void add_outputs(Scope* scope) {
    const std::vector<std::string> names = output_names(file_);
    for (size_t o = 0; o < names.size(); ++o) {
      const int32_t index = file_.graph().outputs()->Get(static_cast<flatbuffers::uoffset_t>(o));
      const TensorInfo& t = file_.tensor(index);
      HONE_USER_CHECK(!t.is_resource) << "output '" << names[o] << "' is a variable, which is not supported";
      HONE_USER_CHECK(!t.is_complex) << "output '" << names[o] << "' is of complex numbers, which is not supported";
      const std::optional<Operand> value = find(scope, index);
      HONE_USER_CHECK(value) << "nothing computes the output '" << t.name << "'";
      builder_.output(names[o], value->id, value->type);
      if (value->ragged) builder_.tell_extent(value->ragged->axis, value->ragged->count);
    }
  }

  // Values that are computed by now, or stored in the file; none for a layer's state.
  std::optional<Operand> find(Scope* scope, int64_t index) {
    const auto known = scope->values.find(index);
    if (known != scope->values.end()) return known->second;
    const TensorInfo& t = file_.tensor(index, scope->graph);
    if (t.is_resource || (!file_.has_data(t) && element_count_is_positive(t))) return std::nullopt;
    HONE_USER_CHECK(!t.is_variable) << "tensor '" << t.name << "' is a variable, which is not supported";
    HONE_USER_CHECK(!t.is_complex) << "tensor '" << t.name << "' has complex numbers, which is not supported";
    // Bodies that run often read one constant.
    const Operand value = lowering_.once({kStored, static_cast<int64_t>(scope->graph), index},
                                         [&] { return lowering_.constant(file_.data_of(t), t.name); });
    return scope->values.emplace(index, value).first->second;
  }

  static bool element_count_is_positive(const TensorInfo& t) {
    for (const int64_t e : t.type.shape)
      if (e == 0) return false;
    return true;
  }

  // All operators of the scope's graph, in order.
  void run(Scope* scope) {
    const auto* nodes = file_.graph(scope->graph).operators();
    const size_t count = nodes ? nodes->size() : 0;
    nodes_ += count;
    HONE_USER_CHECK(nodes_ <= kMostNodes) << "it has more than " << kMostNodes << " operators";
    for (size_t n = 0; n < count; ++n) run(scope, n, *nodes->Get(static_cast<flatbuffers::uoffset_t>(n)));
  }

  // The outputs of another graph for these inputs.
  std::vector<Operand> run_graph(int64_t graph, const std::vector<Operand>& inputs) {
    HONE_USER_CHECK(graph != 0) << "it runs the main subgraph";
    HONE_USER_CHECK(graph > 0 && graph < static_cast<int64_t>(file_.graph_count()))
        << "there is no subgraph " << graph << "; there are " << file_.graph_count();
    Scope scope{static_cast<size_t>(graph)};
    HONE_USER_CHECK(running_.size() < kDeepestRun) << "subgraphs run each other more than " << kDeepestRun << " deep";
    HONE_USER_CHECK(!running_.contains(graph)) << "subgraph " << graph << " runs itself";
    const Indices* ports = file_.graph(scope.graph).inputs();
    const Indices* results = file_.graph(scope.graph).outputs();
    HONE_USER_CHECK(size_of(ports) == inputs.size())
        << "subgraph " << graph << " takes " << size_of(ports) << " inputs; there are " << inputs.size();
    HONE_USER_CHECK(size_of(results) <= kMostPorts) << "it has more than " << kMostPorts << " outputs";
    // A turn of an empty body costs its inputs and outputs.
    nodes_ += 1 + inputs.size() + size_of(results);
    HONE_USER_CHECK(nodes_ <= kMostNodes) << "it has more than " << kMostNodes << " operators";
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int32_t index = ports->Get(static_cast<flatbuffers::uoffset_t>(i));
      const TensorInfo& t = file_.tensor(index, scope.graph);
      HONE_USER_CHECK(t.type.dtype == inputs[i].type.dtype)
          << "subgraph " << graph << " takes " << to_string(t.type.dtype) << " as input " << i << ", not "
          << to_string(inputs[i].type);
      HONE_USER_CHECK(scope.values.emplace(index, inputs[i]).second)
          << "subgraph " << graph << " takes '" << t.name << "' twice";
    }
    struct Running {
      std::set<int64_t>& all;
      const int64_t graph;
      ~Running() { all.erase(graph); }
    } running{running_, graph};
    running_.insert(graph);
    const size_t before = unsupported_count_;
    run(&scope);
    HONE_USER_CHECK(unsupported_count_ == before) << "subgraph " << graph << " has operators that are not supported";
    std::vector<Operand> outputs;
    for (size_t o = 0; o < size_of(results); ++o) {
      const int32_t index = results->Get(static_cast<flatbuffers::uoffset_t>(o));
      const std::optional<Operand> value = find(&scope, index);
      HONE_USER_CHECK(value) << "nothing computes the output '" << file_.tensor(index, scope.graph).name
                             << "' of subgraph " << graph;
      outputs.push_back(*value);
    }
    return outputs;
  }

  void run(Scope* scope, size_t n, const file::Operator& node) {
    const file::OperatorCode& code = file_.code(node.code());
    const std::string kind = name_of(code), named = fmt::format("operator {} ({})", n, kind);
    HONE_USER_CHECK(size_of(node.inputs()) <= kMostOperands && size_of(node.outputs()) <= kMostOperands)
        << named << " has more than " << kMostOperands << " inputs or outputs";
    NodeContext c{node, number_of(code), code.custom() ? code.custom()->str() : "", {}, {}, {}, {}, lowering_, states_};
    bool is_known = true;  // else an operator in front of it is not supported
    for (size_t i = 0; i < size_of(node.inputs()); ++i) {
      const int64_t index = node.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
      c.read.push_back(index == -1 ? nullptr : &file_.tensor(index, scope->graph));
      c.inputs.emplace_back();
      if (index == -1 || c.read.back()->is_variable) continue;
      if (scope->unknown.contains(index)) {
        is_known = false;
        continue;
      }
      c.inputs.back() = find(scope, index);
      HONE_USER_CHECK(c.inputs.back()) << named << " reads '" << c.read.back()->name
                                       << "', which no operator in front of it computes";
    }
    for (size_t o = 0; o < size_of(node.outputs()); ++o) {
      const int64_t index = node.outputs()->Get(static_cast<flatbuffers::uoffset_t>(o));
      c.computed.push_back(&file_.tensor(index, scope->graph));
      HONE_USER_CHECK(!scope->values.contains(index) && !scope->unknown.contains(index) &&
                      !file_.has_data(*c.computed.back()))
          << named << " computes '" << c.computed.back()->name << "', which is there already";
    }
    const std::string origin = c.computed.empty() ? kind : c.computed[0]->name;
    c.outputs.resize(c.computed.size());
    builder_.set_origin(origin);
    lowering_.output_name = origin;
    const auto body = body_converters().find(c.number);
    const Converter* convert = converter_of(c);
    const std::string replaced_by =
        options_.users ? options_.users->replacement(origin, kReplaced + (c.custom.empty() ? kind : c.custom)) : "";
    const bool replaces = !replaced_by.empty();
    const bool is_user =
        replaces || (c.number == kCustom && !convert && options_.users && options_.users->has(c.custom));
    const bool is_there = convert || is_user || body != body_converters().end();
    bool is_done = false;
    if (is_known || !is_there) {
      try {
        HONE_USER_CHECK(is_there) << "the operator is not supported"
                                  << (c.number == kCustom ? may_be_defined(c.custom, options_.users.get()) : "");
        if (is_user)
          run_user_operator(c, origin, replaces ? replaced_by : c.custom, replaces, convert);
        else if (convert)
          run_operator(c, *convert);
        else
          run_body(c, body->second);
        for (const Operand& x : c.outputs) check_axes(x.type.shape);
        is_done = true;
      } catch (const ReplacementRefused&) {
        throw;
      } catch (const UserError& e) {
        if (replaces) throw ReplacementRefused(origin, replaced_by, e.what());
        ++unsupported_count_;
        unsupported_[fmt::format("{} (version {}): {}", kind, code.version(), short_line(e.what(), kMostOfText))]
            .push_back(fmt::format("{} '{}'", n, origin));
        if (unsupported_.size() >= kMostUnsupported) report_unsupported();
      }
    }
    for (size_t o = 0; o < c.outputs.size(); ++o) {
      const int64_t index = node.outputs()->Get(static_cast<flatbuffers::uoffset_t>(o));
      const bool is_new =
          is_done ? scope->values.emplace(index, c.outputs[o]).second : scope->unknown.insert(index).second;
      HONE_USER_CHECK(is_new) << named << " computes '" << c.computed[o]->name << "' twice";
    }
  }

  void run_operator(NodeContext& c, const Converter& convert) {
    HONE_USER_CHECK(!c.outputs.empty()) << "it has no outputs";
    for (size_t i = 0; i < c.inputs.size(); ++i)
      HONE_USER_CHECK(!c.has(i) || !c.in(i).ragged || convert.takes_lengths)
          << "only a call finds out how long '" << c.read[i]->name << "' is";
    for (const auto* tensors : {&c.read, &c.computed})
      for (const TensorInfo* t : *tensors) {
        HONE_USER_CHECK(!t || !t->is_variable || convert.takes_states)
            << "it works on the variable '" << t->name << "'";
        HONE_USER_CHECK(!t || !t->is_complex || convert.takes_complex)
            << "it works on complex numbers, '" << t->name << "'";
      }
    run_converter(c, convert);
  }

  void run_body(NodeContext& c, BodyConverter convert) {
    for (size_t i = 0; i < c.inputs.size(); ++i)
      HONE_USER_CHECK(!c.has(i) || !c.in(i).ragged) << "only a call finds out how long '" << c.read[i]->name << "' is";
    const size_t count = c.outputs.size();
    convert({c, states_, [&](int64_t graph, const std::vector<Operand>& inputs) { return run_graph(graph, inputs); }});
    HONE_ICHECK(c.outputs.size() == count) << "an operator with " << c.outputs.size() << " outputs";
    check_types(c);
  }

  static const Converter* converter_of(const NodeContext& c) {
    const ConverterTable& table = converters();
    if (c.number == kCustom) {
      const auto found = table.custom.find(c.custom);
      return found == table.custom.end() ? nullptr : &found->second;
    }
    const auto found = table.own.find(c.number);
    return found == table.own.end() ? nullptr : &found->second;
  }

  void report_unsupported() const {
    if (unsupported_.empty()) return;
    std::string text = "it has operators that are not supported:";
    for (const auto& [what, nodes] : unsupported_) {
      text += fmt::format("\n  {}; {} operator{}: ", what, nodes.size(), nodes.size() == 1 ? "" : "s");
      for (size_t n = 0; n < nodes.size() && n < 3; ++n) text += (n ? ", " : "") + nodes[n];
      if (nodes.size() > 3) text += ", …";
    }
    throw UserError(text);
  }

  ModelFile& file_;
  const ImportOptions& options_;
  GraphBuilder builder_;
  ImageLowering lowering_;
  States states_;
  std::vector<std::string> notes_;
  std::set<int64_t> running_;  ///< graphs that others run
  size_t nodes_ = 0, unsupported_count_ = 0;
  std::map<std::string, std::vector<std::string>> unsupported_;
};

// The result of `read` on the file; its errors begin with the path.
template <class Read>
auto of_file(const std::string& path, const Read& read) {
  ModelFile file(path);
  try {
    return read(file);
  } catch (const UserError& e) {
    throw UserError(path + ": " + e.what());
  }
}

}  // namespace
}  // namespace tflite

bool knows_tflite(std::string_view, std::string_view begin) {
  return begin.size() >= 8 && begin.substr(4, 4) == "TFL3";
}

std::vector<std::string> tflite_input_names(const std::string& path) {
  return tflite::of_file(path, [](tflite::ModelFile& file) {
    std::vector<std::string> names;
    for (const tflite::DeclaredInput& input : tflite::declared_inputs(file)) names.push_back(input.name);
    return names;
  });
}

std::vector<std::string> tflite_files(const std::string& path) { return {path}; }

ImportedModel import_tflite(const std::string& path, const OperatorTable& operators, const ImportOptions& options) {
  ImportedModel model = tflite::of_file(path, [&](tflite::ModelFile& file) {
    return tflite::Importer(file, std::filesystem::path(path).stem().string(), operators, options).import();
  });
  return for_images(std::move(model), path, operators, options.batch);
}

}  // namespace hone
