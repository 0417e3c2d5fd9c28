#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/text.h"
#include "tests/bench/models/engine.h"
#include "tests/bench/models/onnxruntime_api.h"

namespace hone::bench {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

// Its objects live as long as the process, which ends with the engine.
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
    if (!c.layers_file.empty()) HONE_RETURN_IF_ERROR(status_of(f_.enable_profile(options, profile_of(c).c_str())));
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
      const bool is_count = std::any_of(c.outputs.begin(), c.outputs.end(),
                                        [&](const SideTensor& t) { return t.count == static_cast<int>(o); });
      if (is_count) continue;
      if (c.outputs[o].count >= 0) {
        const auto count = static_cast<size_t>(c.outputs[o].count);
        ragged_.push_back({outputs_.size(), c.outputs[o], buffers.outputs[o].get(), buffers.outputs[count].get()});
      }
      outputs_.push_back(nullptr);
      if (c.outputs[o].count < 0) HONE_RETURN_IF_ERROR(tensor(c.outputs[o], buffers.outputs[o], &outputs_.back()));
      output_names_.push_back(names_.outputs[o].name.c_str());
    }
    return absl::OkStatus();
  }

  StatusOr<std::vector<LayerTime>> layers(const TurnRules& rules) override {
    const auto begin = std::chrono::steady_clock::now();
    for (int runs = 0;
         runs < rules.least_runs || Milliseconds(std::chrono::steady_clock::now() - begin).count() < rules.least_ms;
         ++runs)
      HONE_RETURN_IF_ERROR(run());
    f_.release_session(std::exchange(session_, nullptr));  // which writes the profile
    // The library adds the time of day to the name.
    const std::filesystem::path prefix = profile_of(names_);
    for (const auto& entry : std::filesystem::directory_iterator(prefix.parent_path())) {
      if (entry.path().filename().string().rfind(prefix.filename().string(), 0) != 0) continue;
      std::ifstream in(entry.path());
      return layers_of_profile({std::istreambuf_iterator<char>(in), {}});
    }
    return absl::InternalError(fmt::format("there is no profile {}*", prefix.string()));
  }

  Status run() override {
    for (const RaggedOutput& r : ragged_) {
      if (outputs_[r.place]) f_.release_value(outputs_[r.place]);
      outputs_[r.place] = nullptr;
    }
    HONE_RETURN_IF_ERROR(status_of(f_.run(session_, nullptr, input_names_.data(), inputs_.data(), inputs_.size(),
                                          output_names_.data(), output_names_.size(), outputs_.data())));
    if (!std::exchange(has_run_, true))
      for (const RaggedOutput& r : ragged_) HONE_RETURN_IF_ERROR(keep(r));
    return absl::OkStatus();
  }

 private:
  static std::string profile_of(const SideCase& c) { return c.layers_file + ".onnxruntime"; }

  // An output that it allocates itself in each run, and where the first one's is kept.
  struct RaggedOutput {
    size_t place;  ///< in outputs_
    SideTensor type;
    void *elements, *count;
  };

  Status keep(const RaggedOutput& r) const {
    OrtTensorTypeAndShapeInfo* type = nullptr;
    void* data = nullptr;
    size_t elements = 0;
    HONE_RETURN_IF_ERROR(status_of(f_.type_of(outputs_[r.place], &type)));
    const Status counted = status_of(f_.element_count(type, &elements));
    f_.release_type(type);
    HONE_RETURN_IF_ERROR(counted);
    HONE_RETURN_IF_ERROR(status_of(f_.data_of(outputs_[r.place], &data)));
    int64_t most = 1, row = 1;  // elements, and how many of them the extent counts
    for (size_t d = 0; d < r.type.shape.size(); ++d) {
      most *= r.type.shape[d];
      if (static_cast<int>(d) > r.type.axis) row *= r.type.shape[d];
    }
    const int64_t bytes = static_cast<int64_t>(elements) * (r.type.bytes / most),
                  count = static_cast<int64_t>(elements) / row;
    if (bytes > r.type.bytes)
      return absl::InternalError(fmt::format("output '{}' has {} elements, more than may be", r.type.name, elements));
    std::memcpy(r.elements, data, static_cast<size_t>(bytes));
    std::memcpy(r.count, &count, sizeof count);
    return absl::OkStatus();
  }

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
  std::vector<RaggedOutput> ragged_;
  bool has_run_ = false;
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
