#include "compiler/cli/model_flags.h"

#include "compiler/frontend/onnx/external_files.h"
#include "compiler/graph/batch/batch.h"

namespace hone {

void add_model_flags(CLI::App& app, ModelWords& w) {
  app.add_option(
         "--bind", w.bind,
         "of a model: a number for a named dimension or an input of whole numbers (all of its elements), or a sum: "
         "total=past+1; several, NAME=1|4|16, make a variant of each; may be given again")
      ->allow_extra_args(false)
      ->type_name("NAME=N");
  app.add_option("--bind-data", w.bind_data,
                 "of a model: an input that becomes a constant with the elements of FILE (.npy, or ONNX's .pb): axes, "
                 "sizes, scales that must be known while it is built; callers do not pass it; may be given again")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE");
  app.add_option("--shape", w.shapes,
                 "of a model: the shape of an input, or several: X=1x3x48x192|1x3x48x320; may be given again")
      ->allow_extra_args(false)
      ->type_name("INPUT=1x3x224x224");
  app.add_option("--model-batch", w.model_batch,
                 "of a model that was exported for a batch of 1: build it for N; inputs and outputs whose first "
                 "dimension is 1 have N there, and each result is what a run by itself gives")
      ->check(number_from(int64_t{1}, kMostImages))
      ->type_name("N");
  app.add_option("--input", w.formats,
                 "of a model: what callers pass for an input: type, layout (NHWC, NCHW; else the model's), bgr, and "
                 "numbers, one or one a channel: (x - mean) * scale, or / std: "
                 "images=u8:NHWC,mean=123.7:116.3:103.5,scale=0.017, wave=s16,scale=1/32768; may be given again")
      ->allow_extra_args(false)
      ->type_name("NAME=FORMAT");
  app.add_option(
         "--cache", w.cache,
         "of a decoder: the dimension that counts the rows of its caches, and the most of them: past=1023. Each "
         "call says how many there are, and one row is added in place; it is tuned with nearly all of them there")
      ->type_name("NAME=N");
  app.add_option("--accumulate", w.accumulate,
                 "of a model: f16: its products of f16 are summed in f16, in runs of at most 144 that f32 adds up, on "
                 "CPUs with that arithmetic: faster and less exact")
      ->check(CLI::IsMember({"f16"}))
      ->type_name("f16");
  app.add_option(
         "--denormals", w.denormals,
         "of CPUs: what numbers of f32 and f64 below the smallest normal one are to a call: zero (the default), "
         "on all threads that run it, for as long as it runs; keep: numbers, which take up to 250 times as long")
      ->check(CLI::IsMember({"keep", "zero"}))
      ->type_name("keep|zero");
  app.add_flag(
      "--assume-finite", w.assume_finite,
      "inputs have no NaN and make none: maxima and what is made of them (Relu, Clip, pooling) may lose one, "
      "which saves up to two instructions each; without it a NaN stays one, and what the tuner times one by one "
      "always keeps it");
}

void add_words(ShellCommand& command, const ModelWords& w) {
  command.options("--bind", w.bind).options("--bind-data", w.bind_data).options("--shape", w.shapes);
  if (w.model_batch != 1) command.option("--model-batch", std::to_string(w.model_batch));
  command.options("--input", w.formats).option("--cache", w.cache).option("--accumulate", w.accumulate);
  command.option("--denormals", w.denormals).flag("--assume-finite", w.assume_finite);
}

void reads_model(CommandFiles& files, const ModelWords& w, const std::string& what) {
  if (!w.model.empty())
    for (const std::string& path : onnx_files(w.model)) files.reads(path == w.model ? what : "the model's data", path);
  for (const std::string& text : w.bind_data)
    if (const size_t at = text.find('='); at != std::string::npos) files.reads("--bind-data", text.substr(at + 1));
}

}  // namespace hone
