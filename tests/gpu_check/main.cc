// gpu-check: on a machine with a GPU, the templates' suite and the tables of tuned kernels beside their peers, in
// slices; the report and the tophub it found go to a folder. It runs the programs beside it as anyone would: they
// survive the harm that a candidate does to a driver.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <thread>

#include "base/atomic_file.h"
#include "base/child_process.h"
#include "base/cli.h"
#include "base/clock.h"
#include "base/command_files.h"
#include "base/version/commit.h"
#include "base/version/version.h"
#include "compiler/build/build.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "db/hub_files.h"
#include "tests/fakes/small_model.h"
#include "tests/gpu_check/machine.h"
#include "tests/gpu_check/models.h"
#include "tests/gpu_check/report.h"

namespace {

using namespace hone;
using namespace hone::gpu_check;

struct Options {
  std::string target = "cuda", output = "gpu-check";
  int trials = 500, configs = 6, jobs = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  double seconds = 480;
  int layer_trials = 64;
  std::vector<std::string> only, suite, layers, models;
  std::string command;

  /// Whether the suite and the tables are asked for, and not models alone.
  bool has_tables() const { return (layers.empty() && models.empty()) || !only.empty() || !suite.empty(); }
};

class Check {
 public:
  Check(const Options& options, Journal journal) : o_(options), journal_(std::move(journal)) {}

  Status run() {
    HONE_ASSIGN_OR_RETURN(const std::vector<ModelFile> tuned, find_models(o_.layers));
    HONE_ASSIGN_OR_RETURN(const std::vector<ModelFile> timed, find_models(o_.models));
    HONE_RETURN_IF_ERROR(find_device());
    std::vector<Step> steps;
    if (o_.has_tables()) steps = plan(target_, o_.configs, o_.only, o_.suite);
    for (Step& step : model_plan(tuned, timed)) steps.push_back(std::move(step));
    HONE_RETURN_IF_ERROR(check_suite(steps));
    size_t done = 0;
    for (const Step& step : steps) {
      if (!is_finished(step)) {
        if (left() < least_seconds(step)) break;
        say_begun(step);
        HONE_RETURN_IF_ERROR(journal_.add(step.name, carry_out(step)));
        if (!is_finished(step)) break;  // the slice ended within it
      }
      ++done;
    }
    return write_report(steps, done);
  }

 private:
  static constexpr double kLeastSeconds = 10, kMostSecondsOfOne = 120;

  // PyTorch tunes a model for minutes, in one go: each step of a model has half of a slice at most.
  double model_seconds() const { return std::clamp(o_.seconds / 2, kLeastSeconds, 300.0); }
  double least_seconds(const Step& step) const {
    const bool is_long = step.kind == StepKind::kModelTime || step.kind == StepKind::kModelInTorch;
    return is_long ? std::min(model_seconds(), 0.9 * o_.seconds) : kLeastSeconds;
  }
  bool is_finished(const Step& step) const {
    const Json* before = journal_.find(step.name);
    if (!before || !before->value("finished", false)) return false;
    // With more models, or more trials, it goes on.
    return step.kind != StepKind::kTuneLayers || before->value("wanted", 0) >= wanted_trials(layer_tasks());
  }
  void say_begun(const Step& step) const {
    const std::string what = step.workload.op                     ? to_string(step.workload)
                             : step.kind == StepKind::kModel      ? "a convolutional net"
                             : step.kind == StepKind::kTuneLayers ? "all of them"
                                                                  : step.model.path;
    std::cout << fmt::format("{:.0f} s  {} {}\n", seconds(), step.name, what) << std::flush;
  }

  // The suite measures nothing: several of its processes run at once.
  Status check_suite(const std::vector<Step>& steps) {
    std::vector<const Step*> todo;
    for (const Step& step : steps)
      if (step.kind == StepKind::kSuite && !is_finished(step)) todo.push_back(&step);
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    Status status;
    const auto work = [&] {
      for (size_t i = next++; i < todo.size() && left() >= kLeastSeconds; i = next++) {
        {
          const std::lock_guard lock(mutex);
          if (!status.ok()) return;
          say_begun(*todo[i]);
        }
        const Json outcome = carry_out(*todo[i]);
        const std::lock_guard lock(mutex);
        if (Status added = journal_.add(todo[i]->name, outcome); !added.ok()) status = std::move(added);
      }
    };
    std::vector<std::jthread> threads;
    for (int i = 1; i < o_.jobs; ++i) threads.emplace_back(work);
    work();
    threads.clear();
    return status;
  }

