#include "compiler/model/build_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/json.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/describe.h"
#include "compiler/codegen/llvm/model_entry.h"
#include "compiler/model/weights.h"
#include "compiler/runtime/c_objects.h"

namespace hone {
namespace {

// Values that share memory: views are other names of what they look at.
class Storage {
 public:
  explicit Storage(const Graph& g) : root_(g.values.size()) {
    std::iota(root_.begin(), root_.end(), ValueId{0});
    for (const Node& n : g.nodes)
      if (is_view(n)) root_[static_cast<size_t>(n.outputs[0])] = root(n.inputs[0]);
  }
  ValueId root(ValueId v) const { return root_[static_cast<size_t>(v)]; }

 private:
  std::vector<ValueId> root_;
};

class ModelBuilder {
 public:
  ModelBuilder(const Graph& g, const ModelOptions& options)
      : g_(g), o_(options), storage_(g), places_(g.values.size()) {}

  BuiltModel build() {
    place_tensors();
    std::vector<bool> is_outside(g_.values.size(), false);
    for (size_t v = 0; v < g_.values.size(); ++v) is_outside[v] = tensor_of(static_cast<ValueId>(v)) != nullptr;
    out_.layers = make_layers(g_, o_.target, o_.name, is_outside, o_.choose);
    tell("packing weights", 0, 1);
    const Weights weights = pack_weights(g_, out_.layers);
    out_.weight_bytes = static_cast<int64_t>(weights.bytes.size());
    plan();
    out_.json = json();
    ModelProgram program = program_of(weights);
    place_weights(program);
    std::vector<std::string> parts;
    for (size_t k = 0; k < out_.layers.kernels.size(); ++k) {
      tell("compiling kernels", k, out_.layers.kernels.size());
      const Kernel& kernel = out_.layers.kernels[k];
      parts.push_back(blaming(kernel.workload, [&] {
        return emit_layer_object(kernel.module, o_.target, kernel.symbol, kernel.alignment);
      }));
    }
    parts.push_back(emit_model_object(program, o_.target));
    if (program.weights_file)
      parts.push_back(std::string(weights_object(o_.target.arch)));
    else if (!program_weights_.empty())
      parts.push_back(raw_object(program_weights_, o_.name + ".weights", o_.target));
    parts.push_back(emit_description_object(description(), o_.target));
    out_.objects.push_back({"", std::move(parts)});
    if (auto pool = pool_artifact_object(o_.target, o_.name)) out_.objects.push_back(std::move(*pool));
    out_.header = header();
    return std::move(out_);
  }

 private:
  void tell(std::string_view what, size_t done, size_t all) const {
    if (o_.progress) o_.progress(what, done, all);
  }

  const Place* tensor_of(ValueId v) const {
    const auto& place = places_[static_cast<size_t>(storage_.root(v))];
    return place ? &*place : nullptr;
  }

  // Inputs are read where the caller has them, and outputs written there; what is both, or a constant, or an output
  // twice, is copied at the end.
  void place_tensors() {
    size_t tensor = 0;
    for (const Port& p : g_.inputs) {
      if (p.value != kNoValue) places_[static_cast<size_t>(p.value)] = Place{Place::In::kTensor, 0, tensor};
      ++tensor;
    }
    for (const Port& p : g_.outputs) {
      if (p.value != kNoValue) {
        const ValueId root = storage_.root(p.value);
        if (g_.is_constant(root) || places_[static_cast<size_t>(root)])
          copies_.push_back({root, tensor});
        else
          places_[static_cast<size_t>(root)] = Place{Place::In::kTensor, 0, tensor};
      }
      ++tensor;
    }
  }

