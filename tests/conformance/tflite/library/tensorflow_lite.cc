// Runs models by TensorFlow Lite's interpreter, where its library is (tensorflow_lite_test.py builds this there):
// `tensorflow_lite CASES RESULTS`, files as case_file.h says. Kernels are those that the library takes by itself,
// without delegates, on one thread.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tensorflow/lite/interpreter.h"
#include "tensorflow/lite/kernels/register.h"
#include "tensorflow/lite/model.h"

namespace {

// The library numbers types otherwise than its files do, where floats have the number 0.
uint32_t type_in_files(TfLiteType type) {
  return type == kTfLiteFloat32 ? 0 : type == kTfLiteFloat16 ? 1 : static_cast<uint32_t>(type);
}

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  uint32_t number() {
    uint32_t v = 0;
    std::memcpy(&v, bytes_.data() + at_, sizeof(v));
    at_ += sizeof(v);
    return v;
  }
  std::string text() {
    const uint32_t size = number();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

void append(std::string* out, uint32_t v) { out->append(reinterpret_cast<const char*>(&v), sizeof(v)); }
void append(std::string* out, const char* bytes, size_t size) {
  append(out, static_cast<uint32_t>(size));
  out->append(bytes, size);
}

// The library tells errors one after the other; the last lines say the most.
class Errors : public tflite::ErrorReporter {
 public:
  int Report(const char* format, va_list args) override {
    char line[1024];
    std::vsnprintf(line, sizeof(line), format, args);
    text += text.empty() ? "" : " | ";
    text += line;
    return 0;
  }
  std::string text;
};

using Inputs = std::vector<std::string>;

// Appends the outputs of each call; else gives the reason.
std::string run(const std::string& model_bytes, const std::vector<Inputs>& calls, std::string* out) {
  Errors errors;
  const auto failed = [&](const char* what) { return std::string(what) + ": " + errors.text; };
  auto words = std::make_unique<std::max_align_t[]>(model_bytes.size() / sizeof(std::max_align_t) + 1);
  std::memcpy(words.get(), model_bytes.data(), model_bytes.size());
  const auto model = tflite::FlatBufferModel::VerifyAndBuildFromBuffer(reinterpret_cast<const char*>(words.get()),
                                                                       model_bytes.size(), nullptr, &errors);
  if (!model) return failed("no model");
  const tflite::ops::builtin::BuiltinOpResolverWithoutDefaultDelegates operators;
  std::unique_ptr<tflite::Interpreter> interpreter;
  if (tflite::InterpreterBuilder(*model, operators)(&interpreter, 1) != kTfLiteOk || !interpreter)
    return failed("no interpreter");
  if (interpreter->AllocateTensors() != kTfLiteOk) return failed("it does not prepare");
  append(out, static_cast<uint32_t>(calls.size()));
  for (const Inputs& inputs : calls) {
    if (inputs.size() != interpreter->inputs().size()) return "it has another number of inputs";
    for (size_t i = 0; i < inputs.size(); ++i) {
      TfLiteTensor* t = interpreter->input_tensor(i);
      if (t->bytes != inputs[i].size()) return "input " + std::to_string(i) + " has another size";
      std::memcpy(t->data.raw, inputs[i].data(), inputs[i].size());
    }
    if (interpreter->Invoke() != kTfLiteOk) return failed("it does not run");
    append(out, static_cast<uint32_t>(interpreter->outputs().size()));
    for (size_t o = 0; o < interpreter->outputs().size(); ++o) {
      const TfLiteTensor* t = interpreter->output_tensor(o);
      append(out, type_in_files(t->type));
      append(out, static_cast<uint32_t>(t->dims->size));
      for (int d = 0; d < t->dims->size; ++d) append(out, static_cast<uint32_t>(t->dims->data[d]));
      append(out, t->data.raw, t->bytes);
    }
  }
  return "";
}

// run() in a process of its own: the library ends some that it does not check. Gives what it gives.
std::string run_apart(const std::string& model, const std::vector<Inputs>& calls, std::string* out) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string answers, all;
    const std::string error = run(model, calls, &answers);
    append(&all, error.data(), error.size());
    all += answers;
    for (size_t at = 0; at < all.size();) {
      const ssize_t n = write(ends[1], all.data() + at, all.size() - at);
      if (n <= 0) _exit(1);
      at += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string all;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) all.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0 || all.size() < sizeof(uint32_t)) return "the library ended the process";
  const std::string error = Reader(all).text();
  *out = all.substr(sizeof(uint32_t) + error.size());
  return error;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: tensorflow_lite CASES RESULTS\n";
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  Reader reader(std::string(std::istreambuf_iterator<char>(in), {}));
  std::string results;
  const uint32_t count = reader.number();
  append(&results, count);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = reader.text(), model = reader.text();
    std::vector<Inputs> calls(reader.number());
    for (Inputs& inputs : calls) {
      inputs.resize(reader.number());
      for (std::string& input : inputs) input = reader.text();
    }
    std::string answers;
    const std::string error = run_apart(model, calls, &answers);
    append(&results, name.data(), name.size());
    append(&results, error.data(), error.size());
    if (error.empty())
      results += answers;
    else
      std::cout << name << ": " << error << "\n";
  }
  std::ofstream(argv[2], std::ios::binary) << results;
  return 0;
}
