#include "tests/bench/models/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/exit_code.h"
#include "compiler/graph/tensor_data.h"
#include "compiler/ir/layout.h"
#include "compiler/model/model_data.h"
#include "tests/bench/models/build.h"
#include "tests/bench/models/fill.h"
#include "tests/bench/models/others_use.h"
#include "tests/bench/models/signature.h"

namespace hone::bench {
namespace {

namespace fs = std::filesystem;

// One that takes turns.
struct Contender {
  std::string name;
  SideCase its_case;
  std::unique_ptr<SideProcess> process;
};

bool is_ours(const std::string& contender) { return contender == kUntuned || contender == kTuned; }

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Measurement {
 public:
  Measurement(const ModelSpec& model, const MeasureOptions& o, Row& row) : model_(model), o_(o), row_(row) {
    // Nothing of an earlier row: its artifacts may be of hundreds of megabytes.
    folder_ = o.folder + "/row";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  Status run(std::string& peer_version) {
    HONE_RETURN_IF_ERROR(fill_weights());
    HONE_ASSIGN_OR_RETURN(signature_, read_signature(model_.file));
    row_.group = signature_.group;
    row_.model_bytes = signature_.bytes;
    HONE_RETURN_IF_ERROR(build(kUntuned, ""));
    if (!o_.db.empty()) HONE_RETURN_IF_ERROR(build(kTuned, o_.db));
    HONE_RETURN_IF_ERROR(write_inputs());
    HONE_RETURN_IF_ERROR(add_contenders());
    HONE_RETURN_IF_ERROR(start(peer_version));
    HONE_RETURN_IF_ERROR(compare_outputs());
    HONE_RETURN_IF_ERROR(take_turns());
    if (!o_.layers) return absl::OkStatus();
    const Status layers = measure_layers();
    if (layers.ok() || exit_code_of(layers) == kExitInterrupted) return layers;
    row_.layers.clear();  // its turns are a result without them
    row_.no_layers = message_of(layers);
    return absl::OkStatus();
  }

 private:
  Status fill_weights() {
    if (model_.make.empty() || fs::exists(model_.file)) return absl::OkStatus();
    o_.progress("fills its weights");
    fs::create_directories(fs::path(model_.file).parent_path());
    Status made = run_program(model_.make, folder_ + "/make.out", folder_ + "/make.log", o_.limit, o_.stop);
    if (exit_code_of(made) == kExitInterrupted) return made;
    if (!made.ok()) return absl::InternalError("its weights could not be filled: " + message_of(made));
    fs::rename(model_.file + ".part", model_.file);
    return absl::OkStatus();
  }

  Status build(const std::string& contender, const std::string& db) {
    o_.progress("builds it " + contender);
    const std::string folder = folder_ + "/" + contender;
    fs::create_directories(folder);
    HONE_ASSIGN_OR_RETURN(Artifact a,
                          build_artifact(model_, {o_.tensorc, folder, row_.threads, db, o_.limit, o_.stop}));
    row_.configs = a.configs;
    row_.artifact_bytes = a.bytes;
    artifacts_[contender] = std::move(a);
    return absl::OkStatus();
  }

  // The artifact's inputs, and behind them those that it does not have because they were bound to a value.
  Status write_inputs() {
    for (const NamedTensor& t : artifacts_.at(kUntuned).inputs) HONE_RETURN_IF_ERROR(write_input(t));
    own_inputs_ = inputs_.size();
    for (const OnnxInput& input : signature_.inputs) {
      if (type_of(input.name)) continue;
      const auto bound = std::find_if(model_.bind.begin(), model_.bind.end(),
                                      [&](const std::string& b) { return b.rfind(input.name + "=", 0) == 0; });
      if (bound == model_.bind.end())
        return absl::InternalError(fmt::format("the artifact has no input '{}'", input.name));
      TensorType type{DType{}, std::vector<int64_t>(input.dims.size(), 1)};
      HONE_ASSIGN_OR_RETURN(type.dtype, dtype_of_number(input.onnx_type));
      const double value = std::strtod(bound->c_str() + input.name.size() + 1, nullptr);
      HONE_RETURN_IF_ERROR(write_input({input.name, type}, Range{value, value}));
    }
    return absl::OkStatus();
  }

  static StatusOr<DType> dtype_of_number(int number) {
    for (const DType t : {f32, f16, bf16, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean})
      if (const auto n = onnx_type_of(t); n.ok() && *n == number) return t;
    return usage_error(fmt::format("ONNX's element type {} is not supported", number));
  }

  const TensorType* type_of(const std::string& input) const {
    for (const NamedTensor& t : artifacts_.at(kUntuned).inputs)
      if (t.name == input) return &t.type;
    return nullptr;
  }

  Status write_input(const NamedTensor& t, std::optional<Range> range = std::nullopt) {
    if (const auto it = model_.fills.find(t.name); !range && it != model_.fills.end()) range = it->second;
    HONE_ASSIGN_OR_RETURN(const int number, onnx_type_of(t.type.dtype));
    const std::string file = fmt::format("{}/input_{}", folder_, inputs_.size());
    HONE_RETURN_IF_ERROR(write_atomically(file, fill(t.type, range, inputs_.size() + 1)));
    inputs_.push_back({t.name, t.type.shape, number, bytes_of(t.type), file});
    return absl::OkStatus();
  }

  Status add_contenders() {
    for (const char* name : {kUntuned, kTuned})
      if (artifacts_.count(name)) HONE_RETURN_IF_ERROR(add_contender(name));
    HONE_RETURN_IF_ERROR(add_contender(kPeer));
    return o_.spinning ? add_contender(kSpinningPeer) : absl::OkStatus();
  }

  Status add_contender(const std::string& name) {
    SideCase c;
    const bool ours = is_ours(name);
    c.model = ours ? artifacts_.at(name).file : fs::absolute(model_.file).string();
    c.library = ours ? "" : o_.library;
    c.threads = row_.threads;
    c.spinning = name == kSpinningPeer;
    c.turn = o_.turn;
    c.inputs = inputs_;
    if (ours) c.inputs.resize(own_inputs_);
    const auto& outputs = artifacts_.at(kUntuned).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      HONE_ASSIGN_OR_RETURN(const int number, onnx_type_of(outputs[i].type.dtype));
      if (outputs[i].count >= 0 && extent_before(outputs[i]) > 1)
        return absl::InternalError(
            fmt::format("outputs like '{}', whose axis {} is as long as a run finds out, are not compared",
                        outputs[i].name, outputs[i].axis));
      c.outputs.push_back({outputs[i].name, outputs[i].type.shape, number, bytes_of(outputs[i].type),
                           fmt::format("{}/{}_output_{}", folder_, name, i), outputs[i].axis, outputs[i].count});
    }
    for (const OnnxInput& input : signature_.inputs) {
      const TensorType* type = type_of(input.name);
      if (ours || !type || type->shape.size() != input.dims.size()) continue;
      for (size_t d = 0; d < input.dims.size(); ++d)
        if (!input.dims[d].symbol.empty()) c.dims[input.dims[d].symbol] = type->shape[d];
    }
    contenders_.push_back({name, std::move(c), nullptr});
    return absl::OkStatus();
  }

  StatusOr<SideProcess> start_process(const Contender& c) const {
    const std::string file = fmt::format("{}/{}.json", folder_, c.name);
    HONE_RETURN_IF_ERROR(write_atomically(file, to_json(c.its_case).dump()));
    const bool ours = is_ours(c.name);
    return SideProcess::start({.title = ours ? "Hone" : "ONNX Runtime",
                               .argv = {ours ? o_.side : o_.peer, ours ? "hone" : "onnxruntime", file},
                               .log = fmt::format("{}/{}.log", folder_, c.name),
                               .limit = o_.limit,
                               .stop = o_.stop});
  }

  // Each as often as the options say, in turns; the last process of each stays.
  Status start(std::string& peer_version) {
    std::map<std::string, std::vector<StartTimes>> times;
    for (int n = 0; n < o_.starts; ++n)
      for (Contender& c : contenders_) {
        o_.progress(fmt::format("starts {}", c.name));
        c.process.reset();
        HONE_ASSIGN_OR_RETURN(SideProcess process, start_process(c));
        times[c.name].push_back(process.start_times());
        if (!is_ours(c.name)) peer_version = process.version();
        // Until its turns all but the last are gone: they would take memory and cores from the starts of others.
        if (n + 1 == o_.starts) c.process = std::make_unique<SideProcess>(std::move(process));
      }
    for (auto& [name, list] : times) {
      std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.total() < b.total(); });
      row_.starts[name] = list[list.size() / 2];
    }
    return absl::OkStatus();
  }

