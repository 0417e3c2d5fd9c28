#include "compiler/frontend/tflite/import.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "compiler/frontend/lowering/input_binding.h"
#include "compiler/frontend/tflite/node/operator_names.h"
#include "compiler/frontend/tflite/node/quantized_node.h"

namespace hone {
namespace tflite {
namespace {

constexpr size_t kMostNodes = 1 << 20, kMostPorts = 1 << 12, kMostOperands = 1 << 14;
constexpr size_t kMostUnsupported = 100;  // kinds of what is not supported: then it is said
constexpr size_t kMostOfText = 300;

using Indices = flatbuffers::Vector<int32_t>;

size_t size_of(const Indices* indices) { return indices ? indices->size() : 0; }

// The inputs that a caller gives, their names each once.
std::vector<int64_t> inputs_of(const ModelFile& file) {
  const Indices* inputs = file.graph().inputs();
  HONE_USER_CHECK(size_of(inputs) <= kMostPorts) << "it has more than " << kMostPorts << " inputs";
  return inputs ? std::vector<int64_t>(inputs->begin(), inputs->end()) : std::vector<int64_t>();
}

std::vector<DeclaredInput> declared_inputs(ModelFile& file) {
  std::vector<DeclaredInput> out;
  std::set<std::string> names;
  for (const int64_t index : inputs_of(file)) {
    const TensorInfo& t = file.tensor(index);
    HONE_USER_CHECK(!t.is_variable) << "input '" << t.name << "' is a variable, which is not supported";
    HONE_USER_CHECK(names.insert(t.name).second) << "two inputs are called '" << t.name << "'";
    DeclaredInput& input = out.emplace_back();
    input.name = t.name;
    input.element = {t.type.dtype};
    input.shape.emplace();
    for (const std::optional<int64_t>& extent : t.declared) input.shape->push_back({extent, ""});
  }
  return out;
}

class Importer {
 public:
  Importer(ModelFile& file, const std::string& name, const OperatorTable& operators, const ImportOptions& options)
      : file_(file),
        options_(options),
        builder_(operators, name, options.most_work),
        lowering_(builder_, options.most_work / 2) {}

  ImportedModel import() {
    const std::vector<DeclaredInput> declared = declared_inputs(file_);
    const auto inputs = bind_inputs(declared, options_, "", lowering_, &notes_);
    const std::vector<int64_t> indices = inputs_of(file_);
    for (size_t i = 0; i < indices.size(); ++i) values_.emplace(indices[i], inputs.at(declared[i].name));
    const auto* nodes = file_.graph().operators();
    const size_t count = nodes ? nodes->size() : 0;
    HONE_USER_CHECK(count <= kMostNodes) << "it has more than " << kMostNodes << " operators";
    for (size_t n = 0; n < count; ++n) run(n, *nodes->Get(static_cast<flatbuffers::uoffset_t>(n)));
    report_unsupported();
    add_outputs();
    return {builder_.take(), std::move(notes_)};
  }

 private:
  void add_outputs() {
    const Indices* outputs = file_.graph().outputs();
    HONE_USER_CHECK(size_of(outputs) >= 1) << "it has no outputs";
    HONE_USER_CHECK(size_of(outputs) <= kMostPorts) << "it has more than " << kMostPorts << " outputs";
    std::map<std::string, int> names;
    for (const int32_t index : *outputs) {
      const TensorInfo& t = file_.tensor(index);
      const std::optional<Operand> value = find(index);
      HONE_USER_CHECK(value) << "nothing computes the output '" << t.name << "'";
      const int before = names[t.name]++;
      builder_.output(before ? fmt::format("{}_{}", t.name, before) : t.name, value->id, value->type);
    }
  }

  // Values that are computed by now, or stored in the file.
  std::optional<Operand> find(int64_t index) {
    const auto known = values_.find(index);
    if (known != values_.end()) return known->second;
    const TensorInfo& t = file_.tensor(index);
    if (!file_.has_data(t) && element_count_is_positive(t)) return std::nullopt;
    HONE_USER_CHECK(!t.is_variable) << "tensor '" << t.name << "' is a variable, which is not supported";
    return values_.emplace(index, lowering_.constant(file_.data_of(t), t.name)).first->second;
  }

  static bool element_count_is_positive(const TensorInfo& t) {
    for (const int64_t e : t.type.shape)
      if (e == 0) return false;
    return true;
  }

  void run(size_t n, const file::Operator& node) {
    const file::OperatorCode& code = file_.code(node.code());
    const std::string kind = name_of(code), named = fmt::format("operator {} ({})", n, kind);
    HONE_USER_CHECK(size_of(node.inputs()) <= kMostOperands && size_of(node.outputs()) <= kMostOperands)
        << named << " has more than " << kMostOperands << " inputs or outputs";
    NodeContext c{node, number_of(code), code.custom() ? code.custom()->str() : "", {}, {}, {}, {}, lowering_};
    bool is_known = true;  // else an operator in front of it is not supported
    for (size_t i = 0; i < size_of(node.inputs()); ++i) {
      const int64_t index = node.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
      c.read.push_back(index == -1 ? nullptr : &file_.tensor(index));
      c.inputs.emplace_back();
      if (index == -1) continue;
      if (unknown_.contains(index)) {
        is_known = false;
        continue;
      }
      c.inputs.back() = find(index);
      HONE_USER_CHECK(c.inputs.back()) << named << " reads '" << c.read.back()->name
                                       << "', which no operator in front of it computes";
    }
    for (size_t o = 0; o < size_of(node.outputs()); ++o) {
      const int64_t index = node.outputs()->Get(static_cast<flatbuffers::uoffset_t>(o));
      c.computed.push_back(&file_.tensor(index));
      HONE_USER_CHECK(!values_.contains(index) && !unknown_.contains(index) && !file_.has_data(*c.computed.back()))
          << named << " computes '" << c.computed.back()->name << "', which is there already";
    }
    const std::string origin = c.computed.empty() ? kind : c.computed[0]->name;
    c.outputs.resize(c.computed.size());
    builder_.set_origin(origin);
    lowering_.output_name = origin;
    const Converter* convert = converter_of(c);
    bool is_done = false;
    if (is_known || !convert) {
      try {
        HONE_USER_CHECK(convert) << "the operator is not supported";
        HONE_USER_CHECK(!c.outputs.empty()) << "it has no outputs";
        for (const auto* tensors : {&c.read, &c.computed})
          for (const TensorInfo* t : *tensors)
            HONE_USER_CHECK(!t || !t->is_variable) << "it works on the variable '" << t->name << "'";
        run_converter(c, *convert);
        for (const Operand& x : c.outputs) check_axes(x.type.shape);
        is_done = true;
      } catch (const UserError& e) {
        unsupported_[fmt::format("{} (version {}): {}", kind, code.version(), short_line(e.what(), kMostOfText))]
            .push_back(fmt::format("{} '{}'", n, origin));
        if (unsupported_.size() >= kMostUnsupported) report_unsupported();
      }
    }
    for (size_t o = 0; o < c.outputs.size(); ++o) {
      const int64_t index = node.outputs()->Get(static_cast<flatbuffers::uoffset_t>(o));
      const bool is_new = is_done ? values_.emplace(index, c.outputs[o]).second : unknown_.insert(index).second;
      HONE_USER_CHECK(is_new) << named << " computes '" << c.computed[o]->name << "' twice";
    }
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
  std::vector<std::string> notes_;
  std::map<int64_t, Operand> values_;  ///< by the tensor's index
  std::set<int64_t> unknown_;          ///< tensors whose operators are not supported
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
