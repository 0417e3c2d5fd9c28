#include "compiler/cli/tensorc_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/command_files.h"
#include "base/cpus.h"
#include "base/exit_code.h"
#include "base/file_set.h"
#include "base/shell_command.h"
#include "base/time_text.h"
#include "base/writable.h"
#include "compiler/build/denormals.h"
#include "compiler/cli/gpu_host.h"
#include "compiler/cli/model_flags.h"
#include "compiler/cli/model_gpu.h"
#include "compiler/cli/model_layers.h"
#include "compiler/cli/pass_texts.h"
#include "compiler/cli/quantize_model.h"
#include "compiler/cli/remote_layers.h"
#include "compiler/cli/report_files.h"
#include "compiler/cli/report_of.h"
#include "compiler/cli/reproducer.h"
#include "compiler/cli/run_variant.h"
#include "compiler/cli/tensorc_files.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/parse_target.h"
#include "compiler/driver/model_request.h"
#include "compiler/model/build_model.h"
#include "compiler/model/prepare.h"
#include "compiler/ops/runs.h"

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

int64_t bytes_of_file(const std::string& path) {
  std::error_code ignored;
  const auto bytes = fs::file_size(path, ignored);
  return ignored ? 0 : static_cast<int64_t>(bytes);
}

double megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

class ModelCommand {
 public:
  ModelCommand(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out, std::ostream& err)
      : operators_(operators),
        o_(o),
        out_(out),
        err_(err),
        others_(o.cpu_account),
        thread_counts_(thread_counts(o.threads)),
        request_(request_of(o, std::max<size_t>(1, thread_counts_.size()))),
        threads_(!thread_counts_.empty() ? thread_counts_[0] : usable_cpu_count()),
        here_(host_target(threads_)),
        target_(parse_target(o.target)) {}

  Status run() {
    if (o_.remote) {
      HONE_ASSIGN_OR_RETURN(remote_, o_.remote(o_.target, thread_counts_.empty() ? 0 : threads_));
      target_ = remote_->target();
      err_ << fmt::format("device: {} ({})\n", remote_->name(), to_string(target_));
    } else if (target_.is_gpu()) {
      HONE_ASSIGN_OR_RETURN(gpu_, open_model_gpu(target_, is_run()));
      target_ = gpu_.target;
    }
    if (target_.is_gpu()) {
      if (thread_counts_.size() > 1) return usage_error("--threads " + o_.threads + ": of a GPU's model there is one");
    } else {
      if (!target_.is_complete()) target_ = target_.completed_by(here_);
      if (!thread_counts_.empty()) target_.threads = threads_;
    }
    HONE_ASSIGN_OR_RETURN(host_, gpu_host(o_, target_, here_));
    denormals_ = denormals_for(o_.denormals, target_);
    HONE_ASSIGN_OR_RETURN(hub_, db::TopHub::open(db::usual_hub(o_.db)));
    if (!o_.quantize.type.empty())
      quantizer_.emplace(o_, PassContext{operators_, functions_}, here_, err_);
    else if (!o_.quantize.calibrate.empty() || !o_.quantize.ranges.empty() || !o_.quantize.keep.empty())
      return usage_error("--calibrate, --ranges and --keep belong to --quantize int8");
    const std::vector<ModelBinding>& bindings = request_.bindings;
    const auto [form, after] = emit_form(o_.emit);
    if (form == "graph") {
      if (!o_.reports.empty()) return usage_error("--report belongs to what is built: --emit so, obj or c");
      if (bindings.size() > 1) return usage_error("--emit graph: of one binding; give one value of each flag");
      return print_graph(bindings[0], after);
    }
    HONE_RETURN_IF_ERROR(check_flags());
    for (const ModelBinding& binding : bindings) prepare(binding);
    for (const auto& p : prepared_) graphs_.push_back(&p->graph);
    share_constants(graphs_);
    list_variants();
    if (!o_.inputs.empty()) HONE_RETURN_IF_ERROR(read_inputs());
    HONE_RETURN_IF_ERROR(build());
    if (quantizer_) HONE_RETURN_IF_ERROR(report_quantization());
    return o_.reports.empty() ? answer() : answer_and_report();
  }

