#include "tuner/cli/tuner_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/help.h"
#include "compiler/cli/model_flags.h"
#include "compiler/target/gpu_kinds.h"
#include "tuner/cli/fleet_flags.h"
#include "tuner/search/searcher.h"

namespace hone {
namespace {

std::string searcher_list() { return fmt::format("{}", fmt::join(searcher_names(), ", ")); }

Help tuner_help() {
  return {.does = "Finds the fastest schedules of an operator, or of a model's layers, by measuring candidates.",
          .examples = {{"tuner --task conv2d --target llvm --trials 128", "an operator, on this machine's CPU"},
                       {"tuner model.onnx --seconds 600", "a model's layers"},
                       {"tuner --confirm model.onnx --seconds 60", "try here what is known from elsewhere"},
                       {"tuner --workload 'dense(m=8,n=768,k=768)' --threads 2", "an operator as a model has it"},
                       {"tuner --task dense --fleet ann.hone", "on a device of a fleet"},
                       {"tuner --list", "the operators and their arguments"}},
          .groups = {{"Model",
                      {{"MODEL.onnx|MODEL.tflite", "tune the layers of this model; also --model FILE"},
                       {"--bind NAME=N", "fix a named dimension; 1|4|16: layers of a variant of each"},
                       {"--shape NAME=1x3x224x224", "fix the shape of an input"}},
                      {"--model", "--operators", "--replace", "--bind-data", "--model-batch", "--input", "--quantize",
                       "--ranges", "--keep", "--accumulate", "--optimize", "--denormals", "--assume-finite", "--cache",
                       "--print-tasks"}},
                     {"Operator",
                      {{"--task NAME", "tune an operator; --list prints all"},
                       {"--args k=v,...", "set its attributes; the others have their defaults"},
                       {"--workload TEXT", "say both in one: dense(m=128,n=768,k=768)"},
                       {"--tasks FILE", "tune many workloads, one a line, with weights"}},
                      {"--list", "--from-tophub"}},
                     {"Search",
                      {{"--seconds S", "end after this time, confirming and reporting included"},
                       {"--trials N", "measure N candidates at most"},
                       {"--stop-after N", "stop when so many trials brought no gain"},
                       {"--confirm", "search nothing: measure known configs beside the defaults"},
                       {"--search NAME", searcher_list()},
                       {"--fresh", "begin anew instead of resuming earlier trials"}},
                      {"--warm-start", "--seed", "--batch", "--timeout", "--repeat", "--min-repeat-ms"}},
                     {"Output",
                      {{"--target TEXT",
                        "tune for llvm: the CPU that measures; " + of_gpu_kinds(&GpuKind::name, ", ") + ": its GPU"},
                       {"--threads N", "tune kernels for N threads"},
                       {"--db FILE", "keep the results in this tophub"},
                       {"--plot FILE.svg", "draw the tuning curve"},
                       {"--json", "print the outcome as one JSON object"}},
                      {}},
                     {"Fleet",
                      {{"--fleet FILE", "measure on a fleet: a file of `tracker init-tls`, or HONE_FLEET"},
                       {"--tracker HOST:PORT", "measure on the fleet of this tracker; without both, here"},
                       {"--device KEY", "choose a device, an agent or a label"},
                       {"--tophub URL", "read a team's tophub, and tell it what is confirmed"}},
                      {"--trust-tenant", "--label", "--tls-ca", "--tls-cert", "--tls-key", "--token-file", "--insecure",
                       "--weight", "--priority"}}},
          .wants_words = true};
}

}  // namespace

void add_tuner_flags(CommandLine& line, const OperatorTable& operators, TunerFlags& f) {
  line.set_name("tuner");
  add_operator_flags(line, operators, f);
  line.add_flag("--list", f.list, "print the tasks with their arguments and defaults");
  line.add_option("--tasks", f.tasks,
                  "tune the workloads of a file, one a line with an optional weight: trials go where the weighted "
                  "total gains most");
  line.add_option_function(
          "--from-tophub",
          [&f](const std::string& url) {
            f.from_tophub = true;
            f.team_flags.url = url;
          },
          "tune the workloads that builds asked this team's tophub for in vain, those with the most to gain first; "
          "also --tophub URL")
      .type_name("URL");
  line.add_option("--model", f.model,
                  "tune the layers of a model: trials go where the model gains most; ends when the gains do")
      .type_name("MODEL.onnx|MODEL.tflite");
  const Flag flag = line.flag("--model");
  const Flag word = line.add_option("MODEL", f.model, "the same as --model MODEL.onnx|MODEL.tflite").type_name("");
  add_model_flags(line, f);
  line.add_option("--ranges", f.quantize.calibrate,
                  "take the ranges of --quantize from a file that tensorc --ranges wrote")
      .type_name("FILE");
  line.add_flag("--print-tasks", f.print_tasks, "print the file of --tasks that says the same as a model");
  line.add_option("--trials", f.trials,
                  "measure so many candidates at most, earlier sessions' included (for a model: 256 a workload)")
      .check(number_from(1, 10'000'000))
      .default_str("1000");
  line.add_option("--seconds", f.seconds,
                  "end after this time: searching, confirming and, for a model, building and timing the whole included")
      .check(number_from(0.001, 1e9));
  line.add_option("--stop-after", f.stop_after,
                  "stop when so many trials brought no gain (with several tasks: leave the task)")
      .check(number_from(1, 10'000'000));
  line.add_flag("--confirm", f.confirm,
                "search nothing: measure the configs that are known from elsewhere beside the defaults, those of the "
                "dearest layers first, so that builds take what is faster here");
  add_fleet_flags(line, f, "measure on the fleet of this tracker, HOST:PORT or unix:PATH; without it and --fleet here");
  add_team_flags(line, f.team_flags);
  line.flag("--tophub").group("A fleet's device");
  line.flag("--trust-tenant").group("A fleet's device");
  line.add_option("--weight", f.weight, "have this share of the tracker's devices, relative to other sessions")
      .check(number_from(0.01, 100.0))
      .capture_default_str();
  line.add_option(
          "--priority", f.priority,
          "have this priority: while a higher one has jobs queued, lower ones share a sixteenth of the devices' time")
      .check(number_from(-100, 100))
      .capture_default_str();
  line.add_option("--db", f.db, "keep the results in this tophub (default: $HONE_DB, else the user's data folder)");
  line.add_option("--search", f.search, "search by one of " + searcher_list()).capture_default_str();
  line.add_option("--seed", f.seed, "seed the search").capture_default_str();
  line.add_option("--batch", f.batch, "propose so many candidates in a batch (default: by --trials, 8 to 32)")
      .check(number_from(1, 4096));
  line.add_option("--timeout", f.timeout, "give a candidate's build so many seconds, and its run")
      .check(number_from(0.1, 3600.0))
      .capture_default_str();
  line.add_option("--repeat", f.repeat, "time a candidate so often").check(number_from(1, 1000)).capture_default_str();
  line.add_option("--min-repeat-ms", f.min_repeat_ms,
                  "make each repeat at least this long; near the best 2.5 times as long, of finalists 5 times")
      .check(number_from(0.01, 10'000.0))
      .capture_default_str();
  line.add_option("--threads", f.threads, "tune kernels for so many threads (default: the target's)")
      .check(number_from(1, 1024));
  line.add_option_function(
          "--warm-start", [&f](const std::string& given) { f.warm_start = given == "on"; },
          "on, off: begin with a prior and with seeds from other tuners' logs, if there are any")
      .check(text_from({"on", "off"}))
      .default_str("on");
  line.add_flag("--fresh", f.fresh, "do not resume from earlier trials");
  line.add_option("--plot", f.plot, "write the tuning curve to this SVG file");
  line.add_flag("--json", f.json, "print the outcome as one JSON object");
  const Flag from = line.flag("--from-tophub"), team = line.flag("--tophub");
  line.refuse_if([flag, word, from, team] {
    if (flag.count() > 0 && word.count() > 0)
      return "--model: a model is given once: `tuner MODEL` or `tuner --model MODEL`";
    return from.count() > 0 && team.count() > 0 ? "--from-tophub names the tophub itself: --tophub excludes it" : "";
  });
  set_help(line, tuner_help());
}

}  // namespace hone
