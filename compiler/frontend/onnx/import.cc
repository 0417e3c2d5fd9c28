#include "compiler/frontend/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/text.h"
#include "compiler/frontend/lowering/input_binding.h"
#include "compiler/frontend/lowering/operators/replacement.h"
#include "compiler/frontend/lowering/operators/user_node.h"
#include "compiler/frontend/onnx/declared_inputs.h"
#include "compiler/frontend/onnx/empty_batch.h"
#include "compiler/frontend/onnx/fitting_options.h"
#include "compiler/frontend/onnx/import_file.h"
#include "compiler/frontend/onnx/node/bodies.h"
#include "compiler/frontend/onnx/node/encoded_node.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/frontend/onnx/node/own_node.h"
#include "compiler/frontend/onnx/node/sequence_node.h"
#include "compiler/frontend/onnx/ragged/ragged_converters.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace onnx {
namespace {

constexpr int64_t kOldest = 6, kNewest = 25;
constexpr int kDeepestCall = 16;  // functions that call functions
constexpr size_t kMostNodes = 1 << 20;
constexpr size_t kMostUnsupported = 100;  // kinds of unsupported nodes before the import stops
constexpr size_t kMostOfText = 300, kMostOfName = 100;
constexpr int kMostOpsets = 256;

// How much of a file is read, in pieces of 64 bytes. Functions may be called often, and each time all of their body is
// looked at.
class ReadBudget {
 public:
  void take(size_t bytes) {
    pieces_ += 1 + bytes / 64;
    HONE_USER_CHECK(pieces_ <= kMost) << "its functions and branches are read too often: more than 4 GB in all";
  }

 private:
  static constexpr size_t kMost = size_t{1} << 26;
  size_t pieces_ = 0;
};

// The nodes of a graph, each after those whose outputs it reads. UserError where there is a cycle.
std::vector<const Node*> ordered(const google::protobuf::RepeatedPtrField<Node>& nodes, ReadBudget* budget) {
  for (const Node& node : nodes) budget->take(node.ByteSizeLong());
  std::unordered_map<std::string_view, int> producer;
  for (int n = 0; n < nodes.size(); ++n)
    for (const std::string& name : nodes[n].output()) {
      const bool is_first = name.empty() || producer.emplace(name, n).second;
      HONE_USER_CHECK(is_first) << "two nodes compute '" << name << "'";
    }
  std::vector<int> waits(static_cast<size_t>(nodes.size()), 0);
  std::vector<std::vector<int>> readers(static_cast<size_t>(nodes.size()));
  const std::function<void(const Node&, int)> count = [&](const Node& node, int reader) {
    for (const std::string& name : node.input())
      if (const auto it = producer.find(name); it != producer.end() && it->second != reader) {
        readers[static_cast<size_t>(it->second)].push_back(reader);
        ++waits[static_cast<size_t>(reader)];
      } else if (it != producer.end()) {
        throw UserError(fmt::format("node '{}' reads its own output '{}'", node.name(), name));
      }
    // Values from outside that its bodies read.
    for (const Attribute& a : node.attribute())
      for (const Node& inner : a.g().node()) count(inner, reader);
  };
  for (int n = 0; n < nodes.size(); ++n) count(nodes[n], n);
  std::set<int> ready;
  for (int n = 0; n < nodes.size(); ++n)
    if (waits[static_cast<size_t>(n)] == 0) ready.insert(n);
  std::vector<const Node*> out;
  while (!ready.empty()) {
    const int n = *ready.begin();
    ready.erase(ready.begin());
    out.push_back(&nodes[n]);
    for (const int r : readers[static_cast<size_t>(n)])
      if (--waits[static_cast<size_t>(r)] == 0) ready.insert(r);
  }
  HONE_USER_CHECK(static_cast<int>(out.size()) == nodes.size())
      << "the graph has a cycle: " << nodes.size() - static_cast<int>(out.size())
      << " of its nodes wait for each other";
  return out;
}

using Names = std::unordered_set<std::string_view>;

Names names_of(const google::protobuf::RepeatedPtrField<ValueInfo>& values) {
  Names names;
  for (const ValueInfo& v : values) names.insert(v.name());
  return names;
}

// Adds the names that these nodes and their bodies read, and the bodies' outputs, which may be values from outside.
void add_names_read(const google::protobuf::RepeatedPtrField<Node>& nodes, Names* names) {
  for (const Node& node : nodes) {
    names->insert(node.input().begin(), node.input().end());
    for (const Attribute& a : node.attribute()) {
      add_names_read(a.g().node(), names);
      for (const ValueInfo& v : a.g().output()) names->insert(v.name());
    }
  }
}

std::string kind_of(const Node& node) {
  const std::string& domain = node.domain();
  return (domain.empty() || domain == "ai.onnx" ? "" : domain + ".") + node.op_type();
}

class Importer {
 public:
  Importer(ModelFile& file, const std::string& name, const OperatorTable& operators, const ImportOptions& options,
           const CountedReads& counted)
      : file_(file),
        options_(options),
        counted_(counted),
        builder_(operators, name, options.most_work),
        lowering_(builder_, file_, options.most_work / 2) {
    if (counted_.constants) builder_.leave_large_constants();
    lowering_.rows_are_counted = counted_.constants || counted_.tables;
  }