 private:
  // A binding's graph, and what was noted on the way.
  struct Prepared {
    ModelBinding binding;
    FusionNotes notes;
    std::vector<ReportPass> passes;
    Graph imported;  ///< as it was before all passes; empty without --check
    Graph graph;
    std::optional<Growth> growth;  ///< of --cache
    const Growth* caches() const { return growth ? &*growth : nullptr; }
  };

  bool is_run() const { return o_.bench || o_.check || o_.profile || !o_.inputs.empty(); }

  Status check_flags() {
    const bool is_c = o_.emit == "c" && !target_.is_gpu();
    if (!o_.emit.empty() && o_.emit != "so" && o_.emit != "obj" && !is_c)
      return usage_error(
          fmt::format("--emit {}: of a model there is graph, {}obj, so", o_.emit, target_.is_gpu() ? "" : "c, "));
    if (remote_ && !o_.inputs.empty())
      return usage_error(
          "--inputs runs the artifact, which is possible here only: with --tracker there are --check, --bench and "
          "--profile, layer by layer");
    if (is_run() && !remote_ && (o_.emit == "obj" || is_c))
      return usage_error("--bench, --check, --profile and --inputs run a shared object: --emit so");
    if (is_run() && !remote_ && !is_here())
      return no_device_error(
          "--bench, --check, --profile and --inputs run here, and this machine is another; with --tracker and --device "
          "an agent there checks and times, and `tensorc run` there runs what was built");
    path_ = !o_.output.empty() ? o_.output
                               : fs::path(o_.model).stem().string() + (o_.emit == "obj" ? ".o"
                                                                       : is_c           ? ".c"
                                                                                        : ".so");
    header_ = fs::path(path_).replace_extension(".h").string();
    name_ = identifier(path_);
    if (!o_.weights.empty() && fs::path(o_.weights).filename().empty())
      return usage_error(fmt::format("--weights {}: this is a folder, not a file", o_.weights));
    HONE_ASSIGN_OR_RETURN(before_, check_report_flags(o_.reports, o_.compare));
    files_ = files_read(o_);
    files_.writes(o_.output.empty() ? "the artifact" : "-o", path_);
    files_.writes("its header", header_);
    files_.writes("--weights", o_.weights);
    files_.writes("--ranges", o_.quantize.ranges);
    for (const std::string& report : o_.reports) files_.writes("--report", report);
    HONE_RETURN_IF_ERROR(files_.check());
    std::vector<std::string> made = {path_, header_};
    for (const std::string& path : {o_.weights, o_.quantize.ranges})
      if (!path.empty()) made.push_back(path);
    made.insert(made.end(), o_.reports.begin(), o_.reports.end());
    for (const std::string& path : made) HONE_RETURN_IF_ERROR(check_writable(path));
    return absl::OkStatus();
  }
  bool is_here() const {
    if (remote_) return false;
    return target_.is_gpu() ? gpu_.device() != nullptr : target_.arch == here_.arch && target_.mcpu == here_.mcpu;
  }

  PassContext pass_context(FusionNotes& notes) const {
    PassContext context{operators_, functions_, 0, &notes};
    context.sums_in_f16 = request_.sums_in_f16;
    if (o_.config != "default")
      context.measured = [this](const Workload& w) { return measured_seconds(w, target_, *hub_); };
    return context;
  }

  Graph prepared_model(const ModelBinding& binding, FusionNotes& notes, PassHooks<Graph> hooks,
                       std::optional<Growth>* growth) {
    hooks.left_out = {o_.disabled.begin(), o_.disabled.end()};
    hooks.on_failure = [&](std::string_view pass, const Graph& g) { keep_input(binding, pass, g); };
    ReadModel model =
        read_model(request_, binding, operators_,
                   quantizer_ ? [this](const Graph& g) { return quantizer_->quantize(g); } : RewriteImported());
    if (model.growing) *growth = *model.growth();
    for (const std::string& note : model.notes)
      if (assumed_.insert(note).second) err_ << "assumed: " << note << "\n";
    return hone::prepare(std::move(model), pass_context(notes), target_, hooks);
  }

