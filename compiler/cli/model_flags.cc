#include "compiler/cli/model_flags.h"

#include <algorithm>

#include "compiler/driver/users.h"
#include "compiler/frontend/model_reader.h"
#include "compiler/graph/batch/batch.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {

namespace {

using Texts = std::vector<std::string>;

// A flag that may be given again; each text is parsed as it is read.
template <class T, class Parse>
Flag add_each(CommandLine& line, const std::string& flag, std::vector<T>& out, const Parse& parse,
              const std::string& text) {
  return line
      .add_option_function(
          flag,
          [&out, parse](const Texts& given) {
            out.clear();
            for (const std::string& one : given) out.push_back(parse(one));
          },
          text)
      .one_value_each();
}

}  // namespace

void add_model_flags(CommandLine& line, ModelRequest& r) {
  add_each(line, "--bind", r.bind, bind_choice,
           "set a model's named dimension or an input of whole numbers (all of its elements) to a number or "
           "a sum, total=past+1; several, NAME=1|4|16, make a variant of each; may be given again")
      .type_name("NAME=N");
  add_each(line, "--bind-data", r.bind_data, bound_file,
           "make a model's input a constant with the elements of FILE (.npy, or ONNX's .pb): axes, sizes, scales that "
           "must be known while it is built; callers do not pass it; may be given again")
      .type_name("NAME=FILE");
  add_each(line, "--shape", r.shapes, shape_choice,
           "set the shape of a model's input, or several: X=1x3x48x192|1x3x48x320; may be given again")
      .type_name("INPUT=1x3x224x224");
  line.add_option("--model-batch", r.model_batch,
                  "build a model that was exported for a batch of 1 for N: inputs and outputs whose first dimension is "
                  "1 have N there, and each result is what a run by itself gives")
      .check(number_from(int64_t{1}, kMostImages))
      .type_name("N");
  add_each(
      line, "--input", r.formats, [](const std::string& text) { return input_format(text); },
      "take what callers pass for a model's input: type, layout (NHWC, NCHW; else the model's), bgr, and numbers, one "
      "or one a channel: (x - mean) * scale, or / std: images=u8:NHWC,mean=123.7:116.3:103.5,scale=0.017, "
      "wave=s16,scale=1/32768; normalized: mean and std of the model's file (TensorFlow Lite's notes), "
      "image=u8,normalized; "
      "may be given again")
      .type_name("NAME=FORMAT");
  line.add_option("--operators", r.operators,
                  "read definitions of operators of your own, for nodes of their names, from a file that "
                  "hone.save_operators wrote (docs/operators.md); may be given again")
      .one_value_each()
      .type_name("FILE");
  add_each(line, "--replace", r.replace, replaced_node,
           "put a definition of --operators in the place of a model's node, of all nodes that fit a name with *, or of "
           "all of an operator, ai.onnx::Softmax=my::softmax (or tflite::SOFTMAX), where it computes the same on "
           "numbers at random; may be given again")
      .type_name("NODE=OPERATOR");
  line.add_option_function(
          "--cache", [&r](const std::string& text) { r.cache = cache_option(text); },
          "grow a decoder's caches in place: the dimension that counts their rows, and the most, past=1023. Each call "
          "says "
          "how many there are, and one row is added in place; it is tuned with nearly all of them there")
      .type_name("NAME=N");
  line.add_option("--quantize", r.quantize.type,
                  "int8: compute a model's convolutions and dense products with 8-bit inputs and weights, by ranges "
                  "that tensorc --calibrate finds")
      .type_name("TYPE");
  line.add_option("--keep", r.quantize.keep, "leave a node of the model in f32 with --quantize; may be given again")
      .one_value_each()
      .type_name("NODE");
  line.add_option_function(
          "--accumulate", [&r](const std::string&) { r.sums_in_f16 = true; },
          "f16: sum a model's products of f16 in f16, in runs of at most 144 that f32 adds up, on CPUs with that "
          "arithmetic: faster and less exact")
      .check(text_from({"f16"}))
      .type_name("f16");
  const auto level = [](OptLevel l) { return std::to_string(static_cast<int>(l)) + ": " + names_of_level(l); };
  line.add_option(
          "-O,--optimize", r.optimize,
          "run a named set of passes over a model's graph, each with those of the lower ones (some are of CPUs, "
          "of GPUs or of another flag alone); " +
              level(OptLevel::kNeeded) + "; " + level(OptLevel::kSimplify) + "; " + level(OptLevel::kFuse) + "; " +
              level(OptLevel::kAll))
      .check(number_from(0, static_cast<int>(OptLevel::kAll)))
      .capture_default_str()
      .type_name("LEVEL");
  line.add_option_function(
          "--denormals", [&r](const std::string& text) { r.denormals = parse_denormals(text); },
          "treat numbers of f32 and f64 below the smallest normal one, on CPUs, as zero (the default), on all "
          "threads that run it, for as long as it runs; keep: numbers, which take up to 250 times as long")
      .check(text_from({"keep", "zero"}))
      .type_name("keep|zero");
  line.add_flag(
      "--assume-finite", r.assume_finite,
      "take it that inputs have no NaN and make none: maxima and what is made of them (Relu, Clip, pooling) may lose "
      "one, "
      "which saves up to two instructions each; without it a NaN stays one, and what the tuner times one by one "
      "always keeps it");
}

