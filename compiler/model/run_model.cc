#include "compiler/model/run_model.h"
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/temporary_file.h"
#include "compiler/host/load_objects.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostToMove = 16 << 20;

// Where the artifact's weights are in a file of their own.
void map_weights(const Artifact& artifact, const std::string& name, const std::string& path) {
  const auto map = reinterpret_cast<int32_t (*)(const char*)>(artifact.symbol(name + "_weights"));
  const int32_t code = map(path.c_str());
  HONE_USER_CHECK(code == HONE_OK) << path << ": " << artifact.description()->error(code);
}

Artifact loaded(const std::string& path, const std::string& name, const std::string& weights) {
  auto artifact = Artifact::load(path, name);
  HONE_USER_CHECK(artifact.ok()) << message_of(artifact.status());
  HONE_USER_CHECK(artifact->description()) << path << " does not describe itself";
  if (const auto* file = static_cast<const char*>(artifact->symbol(name + "_weights_file")))
    map_weights(*artifact, name, weights.empty() ? (fs::path(path).parent_path() / file).string() : weights);
  return std::move(*artifact);
}

}  // namespace

LoadedModel::Loaded LoadedModel::load(const BuiltModel& model, const std::string& name) {
  std::vector<std::string> parts;  // but for its pool: this process has one
  for (const ArtifactObject& object : model.objects)
    if (!object.has_threads) parts.insert(parts.end(), object.parts.begin(), object.parts.end());
  if (model.weights_file.empty()) {
    std::string linked;
    Artifact artifact = load_objects(parts, name, &linked, kMostToMove);
    return {std::move(artifact), std::move(linked), name};
  }
  Artifact artifact = load_objects(parts, name);
  const TemporaryFile file("hone-weights");  // a mapping outlives the file
  const Status written = write_atomically(file.path(), {model.weights_begin, model.weights});
  HONE_USER_CHECK(written.ok()) << message_of(written);
  map_weights(artifact, name, file.path());
  return {std::move(artifact), "", name};
}

LoadedModel::LoadedModel(Loaded loaded, int threads, size_t variant, Device* gpu)
    : artifact_(std::move(loaded.artifact)),
      linked_(std::move(loaded.linked)),
      name_(std::move(loaded.name)),
      variant_number_(variant),
      variant_(artifact_.description()->variants + variant),
      pool_({.workers = threads, .cpus = {}}),
      gpu_(gpu),
      launcher_(gpu ? std::make_unique<GpuLauncher>(*gpu) : nullptr),
      arena_(variant_->run_workspace_bytes) {
  for (int32_t p = 0; p < variant_->param_count; ++p) {
    const HoneTensorType& t = variant_->params[p].plain;
    tensors_.emplace_back(t.dtype, std::vector<int64_t>(t.shape, t.shape + t.ndim));
  }
  for (const HostTensor& t : tensors_) views_.push_back(t.view());
  workspace_ = arena_.data(), threads_ = pool_.runtime();
}

LoadedModel::LoadedModel(const std::string& path, const std::string& name, int threads, const std::string& weights,
                         size_t variant, Device* gpu)
    : LoadedModel(Loaded{loaded(path, name, weights), "", name}, threads, variant, gpu) {}
LoadedModel::LoadedModel(const BuiltModel& model, const std::string& name, int threads, size_t variant, Device* gpu)
    : LoadedModel(load(model, name), threads, variant, gpu) {}

bool LoadedModel::move() {
  if (linked_.empty()) return false;
  artifact_ = load_bytes(linked_, name_);
  variant_ = artifact_.description()->variants + variant_number_;
  return true;
}

void LoadedModel::join_caches(const Growth& growth, bool on_device) {
  const auto inputs = static_cast<size_t>(std::count_if(variant_->params, variant_->params + variant_->param_count,
                                                        [](const HoneParam& p) { return p.role != HONE_OUTPUT; }));
  for (const Cache& c : growth.caches) {
    JoinedCache& cache = caches_.emplace_back(JoinedCache{c.input, inputs + c.output, {}, {}, 0, 0});
    HostTensor& buffer = tensors_[cache.output];
    const DLTensor &past = *tensors_[cache.input].view(), &room = *buffer.view();
    cache.strides.assign(static_cast<size_t>(room.ndim), 1);
    for (size_t d = cache.strides.size(); d-- > 1;) cache.strides[d - 1] = cache.strides[d] * room.shape[d];
    const size_t row = static_cast<size_t>(cache.strides[c.axis] * (room.dtype.bits / 8));
    cache.matrix_bytes = row * static_cast<size_t>(room.shape[c.axis]);
    cache.rows_bytes = row * static_cast<size_t>(past.shape[c.axis]);
    cache.views[0] = past;
    cache.views[1] = room;
    for (DLTensor& view : cache.views) {
      view.data = room.data;
      view.strides = cache.strides.data();
    }
    if (on_device && gpu_) {
      auto made = gpu_->allocate(buffer.bytes());
      HONE_USER_CHECK(made.ok()) << message_of(made.status());
      cache.on_device = std::move(*made);
      for (DLTensor& view : cache.views) {
        view.data = cache.on_device->native();
        view.device.device_type = static_cast<DLDeviceType>(gpu_kind(gpu_->info().api).device_type);
      }
    }
    views_[cache.input] = &cache.views[0];
    views_[cache.output] = &cache.views[1];
  }
}