  Status print_graph(const ModelBinding& binding, const std::string& after) {
    FusionNotes notes;
    std::string text;
    PassHooks<Graph> hooks;
    hooks.after = [&](std::string_view pass, const Graph& g, double) {
      if (pass == after) text = to_string(g);
    };
    std::optional<Growth> growth;
    const Graph g = prepared_model(binding, notes, hooks, &growth);
    if (after.empty()) text = to_string(g);
    if (text.empty())
      return usage_error(fmt::format("--emit {}: there is no such pass; there are import, {}", o_.emit,
                                     names_of(model_passes(pass_context(notes), target_))));
    out_ << text;
    return absl::OkStatus();
  }

  void prepare(const ModelBinding& binding) {
    Prepared& p = *prepared_.emplace_back(std::make_unique<Prepared>());
    p.binding = binding;
    PassHooks<Graph> hooks;
    hooks.after = [&](std::string_view pass, const Graph& g, double seconds) {
      p.passes.push_back({std::string(pass), static_cast<int64_t>(g.nodes.size()), seconds});
      if (pass == "import" && o_.check) p.imported = g;
    };
    p.graph = prepared_model(binding, p.notes, hooks, &p.growth);
    const auto sums_in_f16 = [](const Node& n) { return has_runs(n.workload); };
    if (request_.sums_in_f16 && std::none_of(p.graph.nodes.begin(), p.graph.nodes.end(), sums_in_f16))
      err_ << "--accumulate f16: the model has no products of f16\n";
  }

  void list_variants() {
    for (const auto& p : prepared_) {
      if (thread_counts_.size() < 2) variants_.push_back({p->binding.name, &p->graph, target_, p->caches()});
      for (size_t t = 0; t < thread_counts_.size() && thread_counts_.size() > 1; ++t) {
        variants_.push_back({variant_name(p->binding, thread_counts_[t]), &p->graph, target_, p->caches()});
        variants_.back().target.threads = thread_counts_[t];
      }
    }
  }
  const Prepared& prepared_of(size_t variant) const {
    return *prepared_[variant / std::max<size_t>(1, thread_counts_.size())];
  }

  // Of several variants the inputs say which are run.
  Status read_inputs() {
    int64_t most_bytes = 0;
    for (const auto& v : variants_)
      for (const std::vector<Port>* ports : {&v.graph->inputs, &v.graph->outputs})
        for (const Port& p : *ports) most_bytes = std::max(most_bytes, bytes_of(p.type));
    given_ = read_test_tensors(o_.inputs, most_bytes);
    leave_out_bound(&given_->inputs);
    const size_t taken = variants_[0].graph->inputs.size();
    if (given_->inputs.size() != taken)
      return usage_error(other_number_of_inputs(o_.inputs, given_->inputs.size(), taken));
    if (variants_.size() == 1) return absl::OkStatus();
    std::string shapes;
    for (const TensorData& t : given_->inputs) shapes += (shapes.empty() ? "" : ", ") + to_string(t.type());
    for (size_t v = 0; v < variants_.size(); ++v)
      if (takes_given(v)) return absl::OkStatus();
    return usage_error(fmt::format("--inputs {}: no variant takes {}", o_.inputs, shapes));
  }
  // A folder may have files of inputs that were bound, too: their numbers are the model's.
  void leave_out_bound(std::vector<TensorData>* given) const {
    const std::vector<std::string> names = onnx_input_names(o_.model);
    const std::vector<Port>& ports = variants_[0].graph->inputs;
    if (given->size() != names.size() || ports.size() == names.size()) return;
    std::vector<TensorData> left;
    for (size_t i = 0; i < names.size(); ++i)
      if (std::any_of(ports.begin(), ports.end(), [&](const Port& p) { return p.name == names[i]; }))
        left.push_back((*given)[i]);
    *given = std::move(left);
  }
  bool takes_given(size_t variant) const {
    if (!given_ || variants_.size() == 1) return true;
    const std::vector<Port>& ports = variants_[variant].graph->inputs;
    return std::equal(ports.begin(), ports.end(), given_->inputs.begin(), given_->inputs.end(),
                      [](const Port& p, const TensorData& t) { return p.type == t.type(); });
  }

  ChooseConfig configs() const {
    return [this](const Workload& w, const Target& target, const Space& space) {
      if (o_.config == "default") return ChosenConfig{space.default_config(), "default", ""};
      auto chosen = choose_config(w, target, space, *hub_, ConfigUse::kInModel);
      HONE_USER_CHECK(chosen.ok()) << message_of(chosen.status());
      return *chosen;
    };
  }

