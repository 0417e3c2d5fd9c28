#include "compiler/cli/tensorc_flags.h"

#include "base/help.h"
#include "compiler/cli/model_flags.h"

namespace hone {
namespace {

Help tensorc_help() {
  return {.does = "Builds one operator, or a model, with the best configs that the tophub knows.",
          .examples = {{"tensorc model.onnx -o model.so --bench", "a model for this machine, and its time"},
                       {"tensorc model.onnx --bind batch=1 --check", "a dimension fixed; is it right?"},
                       {"tensorc model.onnx --input image=u8:NHWC", "callers pass bytes, channels last"},
                       {"tensorc --task conv2d --emit so -o conv.so", "one operator"},
                       {"tensorc --workload 'dense(m=8,n=768,k=768)' --explain", "its loops, its time"}},
          .groups = {{"What is built",
                      {{"MODEL.onnx", "an ONNX model; without one, an operator:"},
                       {"--workload TEXT", "dense(m=128,n=768,k=768), or --task NAME --args k=v,..."},
                       {"--emit KIND", "so, obj, c, llvm, asm, lowered, ...; of models graph, too"},
                       {"-o FILE", "where to write it"},
                       {"--target TEXT", "llvm: this machine's CPU; cuda, opencl: its GPU; or another machine"},
                       {"--threads N", "to build for; of a model 1|2: a variant of each"}},
                      {"--task", "--args", "--denormals", "--assume-finite", "--host", "--sysroot", "--disable"}},
                     {"Of a model",
                      {{"--bind NAME=N", "a number for a named dimension; 1|4|16: a variant of each"},
                       {"--shape NAME=1x3x224x224", "the shape of an input"},
                       {"--input NAME=FORMAT", "what callers pass: u8:NHWC,mean=127,scale=1/128"},
                       {"--cache NAME=N", "a decoder's caches of N rows, which grow in place"},
                       {"--quantize int8", "products of bytes, by the ranges of --calibrate FOLDER"},
                       {"--weights FILE", "weights go to a file that processes share"}},
                      {"--bind-data", "--model-batch", "--calibrate", "--range", "--ranges", "--keep", "--accumulate"}},
                     {"Configs",
                      {{"--db FILE", "a tophub that is asked first"}, {"--config k=v,...", "this one, or 'default'"}},
                      {}},
                     {"What was built",
                      {{"--check", "compare it with the reference"},
                       {"--bench", "time it here"},
                       {"--profile", "of a model: the time of each layer"},
                       {"--inputs FOLDER", "of a model: run it on input_0.npy, ...; compare with output_0.npy, ..."},
                       {"run m.so", "a model's artifact that exists: its --bench, --profile and --inputs"},
                       {"--explain", "steps, loops, bytes, registers, time against the roofline"},
                       {"--report FILE.html", "of a model: a page with layers, times, fusions and memory"},
                       {"--json", "one JSON object instead of text"}},
                      {"--compare"}}},
          .wants_words = true};
}

}  // namespace

void add_tensorc_flags(CLI::App& app, const OperatorTable& operators, TensorcOptions& o) {
  app.name("tensorc");
  app.add_option("model", o.model, "an ONNX model; without one, an operator is built")->type_name("MODEL.onnx");
  add_model_flags(app, o);
  app.add_option("--weights", o.weights,
                 "writes a model's weights to FILE, which processes map and share, instead of into the artifact "
                 "(done by itself above 1 GiB)")
      ->type_name("FILE");
  app.add_option("--inputs", o.inputs,
                 "runs a model on FOLDER/input_0.npy (or .pb), ... and compare with FOLDER/output_0.npy, ...")
      ->type_name("FOLDER");
  app.add_option("--calibrate", o.quantize.calibrate,
                 "a folder with samples for --quantize, a few hundred: folders with input_0.npy (or .pb), ..., or .npy "
                 "files of a model's only input; or a file that --ranges wrote")
      ->type_name("FOLDER");
  app.add_option(
         "--range", o.quantize.range,
         "what of the samples' values bytes cover with --quantize: min-max, percentile (all but 0.01%) or entropy")
      ->capture_default_str();
  app.add_option("--ranges", o.quantize.ranges,
                 "writes the ranges that --quantize found to FILE, for --calibrate and for tuner")
      ->type_name("FILE");
  app.add_option("--task", o.task, operators.names())->capture_default_str();
  app.add_option("--args", o.args, "the workload's attributes, k=v,...; the rest have the task's defaults");
  app.add_option("--workload", o.workload, "the whole canonical text instead of --task and --args");
  app.add_option(
         "--target", o.target,
         "llvm: this machine; cuda or opencl: its GPU; or others: cuda -arch=sm_XX, opencl -sms=N, a canonical target")
      ->capture_default_str();
  app.add_option_function<std::string>(
      "--threads", [&o](const std::string& text) { o.threads = thread_counts(text); },
      "threads to build for (default: all of this machine); of a model several make a variant of each: 1|2");
  app.add_option(
      "--db", o.db,
      "a tophub that is read before the user's ($HONE_DB, else in the data folder) and the installed packages");
  app.add_option("--config", o.config, "force a config, k=v,..., or 'default'");
  app.add_option(
      "--emit", o.emit,
      "ir, lowered, legalized (or lowered:after=PASS, legalized:after=PASS), llvm, asm, c, obj or so; of GPUs "
      "cuda, ptx, opencl or so; of models graph (or graph:after=PASS), c, obj or so");
  app.add_option("--disable", o.disabled,
                 "a pass that --emit lowered or legalized, or a model's build, leaves out; may be given again")
      ->allow_extra_args(false)
      ->type_name("PASS");
  app.add_option("--host", o.host,
                 "the CPU that calls the kernels of --target cuda or opencl (default: this one): llvm "
                 "-mtriple=aarch64-linux -mcpu=cortex-a78ae")
      ->type_name("TARGET");
  app.add_option("--sysroot", o.sysroot,
                 "a folder with another architecture's system files for --emit so "
                 "(lib/aarch64-linux-gnu/libm.so.6); else it is looked for on this one");
  app.add_option("-o", o.output, "where to write it: a shared object without --emit (texts: default stdout)");
  app.add_flag("--bench", o.bench, "time it here");
  app.add_flag("--check", o.check,
               "compares it with the reference; a model: each layer, and the whole with the imported graph");
  app.add_option("--check-seconds", o.check_seconds,
                 "what --check of a model may take here, roughly; layers share it, and the lines say how much was "
                 "compared. A minute is three times what ResNet-50 needs for every layer and the whole")
      ->check(number_from(0.0, 1e6))
      ->capture_default_str()
      ->type_name("S");
  app.add_flag("--explain", o.explain,
               "print its steps, loop form, operations, bytes, registers, and time against this machine's roofline");
  app.add_flag("--profile", o.profile, "the time of each layer of a model, run by itself");
  app.add_option("--report", o.reports,
                 "writes a page with a model's layers, their times here, fusions and memory to FILE.html, or its "
                 "data to FILE.json; may be given again")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--compare", o.compare, "an earlier --report, .html or .json, to compare this one with")
      ->type_name("FILE");
  app.add_flag("--json", o.json, "one JSON object instead of text; of a model: its description");
  set_help(app, tensorc_help());
}

CLI::App* add_run_command(CLI::App& app, TensorcOptions& o) {
  app.require_subcommand(0, 1);
  CLI::App* const run = app.add_subcommand("run", "run a model's artifact that exists, without building it");
  set_help(*run, {});  // not the program's
  run->add_option("artifact", o.artifact, "a shared object that tensorc MODEL.onnx -o m.so wrote")
      ->required()
      ->type_name("m.so");
  run->add_option("--inputs", o.inputs,
                  "run it on FOLDER/input_0.npy (or .pb), ... and compare with FOLDER/output_0.npy, ...: exit code 6 "
                  "where it differs; else it runs on numbers at random, the same each time")
      ->type_name("FOLDER");
  run->add_flag("--bench", o.bench, "time it here, on the threads that it was built for");
  run->add_flag("--profile", o.profile, "the time of each layer, as they follow each other in a call");
  run->add_option("--weights", o.weights,
                  "where its weights are, if they are in a file of their own (default: beside it)")
      ->type_name("FILE");
  return run;
}

Status check_run_flags(const CLI::App& app, const CLI::App& run) {
  for (const CLI::Option* given : app.get_options()) {
    const std::string name = given->get_name();
    if (given->count() > 0 && name != kFlagsFile && !run.get_option_no_throw(name))
      return usage_error(
          name + ": not of `tensorc run`, which builds nothing; allowed: --inputs, --bench, --profile, --weights");
  }
  return absl::OkStatus();
}

}  // namespace hone