  ImportedModel import() {
    for (const OperatorSet& set : file_.model.opset_import())
      opsets_[set.domain() == "ai.onnx" ? "" : set.domain()] = set.version();
    const auto own = opsets_.find("");
    HONE_USER_CHECK(file_.model.opset_import_size() <= kMostOpsets)
        << "it names more than " << kMostOpsets << " opsets";
    HONE_USER_CHECK(own == opsets_.end() || (own->second >= kOldest && own->second <= kNewest))
        << "it is of opset " << own->second << "; supported are " << kOldest << " to " << kNewest;
    for (const Function& f : file_.model.functions()) functions_[f.domain() + ":" + f.name()] = &f;
    const Graph& graph = file_.model.graph();
    if (options_.users) read_users(graph);
    Scope scope{nullptr, {}};
    read_initializers(graph, &scope);
    read_inputs(graph, &scope);
    if (counted_.tables) count_ = builder_.input(counted_.symbol, {i64, {1}});
    run(graph.node(), names_of(graph.output()), &scope);
    report_unsupported();
    for (const ValueInfo& v : graph.output()) {
      const Operand* found = scope.find(v.name());
      HONE_USER_CHECK(found) << "nothing computes the output '" << v.name() << "'";
      HONE_USER_CHECK(!found->sequence && !found->is_nothing)
          << "output '" << v.name() << "' is " << described(*found) << "; outputs of a model are tensors";
      builder_.output(v.name(), found->id, found->type);
      if (found->ragged) builder_.tell_extent(found->ragged->axis, found->ragged->count);
    }
    return {builder_.take(), std::move(notes_)};
  }

 private:
  struct Scope {
    const Scope* outer;
    std::map<std::string, std::optional<Operand>, std::less<>> values;  ///< none: its node is not supported
    std::set<std::string, std::less<>> left_out = {};  ///< inputs of a function that a call does not give
    bool leaves_out(const std::string& name) const {
      return left_out.contains(name) || (outer && !values.contains(name) && outer->leaves_out(name));
    }
    bool knows(const std::string& name) const { return values.contains(name) || (outer && outer->knows(name)); }
    /// Null where nothing is known of it.
    const Operand* find(const std::string& name) const {
      const auto it = values.find(name);
      if (it != values.end()) return it->second ? &*it->second : nullptr;
      return outer ? outer->find(name) : nullptr;
    }
  };

  // Operators that users define are none of Hone's, so that no file changes what a model is by a name alone.
  void read_users(const Graph& graph) {
    for (const std::string& name : options_.users->names()) {
      const size_t colons = name.rfind("::");
      std::string domain = colons == std::string::npos ? "" : name.substr(0, colons);
      const std::string type = colons == std::string::npos ? name : name.substr(colons + 2);
      if (domain == "ai.onnx") domain.clear();
      const bool is_known =
          converters().contains(domain + ":" + type) || (domain.empty() && body_converters().contains(type));
      HONE_USER_CHECK(!is_known) << "'" << name
                                 << "' is an operator that Hone has; a definition takes the place of such "
                                 << "nodes under a name of its own, by --replace";
    }
    for (const auto* values : {&graph.value_info(), &graph.output()})
      for (const ValueInfo& v : *values) declared_.emplace(v.name(), &v);
  }