  std::string elements(const std::string& contender, size_t output) const {
    return contents(fmt::format("{}/{}_output_{}", folder_, contender, output));
  }
  int64_t count_of(const std::string& contender, const NamedTensor& output) const {
    int64_t count = 0;
    const std::string bytes = elements(contender, static_cast<size_t>(output.count));
    if (bytes.size() == sizeof count) std::memcpy(&count, bytes.data(), sizeof count);
    return count;
  }
  static int64_t extent_before(const NamedTensor& output) {
    const std::vector<int64_t>& s = output.type.shape;
    return element_count({s.begin(), s.begin() + output.axis});
  }
  // The elements that the output has, without those that lie behind them; one element if it has none.
  TensorData there(const NamedTensor& output, TensorData all, const std::string& contender) const {
    if (output.count < 0) return all;
    TensorType type = output.type;
    int64_t& extent = type.shape[static_cast<size_t>(output.axis)];
    extent = std::clamp<int64_t>(count_of(contender, output), 1, extent);
    return {type, std::string(all.bytes().data(), static_cast<size_t>(bytes_of(type)))};
  }
  Status compare_counts(const std::string& contender, const NamedTensor& output) const {
    const int64_t ours = count_of(contender, output), theirs = count_of(kPeer, output);
    if (ours == theirs) return absl::OkStatus();
    return absl::InternalError(fmt::format("wrong outputs: '{}' ({}) has extent {}, in ONNX Runtime {}", output.name,
                                           contender, ours, theirs));
  }

