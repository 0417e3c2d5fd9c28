#include "compiler/cli/tensorc_flags.h"

namespace hone {

void add_tensorc_flags(CLI::App& app, const OperatorTable& operators, TensorcOptions& o) {
  app.name("tensorc");
  app.description(
      "Builds one operator, or a model, with the best configs that the tophub knows.\n\nExamples: tensorc --task "
      "conv2d --args ci=128,h=28,w=28,co=128 --emit so -o conv.so; tensorc model.onnx -o model.so");
  app.add_option("model", o.model, "an ONNX model; without one, an operator is built")->type_name("MODEL.onnx");
  app.add_option(
         "--bind", o.bind,
         "of a model: a number for a named dimension or an input of whole numbers (all of its elements), or a sum: "
         "total=past+1; several, NAME=1|4|16, make a variant of each; may be given again")
      ->allow_extra_args(false)
      ->type_name("NAME=N");
  app.add_option("--shape", o.shapes,
                 "of a model: the shape of an input, or several: X=1x3x48x192|1x3x48x320; may be given again")
      ->allow_extra_args(false)
      ->type_name("INPUT=1x3x224x224");
  app.add_option(
         "--input", o.formats,
         "of a model: what callers pass for an input: type, layout (NHWC, NCHW), bgr, and numbers, one or one a "
         "channel: (x - mean) * scale, or / std: images=u8:NHWC,mean=123.7:116.3:103.5,scale=0.017, "
         "wave=s16,scale=1/32768; may be given "
         "again")
      ->allow_extra_args(false)
      ->type_name("NAME=FORMAT");
  app.add_option(
         "--cache", o.cache,
         "of a decoder: the dimension that counts the rows of its caches, and the most of them: past=1023. Each "
         "call says how many there are, and one row is added in place")
      ->type_name("NAME=N");
  app.add_option("--accumulate", o.accumulate,
                 "of a model: f16: its products of f16 are summed in f16, in runs of at most 144 that f32 adds up, on "
                 "CPUs with that arithmetic: faster and less exact")
      ->check(CLI::IsMember({"f16"}))
      ->type_name("f16");
  app.add_option("--weights", o.weights,
                 "of a model: write its weights to FILE, which processes map and share, instead of into the artifact "
                 "(done by itself above 1 GiB)")
      ->type_name("FILE");
  app.add_option("--inputs", o.inputs,
                 "of a model: run it on FOLDER/input_0.npy (or .pb), ... and compare with FOLDER/output_0.npy, ...")
      ->type_name("FOLDER");
  app.add_option("--quantize", o.quantize.type,
                 "of a model: int8: its convolutions and dense products are computed with 8-bit inputs and weights, by "
                 "the ranges "
                 "of --calibrate; prints each layer's error and time")
      ->type_name("TYPE");
  app.add_option("--calibrate", o.quantize.calibrate,
                 "of --quantize: a folder with samples, a few hundred: folders with input_0.npy (or .pb), ..., or .npy "
                 "files of a model's only input; or a file that --ranges wrote")
      ->type_name("FOLDER");
  app.add_option(
         "--range", o.quantize.range,
         "of --quantize: what of the samples' values bytes cover: min-max, percentile (all but 0.01%) or entropy")
      ->capture_default_str();
  app.add_option("--ranges", o.quantize.ranges, "of --quantize: write what was found to FILE, for --calibrate")
      ->type_name("FILE");
  app.add_option("--keep", o.quantize.keep, "of --quantize: a node of the model that stays in f32; may be given again")
      ->allow_extra_args(false)
      ->type_name("NODE");
  app.add_option("--task", o.task, operators.names())->capture_default_str();
  app.add_option("--args", o.args, "the workload's attributes, k=v,...; the rest have the task's defaults");
  app.add_option("--workload", o.workload, "the whole canonical text instead of --task and --args");
  app.add_option(
         "--target", o.target,
         "llvm: this machine; cuda or opencl: its GPU; or others: cuda -arch=sm_XX, opencl -sms=N, a canonical target")
      ->capture_default_str();
  app.add_option("--threads", o.threads,
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
                 "of --target cuda or opencl: the CPU that calls the kernels (default: this one): llvm "
                 "-mtriple=aarch64-linux -mcpu=cortex-a78ae")
      ->type_name("TARGET");
  app.add_option("--sysroot", o.sysroot,
                 "of --emit so for another architecture: a folder with that system's files "
                 "(lib/aarch64-linux-gnu/libm.so.6); else it is looked for on this one");
  app.add_option("-o", o.output, "where to write it (texts: default stdout)");
  app.add_flag("--bench", o.bench, "time it here");
  app.add_flag("--check", o.check,
               "compare it with the reference; a model: each layer, and the whole with the imported graph");
  app.add_option(
         "--check-seconds", o.check_seconds,
         "of --check of a model here: what it may take, roughly; layers share it, and the lines say how much was "
         "compared. A minute is three times what ResNet-50 needs for every layer and the whole")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->type_name("S");
  app.add_flag("--explain", o.explain,
               "print its steps, loop form, operations, bytes, registers, and time against this machine's roofline");
  app.add_flag("--profile", o.profile, "of a model: the time of each layer, run by itself");
  app.add_option("--report", o.reports,
                 "of a model: write a page with its layers, their times here, fusions and memory to FILE.html, or its "
                 "data to FILE.json; may be given again")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--compare", o.compare, "an earlier --report, .html or .json, to compare this one with")
      ->type_name("FILE");
  app.add_flag("--json", o.json, "one JSON object instead of text; of a model: its description");
}

}  // namespace hone
