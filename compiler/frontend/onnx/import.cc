#include "compiler/frontend/onnx/import.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/shell_command.h"
#include "base/text.h"
#include "compiler/frontend/onnx/bodies.h"
#include "compiler/frontend/onnx/empty_batch.h"
#include "compiler/frontend/onnx/fitting_options.h"
#include "compiler/frontend/onnx/import_file.h"
#include "compiler/frontend/onnx/lowering.h"
#include "compiler/frontend/onnx/ragged.h"
#include "compiler/frontend/onnx/sequences.h"
#include "compiler/graph/batch/batch.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace onnx {
namespace {

constexpr int64_t kOldest = 6, kNewest = 25;
constexpr int kDeepestCall = 16;  // functions that call functions
constexpr size_t kMostNodes = 1 << 20;
constexpr size_t kMostUnsupported = 100;  // kinds of what is not supported: then it is said
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
    // What its bodies read from outside.
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

// What these nodes and their bodies read, and what the bodies give, which may be a value from outside.
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
  Importer(ModelFile& file, const std::string& name, const OperatorTable& operators, const OnnxOptions& options,
           const CountedReads& counted)
      : file_(file),
        options_(options),
        counted_(counted),
        builder_(operators, name, options.most_work),
        lowering_(builder_, file_, options.most_work / 2) {
    if (counted_.constants) builder_.leave_large_constants();
    lowering_.rows_are_counted = counted_.constants || counted_.tables;
  }