  // Buffers: each value that lies in no tensor of the caller, then the workspace of each call.
  void plan() {
    std::vector<ArenaBuffer> buffers;
    std::vector<int> buffer_of(g_.values.size(), -1);
    const int calls = static_cast<int>(out_.layers.calls.size());
    const auto touch = [&](ValueId v, int step) {
      const ValueId root = storage_.root(v);
      if (g_.is_constant(root) || tensor_of(root)) return;
      int& b = buffer_of[static_cast<size_t>(root)];
      if (b < 0) {
        b = static_cast<int>(buffers.size());
        buffers.push_back({bytes_of(g_.value(root).type), step, step});
        arena_values_.push_back(root);
      }
      buffers[static_cast<size_t>(b)].last = step;
    };
    for (int c = 0; c < calls; ++c) {
      const Node& n = g_.nodes[static_cast<size_t>(out_.layers.calls[static_cast<size_t>(c)].node)];
      for (const ValueId v : n.inputs) touch(v, c);
      for (const ValueId v : n.outputs) touch(v, c);
    }
    for (const auto& [root, tensor] : copies_)
      if (!g_.is_constant(root)) touch(root, calls);
    const size_t values = buffers.size();
    for (int c = 0; c < calls; ++c)
      buffers.push_back(
          {out_.layers.kernels[out_.layers.calls[static_cast<size_t>(c)].kernel].module.workspace_bytes, c, c});
    out_.memory = plan_memory(buffers);
    for (size_t b = 0; b < values; ++b)
      places_[static_cast<size_t>(arena_values_[b])] = Place{Place::In::kArena, out_.memory.offsets[b], 0};
    workspaces_.assign(out_.memory.offsets.begin() + static_cast<std::ptrdiff_t>(values), out_.memory.offsets.end());
  }

  ModelProgram program_of(const Weights& weights) {
    ModelProgram program{o_.name, {}, out_.json};
    program_weights_ = weights.bytes;
    for (size_t c = 0; c < out_.layers.calls.size(); ++c) {
      const Layer& call = out_.layers.calls[c];
      const Node& n = g_.nodes[static_cast<size_t>(call.node)];
      ModelStep step{out_.layers.kernels[call.kernel].symbol, {}, workspaces_[c], 0};
      for (size_t p = 0; p < n.inputs.size() + n.outputs.size(); ++p) {
        for (const int64_t offset : weights.offsets[c][p]) step.arguments.push_back({Place::In::kWeights, offset, 0});
        if (!weights.offsets[c][p].empty()) continue;
        const ValueId v = p < n.inputs.size() ? n.inputs[p] : n.outputs[p - n.inputs.size()];
        step.arguments.push_back(*places_[static_cast<size_t>(storage_.root(v))]);
      }
      program.steps.push_back(std::move(step));
    }
    for (const auto& [root, tensor] : copies_) {
      Place from;
      if (g_.is_constant(root)) {
        program_weights_.resize((program_weights_.size() + 63) / 64 * 64);
        from = {Place::In::kWeights, static_cast<int64_t>(program_weights_.size()), 0};
        const auto bytes = g_.value(root).constant->bytes();
        program_weights_.append(bytes.data(), bytes.size());
      } else {
        from = *places_[static_cast<size_t>(root)];
      }
      program.steps.push_back({"", {from, {Place::In::kTensor, 0, tensor}}, 0, bytes_of(g_.value(root).type)});
    }
    return program;
  }

  // In a file of their own, where the options or their size ask for one.
  void place_weights(ModelProgram& program) {
    const auto bytes = static_cast<int64_t>(program_weights_.size());
    if (bytes == 0 || (o_.weights_file.empty() && bytes <= o_.most_embedded)) return;
    HONE_USER_CHECK(!weights_object(o_.target.arch).empty() && o_.target.os == "linux")
        << "weights in a file of their own: Hone was built without a C compiler for " << o_.target.arch;
    out_.weights_file = o_.weights_file.empty() ? o_.name + ".weights" : o_.weights_file;
    out_.weights = begin_of_weights(program_weights_);
    program.weights_file = {out_.weights_file, out_.weights};
    out_.weights += program_weights_;
    std::string().swap(program_weights_);
  }

  ArtifactDescription description() const {
    ArtifactDescription d{.name = o_.name,
                          .target = to_string(o_.target),
                          .has_gpu = false,
                          .has_weights_file = !out_.weights_file.empty(),
                          .workers = o_.target.threads,
                          .workspace_bytes = out_.memory.bytes,
                          .run_workspace_bytes = out_.memory.bytes,
                          .params = {},
                          .layers = {}};
    const auto add = [&](const Port& p, ParamRole role) {
      d.params.push_back({p.name, role, {p.type.dtype, p.type.shape}, {{p.type.dtype, p.type.shape}}, "", ""});
    };
    for (const Port& p : g_.inputs) add(p, ParamRole::kInput);
    for (const Port& p : g_.outputs) add(p, ParamRole::kOutput);
    for (const Layer& call : out_.layers.calls)
      d.layers.push_back({g_.nodes[static_cast<size_t>(call.node)].origin,
                          to_string(out_.layers.kernels[call.kernel].workload), step_symbol(o_.name, d.layers.size())});
    for (const Copy& copy : copies_)
      d.layers.push_back({d.params[copy.tensor].name, "copy", step_symbol(o_.name, d.layers.size())});
    return d;
  }

