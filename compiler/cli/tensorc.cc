#include "compiler/cli/tensorc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "base/atomic_file.h"
#include "base/cpus.h"
#include "base/exit_code.h"
#include "base/json.h"
#include "base/shell_command.h"
#include "base/time_text.h"
#include "base/writable.h"
#include "compiler/build/artifact.h"
#include "compiler/build/choose_config.h"
#include "compiler/build/denormals.h"
#include "compiler/build/pass_texts.h"
#include "compiler/build/reproducer.h"
#include "compiler/cli/explain.h"
#include "compiler/cli/run_artifact.h"
#include "compiler/cli/tensorc_files.h"
#include "compiler/cli/tensorc_model.h"
#include "compiler/codegen/device/device_code.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/parse_target.h"
#include "compiler/codegen/nvptx/emit.h"
#include "compiler/driver/build_place.h"
#include "compiler/driver/model_artifact.h"
#include "compiler/host/local_gpu.h"
#include "compiler/host/measure_here.h"
#include "compiler/ir/printer.h"
#include "compiler/ops/definition.h"

namespace hone {
namespace {

// An operator as it is built.
struct Built {
  const Workload& w;
  const Target &target, &host;
  const Module& m;
  const std::string name, config;
  const Denormals denormals;
};

// C, objects or a shared object, and the header that belongs to them.
Status emit_artifact(const TensorcOptions& o, const Built& b, CommandFiles& files, std::ostream& err) {
  const std::string path = o.output.empty() ? fmt::format("{}.{}", b.name, o.emit == "obj" ? "o" : o.emit) : o.output;
  const std::string header = std::filesystem::path(path).replace_extension(".h").string();
  const std::string what = to_string(b.w), json = artifact_json(b.m, b.target, b.name, what, b.config, b.denormals);
  const bool in_c = o.emit == "c" && !b.target.is_gpu();
  std::vector<ArtifactObject> objects;
  if (b.target.is_gpu()) {
    const GpuArtifactCode code = gpu_artifact_code(b.m, b.target, nvrtc_here());
    if (b.target.kind == "cuda") err << "device code: by " << code.by << "\n";
    objects = {{"", gpu_artifact_objects(b.m, b.target, b.host, code, b.name, json)}};
  } else if (!in_c) {
    objects = artifact_objects(b.m, b.target, b.name, json, b.denormals);
  }
  std::vector<std::string> paths = {path};
  if (o.emit == "obj") paths = object_paths(objects, path);
  for (const std::string& file : paths) files.writes(file == path ? "-o" : "an object beside it,", file);
  files.writes("its header", header);
  HONE_RETURN_IF_ERROR(files.check());

  FileSet made;
  if (in_c)
    HONE_RETURN_IF_ERROR(made.add(path, artifact_c_source(b.m, b.target, b.name, json, what, b.denormals)));
  else if (o.emit == "obj")
    HONE_RETURN_IF_ERROR(write_objects(objects, path, made).status());
  else
    link_artifact(objects, b.target.is_gpu() ? b.host : b.target, b.name, path, o.sysroot, made);
  HONE_RETURN_IF_ERROR(made.add(header, artifact_header(b.m, b.target, b.name, what, in_c, b.denormals)));
  HONE_RETURN_IF_ERROR(made.commit());
  err << fmt::format("wrote {} {}\n", fmt::join(paths, " "), header);
  return absl::OkStatus();
}

Status emit(const TensorcOptions& o, const Workload& w, const Target& target, const Target& host, const Space& space,
            const Config& config, const Module& m, CommandFiles& files, std::ostream& out, std::ostream& err) {
  const std::string name = entry_name(o.output.empty() ? w.task() : o.output, 'k');
  const Denormals denormals = denormals_for(o.denormals, target);
  const std::string kinds = target.kind == "cuda"     ? "ir, lowered, legalized, cuda, ptx, llvm, so"
                            : target.kind == "opencl" ? "ir, lowered, legalized, opencl, so"
                                                      : "ir, lowered, legalized, llvm, asm, c, obj, so";
  const auto [form, after] = emit_form(o.emit);
  if (form.empty() || (", " + kinds + ",").find(", " + form + ",") == std::string::npos)
    return usage_error(fmt::format("--emit {}: for {} there is {}", o.emit, target.kind, kinds));
  const bool has_passes = form == "lowered" || form == "legalized";
  if (!has_passes && (form != o.emit || !o.disabled.empty()))
    return usage_error("--disable and :after=PASS belong to --emit lowered and --emit legalized");
  const PassRequest passes{after, {o.disabled.begin(), o.disabled.end()}};
  std::string text;
  if (o.emit == "cuda" || o.emit == "opencl") text = gpu_text(m, target).text;
  if (o.emit == "ptx") {
    PtxCode code = ptx_code(m, target, nvrtc_here());
    err << "ptx: by " << code.by << "\n";
    text = std::move(code.source.text);
  }
  if (o.emit == "ir") text = scheduled_text(w, target, space, config);
  if (has_passes) {
    HONE_ASSIGN_OR_RETURN(
        text, form == "lowered" ? lowered_text(w, target, space, config, passes) : legalized_text(m, target, passes));
  }
  if (o.emit == "llvm")
    text = target.is_gpu() ? emit_ptx_llvm_text(m, target)
                           : emit_llvm_text(m, target, {.name = name, .denormals = denormals});
  if (o.emit == "asm") text = emit_asm_text(m, target, {.name = name, .denormals = denormals});
  if (!text.empty()) {
    files.writes("-o", o.output);
    HONE_RETURN_IF_ERROR(files.check());
    if (!o.output.empty()) return write_atomically(o.output, text);
    out << text << (text.back() == '\n' ? "" : "\n");
    return absl::OkStatus();
  }
  return emit_artifact(o, {w, target, host, m, name, space.print(config), denormals}, files, err);
}

// A command line, parsed.
struct Job {
  const Workload& w;
  const Target &target, &host;
  const Space& space;
  const ChosenConfig& chosen;
  RemoteDevice* remote;       ///< null: kernels run here
  Device* gpu;                ///< null where there is none
  const std::string& no_gpu;  ///< why there is none
  int threads;
  bool runs_here;
  const BusyMachine& others;  ///< since tensorc began
};

// Of time_here(), where it took less time than the machine's account needs.
constexpr double kRepeatMs = 5;
constexpr int kRepeatsToKnow = static_cast<int>(kEnoughToKnow * 1e3 / kRepeatMs);

Status answer(const TensorcOptions& o, const Job& j, std::ostream& out, std::ostream& err) {
  Module m = lower_config(j.w, j.target, j.space, j.chosen.config);
  m.assume_finite = o.assume_finite;
  const Denormals denormals = denormals_for(o.denormals, j.target);

  if (!o.emit.empty()) {
    CommandFiles files = files_read(o);
    HONE_RETURN_IF_ERROR(emit(o, j.w, j.target, j.host, j.space, j.chosen.config, m, files, out, err));
  }
  if (o.explain)
    HONE_RETURN_IF_ERROR(j.target.is_gpu()
                             ? explain_gpu(j.w, j.target, j.space, j.chosen.config, m, j.gpu, j.no_gpu, out)
                             : explain(j.w, j.target, j.space, j.chosen.config, m, j.runs_here, out));
  std::optional<RemoteFigures> there;
  if (j.remote && (o.check || o.bench)) {
    HONE_ASSIGN_OR_RETURN(const std::vector<RemoteFigures> figures, j.remote->run({{j.w, m}}, {}));
    there = figures[0];
    if (!there->wrong.empty())
      return Status(absl::StatusCode::kInternal, fmt::format("{}: {}", j.remote->name(), there->wrong));
  }
  if (o.check && there) {
    err << fmt::format("check: agrees with the reference on {} (relative error {:.2g})\n", j.remote->name(),
                       there->rel_error);
  } else if (o.check) {
    const HereCheck c = check_here(j.w, j.target, m, j.threads, j.gpu, denormals);
    if (!c.ok) return Status(absl::StatusCode::kInternal, fmt::format("check: wrong result: {}", c.message));
    err << fmt::format("check: {} elements agree with the reference (relative error {:.2g})\n", c.compared,
                       c.rel_error);
  }
  if (o.bench) {
    HereTime t;
    bool is_disturbed = false;
    if (there) {
      is_disturbed = there->is_disturbed;
      if (is_disturbed) err << fmt::format("others used {} meanwhile: the time may be too long\n", j.remote->name());
      t = {there->seconds, there->spread};
    } else {
      HONE_ASSIGN_OR_RETURN(t, time_here(j.target, m, j.gpu, denormals));
      if (!j.gpu && j.others.seconds() < kEnoughToKnow) {
        HONE_ASSIGN_OR_RETURN(t, time_here(j.target, m, nullptr, denormals, kRepeatsToKnow, kRepeatMs));
      }
      const std::string others = j.gpu ? "" : j.others.told();
      is_disturbed = !others.empty();
      if (is_disturbed) err << fmt::format("{} meanwhile: the time may be too long\n", others);
    }
    const double gflops = flops(j.w) / t.seconds * 1e-9;
    if (o.json) {
      OrderedJson config = OrderedJson::object();
      for (size_t k : j.space.knobs_at_work(j.chosen.config))
        config[j.space.knobs()[k].name] = j.space.knobs()[k].text_of(j.chosen.config.choices[k]);
      OrderedJson line;
      line["workload"] = to_string(j.w);
      line["target"] = to_string(j.target);
      line["time_ms"] = t.seconds * 1e3;
      line["disturbed"] = is_disturbed;
      line["gflops"] = gflops;
      line["config_source"] = j.chosen.source;
      line["config"] = config;
      out << json_line(line) << "\n";
    } else {
      // Where memory bounds the kernel, its bandwidth says more than its GFLOPS.
      const double bytes = tensor_bytes(j.w);
      const std::string rate = flops(j.w) < 10 * bytes ? fmt::format("{:.1f} GB/s", bytes / t.seconds * 1e-9)
                                                       : fmt::format("{:.1f} GFLOPS", gflops);
      out << fmt::format("{}\n  {} ms  {}  (spread {:.0f}%)  {}\n", to_string(j.w), ms_text(t.seconds), rate,
                         t.spread * 100, j.space.describe(j.chosen.config));
    }
  }
  if (o.emit.empty() && !o.check && !o.bench && !o.explain) out << j.space.describe(j.chosen.config) << "\n";
  return absl::OkStatus();
}

// An internal error is a bug of Hone: the user gets a file to send with the report.
void tell_how_to_see_it_again(const TensorcOptions& o, const Job& j, std::ostream& err) {
  const std::string config = j.space.print(j.chosen.config);
  const std::string command = ShellCommand("tensorc")
                                  .option("--workload", to_string(j.w))
                                  .option("--target", to_string(j.target))
                                  .option("--config", config)
                                  .option("--emit", "legalized")
                                  .text();
  const auto failure = find_failure(j.w, j.target, j.space, j.chosen.config);
  if (!failure) return void(err << "to see this error again: " << command << "\n");
  const auto written = write_reproducer(".", *failure, command, files_read(o));
  err << (written.ok() ? "what is needed to see this error again is in " + *written : message_of(written.status()))
      << "\n";
}

}  // namespace

Status run_tensorc(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out, std::ostream& err) {
  if (!o.artifact.empty()) return run_artifact(operators, o, out, err);
  if (!o.model.empty()) return run_tensorc_model(operators, o, out, err);
  if (const std::string given = flags_of_models_alone(o); !given.empty())
    return usage_error(given + ": these belong to a model: tensorc MODEL.onnx");
  if (o.profile || !(o.inputs + o.weights + o.compare + o.quantize.calibrate + o.quantize.ranges).empty() ||
      !o.reports.empty())
    return usage_error(
        "--inputs, --weights, --profile, --report, --compare, --calibrate and --ranges belong to a model: tensorc "
        "MODEL.onnx");
  if (!o.output.empty() && o.emit.empty()) {
    // What is to be written is a shared object, as of a model.
    TensorcOptions written = o;
    written.emit = "so";
    return run_tensorc(operators, written, out, err);
  }
  if (!o.output.empty()) HONE_RETURN_IF_ERROR(check_writable(o.output));
  const BusyMachine others(o.cpu_account);
  const Workload w =
      o.workload.empty() ? Workload::parse(operators, o.task, o.args) : Workload::parse(operators, o.workload);
  const std::vector<int>& asked = o.threads;
  if (asked.size() > 1)
    return usage_error(
        fmt::format("--threads {}: an operator has one number of threads; models have several", threads_text(asked)));
  const int threads = !asked.empty() ? asked[0] : usable_cpu_count();
  const Target here = host_target(threads);
  Target target = parse_target(o.target);
  const bool is_here = !target.is_complete();
  LocalGpu gpu;
  std::string no_gpu;  // why there is none
  std::unique_ptr<RemoteDevice> remote;
  if (o.remote) {
    HONE_ASSIGN_OR_RETURN(remote, o.remote(o.target, asked.empty() ? 0 : threads));
    target = remote->target();
    no_gpu = "kernels run on " + remote->name();
    err << fmt::format("device: {} ({})\n", remote->name(), to_string(target));
  } else if (target.is_gpu()) {
    // Text output needs no device, only its numbers (the target).
    if (is_here || o.bench || o.check || o.explain) {
      auto found = open_local_gpu(target);
      if (!found.ok() && is_here)
        return no_device_error(fmt::format("--target {}: {}; say for which: {}", target.kind,
                                           message_of(found.status()),
                                           target.kind == "cuda" ? "cuda -arch=sm_XX" : "opencl -sms=N"));
      if (!found.ok() && (o.bench || o.check))
        return no_device_error(
            fmt::format("cannot {} it here: {}", o.bench ? "time" : "check", message_of(found.status())));
      if (found.ok())
        gpu = std::move(*found);
      else
        no_gpu = message_of(found.status());
    }
    if (is_here) target = gpu.target;
  } else if (is_here) {
    target = target.completed_by(here);
  }
  if (!asked.empty() && !target.is_gpu()) target.threads = threads;
  const bool runs_here =
      !remote && (target.is_gpu() ? gpu.device != nullptr : target.arch == here.arch && target.mcpu == here.mcpu);
  if ((o.bench || o.check) && !runs_here && !remote)
    return no_device_error(fmt::format("cannot {} code for '{}' here, which is '{}': use --fleet and --device",
                                       o.bench ? "time" : "check", to_string(target), to_string(here)));
  HONE_ASSIGN_OR_RETURN(const Target host, gpu_host(o, target, here));

  const Space space = make_space(w, target);
  ChosenConfig chosen{space.default_config(), "default", ""};
  if (!o.config.empty()) {
    chosen = {o.config == "default" ? space.default_config() : space.parse(o.config),
              o.config == "default" ? "default" : "given", ""};
  } else {
    HONE_ASSIGN_OR_RETURN(const auto hub, db::TopHub::open(db::usual_hub(o.db)));
    HONE_ASSIGN_OR_RETURN(chosen, choose_config(w, target, space, *hub));
  }
  if (!chosen.skipped.empty()) err << chosen.skipped << "\n";
  err << "config: " << chosen.source << "\n";
  if (o.emit.empty() && !o.disabled.empty()) return usage_error("--disable belongs to --emit lowered and legalized");
  const Job job{w, target, host, space, chosen, remote.get(), gpu.device.get(), no_gpu, threads, runs_here, others};
  try {
    return answer(o, job, out, err);
  } catch (const InternalError&) {
    tell_how_to_see_it_again(o, job, err);
    throw;
  }
}

}  // namespace hone