void add_operator_flags(CommandLine& line, const OperatorTable& operators, OperatorRequest& r) {
  line.add_option("--task", r.task, "take this operator: " + operators.names());
  line.add_option("--args", r.args, "set attributes of --task, k=v,...; the others have their defaults");
  line.add_option("--workload", r.workload, "say --task and --args in one: dense(m=128,n=768,k=768)");
  line.add_option(
          "--target", r.target,
          "take a target: llvm, the CPU of this machine or of a fleet's device, some fields or all of them given; " +
              of_gpu_kinds(&GpuKind::name, " or ") + ", a GPU, " + of_gpu_kinds(&GpuKind::example, " and ") +
              " where it is not here")
      .capture_default_str();
}

void add_words(ShellCommand& command, const ModelRequest& r) {
  const auto texts = [](const auto& choices) {
    Texts out;
    for (const auto& choice : choices) out.push_back(to_string(choice));
    return out;
  };
  command.options("--bind", texts(r.bind)).options("--bind-data", texts(r.bind_data));
  command.options("--shape", texts(r.shapes));
  if (r.model_batch != 1) command.option("--model-batch", std::to_string(r.model_batch));
  for (const InputFormat& f : r.formats) command.option("--input", f.text);
  command.options("--operators", r.operators).options("--replace", texts(r.replace));
  command.option("--cache", r.cache ? to_string(*r.cache) : "").option("--accumulate", r.sums_in_f16 ? "f16" : "");
  if (r.optimize != ModelRequest{}.optimize) command.option("--optimize", std::to_string(r.optimize));
  command.option("--quantize", r.quantize.type).options("--keep", r.quantize.keep);
  command.option("--denormals", r.denormals ? std::string(name_of(*r.denormals)) : "");
  command.flag("--assume-finite", r.assume_finite);
}

void reads_model(CommandFiles& files, const ModelRequest& r, const std::string& what) {
  if (!r.model.empty())
    for (const std::string& path : model_files(r.model)) files.reads(path == r.model ? what : "the model's data", path);
  for (const BoundFile& file : r.bind_data) files.reads("--bind-data", file.path);
  for (const std::string& path : r.operators) files.reads("--operators", path);
}

BuildRequest of_binding(BuildRequest request, const ModelBinding& binding) {
  request.bind.clear(), request.shapes.clear();
  for (const auto& [name, number] : binding.options.bind) request.bind.push_back({name, {{number, ""}}});
  for (const auto& [name, sum] : binding.options.sums) request.bind.push_back({name, {{0, sum}}});
  for (const auto& [name, shape] : binding.options.shapes) request.shapes.push_back({name, {shape}});
  return request;
}

ShellCommand build_command(const ModelRequest& request) {
  std::vector<std::string> files;
  for (const UserPass& pass : request.passes)
    if (!pass.file.empty() && std::find(files.begin(), files.end(), pass.file) == files.end())
      files.push_back(pass.file);
  // The program knows nothing of users' that is Python.
  const bool is_python = !request.passes.empty() || request.define;
  ShellCommand command = is_python ? ShellCommand("python3 -m hone compile") : ShellCommand("tensorc");
  command.word(request.model).options("--passes", files).options("--operators", files_of_answers(request));
  return command;
}

std::string graph_command(const BuildRequest& request, const std::string& emit) {
  ShellCommand command = build_command(request);
  add_words(command, request);
  command.option("--calibrate", request.quantize.calibrate);
  return command.options("--disable", request.disabled)
      .option("--target", request.target)
      .option("--emit", emit)
      .flag("--check", emit.empty())
      .text();
}

}  // namespace hone
