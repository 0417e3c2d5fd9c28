#include "compiler/cli/tensorc_flags.h"

#include "base/help.h"
#include "compiler/cli/model_flags.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

Help tensorc_help() {
  return {.does = "Builds one operator, or a model, with the best configs that the tophub knows.",
          .examples = {{"tensorc model.onnx -o model.so --bench", "a model for this machine, and its time"},
                       {"tensorc model.onnx --bind batch=1 --check", "a dimension fixed; is it right?"},
                       {"tensorc model.onnx --input image=u8:NHWC", "callers pass bytes, channels last"},
                       {"tensorc --task conv2d --emit so -o conv.so", "one operator"},
                       {"tensorc --workload 'dense(m=8,n=768,k=768)' --explain", "its loops, its time"}},
          .groups = {{"Model",
                      {{"MODEL.onnx|MODEL.tflite", "build this model"},
                       {"--bind NAME=N", "fix a named dimension; 1|4|16 makes a variant of each"},
                       {"--shape NAME=1x3x224x224", "fix the shape of an input"},
                       {"--input NAME=FORMAT", "take what callers have: u8:NHWC,mean=127,scale=1/128"},
                       {"--cache NAME=N", "grow a decoder's caches in place, up to N rows"},
                       {"--quantize int8", "multiply bytes, by the ranges of --calibrate FOLDER"}},
                      {"--operators", "--replace", "--bind-data", "--model-batch", "--calibrate", "--range", "--ranges",
                       "--keep", "--accumulate", "--optimize"}},
                     {"Operator",
                      {{"--workload TEXT", "build dense(m=128,n=768,k=768); or --task NAME --args k=v,..."}},
                      {"--task", "--args"}},
                     {"Output",
                      {{"-o FILE", "write the artifact there"},
                       {"--target TEXT", "build for llvm: this CPU; " + of_gpu_kinds(&GpuKind::name, ", ") +
                                             ": its GPU; or another machine"},
                       {"--threads N", "build for N threads; 1|2 makes a variant of each"},
                       {"--emit KIND", "write so, obj, c, llvm, asm, lowered, ...; of a model graph, too"},
                       {"--weights FILE", "write weights to a file that processes share"},
                       {"--db FILE", "ask this tophub for configs first"}},
                      {"--lock", "--locked", "--config", "--min-confidence", "--denormals", "--assume-finite", "--host",
                       "--require-device", "--sysroot", "--disable"}},
                     {"Check and time",
                      {{"--check", "compare it with the reference"},
                       {"--bench", "time it here"},
                       {"--profile", "time each layer of a model"},
                       {"--inputs FOLDER", "run on input_0.npy, ...; compare with output_0.npy, ..."},
                       {"--report FILE.html", "write a page with layers, times, fusions and memory"},
                       {"--explain", "print steps, loops, bytes, registers, time against the roofline"},
                       {"run m.so", "run an artifact that exists: with --bench, --profile or --inputs"}},
                      {"--check-seconds", "--compare", "--json"}}},
          .wants_words = true};
}

// Help for the program's flags of a fleet.
HelpGroup fleet_help() {
  return {"Fleet",
          {{"--fleet FILE", "check and time on a fleet's device: a file of `tracker init-tls`"},
           {"--tophub URL", "read a team's tophub, too; or HONE_TOPHUB, or the fleet file's"}},
          {"--trust-tenant", "--tracker", "--device", "--label", "--tls-ca", "--tls-cert", "--tls-key", "--token-file",
           "--insecure"}};
}

}  // namespace

void set_tensorc_help(CommandLine& line) {
  Help help = tensorc_help();
  // Builds without a fleet have its flags only to refuse them, and hide them.
  if (const std::optional<Flag> fleet = line.find_flag("--fleet"); fleet && !fleet->is_hidden())
    help.groups.push_back(fleet_help());
  set_help(line, std::move(help));
}

