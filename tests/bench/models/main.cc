// Whole models side by side with ONNX Runtime: each side in a process of its own, in turns.
//
// bench_models m.onnx --bind batch=1 --db tuned.db --json m.json --chart m.svg
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/atomic_file.h"
#include "base/child_process.h"
#include "base/clean_stream.h"
#include "base/cli.h"
#include "base/command_files.h"
#include "base/log.h"
#include "db/hub_files.h"
#include "tests/bench/models/chart.h"
#include "tests/bench/models/measure.h"
#include "tests/bench/models/table.h"

namespace hone::bench {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "written by a signal handler");

struct Options {
  std::vector<std::string> files, bind, shapes, fills, only;
  std::string models, filled = usual_filled_folder(), db, library, json, chart, from, peer, flags_file;
  std::vector<int> threads = {1};
  double limit_s = 300;
  MeasureOptions measure;
};

// Where deploy/peers puts it: build/peers, beside build/bin.
std::string usual_library() {
  if (const char* named = std::getenv("HONE_ONNXRUNTIME")) return named;
  return fs::path(sibling_program("../peers/libonnxruntime.so.1")).lexically_normal().string();
}

Status check_library(const std::string& library) {
  if (fs::exists(library)) return absl::OkStatus();
  return usage_error(
      fmt::format("there is no ONNX Runtime at {}: deploy/peers installs it; --onnxruntime FILE or "
                  "$HONE_ONNXRUNTIME names another",
                  library));
}

StatusOr<std::vector<ModelSpec>> models_of(const Options& o) {
  if (o.models.empty() && o.files.empty())
    return usage_error(
        "no models: give ONNX files (bench_models m.onnx --bind batch=1), or --models with a folder that has a "
        "models.json");
  if (!o.models.empty() && !o.files.empty()) return usage_error("give ONNX files or --models, not both");
  if (!o.only.empty() && o.models.empty()) return usage_error("--only is for the list of --models");
  for (const std::string& file : o.files)
    if (!fs::exists(file)) return usage_error(fmt::format("{}: there is no such file", file));
  if (o.models.empty()) return given_models(o.files, o.bind, o.shapes, o.fills);
  if (!o.bind.empty() || !o.shapes.empty() || !o.fills.empty())
    return usage_error("--bind, --shape and --fill are for ONNX files that are given; --models has them in its list");
  return listed_models(o.models, o.only, o.filled);
}