  OnnxModel import() {
    for (const OperatorSet& set : file_.model.opset_import())
      opsets_[set.domain() == "ai.onnx" ? "" : set.domain()] = set.version();
    const auto own = opsets_.find("");
    HONE_USER_CHECK(file_.model.opset_import_size() <= kMostOpsets)
        << "it names more than " << kMostOpsets << " opsets";
    HONE_USER_CHECK(own == opsets_.end() || (own->second >= kOldest && own->second <= kNewest))
        << "it is of opset " << own->second << "; supported are " << kOldest << " to " << kNewest;
    for (const Function& f : file_.model.functions()) functions_[f.domain() + ":" + f.name()] = &f;
    const Graph& graph = file_.model.graph();
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

  void read_initializers(const Graph& graph, Scope* scope) {
    for (const Tensor& t : graph.initializer()) {
      if (scope->outer) budget_.take(t.ByteSizeLong());
      HONE_USER_CHECK(scope->values.emplace(t.name(), lowering_.of_proto(t)).second)
          << "two tensors are called '" << t.name() << "'";
    }
  }

  // What is bound for a dimension of this name: a number, or a sum like `past + 1` all of whose terms are known.
  std::optional<int64_t> bound_extent(const std::string& symbol) {
    if (symbol.empty()) return std::nullopt;
    if (const auto it = options_.bind.find(symbol); it != options_.bind.end()) {
      bound_.insert(symbol);
      return it->second;
    }
    const auto given = options_.sums.find(symbol);
    if (given != options_.sums.end()) bound_.insert(symbol);
    const std::string& text = given != options_.sums.end() ? given->second : symbol;
    if (text.find('+') == std::string::npos) return std::nullopt;
    int64_t sum = 0;
    std::vector<std::string> used;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find('+', begin), text.size());
      std::string term = text.substr(begin, end - begin);
      std::erase(term, ' ');
      begin = end + 1;
      const auto known = options_.bind.find(term);
      const bool is_number = !term.empty() && term.size() < 10 && std::all_of(term.begin(), term.end(), [](char c) {
        return std::isdigit(static_cast<unsigned char>(c));
      });
      if (known == options_.bind.end() && !is_number) return std::nullopt;
      if (known != options_.bind.end()) used.push_back(term);
      HONE_USER_CHECK(!__builtin_add_overflow(sum, is_number ? std::stoll(term) : known->second, &sum))
          << "--bind " << symbol << ": the sum '" << text << "' is too large";
    }
    bound_.insert(used.begin(), used.end());
    return sum;
  }

  int64_t dimension(const ValueInfo& v, int d, std::vector<std::string>* unbound) {
    const Dimension& dim = v.type().tensor_type().shape().dim(d);
    if (dim.has_dim_value() && dim.dim_value() > 0) {
      HONE_USER_CHECK(dim.dim_value() < int64_t{1} << 32)
          << "input '" << v.name() << "' has an extent of " << dim.dim_value();
      return dim.dim_value();
    }
    if (dim.has_dim_value() && dim.dim_value() == 0) return 0;
    const std::string& symbol = dim.dim_param();
    if (const auto extent = bound_extent(symbol)) {
      HONE_USER_CHECK(*extent >= 0 && *extent < int64_t{1} << 32)
          << "--bind " << symbol << ": an extent is a whole number below 2^32, not " << *extent;
      return *extent;
    }
    if (const auto it = inferred_.find(symbol); !symbol.empty() && it != inferred_.end()) return it->second;
    if (d == 0) {
      HONE_USER_CHECK(options_.batch == 1)
          << "--model-batch " << options_.batch << ": the first dimension of '" << v.name()
          << "' is not fixed in the model; give it instead: "
          << (symbol.empty() ? fmt::format("--shape {}={}", v.name(), shape_flag(v, options_.batch))
                             : fmt::format("--bind {}={}", symbol, options_.batch));
      notes_.push_back(fmt::format("{} = 1", symbol.empty() ? "the first dimension of " + v.name() : symbol));
      if (!symbol.empty()) inferred_.emplace(symbol, 1);
      return 1;
    }
    unbound->push_back(symbol.empty() ? fmt::format("dimension {} of '{}'", d, v.name()) : symbol);
    return 1;
  }

  static bool is_fixed(const Dimension& dim) { return dim.has_dim_value() && dim.dim_value() >= 0; }

  // `1x3xN`, of several that are not known `1x3xN2xN3`: those of dimensions 2 and 3. The first one is `batch` then.
  static std::string shape_flag(const ValueInfo& v, int64_t batch) {
    const Shape& shape = v.type().tensor_type().shape();
    int open = 0;
    for (int d = 1; d < shape.dim_size(); ++d) open += !is_fixed(shape.dim(d));
    std::string text;
    for (int d = 0; d < shape.dim_size(); ++d)
      text += (d ? "x" : "") + (is_fixed(shape.dim(d)) ? std::to_string(shape.dim(d).dim_value())
                                : d == 0               ? std::to_string(batch)
                                : open == 1            ? "N"
                                                       : "N" + std::to_string(d));
    return text;
  }

  // `[batch, 3, ?, ?]`: what has no name is none that a flag could give.
  static std::string shape_text(const Shape& shape) {
    std::string text;
    for (const Dimension& dim : shape.dim())
      text += (text.empty() ? "" : ", ") + (is_fixed(dim)             ? std::to_string(dim.dim_value())
                                            : dim.dim_param().empty() ? "?"
                                                                      : dim.dim_param());
    return "[" + text + "]";
  }

  // What --bind, --bind-data and --shape can name: `image [batch, 3, ?, ?], mask [batch, length]`.
  std::string inputs_text(const Graph& graph) const {
    std::set<std::string_view> initializers;
    for (const Tensor& t : graph.initializer()) initializers.insert(t.name());
    std::string text;
    for (const ValueInfo& v : graph.input()) {
      if (initializers.contains(v.name())) continue;
      const TensorTypeInfo& info = v.type().tensor_type();
      text += (text.empty() ? "" : ", ") + v.name() + (info.has_shape() ? " " + shape_text(info.shape()) : "");
    }
    return text.empty() ? "no inputs" : text;
  }

  // A named dimension of an input whose shape is given, or whose elements are, has the same extent in all others.
  void name_dimensions(const Graph& graph) {
    for (const ValueInfo& v : graph.input()) {
      const auto value = options_.values.find(v.name());
      const auto given = options_.shapes.find(v.name());
      if (value == options_.values.end() && given == options_.shapes.end()) continue;
      const bool is_value = value != options_.values.end();
      const Extents& extents = is_value ? value->second.type().shape : given->second;
      const std::string flag = (is_value ? "--bind-data " : "--shape ") + v.name();
      const Shape& shape = v.type().tensor_type().shape();
      if (shape.dim_size() != static_cast<int>(extents.size())) continue;
      for (int d = 0; d < shape.dim_size(); ++d) {
        const std::string& symbol = shape.dim(d).dim_param();
        if (symbol.empty()) continue;
        const int64_t extent = extents[static_cast<size_t>(d)];
        const auto bound = options_.bind.find(symbol);
        HONE_USER_CHECK(bound == options_.bind.end() || bound->second == extent)
            << flag << ": " << symbol << " is " << extent << " there, and " << bound->second << " by --bind";
        if (bound != options_.bind.end()) bound_.insert(symbol);
        const int64_t known = inferred_.emplace(symbol, extent).first->second;
        HONE_USER_CHECK(known == extent) << flag << ": " << symbol << " is " << extent << " there, and " << known
                                         << " for another input";
      }
    }
  }

  // Elements that are given for an input are of its type and, as far as the model says it, its shape.
  void check_value(const ValueInfo& v, const TensorType& given) {
    HONE_USER_CHECK(v.type().has_tensor_type()) << "input '" << v.name() << "' is not a tensor";
    HONE_USER_CHECK(!options_.shapes.contains(v.name()) && !options_.bind.contains(v.name()))
        << "--bind-data " << v.name() << ": its elements say what --shape and --bind would say again";
    const TensorTypeInfo& info = v.type().tensor_type();
    const DType dtype = element_type_of(info.elem_type(), fmt::format("input '{}': ", v.name())).dtype;
    bool fits = given.dtype == dtype;
    if (info.has_shape()) {
      fits = fits && info.shape().dim_size() == static_cast<int>(given.shape.size());
      for (int d = 0; d < info.shape().dim_size(); ++d) {
        const Dimension& dim = info.shape().dim(d);
        fits = fits && (!dim.has_dim_value() || dim.dim_value() == given.shape[static_cast<size_t>(d)]);
      }
    }
    HONE_USER_CHECK(fits) << "--bind-data " << v.name() << ": the file has " << to_string(given) << "; the input is "
                          << to_string(dtype) << (info.has_shape() ? " " + shape_text(info.shape()) : "");
  }

  void read_inputs(const Graph& graph, Scope* scope) {
    std::vector<std::string> unbound, shapes;
    std::set<std::string> known;
    std::set<std::string_view> initializers;
    for (const Tensor& t : graph.initializer()) initializers.insert(t.name());
    name_dimensions(graph);
    for (const ValueInfo& v : graph.input()) {
      if (initializers.contains(v.name())) continue;  // a default that nobody overrides
      HONE_USER_CHECK(known.insert(v.name()).second) << "two inputs are called '" << v.name() << "'";
      if (const auto it = options_.values.find(v.name()); it != options_.values.end()) {
        check_value(v, it->second.type());
        Operand known = lowering_.constant(it->second, v.name());
        known.encoding = element_type_of(v.type().tensor_type().elem_type(), "").encoding;
        scope->values[v.name()] = known;
        continue;
      }
      HONE_USER_CHECK(!v.type().has_sequence_type() && !v.type().has_optional_type())
          << "input '" << v.name() << "' is " << (v.type().has_sequence_type() ? "a sequence" : "an optional")
          << "; inputs of a model are tensors";
      HONE_USER_CHECK(v.type().has_tensor_type()) << "input '" << v.name() << "' is not a tensor";
      const TensorTypeInfo& info = v.type().tensor_type();
      const auto [dtype, encoding] = element_type_of(info.elem_type(), fmt::format("input '{}': ", v.name()));
      TensorType type{dtype, {}};
      const auto given = options_.shapes.find(v.name());
      HONE_USER_CHECK(given != options_.shapes.end() || info.has_shape())
          << "input '" << v.name()
          << "' has no shape; give one: " << shell_option("--shape", v.name() + "=1x3x224x224");
      HONE_USER_CHECK(info.shape().dim_size() <= static_cast<int>(kMostAxes))
          << "input '" << v.name() << "' has " << info.shape().dim_size() << " axes; " << kMostAxes << " are the most";
      const size_t before = unbound.size();
      if (given != options_.shapes.end()) {
        HONE_USER_CHECK(!info.has_shape() || info.shape().dim_size() == static_cast<int>(given->second.size()))
            << "--shape " << v.name() << ": the input has " << info.shape().dim_size() << " dimensions, "
            << shape_text(info.shape());
        type.shape = given->second;
        for (int d = 0; d < info.shape().dim_size(); ++d) {
          const Dimension& dim = info.shape().dim(d);
          const int64_t extent = type.shape[static_cast<size_t>(d)];
          HONE_USER_CHECK(dim.dim_value() <= 0 || dim.dim_value() == extent)
              << "--shape " << v.name() << ": dimension " << d << " is " << dim.dim_value() << " in the model"
              << (d == 0 && dim.dim_value() == 1 ? fmt::format("; --model-batch {} builds it for more", extent) : "");
        }
      } else {
        for (int d = 0; d < info.shape().dim_size(); ++d) type.shape.push_back(dimension(v, d, &unbound));
      }
      check_axes(type.shape);
      element_count(type.shape);
      if (unbound.size() > before) {
        shapes.push_back(shell_option("--shape", v.name() + "=" + shape_flag(v, 1)));
      }
      if (const auto it = options_.bind.find(v.name()); it != options_.bind.end()) {
        const int64_t count = element_count(type.shape);
        HONE_USER_CHECK(count >= 1 && type.dtype.is_integer() && encoding == Encoding::kPlain &&
                        lowering_.may_make(count * 8))
            << "--bind " << v.name() << ": the input is " << to_string(type.dtype)
            << (info.has_shape() ? " " + shape_text(info.shape()) : "") << "; one whole number can be bound";
        bound_.insert(v.name());
        const std::vector<int64_t> numbers(static_cast<size_t>(count), it->second);
        scope->values[v.name()] = lowering_.constant(TensorData::of_numbers(numbers, type.dtype).reshaped(type.shape));
        continue;
      }
      Operand input{builder_.input(v.name(), type), type};
      input.encoding = encoding;
      scope->values[v.name()] = input;
    }
    // A name that is wrong says more than what is missing because of it.
    const auto require_bound = [&](const std::string& name) {
      HONE_USER_CHECK(bound_.contains(name))
          << (name == counted_.symbol ? "--cache " : "--bind ") << name
          << ": no input has a dimension of that name, nor is one called so; there are " << inputs_text(graph);
    };
    for (const auto& [name, value] : options_.bind) require_bound(name);
    for (const auto& [name, text] : options_.sums) require_bound(name);
    for (const auto& [name, shape] : options_.shapes)
      HONE_USER_CHECK(known.contains(name))
          << "--shape " << name << ": there is no such input; there are " << inputs_text(graph);
    for (const auto& [name, data] : options_.values)
      HONE_USER_CHECK(known.contains(name))
          << "--bind-data " << name << ": there is no such input; there are " << inputs_text(graph);
    if (!unbound.empty()) {
      std::sort(unbound.begin(), unbound.end());
      unbound.erase(std::unique(unbound.begin(), unbound.end()), unbound.end());
      std::string command;
      bool has_names = true;
      for (const std::string& name : unbound) has_names = has_names && name.find(' ') == std::string::npos;
      for (const std::string& name : has_names ? unbound : shapes)
        command += " " + (has_names ? shell_option("--bind", name + "=N") : name);
      throw UserError(fmt::format("{} {} not known; give {}:{}", fmt::join(unbound, ", "),
                                  unbound.size() == 1 ? "is" : "are", unbound.size() == 1 ? "it" : "them", command));
    }
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
    if (is_known || !is_supported(node, domain)) {
      try {
        HONE_USER_CHECK(is_supported(node, domain)) << "the operator is not known";
        HONE_USER_CHECK(node.output_size() > 0) << "it has no outputs";
        if (is_row_or_body(node, domain)) check_sequences(c);
        run_row(c, domain, scope);
        for (const Operand& x : c.outputs) check_axes(x.type.shape);
        for (int o = 0; o < node.output_size(); ++o)
          HONE_USER_CHECK(!c.is_wanted[static_cast<size_t>(o)] ||
                          c.outputs[static_cast<size_t>(o)].type != kNotComputed.type)
              << "output " << o << " is not supported";
        is_done = true;
        if (rows().contains(domain + ":" + node.op_type())) tell_constants(c, number, builder_.node_count() > before);
      } catch (const UserError& e) {
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

  // Constants that have a row for each number of rows become what the call's row is.
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
      const OperandPlace place{number, i};
      if (!c.has(i) || c.inputs[i]->sequence || !(counted_.wanted ? counted_.wanted->contains(place) : makes_nodes))
        continue;
      if (auto data = lowering_.data_of(*c.inputs[i])) counted_.constants->emplace(place, KnownOperand{&c.node, *data});
    }
  }

  static bool is_row_or_body(const Node& node, const std::string& domain) {
    return (domain.empty() && body_rows().contains(node.op_type())) || rows().contains(domain + ":" + node.op_type());
  }
  bool is_supported(const Node& node, const std::string& domain) const {
    return is_row_or_body(node, domain) || functions_.contains(node.domain() + ":" + node.op_type());
  }

  void run_row(NodeContext& c, const std::string& domain, Scope* scope) {
    if (domain.empty())
      if (const auto with_body = body_rows().find(c.node.op_type()); with_body != body_rows().end()) {
        const auto run = [&](const Graph& body, const std::vector<Operand>& inputs) {
          return run_body(body, inputs, scope);
        };
        return with_body->second({c, run, unsupported_, notes_});
      }
    // What has the shape of its first input has no elements where that has none.
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
    const auto row = rows().find(domain + ":" + c.node.op_type());
    if (row != rows().end()) {
      const auto run = [row](NodeContext& n) {
        if (is_over_nothing(n)) return run_over_nothing(n, row->second);
        return is_ragged(n) ? run_ragged(n, row->second) : row->second(n);
      };
      return wants_run_encoded(c) ? run_encoded(c, run) : run(c);
    }
    run_function(c, *functions_.at(c.node.domain() + ":" + c.node.op_type()));
  }

  // The outputs of a graph in a node; it sees what stands around the node.
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
    // As it was outside again, also where the body fails.
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
    // What the call gives, which may be an attribute of a function around it; else the function's defaults.
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

  // What an output is until its node's row says it.
  inline static const Operand kNotComputed{kNoValue, {DType{}, {-1}}};

  ModelFile& file_;
  const OnnxOptions& options_;
  const CountedReads& counted_;
  ReadBudget budget_;
  GraphBuilder builder_;
  Lowering lowering_;
  std::map<std::string, int64_t> opsets_, inferred_;
  std::map<std::string, const Function*> functions_;
  std::set<std::string> bound_;
  std::vector<std::string> notes_;
  std::map<std::string, std::vector<std::string>> unsupported_;
  ValueId count_ = kNoValue;  ///< the number of rows, where there are tables of it
  size_t nodes_ = 0;
  int depth_ = 0;
};

}  // namespace