void add_tensorc_flags(CommandLine& line, const OperatorTable& operators, TensorcOptions& o) {
  line.set_name("tensorc");
  line.add_option("model", o.model, "build this model; without one, an operator").type_name("MODEL.onnx|MODEL.tflite");
  add_model_flags(line, o);
  line.add_option("--weights", o.weights,
                  "write a model's weights to FILE, which processes map and share, instead of into the artifact "
                  "(done by itself above 1 GiB)")
      .type_name("FILE");
  line.add_flag("--require-device", o.require_device,
                "of a model for a GPU: refuse it where a layer would run on the host between the device's layers (one "
                "that is a function in C), whose tensors are copied there and back in every call");
  line.add_option("--inputs", o.inputs,
                  "run a model on FOLDER/input_0.npy (or .pb), ... and compare with FOLDER/output_0.npy, ...")
      .type_name("FOLDER");
  line.add_option("--calibrate", o.quantize.calibrate,
                  "find the ranges of --quantize by a folder of samples, a few hundred: folders with input_0.npy (or "
                  ".pb), ..., or .npy "
                  "files of a model's only input; or a file that --ranges wrote")
      .type_name("FOLDER");
  line.add_option("--range", o.quantize.range,
                  "choose what of the samples' values bytes cover: min-max, percentile (all but 0.01%) or entropy")
      .capture_default_str();
  line.add_option("--ranges", o.quantize.ranges,
                  "write the ranges that --quantize found to FILE, for --calibrate and for tuner")
      .type_name("FILE");
  o.task = "conv2d";
  add_operator_flags(line, operators, o);
  line.flag("--task").capture_default_str();
  line.add_option_function(
      "--threads", [&o](const std::string& text) { o.threads = thread_counts(text); },
      "build for so many threads (default: all of this machine); several, 1|2, make a variant of a model each");
  line.add_option("--db", o.db,
                  "read this tophub before the user's ($HONE_DB, else in the data folder) and the installed packages");
  line.add_option("--lock", o.lock,
                  "write a lock file: which record each layer took, of which digest, and all else that decides the "
                  "artifact's bytes; `tophub diff` compares two")
      .type_name("FILE");
  line.add_option("--locked", o.locked,
                  "take configs from a file that --lock wrote, and none from a tophub: the same bytes on any machine "
                  "of its target, or an error of one line")
      .type_name("FILE");
  line.add_option_function(
          "--min-confidence", [&o](const std::string& word) { o.least_confidence = *db::parse_confidence(word); },
          "take no config of less than: confirmed (by a session on the tophub itself), trusted (exact, of this user's "
          "team or a signed package), elsewhere (exact, of somebody else), nearest (of another target or shape); such "
          "layers take the default")
      .check(text_from({"confirmed", "trusted", "elsewhere", "nearest", "default"}))
      .default_str("default")
      .type_name("WORD");
  line.add_option("--config", o.config, "force a config, k=v,..., or 'default'");
  line.add_option(
      "--emit", o.emit,
      "write ir, lowered, legalized (or lowered:after=PASS, legalized:after=PASS), llvm, asm, c, obj or so; for GPUs " +
          of_gpu_kinds(&GpuKind::texts, ", ") +
          " or so; for models graph (or graph:after=PASS), operators (a file of the definitions that its nodes have), "
          "c, obj or so");
  line.add_option("--disable", o.disabled,
                  "leave out a pass of --emit lowered or legalized, or of a model's build; may be given again")
      .one_value_each()
      .type_name("PASS");
  line.add_option("--host", o.host,
                  "call the kernels from this CPU with --target " + of_gpu_kinds(&GpuKind::name, " or ") +
                      " (default: this one): llvm -mtriple=aarch64-linux -mcpu=cortex-a78ae")
      .type_name("TARGET");
  line.add_option("--sysroot", o.sysroot,
                  "link --emit so for another architecture with that system's files in a folder "
                  "(lib/aarch64-linux-gnu/libm.so.6); else they are looked for on this one");
  line.add_option("-o", o.output, "write it there: a shared object without --emit (texts: default stdout)");
  line.add_flag("--bench", o.bench, "time it here");
  line.add_flag("--check", o.check,
                "compare it with the reference; a model: each layer, and the whole with the imported graph");
  line.add_option("--check-seconds", o.check_seconds,
                  "give --check of a model so long here, roughly; layers share it, and the lines say how much was "
                  "compared. A minute is three times what ResNet-50 needs for every layer and the whole")
      .check(number_from(0.0, 1e6))
      .capture_default_str()
      .type_name("S");
  line.add_flag("--explain", o.explain,
                "print its steps, loop form, operations, bytes, registers, and time against this machine's roofline");
  line.add_flag("--profile", o.profile, "time each layer of a model, run by itself");
  line.add_option("--report", o.reports,
                  "write a page with a model's layers, their times here, fusions and memory to FILE.html, or its "
                  "data to FILE.json; may be given again")
      .one_value_each()
      .type_name("FILE");
  line.add_option("--compare", o.compare, "compare the report with an earlier one, .html or .json").type_name("FILE");
  line.add_flag("--json", o.json, "print one JSON object instead of text; for a model its description");
}

void add_run_command(CommandLine& line, TensorcOptions& o) {
  CommandLine& run = line.add_command("run", "run a model's artifact that exists, without building it");
  set_help(run, {});  // not the program's
  run.add_option("artifact", o.artifact, "a shared object that tensorc wrote of a model (-o m.so)")
      .required()
      .type_name("m.so");
  run.add_option("--inputs", o.inputs,
                 "run it on FOLDER/input_0.npy (or .pb), ... and compare with FOLDER/output_0.npy, ...: exit code 6 "
                 "where it differs; else it runs on numbers at random, the same each time")
      .type_name("FOLDER");
  run.add_flag("--bench", o.bench, "time it here, on the threads that it was built for");
  run.add_flag("--profile", o.profile, "the time of each layer, as they follow each other in a call");
  run.add_option("--weights", o.weights,
                 "where its weights are, if they are in a file of their own (default: beside it)")
      .type_name("FILE");
}

}  // namespace hone