  Status build() {
    ModelOptions options{name_, target_, configs()};
    options.weights_file = fs::path(o_.weights).filename().string();
    options.host = host_;
    options.in_c = o_.emit == "c";
    options.denormals = denormals_;
    options.assume_finite = o_.assume_finite;
    options.progress = o_.progress;
    built_ = build_model(variants_, options);
    tell_what_was_built();
    if (!built_.weights_file.empty()) {
      weights_ = o_.weights.empty() ? (fs::path(path_).parent_path() / built_.weights_file).string() : o_.weights;
      if (o_.weights.empty())
        err_ << fmt::format("the weights, {:.1f} GB, are in a file of their own: {}\n",
                            static_cast<double>(built_.weight_bytes) / 1e9, weights_);
    } else if (!o_.weights.empty()) {
      err_ << "--weights: the model has none, and no file is written\n";
    }
    return write_built();
  }

  // The weights, what runs, and the header, which speaks for them.
  Status write_built() {
    std::vector<std::string> paths = {path_};
    if (o_.emit == "obj") paths = object_paths(built_.objects, path_);
    // What was not known before it was built.
    if (o_.weights.empty()) files_.writes("its weights", weights_);
    for (const std::string& path : paths)
      if (path != path_) files_.writes("an object beside it,", path);
    HONE_RETURN_IF_ERROR(files_.check());

    FileSet made;
    if (!weights_.empty()) HONE_RETURN_IF_ERROR(made.add(weights_, {built_.weights_begin, built_.weights}));
    if (o_.emit == "c")
      HONE_RETURN_IF_ERROR(made.add(path_, built_.c_source));
    else if (o_.emit == "obj")
      HONE_RETURN_IF_ERROR(write_objects(built_.objects, path_, made).status());
    else
      link_artifact(built_.objects, target_.is_gpu() ? host_ : target_, name_, path_, o_.sysroot, made);
    HONE_RETURN_IF_ERROR(made.add(header_, built_.header));
    HONE_RETURN_IF_ERROR(made.commit());
    for (const std::string& path : paths) artifact_bytes_ += bytes_of_file(path);
    err_ << fmt::format("wrote {}{} {}\n", weights_.empty() ? "" : weights_ + " ", fmt::join(paths, " "), header_);
    return absl::OkStatus();
  }

  void tell_what_was_built() {
    for (const BuiltVariant& v : built_.variants) {
      std::map<std::string, int> sources;
      for (const Layer& call : v.layers.calls) {
        const std::string& source = v.layers.kernels[call.kernel].source;
        ++sources[source.substr(0, source.find(' '))];
      }
      std::string found;
      for (const auto& [source, count] : sources)
        found += fmt::format("{}{} {}", found.empty() ? "" : ", ", count, source);
      err_ << (v.name.empty() ? "" : v.name + ": ")
           << fmt::format("{} layers ({} kernels), configs: {}; arena {:.1f} MB (at least {:.1f})",
                          v.layers.calls.size(), v.layers.kernels.size(), found, megabytes(v.memory.bytes),
                          megabytes(v.memory.bound));
      if (built_.variants.size() > 1) err_ << "\n";
    }
    if (built_.variants.size() > 1)
      err_ << fmt::format(
          "{} variants, {} kernels; weights {:.1f} MB, of which {:.1f} MB are for variants behind the first\n",
          built_.variants.size(), built_.kernels, megabytes(built_.weight_bytes), megabytes(built_.more_weight_bytes));
    else
      err_ << fmt::format(", weights {:.1f} MB\n", megabytes(built_.weight_bytes));
  }

  Status report_quantization() {
    const ChooseConfig choose = configs();
    const ModelQuantizer::Built built{*variants_[0].graph, built_.variants[0].layers, choose};
    const bool is_timed = is_here() && !target_.is_gpu() && variants_[0].target.threads == here_.threads;
    if (!is_timed) err_ << "--quantize: no times, as what was built runs elsewhere\n";
    return quantizer_->report(is_timed ? &built : nullptr, out_);
  }

  // Of layers that were timed meanwhile.
  void tell_if_busy(const BusyMachine& others) {
    if (const std::string told = target_.is_gpu() ? "" : others.told(); !told.empty())
      err_ << told << " while layers were timed: their times may be too long\n";
  }

