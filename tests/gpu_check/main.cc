// gpu-check: on a machine with a GPU, the templates' suite and the tables of tuned kernels beside their peers, in
// slices; the report and the tophub it found go to a folder. It runs the programs beside it as anyone would: they
// survive the harm that a candidate does to a driver.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

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
#include "tests/gpu_check/report.h"

namespace {

using namespace hone;
using namespace hone::gpu_check;

struct Options {
  std::string target = "cuda", output = "gpu-check";
  int trials = 500, configs = 6, jobs = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  double seconds = 480;
  std::vector<std::string> only, suite;
  std::string command;
};

struct Outcome {
  int code = 0;
  std::string out, last_error;  ///< of what went to stderr the last line
};

// Keeps a program's output in memory.
class Output {
 public:
  explicit Output(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  std::string text() const {
    std::string text(static_cast<size_t>(std::max<off_t>(lseek(fd_, 0, SEEK_END), 0)), '\0');
    text.resize(static_cast<size_t>(std::max<ssize_t>(pread(fd_, text.data(), text.size(), 0), 0)));
    return text;
  }

 private:
  const int fd_;
};

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
}

class Check {
 public:
  Check(const Options& options, Journal journal) : o_(options), journal_(std::move(journal)) {}

  Status run() {
    HONE_RETURN_IF_ERROR(find_device());
    const std::vector<Step> steps = plan(target_, o_.configs, o_.only, o_.suite);
    HONE_RETURN_IF_ERROR(check_suite(steps));
    size_t done = 0;
    for (const Step& step : steps) {
      if (!is_finished(step)) {
        if (left() < kLeastSeconds) break;
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

  bool is_finished(const Step& step) const {
    const Json* before = journal_.find(step.name);
    return before && before->value("finished", false);
  }
  void say_begun(const Step& step) const {
    std::cout << fmt::format("{:.0f} s  {} {}\n", seconds(), step.name,
                             step.workload.op ? to_string(step.workload) : "a convolutional net")
              << std::flush;
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

  StatusOr<Outcome> program(std::vector<std::string> argv, double most_seconds) const {
    argv[0] = sibling_program(argv[0]);
    const Output out("stdout"), err("stderr");
    ChildOptions child{.argv = std::move(argv), .own_group = false};
    child.stdout_fd = out.fd();
    child.stderr_fd = err.fd();
    HONE_ASSIGN_OR_RETURN(ChildProcess process, ChildProcess::spawn(child));
    const auto status = process.wait(std::chrono::milliseconds(static_cast<int64_t>(most_seconds * 1e3)));
    if (!status) return Outcome{-1, "", fmt::format("did not end within {:.0f} s", most_seconds)};
    Outcome outcome{WIFEXITED(*status) ? WEXITSTATUS(*status) : -1, out.text(), last_line(err.text())};
    if (outcome.code != kExitDone && outcome.last_error.empty()) outcome.last_error = describe_exit(*status);
    return outcome;
  }

  // The device as the compiler sees it; the same in every slice.
  Status find_device() {
    HONE_ASSIGN_OR_RETURN(const Outcome first, program({"tensorc", "--task", "elementwise", "--target", o_.target,
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
    if (step.kind == StepKind::kModel) return model();
    const std::vector<std::string> workload{"--workload", to_string(step.workload), "--target", to_string(target_)};
    const auto with = [&](const std::string& name, const std::vector<std::string>& more) {
      std::vector<std::string> argv{name};
      argv.insert(argv.end(), workload.begin(), workload.end());
      argv.insert(argv.end(), more.begin(), more.end());
      return argv;
    };
    switch (step.kind) {
      case StepKind::kModel: break;
      case StepKind::kSuite:
        return outcome_json(program(with("tensorc", {"--config", step.config, "--check"}), kMostSecondsOfOne));
      case StepKind::kTune:
        return tune(step, with("tuner", {"--db", file("tophub.db"), "--trials", std::to_string(o_.trials), "--json"}));
      case StepKind::kPeer: return peer(with("gpu-peers", {"--json"}));
      case StepKind::kBench: return bench(with("tensorc", {"--db", file("tophub.db"), "--check", "--bench", "--json"}));
    }
    return {};
  }

  // A model from its file to one artifact: each kernel against its reference, the whole against the imported model.
  Json model() {
    const std::string onnx = file("small.onnx"), artifact = file("small.so");
    SmallModel().write(onnx);
    const StatusOr<Outcome> outcome = program(
        {"tensorc", onnx, "--target", to_string(target_), "--config", "default", "-o", artifact, "--check", "--bench"},
        kMostSecondsOfOne);
    for (const std::string& made : {onnx, artifact, file("small.h")}) std::remove(made.c_str());
    Json record = outcome_json(outcome);
    double ms = 0;
    if (record["ok"].get<bool>() && std::sscanf(outcome->out.c_str(), "%lf ms", &ms) == 1) record["time_ms"] = ms;
    return record;
  }

  static Json outcome_json(const StatusOr<Outcome>& outcome) {
    if (!outcome.ok()) return {{"finished", true}, {"ok", false}, {"error", message_of(outcome.status())}};
    Json record{{"finished", true}, {"ok", outcome->code == kExitDone}};
    if (outcome->code != kExitDone) record["error"] = outcome->last_error;
    return record;
  }

  Json tune(const Step& step, std::vector<std::string> argv) {
    const double allowed = std::max(1.0, left() - kLeastSeconds / 2);
    argv.insert(argv.end(), {"--seconds", fmt::format("{:.1f}", allowed)});
    const StatusOr<Outcome> outcome = program(argv, allowed + kMostSecondsOfOne);
    Json record = outcome_json(outcome);
    const Json said = outcome.ok() ? Json::parse(outcome->out, nullptr, false) : Json();
    if (!said.is_object()) return record;
    for (const char* key : {"trials", "by_status", "trials_per_second"})
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
    const StatusOr<Outcome> outcome = program(argv, kMostSecondsOfOne);
    // A library that is not there is no error.
    if (outcome.ok() && outcome->code == kExitNoDevice) return {{"finished", true}, {"ok", true}};
    Json record = outcome_json(outcome);
    const Json said = outcome.ok() ? Json::parse(outcome->out, nullptr, false) : Json();
    if (said.is_object() && said.contains("time_ms"))
      record["time_ms"] = said["time_ms"], record["algorithm"] = said.value("algorithm", "");
    return record;
  }

  Json bench(std::vector<std::string> argv) {
    StatusOr<Outcome> outcome = program(argv, kMostSecondsOfOne);
    Json record = outcome_json(outcome);
    if (!record["ok"].get<bool>()) return record;
    const OrderedJson tuned = OrderedJson::parse(outcome->out, nullptr, false);  // knobs in their order
    argv.insert(argv.end(), {"--config", "default"});
    outcome = program(argv, kMostSecondsOfOne);
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
      HONE_ASSIGN_OR_RETURN(
          const Outcome exported,
          program({"tophub", "export", file("tophub.jsonl"), "--best", "--db", file("tophub.db")}, kMostSecondsOfOne));
      if (exported.code != kExitDone) return absl::InternalError(exported.last_error);
    }
    std::cout << fmt::format("{} of {} steps; {}/report.md{}\n", done, steps.size(), o_.output,
                             done < steps.size() ? "; the same command goes on" : "");
    if (report["model"].contains("error"))
      return all_failed_error("the model: " + report["model"]["error"].get<std::string>());
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
  CLI::App app{
      "Checks and measures Hone on this machine's GPU, a slice at a time: the same command goes on where the last one "
      "ended.\n\nExample: gpu-check --output results",
      "gpu-check"};
  Options o;
  app.add_option("--target", o.target, "cuda or opencl")->capture_default_str();
  app.add_option("--output", o.output, "folder of the report, the tophub, and what is needed to go on")
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "of this slice")->check(CLI::Range(20.0, 1e6))->capture_default_str();
  app.add_option("--trials", o.trials, "of each workload that is tuned")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--configs", o.configs, "of each workload of the suite")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--jobs", o.jobs, "configs of the suite that are checked at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--only", o.only, "tables: these rows, C6 D1 ... (default: all)");
  app.add_option("--suite", o.suite, "suite: workloads of these operators, conv2d softmax ... (default: all)");
  add_version(app, &compiler_line);
  o.command = fmt::format("gpu-check {}", fmt::join(argv + 1, argv + argc, " "));
  return run_cli(app, argc, argv, [&]() -> Status {
    std::error_code ec;
    std::filesystem::create_directories(o.output, ec);
    if (ec) return usage_error(fmt::format("--output {}: {}", o.output, ec.message()));
    CommandFiles files;
    files.reads(kFlagsFile, flags_file(app));
    for (const char* made :
         {"steps.jsonl", "report.json", "report.md", "tophub.jsonl", "small.onnx", "small.so", "small.h"})
      files.writes("--output", o.output + "/" + made);
    db::writes_database(files, "--output", o.output + "/tophub.db");
    HONE_RETURN_IF_ERROR(files.check());
    HONE_ASSIGN_OR_RETURN(Journal journal, Journal::open(o.output + "/steps.jsonl"));
    return Check(o, std::move(journal)).run();
  });
}