  // The operator of the user's that a node is.
  struct UserNode {
    std::string op;         ///< empty: none
    bool replaces = false;  ///< a node that has a meaning of its own
  };
  UserNode user_operator(const Node& node, const std::string& named) const {
    if (!options_.users) return {};
    std::string other = options_.users->replacement(named, full_name_of(node));
    if (!other.empty()) return {std::move(other), true};
    const std::string own = operator_name(node.domain(), node.op_type());
    for (const std::string& name : {own, full_name_of(node)})
      if (options_.users->has(name)) return {name};
    return {};
  }

  void run_user_operator(NodeContext& c, const UserNode& user, const std::string& named, bool is_main_graph) {
    const std::string& op = user.op;
    Json attributes = attributes_of(c);
    const auto function = functions_.find(c.node.domain() + ":" + c.node.op_type());
    if (function != functions_.end()) add_defaults(*function->second, &attributes);
    const OperatorCall call = operator_call(op, named, std::move(attributes), c.inputs);
    if (user.replaces) check_replacement(c, call);
    const std::vector<Operand> made = user_node(lowering_, *options_.users, call, c.inputs);
    HONE_USER_CHECK(c.node.output_size() <= static_cast<int>(made.size()))
        << "it has " << c.node.output_size() << " outputs, and the definition of " << op << " has " << made.size();
    for (int o = 0; o < c.node.output_size(); ++o) {
      c.outputs[static_cast<size_t>(o)] = made[static_cast<size_t>(o)];
      const auto declared = is_main_graph ? declared_.find(c.node.output(o)) : declared_.end();
      if (declared != declared_.end())
        check_declared(*declared->second, made[static_cast<size_t>(o)].type, options_.shapes.empty());
    }
  }

  // That the definition computes what the node does: on its own inputs where they are constants, at random elsewhere.
  void check_replacement(const NodeContext& c, const OperatorCall& call) {
    const std::string domain = c.node.domain() == "ai.onnx" ? "" : c.node.domain();
    const auto convert = converters().find(domain + ":" + c.node.op_type());
    if (convert == converters().end()) {
      // One with bodies, or a function of the model; others have no meaning that is known.
      if (is_supported(c.node, domain))
        notes_.push_back(fmt::format("{} computes the same as {} (a node that is made of others is not compared)",
                                     short_line(call.op, kMostOfName), short_line(call.node, kMostOfName)));
      return;
    }
    GraphBuilder builder(builder_.operators(), "node", options_.most_work);
    FileLowering side(builder, lowering_);
    NodeContext own{c.node, c.opset, {}, {}, side, c.is_wanted};
    std::vector<KnownInput> known;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      own.inputs.emplace_back();
      if (!c.has(i)) continue;
      known.push_back(lowering_.data_of(c.in(i)));
      own.inputs.back() = known.back() ? side.constant(*known.back())
                                       : Operand{builder.input("x" + std::to_string(i), c.in(i).type), c.in(i).type};
    }
    own.outputs.resize(c.outputs.size(), kNotComputed);
    convert->second(own);
    for (int o = 0; o < c.node.output_size(); ++o)
      if (const Operand& x = own.outputs[static_cast<size_t>(o)]; own.wants(static_cast<size_t>(o)) && !x.is_empty())
        builder.output("y" + std::to_string(o), x.id, x.type);
    if (std::string note = compare_replacement(builder.take(), *options_.users, call, known); !note.empty())
      notes_.push_back(std::move(note));
  }

  void read_initializers(const Graph& graph, Scope* scope) {
    for (const Tensor& t : graph.initializer()) {
      if (scope->outer) budget_.take(t.ByteSizeLong());
      HONE_USER_CHECK(scope->values.emplace(t.name(), lowering_.of_proto(t)).second)
          << "two tensors are called '" << t.name() << "'";
    }
  }

  void read_inputs(const Graph& graph, Scope* scope) {
    const auto inputs = bind_inputs(declared_inputs(graph), options_, counted_.symbol, lowering_, &notes_);
    scope->values.insert(inputs.begin(), inputs.end());
  }

  // `wanted`: those of their outputs that are read from outside.
  void run(const google::protobuf::RepeatedPtrField<Node>& nodes, Names wanted, Scope* scope) {
    const std::vector<const Node*> in_order = ordered(nodes, &budget_);
    add_names_read(nodes, &wanted);
    for (const Node* node : in_order) {
      count_nodes(1);
      run(*node, wanted, scope);
    }
  }