  // What is asked of the artifact, variant by variant.
  Status answer() {
    if (o_.json) out_ << built_.json << "\n";
    figures_.resize(variants_.size());
    for (size_t v = 0; v < variants_.size(); ++v) {
      const BuiltVariant& variant = built_.variants[v];
      const Graph& g = *variants_[v].graph;
      if (!variant.name.empty() && (o_.explain || o_.profile)) out_ << variant.name << ":\n";
      if (o_.explain) out_ << layers_text(g, variant.layers, prepared_of(v).notes, target_.is_gpu());
      std::vector<double>& seconds = figures_[v].kernel_seconds;
      if (remote_) {
        if (is_run() || !o_.reports.empty()) HONE_RETURN_IF_ERROR(run_remotely(v));
        continue;
      }
      if (o_.profile || (!o_.reports.empty() && is_here())) {
        const BusyMachine others(o_.cpu_account);
        HONE_ASSIGN_OR_RETURN(seconds, kernel_seconds(variant.layers, variants_[v].target, gpu_.device(), denormals_));
        tell_if_busy(others.seconds() < kEnoughToKnow ? others_ : others);
      }
      if (o_.profile) out_ << profile_text(g, variant.layers, seconds);
    }
    if (remote_ || !(o_.bench || o_.check || given_)) return absl::OkStatus();
    for (size_t v = 0; v < variants_.size(); ++v) {
      if (!takes_given(v)) continue;
      const int threads = thread_counts_.empty() || target_.is_gpu() ? threads_ : variants_[v].target.threads;
      HONE_RETURN_IF_ERROR(run_variant(
          o_,
          {variants_[v].name, *variants_[v].graph, prepared_of(v).imported, built_.variants[v].layers,
           target_.is_gpu() ? here_ : variants_[v].target, o_.check_seconds / static_cast<double>(variants_.size()),
           variants_[v].growth, denormals_, gpu_.device(), &target_, o_.cpu_account},
          LoadedModel(path_, name_, threads, weights_, v, gpu_.device()), given_ ? &*given_ : nullptr, &figures_[v],
          out_, err_));
    }
    return absl::OkStatus();
  }

  // What fails is in the report, too: who looks for a wrong layer needs its error, config and neighbours most.
  Status answer_and_report() {
    Status answered;
    try {
      answered = answer();
    } catch (const UserError& e) {
      tell_failure(e.what());
      report_beside_failure();
      throw;
    }
    if (answered.ok()) return report();
    tell_failure(message_of(answered));
    report_beside_failure();
    return answered;
  }

  // Of variants that --check has said nothing of yet: the first is the one that failed.
  void tell_failure(const std::string& what) {
    if (!o_.check) return;
    const auto is_told = [](const VariantFigures& f) { return f.is_wrong; };
    bool is_known = std::any_of(figures_.begin(), figures_.end(), is_told);
    for (VariantFigures& f : figures_)
      if (f.check.empty()) f.check = std::exchange(is_known, true) ? "not done: another variant failed" : what;
  }

  // What failed is the error of the command; that its report cannot be written is said beside it.
  void report_beside_failure() {
    if (const Status written = report(); !written.ok()) err_ << message_of(written) << "\n";
  }

  // The variant's layers on the fleet's device.
  Status run_remotely(size_t v) {
    const BuiltVariant& variant = built_.variants[v];
    HONE_ASSIGN_OR_RETURN(const RemoteLayers r, measure_layers(variant.layers, *remote_, err_));
    figures_[v].kernel_seconds = r.seconds;
    const std::string prefix = variant.name.empty() ? "" : variant.name + ": ";
    const std::string in_c = r.in_c == 0 ? "" : fmt::format("; {} in C were not run", r.in_c);
    if (o_.check) {
      figures_[v].check = fmt::format("{} kernels agree with their references on {} (relative error {:.2g}){}",
                                      r.checked, remote_->name(), r.rel_error, in_c);
      err_ << prefix << "check: " << figures_[v].check << "\n";
    }
    if (r.disturbed > 0 && (o_.bench || o_.profile))
      err_ << prefix
           << fmt::format("others used {} while {} of {} kernels were timed: the times may be too long\n",
                          remote_->name(), r.disturbed, r.checked);
    if (o_.profile) out_ << profile_text(*variants_[v].graph, variant.layers, r.seconds);
    if (o_.bench)
      out_ << prefix
           << fmt::format("{} ms (the sum of {} layers, each by itself on {}{})\n", ms_text(r.sum),
                          variant.layers.calls.size(), remote_->name(), in_c);
    return absl::OkStatus();
  }