  double seconds() const { return std::chrono::duration<double>(clock_.now() - start_).count(); }  // of this slice
  double left() const { return o_.seconds - seconds(); }
  std::string file(const std::string& name) const { return o_.output + "/" + name; }

  // The device as the compiler sees it; the same in every slice.
  Status find_device() {
    HONE_ASSIGN_OR_RETURN(const Outcome first, run_program({"tensorc", "--task", "elementwise", "--target", o_.target,
                                                            "--config", "default", "--check", "--bench", "--json"},
                                                           kMostSecondsOfOne));
    if (first.code == kExitNoDevice) return no_device_error(first.last_error);
    if (first.code != kExitDone) return absl::InternalError(first.last_error);
    const Json found = Json::parse(first.out, nullptr, false);
    if (!found.is_object() || !found.contains("target"))
      return absl::InternalError("tensorc did not say what the device is: " + first.out);
    const std::string text = found["target"];
    if (const Json* before = journal_.find("device"); before && (*before)["target"] != text)
      return usage_error(fmt::format("{} is of another device, {}: this is {}; take another --output", o_.output,
                                     (*before)["target"].get<std::string>(), text));
    target_ = Target::parse(text);
    std::cout << text << "\n";
    return journal_.add("device", {{"target", text},
                                   {"version", hone_version()},
                                   {"machine", machine_text(text)},
                                   {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
                                   {"commit", built_commit()},
                                   {"command", o_.command}});
  }

  // The outcome of a step; an error is data.
  Json carry_out(const Step& step) {
    switch (step.kind) {
      case StepKind::kModel: return model();
      case StepKind::kLayers: return list_layers(step.model, target_, kMostSecondsOfOne);
      case StepKind::kTuneLayers: return tune_layers(step);
      case StepKind::kModelTime: return time_model(step.model, target_, o_.output, file("tophub.db"), model_seconds());
      case StepKind::kModelInTorch: return time_in_torch(step.model, step.torch, model_seconds());
      default: return carry_out_workload(step);
    }
  }

  Json carry_out_workload(const Step& step) {
    const std::vector<std::string> workload{"--workload", to_string(step.workload), "--target", to_string(target_)};
    const auto with = [&](const std::string& name, const std::vector<std::string>& more) {
      std::vector<std::string> argv{name};
      argv.insert(argv.end(), workload.begin(), workload.end());
      argv.insert(argv.end(), more.begin(), more.end());
      return argv;
    };
    switch (step.kind) {
      case StepKind::kSuite:
        return outcome_json(run_program(with("tensorc", {"--config", step.config, "--check"}), kMostSecondsOfOne));
      case StepKind::kTune:
        return tune(step, with("tuner", {"--db", file("tophub.db"), "--trials", std::to_string(o_.trials), "--json"}));
      case StepKind::kPeer: return peer(with("gpu-peers", {"--json"}));
      case StepKind::kBench: return bench(with("tensorc", {"--db", file("tophub.db"), "--check", "--bench", "--json"}));
      default: return {};
    }
  }

  // The layers of all models, each once.
  std::string layer_tasks() const {
    std::vector<std::string> texts;
    for (const auto& [name, record] : journal_.records())
      if (name.starts_with("layers/") && record.contains("tasks")) texts.push_back(record["tasks"]);
    return joined_tasks(texts);
  }
  int wanted_trials(const std::string& tasks) const {
    return o_.layer_trials * static_cast<int>(std::count(tasks.begin(), tasks.end(), '\n'));
  }

  // Trials go where the sum gains most.
  Json tune_layers(const Step& step) {
    const std::string tasks = layer_tasks();
    const int trials = wanted_trials(tasks);
    if (tasks.empty()) return {{"finished", true}, {"ok", false}, {"error", "none of the models has layers to tune"}};
    if (Status written = write_atomically(file("layers.txt"), tasks); !written.ok())
      return {{"finished", true}, {"ok", false}, {"error", message_of(written)}};
    Json record = tune(step, {"tuner", "--tasks", file("layers.txt"), "--target", to_string(target_), "--db",
                              file("tophub.db"), "--trials", std::to_string(trials), "--json"});
    record["operators"] = trials / o_.layer_trials;
    record["wanted"] = trials;
    return record;
  }

  // A model from its file to one artifact: each kernel against its reference, the whole against the imported model.
  Json model() {
    const std::string onnx = file("small.onnx"), artifact = file("small.so");
    SmallModel().write(onnx);
    const StatusOr<Outcome> outcome = run_program(
        {"tensorc", onnx, "--target", to_string(target_), "--config", "default", "-o", artifact, "--check", "--bench"},
        kMostSecondsOfOne);
    for (const std::string& made : {onnx, artifact, file("small.h")}) std::remove(made.c_str());
    Json record = outcome_json(outcome);
    double ms = 0;
    if (record["ok"].get<bool>() && std::sscanf(outcome->out.c_str(), "%lf ms", &ms) == 1) record["time_ms"] = ms;
    return record;
  }

  Json tune(const Step& step, std::vector<std::string> argv) {
    const double allowed = std::max(1.0, left() - kLeastSeconds / 2);
    argv.insert(argv.end(), {"--seconds", fmt::format("{:.1f}", allowed)});
    const StatusOr<Outcome> outcome = run_program(argv, allowed + kMostSecondsOfOne);
    Json record = outcome_json(outcome);
    const Json said = outcome.ok() ? Json::parse(outcome->out, nullptr, false) : Json();
    if (!said.is_object()) return record;
    for (const char* key : {"trials", "by_status", "trials_per_second", "total"})
      if (said.contains(key)) record[key] = said[key];
    // It may end long before its time, which has to be enough for the next batch and the finalists, too.
    record["finished"] = !record["ok"].get<bool>() || said.value("ended", "") != "time is up";
    // The rate of the longest slice says most.
    if (const Json* earlier = journal_.find(step.name);
        earlier && earlier->value("slice_seconds", 0.0) > said.value("seconds", 0.0)) {
      record["trials_per_second"] = (*earlier)["trials_per_second"];
      record["slice_seconds"] = (*earlier)["slice_seconds"];
    } else {
      record["slice_seconds"] = said.value("seconds", 0.0);
    }
    return record;
  }

  Json peer(const std::vector<std::string>& argv) {
    std::error_code ec;
    // Not measured.
    if (target_.kind != "cuda" || !std::filesystem::exists(sibling_program(argv[0]), ec))
      return {{"finished", true}, {"ok", true}};
    const StatusOr<Outcome> outcome = run_program(argv, kMostSecondsOfOne);
    // A library that is not there is no error.
    if (outcome.ok() && outcome->code == kExitNoDevice) return {{"finished", true}, {"ok", true}};
    Json record = outcome_json(outcome);
    const Json said = outcome.ok() ? Json::parse(outcome->out, nullptr, false) : Json();
    if (said.is_object() && said.contains("time_ms"))
      record["time_ms"] = said["time_ms"], record["algorithm"] = said.value("algorithm", "");
    return record;
  }

  Json bench(std::vector<std::string> argv) {
    StatusOr<Outcome> outcome = run_program(argv, kMostSecondsOfOne);
    Json record = outcome_json(outcome);
    if (!record["ok"].get<bool>()) return record;
    const OrderedJson tuned = OrderedJson::parse(outcome->out, nullptr, false);  // knobs in their order
    argv.insert(argv.end(), {"--config", "default"});
    outcome = run_program(argv, kMostSecondsOfOne);
    const Json plain = outcome.ok() && outcome->code == kExitDone ? Json::parse(outcome->out, nullptr, false) : Json();
    if (!tuned.is_object() || !tuned.contains("config") || !plain.is_object())
      return {{"finished", true}, {"ok", false}, {"error", "tensorc did not say how long it took"}};
    std::string config;
    for (const auto& [knob, choice] : tuned["config"].items())
      config += (config.empty() ? "" : ",") + knob + "=" + choice.get<std::string>();
    record["config"] = config;
    record["tuned_ms"] = tuned["time_ms"].get<double>();
    record["default_ms"] = plain["time_ms"].get<double>();
    return record;
  }

  Status write_report(const std::vector<Step>& steps, size_t done) {
    const OrderedJson report = report_json(journal_, steps);
    HONE_RETURN_IF_ERROR(write_atomically(file("report.json"), report.dump(2) + "\n"));
    HONE_RETURN_IF_ERROR(write_atomically(file("report.md"), report_markdown(report)));
    if (std::error_code ec; std::filesystem::exists(file("tophub.db"), ec)) {
      HONE_ASSIGN_OR_RETURN(const Outcome exported,
                            run_program({"tophub", "export", file("tophub.jsonl"), "--best", "--db", file("tophub.db")},
                                        kMostSecondsOfOne));
      if (exported.code != kExitDone) return absl::InternalError(exported.last_error);
    }
    std::cout << fmt::format("{} of {} steps; {}/report.md{}\n", done, steps.size(), o_.output,
                             done < steps.size() ? "; the same command goes on" : "");
    if (report["model"].contains("error"))
      return all_failed_error("the model: " + report["model"]["error"].get<std::string>());
    for (const Step& step : steps)
      if (const Json* model = journal_.find(step.name);
          step.kind == StepKind::kModelTime && model && model->contains("error"))
        return all_failed_error(step.model.path + ": " + (*model)["error"].get<std::string>());
    const size_t wrong = report["suite"]["wrong"].size();
    return wrong == 0 ? absl::OkStatus() : all_failed_error(fmt::format("{} configs of the suite are wrong", wrong));
  }

  const Options& o_;
  Journal journal_;
  Target target_;
  const SteadyClock clock_;
  const Clock::TimePoint start_ = clock_.now();
};

}  // namespace

int main(int argc, char** argv) {
  CommandLine line{
      "Checks and measures Hone on this machine's GPU, a slice at a time: the same command goes on where the last one "
      "ended.\n\nExample: gpu-check --output results",
      "gpu-check"};
  Options o;
  line.add_option("--target", o.target, "cuda or opencl").capture_default_str();
  line.add_option("--output", o.output, "folder of the report, the tophub, and what is needed to go on")
      .capture_default_str();
  line.add_option("--seconds", o.seconds, "of this slice").check(number_from(20.0, 1e6)).capture_default_str();
  line.add_option("--trials", o.trials, "of each workload that is tuned")
      .check(number_from(1, 1000000))
      .capture_default_str();
  line.add_option("--configs", o.configs, "of each workload of the suite")
      .check(number_from(1, 10000))
      .capture_default_str();
  line.add_option("--jobs", o.jobs, "configs of the suite that are checked at once")
      .check(number_from(1, 256))
      .capture_default_str();
  line.add_option("--only", o.only, "tables: these rows, C6 D1 ... (default: all)");
  line.add_option("--suite", o.suite, "suite: workloads of these operators, conv2d softmax ... (default: all)");
  line.add_option(
          "--layers", o.layers,
          "tune the layers of these models, .onnx and .tflite files or folders of them, for the package; without "
          "--only and --suite nothing else. NAME.toml beside a model has its flags, bind = [\"batch=1\"] say")
      .type_name("PATH");
  line.add_option("--layer-trials", o.layer_trials, "of each of these layers, on average")
      .check(number_from(1, 1000000))
      .capture_default_str();
  line.add_option(
          "--models", o.models,
          "time these models, and PyTorch on them where it is installed: eager, CUDA graphs and max-autotune, in "
          "f32 and tf32; without --only and --suite nothing else")
      .type_name("PATH");
  add_version(line, &compiler_line);
  o.command = fmt::format("gpu-check {}", fmt::join(argv + 1, argv + argc, " "));
  return run_cli(line, argc, argv, [&]() -> Status {
    std::error_code ec;
    std::filesystem::create_directories(o.output, ec);
    if (ec) return usage_error(fmt::format("--output {}: {}", o.output, ec.message()));
    CommandFiles files;
    files.reads(kFlagsFile, flags_file(line));
    for (const char* made : {"steps.jsonl", "report.json", "report.md", "tophub.jsonl", "layers.txt", "small.onnx",
                             "small.so", "small.h", "model.so", "model.h"})
      files.writes("--output", o.output + "/" + made);
    db::writes_database(files, "--output", o.output + "/tophub.db");
    HONE_RETURN_IF_ERROR(files.check());
    HONE_ASSIGN_OR_RETURN(Journal journal, Journal::open(o.output + "/steps.jsonl"));
    return Check(o, std::move(journal)).run();
  });
}
