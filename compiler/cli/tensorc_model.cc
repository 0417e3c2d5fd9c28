#include "compiler/cli/tensorc_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "compiler/cli/model_layers.h"
#include "compiler/cli/pass_texts.h"
#include "compiler/cli/reproducer.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/frontend/onnx/tensor_file.h"
#include "compiler/model/build_model.h"
#include "compiler/model/check_layers.h"
#include "compiler/model/check_whole.h"
#include "compiler/model/model_data.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string identifier(const fs::path& path) {
  std::string name = path.stem().string();
  if (name.rfind("lib", 0) == 0 && name.size() > 3) name = name.substr(3);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "m" + name : name;
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(a), ignored) == fs::weakly_canonical(fs::absolute(b), ignored);
}

// FOLDER/input_0.npy or .pb, …
std::vector<TensorData> tensors_of(const std::string& folder, const std::string& kind) {
  std::vector<TensorData> out;
  for (;;) {
    const std::string stem = fmt::format("{}/{}_{}", folder, kind, out.size());
    const std::string file = fs::exists(stem + ".npy") ? stem + ".npy" : stem + ".pb";
    if (!fs::exists(file)) return out;
    out.push_back(read_tensor_file(file));
  }
}

class ModelCommand {
 public:
  ModelCommand(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out, std::ostream& err)
      : operators_(operators), o_(o), out_(out), err_(err) {}