  std::string json() const {
    OrderedJson j;
    j["name"] = o_.name;
    j["hone"] = hone_version();
    j["codegen"] = codegen_version();
    j["target"] = to_string(o_.target);
    j["workers"] = o_.target.threads;
    j["arena_bytes"] = out_.memory.bytes;
    j["arena_bound"] = out_.memory.bound;
    j["weight_bytes"] = out_.weight_bytes;
    const auto ports = [&](const char* key, const std::vector<Port>& list) {
      j[key] = OrderedJson::array();
      for (const Port& p : list)
        j[key].push_back({{"name", p.name}, {"dtype", to_string(p.type.dtype)}, {"shape", p.type.shape}});
    };
    ports("inputs", g_.inputs);
    ports("outputs", g_.outputs);
    j["layers"] = OrderedJson::array();
    for (const Layer& call : out_.layers.calls) {
      const Kernel& k = out_.layers.kernels[call.kernel];
      j["layers"].push_back({{"name", g_.nodes[static_cast<size_t>(call.node)].origin},
                             {"kernel", k.symbol},
                             {"workload", to_string(k.workload)},
                             {"config", k.config},
                             {"source", k.source}});
    }
    return j.dump();
  }

  std::string header() const {
    std::string macro;
    for (const char c : o_.name) macro += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string h = fmt::format(
        "/* {0}: a model for {1}.\n\n   {0}_run takes these tensors, row-major, on the CPU, aligned as their elements "
        "need, and checks them;\n   the arena is its workspace: {2} bytes, aligned to 64, one for each call that runs "
        "at "
        "the same time.\n",
        o_.name, to_string(o_.target), out_.memory.bytes);
    int number = 0;
    const auto list = [&](const char* what, const std::vector<Port>& ports) {
      for (const Port& p : ports) {
        std::string name;  // it stands in a comment
        for (const char c : p.name) name += c == '*' || c == '/' || static_cast<unsigned char>(c) < 32 ? '_' : c;
        h += fmt::format("   {} {}: {} [{}]  {}\n", number++, what, to_string(p.type.dtype),
                         fmt::join(p.type.shape, ", "), name);
      }
    };
    list("input", g_.inputs);
    list("output", g_.outputs);
    if (!out_.weights_file.empty())
      h += fmt::format(
          "\n   The weights are in {0}: {1}_weights maps that file, which all processes share, and is to be called "
          "before\n   {1}_run, by any thread; further calls do nothing. {1}_error has words for what it returns.\n",
          out_.weights_file, o_.name);
    h += fmt::format(
        "*/\n#ifndef {0}_H\n#define {0}_H\n\n#include \"hone_runtime.h\"\n\n#ifdef __cplusplus\nextern \"C\" "
        "{{\n#endif\n\n"
        "#define {0}_TENSORS {2}\n#define {0}_ARENA_BYTES {3}\n\n"
        "int32_t {1}_run(const DLTensor* const* tensors, int32_t n, void* arena, const HoneRuntime* rt);\n"
        "const char* {1}_error(int32_t code);\nextern const HoneArtifact {1}_artifact;\nextern const char "
        "{1}_json[];\n\n"
        "{5}{4}#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        macro, o_.name, number, out_.memory.bytes, pool_declarations(o_.target, o_.name),
        out_.weights_file.empty()
            ? ""
            : fmt::format("int32_t {0}_weights(const char* path);\nextern const char {0}_weights_file[];\n\n",
                          o_.name));
    return h;
  }

  const Graph& g_;
  const ModelOptions& o_;
  Storage storage_;
  std::vector<std::optional<Place>> places_;  ///< by value; of views that of their root
  struct Copy {
    ValueId root;
    size_t tensor;
  };
  std::vector<Copy> copies_;
  std::vector<ValueId> arena_values_;
  std::vector<int64_t> workspaces_;  ///< by call
  std::string program_weights_;
  BuiltModel out_;
};

}  // namespace

BuiltModel build_model(const Graph& g, const ModelOptions& options) { return ModelBuilder(g, options).build(); }

}  // namespace hone