  // A page, or data, of what was built and measured.
  Status report() {
    ModelReport r;
    r.model = fs::path(o_.model).filename().string();
    r.hone = hone_version();
    r.target = to_string(target_);
    if (!target_.is_gpu()) r.denormals = name_of(denormals_);
    r.nans = o_.assume_finite ? "taken for impossible" : "kept";
    r.when = time_now();
    r.artifact_bytes = artifact_bytes_;
    r.weight_bytes = built_.weight_bytes;
    r.weights_file = built_.weights_file;
    if (remote_)
      r.machine = remote_->name();
    else if (is_here())
      r.machine = target_.is_gpu() ? gpu_.device()->info().name : cpu_name();
    else
      err_ << (target_.is_gpu() ? "--report: no times, as nothing was run on a GPU\n"
                                : "--report: no times, as this machine is another\n");
    std::map<int, MachineRoof> roofs;  // by threads
    for (size_t v = 0; v < variants_.size(); ++v) {
      const Target& target = variants_[v].target;
      const bool has_roof = is_here() && !target.is_gpu();
      if (has_roof && !roofs.contains(target.threads)) roofs[target.threads] = machine_roof(target);
      const MachineRoof* roof = has_roof ? &roofs[target.threads] : nullptr;
      if (v == 0 && roof) r.peak_gflops = roof->peak_gflops;
      const Prepared& p = prepared_of(v);
      r.variants.push_back(
          report_of({p.graph, built_.variants[v], target, p.caches(), p.notes, p.passes, figures_[v], roof}));
    }
    HONE_RETURN_IF_ERROR(write_reports(r, before_, o_.reports));
    err_ << fmt::format("wrote {}\n", fmt::join(o_.reports, " "));
    return absl::OkStatus();
  }

  // Of a pass that fails, which is a bug of Hone: a file to send with the report.
  void keep_input(const ModelBinding& binding, std::string_view pass, const Graph& g) {
    ShellCommand command("tensorc");
    ModelWords words = o_;
    words.bind = binding.bind, words.shapes = binding.shapes;
    add_words(command.word(o_.model), words);
    command.options("--disable", o_.disabled).option("--target", o_.target);
    command.option("--emit", fmt::format("graph:after={}", pass));
    const auto written =
        write_reproducer(".", {std::string(pass), "a pass failed over the graph of " + o_.model, to_string(g)},
                         command.text(), files_read(o_));
    err_ << (written.ok() ? "what is needed to see this error again is in " + *written : message_of(written.status()))
         << "\n";
  }

  const OperatorTable& operators_;
  const FunctionTable functions_ = standard_functions();
  const TensorcOptions& o_;
  std::ostream &out_, &err_;
  const BusyMachine others_;              ///< since the command began
  const std::vector<int> thread_counts_;  ///< that were asked for, the most first
  const ModelRequest request_;
  const int threads_;  ///< the most that anything runs on here
  const Target here_;
  Target target_;  ///< with the most threads
  Target host_;    ///< of the code for CPUs in a GPU's artifact
  Denormals denormals_ = kUsualDenormals;
  ModelGpu gpu_;  ///< of a GPU's target
  std::unique_ptr<RemoteDevice> remote_;
  std::unique_ptr<db::TopHub> hub_;
  std::string path_, header_, name_, weights_;
  std::set<std::string> assumed_;
  std::vector<std::unique_ptr<Prepared>> prepared_;  ///< by binding
  std::vector<Graph*> graphs_;
  std::vector<ModelVariant> variants_;  ///< each binding's, for the most threads first
  std::optional<TestTensors> given_;    ///< of --inputs
  BuiltModel built_;
  std::vector<VariantFigures> figures_;  ///< of each variant
  int64_t artifact_bytes_ = 0;
  CommandFiles files_;
  std::optional<ModelReport> before_;        ///< of --compare
  std::optional<ModelQuantizer> quantizer_;  ///< of --quantize
};

}  // namespace

Status run_tensorc_model(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out,
                         std::ostream& err) {
  return ModelCommand(operators, o, out, err).run();
}

}  // namespace hone