  Status run() {
    const int threads =
        o_.threads > 0 ? o_.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const Target here = host_target(threads);
    Target target = Target::parse(o_.target);
    if (target.is_gpu()) return usage_error("--target " + o_.target + ": models are built for CPUs");
    if (!target.is_complete()) target = target.completed_by(here);
    if (o_.threads > 0) target.threads = o_.threads;
    const auto [form, after] = emit_form(o_.emit);
    const FunctionTable functions = standard_functions();
    std::string text;
    PassHooks<Graph> hooks;
    hooks.left_out = {o_.disabled.begin(), o_.disabled.end()};
    hooks.after = [&, after = after](std::string_view pass, const Graph& g, double) {
      if (pass == after) text = to_string(g);
      if (pass == "import" && o_.check) imported_ = g;
    };
    hooks.on_failure = [&](std::string_view pass, const Graph& g) { keep_input(pass, g); };
    const PassContext context{operators_, functions};
    const OnnxModel model = prepare_model(o_.model, context, target, onnx_options(o_.bind, o_.shapes), hooks);
    for (const std::string& note : model.notes) err_ << "assumed: " << note << "\n";
    if (form == "graph") {
      if (after.empty()) text = to_string(model.graph);
      if (text.empty())
        return usage_error(fmt::format("--emit {}: there is no such pass; there are import, {}", o_.emit,
                                       names_of(model_passes(context, target))));
      out_ << text;
      return absl::OkStatus();
    }
    if (!o_.emit.empty() && o_.emit != "so" && o_.emit != "obj")
      return usage_error(fmt::format("--emit {}: of a model there is graph, obj, so", o_.emit));
    const bool runs_here = target.arch == here.arch && target.mcpu == here.mcpu;
    const bool is_run = o_.bench || o_.check || o_.profile || !o_.inputs.empty();
    if (is_run && o_.emit == "obj")
      return usage_error("--bench, --check, --profile and --inputs run a shared object: --emit so");
    if (is_run && !runs_here)
      return no_device_error("--bench, --check, --profile and --inputs run here, and this machine is another");

    const std::string path =
        !o_.output.empty() ? o_.output : fs::path(o_.model).stem().string() + (o_.emit == "obj" ? ".o" : ".so");
    const std::string name = identifier(path);
    HONE_ASSIGN_OR_RETURN(const auto hub, db::TopHub::open(db::usual_hub(o_.db)));
    std::map<std::string, int> sources;
    ModelOptions options{name, target, [&](const Workload& w, const Space& space) {
                           if (o_.config == "default") return ChosenConfig{space.default_config(), "default", ""};
                           auto chosen = choose_config(w, target, space, *hub);
                           HONE_USER_CHECK(chosen.ok()) << message_of(chosen.status());
                           return *chosen;
                         }};
    options.weights_file = fs::path(o_.weights).filename().string();
    const std::string header = fs::path(path).replace_extension(".h").string();
    for (const std::string& other : {path, header, o_.model})
      if (!o_.weights.empty() && (options.weights_file.empty() || is_same_file(o_.weights, other)))
        return usage_error(fmt::format("--weights {}: this is no file of its own", o_.weights));
    const BuiltModel built = build_model(model.graph, options);
    for (const Layer& call : built.layers.calls) {
      const std::string& source = built.layers.kernels[call.kernel].source;
      ++sources[source.substr(0, source.find(' '))];
    }
    std::string found;
    for (const auto& [source, count] : sources)
      found += fmt::format("{}{} {}", found.empty() ? "" : ", ", count, source);
    err_ << fmt::format("{} layers ({} kernels), configs: {}; arena {:.1f} MB (at least {:.1f}), weights {:.1f} MB\n",
                        built.layers.calls.size(), built.layers.kernels.size(), found,
                        static_cast<double>(built.memory.bytes) / 1e6, static_cast<double>(built.memory.bound) / 1e6,
                        static_cast<double>(built.weight_bytes) / 1e6);
    std::string written;
    std::string weights;
    if (!built.weights_file.empty()) {
      weights = o_.weights.empty() ? (fs::path(path).parent_path() / built.weights_file).string() : o_.weights;
      if (o_.weights.empty())
        err_ << fmt::format("the weights, {:.1f} GB, are in a file of their own: {}\n",
                            static_cast<double>(built.weight_bytes) / 1e9, weights);
      HONE_RETURN_IF_ERROR(write_atomically(weights, built.weights));
      written += weights + " ";
    } else if (!o_.weights.empty()) {
      err_ << "--weights: the model has none, and no file is written\n";
    }
    if (o_.emit == "obj") {
      for (const ArtifactObject& object : built.objects) {
        const std::string file =
            object.suffix.empty() ? path : fs::path(path).replace_extension().string() + object.suffix + ".o";
        HONE_RETURN_IF_ERROR(write_object(object, file));
        written += file + " ";
      }
    } else {
      link_artifact(built.objects, target, name, path, o_.sysroot);
      written += path + " ";
    }
    HONE_RETURN_IF_ERROR(write_atomically(header, built.header));
    err_ << "wrote " << written << header << "\n";
    if (o_.json) out_ << built.json << "\n";
    if (o_.explain) out_ << layers_text(model.graph, built.layers);
    if (o_.profile) {
      HONE_ASSIGN_OR_RETURN(const std::string table, profile_text(model.graph, built.layers, target));
      out_ << table;
    }
    if (!(o_.bench || o_.check || !o_.inputs.empty())) return absl::OkStatus();
    return run_here(model.graph, built.layers, target, LoadedModel(path, name, threads, weights));
  }

 private:
  // Of a pass that fails, which is a bug of Hone: a file to send with the report.
  void keep_input(std::string_view pass, const Graph& g) {
    std::string command = "tensorc " + o_.model;
    for (const std::string& bind : o_.bind) command += " --bind " + bind;
    for (const std::string& shape : o_.shapes) command += " --shape " + shape;
    for (const std::string& disabled : o_.disabled) command += " --disable " + disabled;
    command += fmt::format(" --target '{}' --emit graph:after={}", o_.target, pass);
    const auto written = write_reproducer(
        ".", {std::string(pass), "a pass failed over the graph of " + o_.model, to_string(g)}, command);
    err_ << (written.ok() ? "what is needed to see this error again is in " + *written : message_of(written.status()))
         << "\n";
  }