  void count_nodes(size_t n) {
    nodes_ += n;
    HONE_USER_CHECK(nodes_ <= kMostNodes) << "it has more than " << kMostNodes << " nodes";
  }

  void run(const Node& node, const Names& wanted, Scope* scope) {
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    const auto set = opsets_.find(domain);
    NodeContext c{node, set == opsets_.end() ? 1 : set->second, {}, {}, lowering_, {}};
    for (const std::string& name : node.output()) c.is_wanted.push_back(!name.empty() && wanted.contains(name));
    bool is_known = true;
    for (const std::string& name : node.input()) {
      const bool is_left_out = name.empty() || scope->leaves_out(name);
      HONE_USER_CHECK(is_left_out || scope->knows(name))
          << "node '" << node.name() << "' reads '" << name << "', which nothing computes";
      const Operand* found = is_left_out ? nullptr : scope->find(name);
      is_known = is_known && (is_left_out || found);
      c.inputs.push_back(found ? std::optional(*found) : std::nullopt);
    }
    c.outputs.resize(std::max<size_t>(1, static_cast<size_t>(node.output_size())), kNotComputed);
    const std::string named = !node.name().empty()     ? node.name()
                              : node.output_size() > 0 ? node.output(0)
                                                       : node.op_type();
    builder_.set_origin(named);
    lowering_.output_name = node.output_size() > 0 ? node.output(0) : node.op_type();
    const size_t number = nodes_, before = builder_.node_count();
    if (is_known) read_tables(c, number);
    bool is_done = false;
    const UserNode user = user_operator(node, named);
    const bool is_there = !user.op.empty() || is_supported(node, domain);
    if (is_known || !is_there) {
      try {
        HONE_USER_CHECK(is_there) << "the operator is not known"
                                  << (domain.empty() ? "" : may_be_defined(full_name_of(node), options_.users.get()));
        HONE_USER_CHECK(node.output_size() > 0) << "it has no outputs";
        if (user.op.empty() && is_row_or_body(node, domain)) check_sequences(c);
        if (user.op.empty())
          run_converter(c, domain, scope);
        else
          run_user_operator(c, user, named, depth_ == 0 && !scope->outer);
        for (const Operand& x : c.outputs) check_axes(x.type.shape);
        for (int o = 0; o < node.output_size(); ++o)
          HONE_USER_CHECK(!c.is_wanted[static_cast<size_t>(o)] ||
                          c.outputs[static_cast<size_t>(o)].type != kNotComputed.type)
              << "output " << o << " is not supported";
        is_done = true;
        if (converters().contains(domain + ":" + node.op_type()))
          tell_constants(c, number, builder_.node_count() > before);
      } catch (const ReplacementRefused&) {
        throw;
      } catch (const UserError& e) {
        if (user.replaces) throw ReplacementRefused(named, user.op, e.what());
        unsupported_[fmt::format("{} (opset {}): {}", short_line(kind_of(node), kMostOfName), c.opset,
                                 short_line(e.what(), kMostOfText))]
            .push_back(named);
        if (unsupported_.size() >= kMostUnsupported) report_unsupported();
      }
    }
    for (int o = 0; o < node.output_size(); ++o) {
      if (node.output(o).empty()) continue;
      const bool is_new =
          scope->values
              .emplace(node.output(o), is_done ? std::optional(c.outputs[static_cast<size_t>(o)]) : std::nullopt)
              .second;
      HONE_USER_CHECK(is_new) << "node '" << named << "' computes '" << node.output(o) << "', which is there already";
    }
  }