// The rows that the cache's input has.
void LoadedModel::fill(const JoinedCache& cache, const TensorData& rows) {
  HostTensor& buffer = tensors_[cache.output];
  auto* to = static_cast<char*>(buffer.data());
  for (size_t from = 0; from < rows.bytes().size(); from += cache.rows_bytes, to += cache.matrix_bytes)
    std::memcpy(to, rows.bytes().data() + from, cache.rows_bytes);
  if (!cache.on_device) return;
  const Status written = gpu_->write(*cache.on_device, buffer.data(), buffer.bytes());
  HONE_USER_CHECK(written.ok()) << message_of(written);
}

void LoadedModel::fetch(const JoinedCache& cache) {
  HostTensor& buffer = tensors_[cache.output];
  const Status read = gpu_->read(*cache.on_device, buffer.data(), buffer.bytes());
  HONE_USER_CHECK(read.ok()) << message_of(read);
}

int32_t LoadedModel::run_again() { return run_entry(variant_->run); }

int32_t LoadedModel::run_entry(HoneEntry entry) {
  const auto n = static_cast<int32_t>(views_.size());
  if (!launcher_) return entry(views_.data(), n, workspace_, threads_);
  const HoneRuntime runtime = launcher_->runtime(pool_.runtime());
  return entry(views_.data(), n, workspace_, &runtime);
}

int64_t LoadedModel::workspace_bytes() const { return variant_->run_workspace_bytes; }

void LoadedModel::run_where(const LoadedModel& other, const AlignedBuffer& workspace) {
  HONE_ICHECK(!launcher_ && views_.size() == other.views_.size() && workspace.bytes() >= workspace_bytes());
  views_ = other.views_;
  workspace_ = workspace.data(), threads_ = other.pool_.runtime();
}

const HoneLayers* LoadedModel::layers() const {
  const HoneLayers* told = nullptr;
  return variant_->run(nullptr, HONE_ASK_LAYERS, &told, nullptr) == HONE_OK ? told : nullptr;
}

std::vector<double> LoadedModel::run_again_timed() {
  const HoneLayers* const layers = this->layers();
  if (!layers) return {};
  std::vector<double> seconds(static_cast<size_t>(layers->count));
  auto before = std::chrono::steady_clock::now();
  for (size_t i = 0; i < seconds.size(); ++i) {
    if (run_entry(layers->layers[i].run) != HONE_OK) return {};
    const auto after = std::chrono::steady_clock::now();
    seconds[i] = std::chrono::duration<double>(after - before).count();
    before = after;
  }
  return seconds;
}

namespace {

TensorType type_of(const HoneTensorType& t) {
  const auto dtype_of = [](DLDataType t) {
    return t.code == kDLBfloat  ? bf16
           : t.code == kDLFloat ? (t.bits == 16   ? f16
                                   : t.bits == 32 ? f32
                                                  : f64)
           : t.code == kDLInt   ? DType{TypeCode::kInt, t.bits}
                                : DType{TypeCode::kUInt, t.bits};
  };
  return TensorType{dtype_of(t.dtype), std::vector<int64_t>(t.shape, t.shape + t.ndim)};
}

}  // namespace

std::vector<TensorData> LoadedModel::run(const std::vector<TensorData>& inputs) {
  HONE_ICHECK(workspace_ == arena_.data());  // else it runs where another one's tensors are
  size_t next = 0;
  for (size_t p = 0; p < tensors_.size(); ++p) {
    const HoneParam& param = variant_->params[p];
    if (param.role == HONE_OUTPUT) continue;
    HONE_USER_CHECK(next < inputs.size()) << "input '" << param.name << "' is missing";
    const TensorData& data = inputs[next++];
    HONE_USER_CHECK(static_cast<int64_t>(data.bytes().size()) == tensors_[p].bytes())
        << "input '" << param.name << "' is " << to_string(data.type()) << "; the model takes "
        << to_string(type_of(param.plain));
    if (!data.bytes().empty()) std::memcpy(tensors_[p].data(), data.bytes().data(), data.bytes().size());
    for (const JoinedCache& cache : caches_)
      if (cache.input == p) fill(cache, data);
  }
  const int32_t code = run_again();
  HONE_USER_CHECK(code == HONE_OK) << artifact_.description()->error(code)
                                   << (launcher_ && !launcher_->status().ok() ? ": " + message_of(launcher_->status())
                                                                              : "");
  for (const JoinedCache& cache : caches_)
    if (cache.on_device) fetch(cache);
  return outputs();
}

std::vector<TensorData> LoadedModel::outputs() const {
  std::vector<TensorData> out;
  for (size_t p = 0; p < tensors_.size(); ++p) {
    const HoneParam& param = variant_->params[p];
    if (param.role != HONE_OUTPUT) continue;
    out.emplace_back(type_of(param.plain), std::string(static_cast<const char*>(tensors_[p].data()),
                                                       static_cast<size_t>(tensors_[p].bytes())));
  }
  return out;
}

}  // namespace hone