  Status compare_outputs() {
    const auto& outputs = artifacts_.at(kUntuned).outputs;
    for (const char* name : {kUntuned, kTuned}) {
      if (!artifacts_.count(name)) continue;
      for (size_t i = 0; i < outputs.size(); ++i) {
        const auto tensor = [&](const std::string& contender) {
          return there(outputs[i], TensorData(outputs[i].type, elements(contender, i)), contender);
        };
        if (outputs[i].count >= 0) HONE_RETURN_IF_ERROR(compare_counts(name, outputs[i]));
        const double d = difference(tensor(name), tensor(kPeer)).largest;
        row_.difference = std::max(row_.difference, d);
        if (!(d <= o_.tolerance))
          return absl::InternalError(
              fmt::format("wrong outputs: '{}' ({}) is off by {:.2g} of its largest value in "
                          "ONNX Runtime, allowed {:.2g}",
                          outputs[i].name, name, d, o_.tolerance));
      }
    }
    return absl::OkStatus();
  }

  Status take_turns() {
    OthersUse others;
    for (int turn = 0; turn < o_.turns; ++turn) {
      o_.progress(fmt::format("turn {} of {}", turn + 1, o_.turns));
      for (size_t i = 0; i < contenders_.size(); ++i) {
        Contender& c = contenders_[turn % 2 == 0 ? i : contenders_.size() - 1 - i];
        // Until threads that spin between runs have gone to sleep.
        if (o_.spinning && is_ours(c.name)) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        others.begin(c.process->pid());
        const auto start = std::chrono::steady_clock::now();
        HONE_ASSIGN_OR_RETURN(const double ms, c.process->turn());
        others.end(std::chrono::steady_clock::now() - start);
        row_.turns_ms[c.name].push_back(ms);
      }
    }
    row_.others_cpus = others.cpus();
    return absl::OkStatus();
  }

  // By processes of their own: ONNX Runtime's runs are slower while it measures its nodes.
  Status measure_layers() {
    const char* ours = artifacts_.count(kTuned) ? kTuned : kUntuned;
    for (Contender& c : contenders_) c.process.reset();
    for (Contender& c : contenders_) {
      if (c.name != ours && c.name != kPeer) continue;
      o_.progress(fmt::format("measures the layers of {}", c.name));
      c.its_case.layers_file = fmt::format("{}/{}_layers", folder_, c.name);
      HONE_ASSIGN_OR_RETURN(SideProcess process, start_process(c));
      HONE_ASSIGN_OR_RETURN(row_.layers[c.name], process.layers(c.its_case.layers_file));
    }
    return absl::OkStatus();
  }

  const ModelSpec& model_;
  const MeasureOptions& o_;
  Row& row_;
  std::string folder_;
  Signature signature_;
  std::map<std::string, Artifact> artifacts_;
  std::vector<SideTensor> inputs_;
  size_t own_inputs_ = 0;  ///< how many of them the artifact has
  std::vector<Contender> contenders_;
};

}  // namespace

StatusOr<Row> measure(const ModelSpec& model, int threads, const MeasureOptions& o, std::string& peer_version) {
  Row row;
  row.model = model.name;
  row.threads = threads;
  Status status;
  try {
    status = Measurement(model, o, row).run(peer_version);
  } catch (const std::exception& e) {  // of files, and of what others wrote
    status = absl::InternalError(e.what());
  }
  if (exit_code_of(status) == kExitInterrupted) return status;
  if (!status.ok()) row.error = message_of(status);
  if (!row.error.empty()) row.turns_ms.clear();
  return row;
}

}  // namespace hone::bench