OnnxModel import_file(ModelFile& file, const std::string& path, const OperatorTable& operators,
                      const OnnxOptions& options, const CountedReads& counted) {
  try {
    return Importer(file, std::filesystem::path(path).stem().string(), operators, options, counted).import();
  } catch (const UserError& e) {
    throw UserError(path + ": " + e.what());
  }
}

}  // namespace onnx

namespace {

OnnxModel of_a_batch(OnnxModel model, const std::string& path, const OperatorTable& operators, int64_t batch) {
  if (batch == 1) return model;
  try {
    BatchedGraph made = batched(model.graph, batch, operators);
    made.notes.insert(made.notes.begin(), model.notes.begin(), model.notes.end());
    return {std::move(made.graph), std::move(made.notes)};
  } catch (const UserError& e) {
    throw UserError(fmt::format("{}: --model-batch {}: {}", path, batch, e.what()));
  }
}

}  // namespace

std::vector<std::string> onnx_input_names(const std::string& path) {
  const onnx::ModelFile file = onnx::read_model(path);
  std::set<std::string> initialized;
  for (const onnx::Tensor& t : file.model.graph().initializer()) initialized.insert(t.name());
  std::vector<std::string> names;
  for (const onnx::ValueInfo& v : file.model.graph().input())
    if (!initialized.contains(v.name())) names.push_back(v.name());
  return names;
}

OnnxModel import_onnx(const std::string& path, const OperatorTable& operators, const OnnxOptions& options) {
  try {
    onnx::ModelFile file = onnx::read_model(path);
    return of_a_batch(onnx::import_file(file, path, operators, options), path, operators, options.batch);
  } catch (const UserError& e) {
    // Nodes that are not supported have a line for each kind of them: some may do with other extents.
    const std::string text = e.what();
    const size_t lines = text.find('\n');
    if (lines == std::string::npos) throw;
    const std::optional<OnnxOptions> near = onnx::fitting_options(path, operators, options);
    if (!near) throw;
    throw UserError(fmt::format("{}: these nodes do not fit with{}; they do with{}:{}", path,
                                onnx::extents_flags(options, *near), onnx::extents_flags(*near, options),
                                text.substr(lines)));
  }
}

}  // namespace hone