  // Constants with a row for each number of rows become that row of the call.
  void read_tables(NodeContext& c, size_t number) {
    if (!counted_.tables) return;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const auto table = counted_.tables->find({number, i});
      if (table == counted_.tables->end()) continue;
      Operand& x = *c.inputs[i];
      const auto known = lowering_.data_of(x);
      HONE_ICHECK(known) << "a table for what is not a constant";
      if (table->second.tells_extents) x.known = known;
      const ValueId row =
          builder_.add_one("gather", {{"axis", "0"}}, {builder_.constant(table->second.rows, "table"), count_});
      const Extents shape = x.type.shape.empty() ? Extents{1} : x.type.shape;
      x.id = builder_.add_one("reshape", {{"to", extents_text(shape)}}, {row});
    }
  }

  // `makes_nodes`: the node is not all computed by now.
  void tell_constants(const NodeContext& c, size_t number, bool makes_nodes) {
    if (!counted_.constants) return;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const OperandIndex position{number, i};
      if (!c.has(i) || c.inputs[i]->sequence || !(counted_.wanted ? counted_.wanted->contains(position) : makes_nodes))
        continue;
      if (auto data = lowering_.data_of(*c.inputs[i]))
        counted_.constants->emplace(position, KnownOperand{&c.node, *data});
    }
  }

  static bool is_row_or_body(const Node& node, const std::string& domain) {
    return (domain.empty() && body_converters().contains(node.op_type())) ||
           converters().contains(domain + ":" + node.op_type());
  }
  bool is_supported(const Node& node, const std::string& domain) const {
    return is_row_or_body(node, domain) || functions_.contains(node.domain() + ":" + node.op_type());
  }

  void run_converter(NodeContext& c, const std::string& domain, Scope* scope) {
    if (domain.empty())
      if (const auto with_body = body_converters().find(c.node.op_type()); with_body != body_converters().end()) {
        const auto run = [&](const Graph& body, const std::vector<Operand>& inputs) {
          return run_body(body, inputs, scope);
        };
        return with_body->second({c, run, unsupported_, notes_});
      }
    // An operator that keeps its first input's shape has no elements when that input has none.
    static const std::set<std::string_view> kShapedAlike = {"Softmax",
                                                            "LogSoftmax",
                                                            "Hardmax",
                                                            "LayerNormalization",
                                                            "InstanceNormalization",
                                                            "GroupNormalization",
                                                            "RMSNormalization",
                                                            "LRN",
                                                            "LpNormalization",
                                                            "MeanVarianceNormalization",
                                                            "CumSum",
                                                            "Trilu",
                                                            "ReverseSequence"};
    if (domain.empty() && kShapedAlike.contains(c.node.op_type()) && c.has(0) && c.in(0).is_empty()) {
      c.require_outputs(1);
      return void(c.outputs[0] = c.in(0));
    }
    const auto found = converters().find(domain + ":" + c.node.op_type());
    if (found != converters().end()) {
      const auto run = [found](NodeContext& n) {
        if (is_over_nothing(n)) return run_over_nothing(n, found->second);
        return is_ragged(n) ? run_ragged(n, found->second) : found->second(n);
      };
      return wants_run_encoded(c) ? run_encoded(c, run) : run(c);
    }
    run_function(c, *functions_.at(c.node.domain() + ":" + c.node.op_type()));
  }

  // The outputs of a graph in a node; it sees the values around the node.
  std::vector<Operand> run_body(const Graph& body, const std::vector<Operand>& inputs, Scope* scope) {
    HONE_USER_CHECK(static_cast<size_t>(body.input_size()) == inputs.size())
        << "its body takes " << body.input_size() << " inputs; there are " << inputs.size();
    // A turn of an empty body costs its inputs and outputs.
    count_nodes(1 + inputs.size() + static_cast<size_t>(body.output_size()));
    Scope inner{scope, {}};
    for (size_t i = 0; i < inputs.size(); ++i) inner.values.emplace(body.input(static_cast<int>(i)).name(), inputs[i]);
    read_initializers(body, &inner);
    const size_t before = unsupported_.size();
    run(body.node(), names_of(body.output()), &inner);
    std::vector<Operand> outputs;
    for (const auto& output : body.output()) {
      const Operand* found = inner.find(output.name());
      // Its own nodes are reported already.
      HONE_USER_CHECK(found || unsupported_.size() > before) << "its body does not compute '" << output.name() << "'";
      if (!found) throw UserError("its body has nodes that are not supported");
      outputs.push_back(*found);
    }
    return outputs;
  }

  void run_function(NodeContext& c, const Function& f) {
    HONE_USER_CHECK(depth_ < kDeepestCall) << "functions call each other more than " << kDeepestCall << " deep";
    HONE_USER_CHECK(f.opset_import_size() <= kMostOpsets) << "it names more than " << kMostOpsets << " opsets";
    // Restores the outer context, also when the body fails.
    struct Outside {
      Importer& importer;
      std::map<std::string, int64_t> opsets;
      const std::map<std::string, const Attribute*, std::less<>>* attributes;
      ~Outside() {
        importer.opsets_ = std::move(opsets);
        importer.lowering_.function_attributes = attributes;
        --importer.depth_;
      }
    } outside{*this, opsets_, lowering_.function_attributes};
    // Attributes of the call, which may refer to those of an enclosing function; else the function's defaults.
    std::map<std::string, const Attribute*, std::less<>> attributes;
    for (const Attribute& a : c.node.attribute())
      if (const Attribute* given = c.find(a.name())) attributes.emplace(a.name(), given);
    for (const Attribute& a : f.attribute_proto()) attributes.emplace(a.name(), &a);
    lowering_.function_attributes = &attributes;
    for (const OperatorSet& set : f.opset_import())
      opsets_[set.domain() == "ai.onnx" ? "" : set.domain()] = set.version();
    ++depth_;
    Scope inner{nullptr, {}};
    for (int i = 0; i < f.input_size(); ++i) {
      if (c.has(static_cast<size_t>(i)))
        inner.values[f.input(i)] = *c.inputs[static_cast<size_t>(i)];
      else
        inner.left_out.insert(f.input(i));
    }
    run(f.node(), Names(f.output().begin(), f.output().end()), &inner);
    for (int o = 0; o < std::min(f.output_size(), c.node.output_size()); ++o) {
      const Operand* found = inner.find(f.output(o));
      HONE_USER_CHECK(found) << "its body has nodes that are not supported";
      c.outputs[static_cast<size_t>(o)] = *found;
    }
  }

  void report_unsupported() const {
    if (unsupported_.empty()) return;
    std::string text = "it has nodes that are not supported:";
    for (const auto& [what, nodes] : unsupported_) {
      text += fmt::format("\n  {}; {} node{}: ", what, nodes.size(), nodes.size() == 1 ? "" : "s");
      for (size_t n = 0; n < nodes.size() && n < 3; ++n) text += (n ? ", " : "") + short_line(nodes[n], kMostOfName);
      if (nodes.size() > 3) text += ", …";
    }
    throw UserError(text);
  }

  // The value of an output before its converter sets it.
  inline static const Operand kNotComputed{kNoValue, {DType{}, {-1}}};

  ModelFile& file_;
  const ImportOptions& options_;
  const CountedReads& counted_;
  ReadBudget budget_;
  GraphBuilder builder_;
  FileLowering lowering_;
  std::map<std::string, int64_t> opsets_;
  std::map<std::string, const Function*> functions_;
  std::map<std::string_view, const ValueInfo*> declared_;  ///< of the main graph, where there are users' operators
  std::vector<std::string> notes_;
  std::map<std::string, std::vector<std::string>> unsupported_;
  ValueId count_ = kNoValue;  ///< the number of rows, where there are tables of it
  size_t nodes_ = 0;
  int depth_ = 0;
};

}  // namespace

