// TensorFlow Lite by its C API. No header of it is needed: the functions are few, and their names are looked for in
// the library. Without a delegate unless the library applies one by itself.
#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdint>

#include "tests/bench/models/engine.h"

namespace hone::bench {
namespace {

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// All pointers are to types that the library alone knows; 0 is its kTfLiteOk.
struct TfliteFunctions {
  const char* (*version)();
  void* (*create_model)(const char* path);
  void* (*create_options)();
  void (*set_threads)(void* options, int32_t threads);
  void* (*create_interpreter)(const void* model, const void* options);
  int (*allocate)(void* interpreter);
  int (*invoke)(void* interpreter);
  int32_t (*input_count)(const void* interpreter);
  int32_t (*output_count)(const void* interpreter);
  void* (*input)(const void* interpreter, int32_t number);
  const void* (*output)(const void* interpreter, int32_t number);
  size_t (*size)(const void* tensor);
  int (*write)(void* tensor, const void* from, size_t bytes);
  int (*read)(const void* tensor, void* to, size_t bytes);
};

StatusOr<TfliteFunctions> functions_of(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return absl::InternalError(dlerror());
  TfliteFunctions f{};
  std::string missing;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    if (!*function) missing = name;
  };
  find("TfLiteVersion", &f.version);
  find("TfLiteModelCreateFromFile", &f.create_model);
  find("TfLiteInterpreterOptionsCreate", &f.create_options);
  find("TfLiteInterpreterOptionsSetNumThreads", &f.set_threads);
  find("TfLiteInterpreterCreate", &f.create_interpreter);
  find("TfLiteInterpreterAllocateTensors", &f.allocate);
  find("TfLiteInterpreterInvoke", &f.invoke);
  find("TfLiteInterpreterGetInputTensorCount", &f.input_count);
  find("TfLiteInterpreterGetOutputTensorCount", &f.output_count);
  find("TfLiteInterpreterGetInputTensor", &f.input);
  find("TfLiteInterpreterGetOutputTensor", &f.output);
  find("TfLiteTensorByteSize", &f.size);
  find("TfLiteTensorCopyFromBuffer", &f.write);
  find("TfLiteTensorCopyToBuffer", &f.read);
  if (!missing.empty()) return absl::InternalError(fmt::format("{}: has no {}", path, missing));
  return f;
}

// Its objects live as long as the process, which ends with the engine.
class TfliteEngine final : public Engine {
 public:
  explicit TfliteEngine(const TfliteFunctions& f) : f_(f) {}

  Status open(const SideCase& c, const Buffers& buffers) {
    const void* model = f_.create_model(c.model.c_str());
    if (!model) return absl::InternalError(fmt::format("{}: TensorFlow Lite does not read it", c.model));
    void* options = f_.create_options();
    f_.set_threads(options, c.threads);
    interpreter_ = f_.create_interpreter(model, options);
    if (!interpreter_ || f_.allocate(interpreter_) != 0)
      return absl::InternalError(fmt::format("{}: TensorFlow Lite does not run it", c.model));
    const auto fit = [&](const std::vector<SideTensor>& tensors, int32_t count, const auto& tensor) {
      if (count != static_cast<int32_t>(tensors.size())) return false;
      for (int32_t i = 0; i < count; ++i)
        if (f_.size(tensor(interpreter_, i)) != static_cast<size_t>(tensors[static_cast<size_t>(i)].bytes))
          return false;
      return true;
    };
    if (!fit(c.inputs, f_.input_count(interpreter_), f_.input) ||
        !fit(c.outputs, f_.output_count(interpreter_), f_.output))
      return absl::InternalError(fmt::format("{}: has other inputs or outputs than the case", c.model));
    case_ = c;
    buffers_ = &buffers;
    return absl::OkStatus();
  }

  // With what a program does beside it: inputs are brought, outputs are taken.
  Status run() override {
    for (size_t i = 0; i < case_.inputs.size(); ++i)
      f_.write(f_.input(interpreter_, static_cast<int32_t>(i)), buffers_->inputs[i].get(),
               static_cast<size_t>(case_.inputs[i].bytes));
    if (f_.invoke(interpreter_) != 0) return absl::InternalError("TensorFlow Lite's run failed");
    for (size_t o = 0; o < case_.outputs.size(); ++o)
      f_.read(f_.output(interpreter_, static_cast<int32_t>(o)), buffers_->outputs[o].get(),
              static_cast<size_t>(case_.outputs[o].bytes));
    return absl::OkStatus();
  }

  StatusOr<std::vector<LayerTime>> layers(const TurnRules&) override {
    return absl::UnimplementedError("times of layers are not asked of TensorFlow Lite");
  }

 private:
  const TfliteFunctions f_;
  void* interpreter_ = nullptr;
  SideCase case_;
  const Buffers* buffers_ = nullptr;
};

}  // namespace

StatusOr<Opened> open_tflite(const SideCase& c, const Buffers& buffers) {
  const auto start = std::chrono::steady_clock::now();
  HONE_ASSIGN_OR_RETURN(const TfliteFunctions f, functions_of(c.library));
  const double library_ms = ms_since(start);
  const auto before = std::chrono::steady_clock::now();
  auto engine = std::make_unique<TfliteEngine>(f);
  HONE_RETURN_IF_ERROR(engine->open(c, buffers));
  return Opened{std::move(engine), f.version(), library_ms, ms_since(before)};
}

}  // namespace hone::bench