  Status run_here(const Graph& g, const Layers& layers, const Target& target, LoadedModel loaded) {
    std::vector<TensorData> inputs, wanted;
    if (!o_.inputs.empty()) {
      inputs = tensors_of(o_.inputs, "input");
      wanted = tensors_of(o_.inputs, "output");
    } else {
      inputs = seeded_inputs(g);
    }
    const std::vector<TensorData> got = loaded.run(inputs);
    if (o_.check) HONE_RETURN_IF_ERROR(check(g, layers, target, inputs, got));
    bool is_right = true;
    for (size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
      if (got[i].type() != wanted[i].type()) {
        out_ << fmt::format("output {}: {} instead of {}\n", g.outputs[i].name, to_string(got[i].type()),
                            to_string(wanted[i].type()));
        is_right = false;
        continue;
      }
      const Difference d = difference(got[i], wanted[i]);
      out_ << fmt::format("output {}: largest difference {:.2g} of the largest value, {:.2g} in all\n",
                          g.outputs[i].name, d.largest, d.frobenius);
      is_right = is_right && d.largest < 5e-2;
    }
    if (o_.bench) {
      std::vector<double> times;
      const auto begin = std::chrono::steady_clock::now();
      const auto seconds_since = [](auto start) {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      };
      while (times.size() < 5 || (seconds_since(begin) < 2 && times.size() < 1000)) {
        const auto start = std::chrono::steady_clock::now();
        loaded.run_again();
        times.push_back(seconds_since(start));
      }
      std::sort(times.begin(), times.end());
      out_ << fmt::format("{:.3f} ms (median of {}, fastest {:.3f})\n", times[times.size() / 2] * 1e3, times.size(),
                          times[0] * 1e3);
    }
    if (!is_right) return Status(absl::StatusCode::kInternal, "the model's outputs are wrong");
    return absl::OkStatus();
  }

  // Each layer against its reference, the artifact against its layers, and against the model as it was imported.
  Status check(const Graph& g, const Layers& layers, const Target& target, const std::vector<TensorData>& inputs,
               const std::vector<TensorData>& got) {
    const LayerCheck c = check_layers(g, layers, target, inputs);
    if (!c.wrong.empty()) return Status(absl::StatusCode::kInternal, "check: wrong result: " + c.wrong);
    for (size_t o = 0; o < got.size(); ++o) {
      const auto a = got[o].bytes(), b = c.outputs[o].bytes();
      if (!std::equal(a.begin(), a.end(), b.begin(), b.end()))
        return Status(absl::StatusCode::kInternal,
                      fmt::format("check: output '{}' is not what its layers compute", g.outputs[o].name));
    }
    err_ << fmt::format("check: {} layers, {} elements agree with the reference (relative error {:.2g})\n", c.checked,
                        c.compared, c.rel_error);
    err_ << fmt::format("check: {} layers agree on adversarial inputs ({} in all){}\n", c.stressed, c.rounds,
                        c.stress_left_out == 0 ? "" : fmt::format("; no time for {} layers", c.stress_left_out));
    const WholeCheck whole = check_whole(imported_, g, target, inputs, got);
    if (!whole.wrong.empty()) return Status(absl::StatusCode::kInternal, "check: wrong result: " + whole.wrong);
    err_ << (whole.left_out.empty()
                 ? fmt::format("check: the whole agrees with the imported model (off by {:.2g}, allowed {:.2g})\n",
                               whole.error, whole.allowed)
                 : fmt::format("check: the whole was not compared with the imported model: {}\n", whole.left_out));
    return absl::OkStatus();
  }

  const OperatorTable& operators_;
  const TensorcOptions& o_;
  std::ostream &out_, &err_;
  Graph imported_;  ///< as it was before all passes; empty without --check
};

}  // namespace

Status run_tensorc_model(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out,
                         std::ostream& err) {
  return ModelCommand(operators, o, out, err).run();
}

}  // namespace hone