ImportedModel import_file(ModelFile& file, const std::string& path, const OperatorTable& operators,
                          const ImportOptions& options, const CountedReads& counted) {
  try {
    return Importer(file, std::filesystem::path(path).stem().string(), operators, options, counted).import();
  } catch (const UserError& e) {
    throw UserError(path + ": " + e.what());
  }
}

}  // namespace onnx

std::vector<std::string> onnx_input_names(const std::string& path) {
  const onnx::ModelFile file = onnx::read_model(path);
  std::vector<std::string> names;
  for (const onnx::ValueInfo* v : onnx::inputs_of(file.model.graph())) names.push_back(v->name());
  return names;
}

ImportedModel import_onnx(const std::string& path, const OperatorTable& operators, const ImportOptions& options) {
  try {
    onnx::ModelFile file = onnx::read_model(path);
    return for_images(onnx::import_file(file, path, operators, options), path, operators, options.batch);
  } catch (const UserError& e) {
    // Nodes that are not supported have a line for each kind of them: some may do with other extents.
    const std::string text = e.what();
    const size_t lines = text.find('\n');
    if (lines == std::string::npos) throw;
    const std::optional<ImportOptions> near = onnx::fitting_options(path, operators, options);
    if (!near) throw;
    throw UserError(fmt::format("{}: these nodes do not fit with{}; they do with{}:{}", path,
                                onnx::extents_flags(options, *near), onnx::extents_flags(*near, options),
                                text.substr(lines)));
  }
}

}  // namespace hone
