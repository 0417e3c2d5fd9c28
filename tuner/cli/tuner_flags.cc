#include "tuner/cli/tuner_flags.h"

#include "base/help.h"
#include "compiler/cli/model_flags.h"
#include "tuner/cli/fleet_flags.h"
#include "tuner/search/searcher.h"

namespace hone {
namespace {

std::string searcher_list() {
  std::string text;
  for (std::string_view name : searcher_names()) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

Help tuner_help() {
  return {.does = "Finds the fastest schedules of an operator, or of a model's layers, by measuring candidates.",
          .examples = {{"tuner --task conv2d --target llvm --trials 128", "an operator, on this machine's CPU"},
                       {"tuner model.onnx --seconds 600", "a model's layers"},
                       {"tuner --workload 'dense(m=8,n=768,k=768)' --threads 2", "an operator as a model has it"},
                       {"tuner --task dense --fleet ann.hone", "on a device of a fleet"},
                       {"tuner --list", "the operators and their arguments"}},
          .groups = {{"What is tuned",
                      {{"--task NAME", "an operator; --list prints all"},
                       {"--args k=v,...", "its attributes; the others have their defaults"},
                       {"--workload TEXT", "both in one: dense(m=128,n=768,k=768)"},
                       {"--tasks FILE", "many workloads, one a line, with weights"},
                       {"MODEL.onnx", "the layers of a model; also --model MODEL.onnx"},
                       {"--bind NAME=N", "of a model: a number for a named dimension"},
                       {"--shape NAME=1x3x224x224", "of a model: the shape of an input"}},
                      {"--list", "--model", "--bind-data", "--model-batch", "--input", "--quantize", "--ranges",
                       "--keep", "--accumulate", "--denormals", "--assume-finite", "--cache", "--print-tasks"}},
                     {"How long",
                      {{"--trials N", "candidates to measure at most"},
                       {"--seconds S", "end after this time, confirming and reporting included"},
                       {"--stop-after N", "stop when so many trials brought no gain"}},
                      {}},
                     {"Where",
                      {{"--target TEXT", "llvm: the CPU that measures; cuda, opencl: its GPU"},
                       {"--threads N", "of the kernels"},
                       {"--fleet FILE", "on a fleet: a file of `tracker init-tls`, or HONE_FLEET"},
                       {"--tracker HOST:PORT", "on a fleet; without both, here"},
                       {"--device KEY", "of the fleet: a device, an agent or a label"}},
                      {"--label", "--tls-ca", "--tls-cert", "--tls-key", "--token-file", "--insecure", "--weight",
                       "--priority"}},
                     {"The search",
                      {{"--search NAME", searcher_list()},
                       {"--warm-start on|off", "begin with what earlier trials taught"},
                       {"--fresh", "do not resume from earlier trials"}},
                      {"--seed", "--batch", "--timeout", "--repeat", "--min-repeat-ms"}},
                     {"Results",
                      {{"--db FILE", "the tophub that keeps them"},
                       {"--plot FILE.svg", "the tuning curve"},
                       {"--json", "the outcome as one JSON object"}},
                      {}}},
          .wants_words = true};
}

}  // namespace

void add_tuner_flags(CLI::App& app, const OperatorTable& operators, TunerFlags& f) {
  app.name("tuner");
  app.add_option("--task", f.task, operators.names());
  app.add_option("--args", f.args, "attributes of the task, k=v,...; the others have their defaults");
  app.add_option("--workload", f.workload, "a whole workload, task(k=v,...), instead of --task and --args");
  app.add_flag("--list", f.list, "print the tasks with their arguments and defaults");
  app.add_option("--tasks", f.tasks,
                 "a file of workloads, one a line with an optional weight: tune them all, trials go where the weighted "
                 "total gains most");
  app.add_option("--model", f.model,
                 "an ONNX model: tune its layers, trials go where the model gains most; ends when the gains do")
      ->type_name("MODEL.onnx");
  CLI::Option* const flag = app.get_option("--model");
  CLI::Option* const word = app.add_option("MODEL", f.model, "the same as --model MODEL.onnx")->type_name("");
  app.parse_complete_callback([flag, word] {
    if (flag->count() > 0 && word->count() > 0)
      throw CLI::ValidationError("--model", "a model is given once: `tuner MODEL.onnx` or `tuner --model MODEL.onnx`");
  });
  add_model_flags(app, f);
  app.add_option("--ranges", f.quantize.calibrate, "the ranges of --quantize, in a file that tensorc --ranges wrote")
      ->type_name("FILE");
  app.add_flag("--print-tasks", f.print_tasks, "prints the file of --tasks that says the same as a model");
  app.add_option("--target", f.target, "llvm: the CPU that measures; its fields can be given")->capture_default_str();
  app.add_option("--trials", f.trials,
                 "candidates to measure at most, earlier sessions' included (of a model: 256 a workload)")
      ->check(number_from(1, 10'000'000))
      ->default_str("1000");
  app.add_option("--seconds", f.seconds,
                 "end after this time: searching, confirming and, of a model, building and timing the whole included")
      ->check(number_from(0.001, 1e9));
  app.add_option("--stop-after", f.stop_after,
                 "stop when so many trials brought no gain (of several tasks: leave the task)")
      ->check(number_from(1, 10'000'000));
  add_fleet_flags(app, f, "HOST:PORT or unix:PATH; without it and --fleet the tuner measures here by itself");
  app.add_option("--weight", f.weight, "share of the tracker's devices, relative to other sessions")
      ->check(number_from(0.01, 100.0))
      ->capture_default_str();
  app.add_option(
         "--priority", f.priority,
         "of the session; while a higher one has jobs queued, lower ones share a sixteenth of the devices' time")
      ->check(number_from(-100, 100))
      ->capture_default_str();
  app.add_option("--db", f.db, "the tophub (default: $HONE_DB, else the user's data folder)");
  app.add_option("--search", f.search, searcher_list())->capture_default_str();
  app.add_option("--seed", f.seed, "of the search")->capture_default_str();
  app.add_option("--batch", f.batch, "candidates per batch (default: by --trials, 8 to 32)")
      ->check(number_from(1, 4096));
  app.add_option("--timeout", f.timeout, "seconds for a candidate's build, and for its run")
      ->check(number_from(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--repeat", f.repeat, "timed repeats of a candidate")
      ->check(number_from(1, 1000))
      ->capture_default_str();
  app.add_option("--min-repeat-ms", f.min_repeat_ms, "a repeat takes at least this long")
      ->check(number_from(0.01, 10'000.0))
      ->capture_default_str();
  app.add_option("--threads", f.threads, "of the kernel (default: the target's)")->check(number_from(1, 1024));
  app.add_option_function<std::string>(
         "--warm-start", [&f](const std::string& given) { f.warm_start = given == "on"; },
         "on, off: begin with a prior and with seeds from other tuners' logs, if there are any")
      ->check(CLI::IsMember({"on", "off"}))
      ->default_str("on");
  app.add_flag("--fresh", f.fresh, "do not resume from earlier trials");
  app.add_option("--plot", f.plot, "write the tuning curve to this SVG file");
  app.add_flag("--json", f.json, "print the outcome as one JSON object");
  set_help(app, tuner_help());
}

}  // namespace hone
