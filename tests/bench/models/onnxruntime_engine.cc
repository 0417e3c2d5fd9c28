#include <chrono>

#include "base/text.h"
#include "tests/bench/models/engine.h"
#include "tests/bench/models/onnxruntime_api.h"

namespace hone::bench {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

// What it makes lives as long as the process, which ends with the engine.
class OnnxRuntimeEngine final : public Engine {
 public:
  explicit OnnxRuntimeEngine(OrtFunctions f) : f_(std::move(f)) {}

  Status create_session(const SideCase& c) {
    OrtEnv* env = nullptr;
    OrtSessionOptions* options = nullptr;
    HONE_RETURN_IF_ERROR(status_of(f_.create_env(kOrtLogErrors, "bench_models", &env)));
    HONE_RETURN_IF_ERROR(status_of(f_.create_session_options(&options)));
    HONE_RETURN_IF_ERROR(status_of(f_.set_threads(options, c.threads)));
    HONE_RETURN_IF_ERROR(status_of(f_.set_parallel_nodes(options, 1)));
    HONE_RETURN_IF_ERROR(status_of(f_.set_optimization(options, kOrtAllOptimizations)));
    // Its threads then spin within a run, and sleep when the run has ended: they would take cores from our turns.
    if (!c.spinning) HONE_RETURN_IF_ERROR(status_of(f_.set_entry(options, "session.force_spinning_stop", "1")));
    for (const auto& [name, size] : c.dims)
      HONE_RETURN_IF_ERROR(status_of(f_.fix_dimension(options, name.c_str(), size)));
    return status_of(f_.create_session(env, c.model.c_str(), options, &session_));
  }

  Status bind(const SideCase& c, const Buffers& buffers) {
    OrtMemoryInfo* info = nullptr;
    HONE_RETURN_IF_ERROR(status_of(f_.create_memory_info(kOrtArenaAllocator, kOrtDefaultMemory, &info)));
    const auto tensor = [&](const SideTensor& t, const Memory& memory, OrtValue** out) {
      return status_of(f_.create_tensor(info, memory.get(), static_cast<size_t>(t.bytes), t.shape.data(),
                                        t.shape.size(), t.onnx_type, out));
    };
    names_ = c;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      OrtValue* value = nullptr;
      HONE_RETURN_IF_ERROR(tensor(c.inputs[i], buffers.inputs[i], &value));
      inputs_.push_back(value);
      input_names_.push_back(names_.inputs[i].name.c_str());
    }
    for (size_t o = 0; o < c.outputs.size(); ++o) {
      outputs_.push_back(nullptr);
      HONE_RETURN_IF_ERROR(tensor(c.outputs[o], buffers.outputs[o], &outputs_.back()));
      output_names_.push_back(names_.outputs[o].name.c_str());
    }
    return absl::OkStatus();
  }

  Status run() override {
    return status_of(f_.run(session_, nullptr, input_names_.data(), inputs_.data(), inputs_.size(),
                            output_names_.data(), output_names_.size(), outputs_.data()));
  }

 private:
  Status status_of(OrtStatus* status) const {
    if (!status) return absl::OkStatus();
    const std::string text = clean_line(f_.error_message(status));
    f_.release_status(status);
    return absl::InternalError(text);
  }

  OrtFunctions f_;
  OrtSession* session_ = nullptr;
  SideCase names_;  // owns what input_names_ and output_names_ point to
  std::vector<const OrtValue*> inputs_;
  std::vector<OrtValue*> outputs_;
  std::vector<const char*> input_names_, output_names_;
};

}  // namespace

StatusOr<Opened> open_onnxruntime(const SideCase& c, const Buffers& buffers) {
  const auto start = std::chrono::steady_clock::now();
  HONE_ASSIGN_OR_RETURN(OrtFunctions functions, OrtFunctions::load(c.library));
  const std::string version = functions.version;
  const auto loaded = std::chrono::steady_clock::now();
  auto engine = std::make_unique<OnnxRuntimeEngine>(std::move(functions));
  HONE_RETURN_IF_ERROR(engine->create_session(c));
  const auto opened = std::chrono::steady_clock::now();
  HONE_RETURN_IF_ERROR(engine->bind(c, buffers));
  return Opened{std::move(engine), version, Milliseconds(loaded - start).count(),
                Milliseconds(opened - loaded).count()};
}

}  // namespace hone::bench