// The folder of a run, gone with it.
class Scratch {
 public:
  Scratch() : path_((fs::temp_directory_path() / "bench_models_XXXXXX").string()) {
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The current step, in one line of the terminal that the next one replaces; elsewhere a line for each row.
class Progress {
 public:
  void begin(std::string row) {
    row_ = std::move(row);
    if (!terminal_) std::cerr << row_ << std::endl;
  }
  void say(const std::string& what) const {
    clear();
    if (terminal_) std::cerr << row_ << ": " << what << std::flush;
  }
  void clear() const {
    if (terminal_) command_terminal(std::cerr, "\r\033[K");
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::string row_;
};

// Before hours are measured for it.
Status check_writable(const char* flag, const std::string& file) {
  if (file.empty() || access(fs::absolute(file).parent_path().c_str(), W_OK) == 0) return absl::OkStatus();
  return usage_error(fmt::format("{} {}: no file can be made in its folder", flag, file));
}

// Files that were measured for hours, or given, are not written over.
Status check_files(const Options& o) {
  CommandFiles files;
  for (const std::string& model : o.files) files.reads("the model", model);
  files.reads("--from", o.from);
  files.reads("--onnxruntime", o.library);
  files.reads(kFlagsFile, o.flags_file);
  db::reads_database(files, "--db", o.db);
  files.writes("--json", o.json);
  files.writes("--chart", o.chart);
  return files.check();
}

Status write_results(const Report& report, const Options& o) {
  if (!o.json.empty()) HONE_RETURN_IF_ERROR(write_atomically(o.json, to_json(report).dump(1) + "\n"));
  if (!o.chart.empty()) HONE_RETURN_IF_ERROR(write_atomically(o.chart, chart_svg(report)));
  return absl::OkStatus();
}

Status show_again(const Options& o) {
  HONE_ASSIGN_OR_RETURN(const Report report, read_report(o.from));
  const Columns columns = columns_of(report);
  std::cout << header_text(columns);
  for (const Row& row : report.rows) std::cout << row_text(row, columns) << layers_text(row);
  std::cout << summary_text(report, columns) << std::flush;
  return write_results(report, o);
}

Status measure_all(const std::vector<ModelSpec>& models, const Options& o, Report& report) {
  const Columns columns{.tuned = !o.db.empty(), .spinning = o.measure.spinning};
  std::cout << header_text(columns) << std::flush;
  Progress progress;
  MeasureOptions measuring = o.measure;
  measuring.progress = [&](const std::string& what) { progress.say(what); };
  size_t number = 0;
  for (const ModelSpec& model : models)
    for (const int threads : o.threads) {
      progress.begin(fmt::format("[{}/{}] {}, {} thread{}", ++number, models.size() * o.threads.size(), model.name,
                                 threads, threads == 1 ? "" : "s"));
      StatusOr<Row> row = measure(model, threads, measuring, report.peer_version);
      progress.clear();
      HONE_RETURN_IF_ERROR(row.status());
      std::cout << row_text(*row, columns) << layers_text(*row) << std::flush;
      report.rows.push_back(*std::move(row));
      HONE_RETURN_IF_ERROR(write_results(report, o));  // measurements are kept, however the run ends
    }
  return absl::OkStatus();
}

Status run(Options o, const std::string& command) {
  HONE_RETURN_IF_ERROR(check_writable("--json", o.json));
  HONE_RETURN_IF_ERROR(check_writable("--chart", o.chart));
  HONE_RETURN_IF_ERROR(check_files(o));
  if (!o.from.empty()) {
    if (!o.files.empty() || !o.models.empty()) return usage_error("--from shows a report again; it takes no models");
    return show_again(o);
  }
  HONE_ASSIGN_OR_RETURN(const std::vector<ModelSpec> models, models_of(o));
  if (o.library.empty()) o.library = usual_library();
  HONE_RETURN_IF_ERROR(check_library(o.library));
  if (!o.db.empty() && !fs::exists(o.db))
    return usage_error(
        fmt::format("--db {}: there is no such file; tuner --model MODEL.onnx --db FILE makes one", o.db));
  const Scratch scratch;
  if (scratch.path().empty()) return usage_error("no folder can be made in the one for temporary files ($TMPDIR)");
  MeasureOptions& m = o.measure;
  m.tensorc = sibling_program("tensorc");
  m.side = sibling_program("bench_models_side");
  m.peer = o.peer.empty() ? m.side : o.peer;
  m.library = fs::absolute(o.library).string();
  m.db = o.db;
  m.limit = std::chrono::milliseconds(static_cast<int64_t>(o.limit_s * 1000));
  m.folder = scratch.path();
  m.stop = &interrupted;

  Report report{machine_name(), command, "", static_cast<int64_t>(fs::file_size(o.library)), {}};
  const Status status = measure_all(models, o, report);
  if (status.ok() || exit_code_of(status) == kExitInterrupted)
    std::cout << summary_text(report, {.tuned = !o.db.empty(), .spinning = m.spinning}) << std::flush;
  HONE_RETURN_IF_ERROR(status);
  for (const Row& row : report.rows)
    if (row.error.empty()) return absl::OkStatus();
  return all_failed_error("no model could be measured; each row says why");
}

void add_flags(CommandLine& line, Options& o) {
  line.add_option("models", o.files, "ONNX models").type_name("MODEL.onnx");
  line.add_option("--bind", o.bind,
                  "a number for a named dimension or a scalar input; MODEL: in front is for one model")
      .one_value_each()
      .type_name("[MODEL:]NAME=N");
  line.add_option("--shape", o.shapes, "the shape of an input").one_value_each().type_name("[MODEL:]INPUT=1x3x224x224");
  line.add_option("--fill", o.fills, "values of an input (default: floats -1..1, bytes all, ids 0..99)")
      .one_value_each()
      .type_name("[MODEL:]INPUT=LOW..HIGH");
  line.add_option("--models", o.models, "a folder with a models.json, instead: its models");
  line.add_option("--only", o.only, "of those, these").delimiter(',');
  line.add_option("--filled", o.filled, "where models made from stripped graphs of --models are kept")
      .capture_default_str();
  line.add_option("--db", o.db, "a tophub: measure what is tuned, too");
  line.add_option("--threads", o.threads, "numbers of threads, 1,2,...")
      .delimiter(',')
      .check(number_from(1, 1024))
      .capture_default_str();
  line.add_option("--turns", o.measure.turns, "turns of each side; the median counts")
      .check(number_from(1, 1000))
      .capture_default_str();
  line.add_option("--turn-ms", o.measure.turn.least_ms, "least length of a turn")
      .check(number_from(0.0, 60'000.0))
      .capture_default_str();
  line.add_option("--starts", o.measure.starts, "processes started for the time until the first outputs")
      .check(number_from(1, 100))
      .capture_default_str();
  line.add_flag("--spinning", o.measure.spinning,
                "ONNX Runtime once more with its defaults (its threads spin between runs), and 100 ms of pause before "
                "our turns");
  line.add_flag("--layers", o.measure.layers,
                "where the time goes: each side's layers by their operators, after each row (each layer in --json)");
  line.add_option("--tolerance", o.measure.tolerance,
                  "the largest difference of outputs, over the largest value, that is no error")
      .check(number_from(1e-9, 1e9))
      .capture_default_str();
  line.add_option("--limit", o.limit_s, "seconds that a build, a start or a turn may take")
      .check(number_from(0.1, 86'400.0))
      .capture_default_str();
  line.add_option("--onnxruntime", o.library,
                  "its library (default: $HONE_ONNXRUNTIME, else where deploy/peers puts it)");
  line.add_option("--json", o.json, "write the results here, after each row");
  line.add_option("--chart", o.chart, "write the chart here, an SVG");
  line.add_option("--from", o.from, "show the results in this file instead of measuring");
  line.add_option("--peer", o.peer).hide();  // of tests: a program that stands for ONNX Runtime
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  using namespace hone;
  init_log("bench_models");
  struct sigaction action {};
  action.sa_handler = [](int) { bench::interrupted = true; };
  action.sa_flags = SA_RESETHAND;  // a second Ctrl-C ends it at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  bench::Options o;
  CommandLine line{
      "Times whole models beside ONNX Runtime, each side in a process of its own, in turns.\n\nExample: bench_models "
      "m.onnx --bind batch=1 --db tuned.db --json m.json --chart m.svg",
      "bench_models"};
  bench::add_flags(line, o);
  const std::string command = fmt::format("{}", fmt::join(std::vector<std::string>(argv + 1, argv + argc), " "));
  return run_cli(line, argc, argv, [&] {
    o.flags_file = flags_file(line);
    return bench::run(o, "bench_models " + command);
  });
}
