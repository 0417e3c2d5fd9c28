#include "compiler/driver/model_artifact.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "base/exit_code.h"
#include "base/file_set.h"
#include "base/writable.h"
#include "compiler/build/artifact.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

int64_t bytes_of_file(const std::string& path) {
  std::error_code ignored;
  const auto bytes = fs::file_size(path, ignored);
  return ignored ? 0 : static_cast<int64_t>(bytes);
}

double megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

Status ModelArtifact::check_form() const {
  const bool is_gpu = place_.target.is_gpu(), is_c = request_.emit == "c" && !is_gpu;
  if (!request_.emit.empty() && request_.emit != "so" && request_.emit != "obj" && !is_c)
    return usage_error(
        fmt::format("--emit {}: a model has graph, operators, {}obj, so", request_.emit, is_gpu ? "" : "c, "));
  if (request_.require_device && !is_gpu)
    return usage_error("--require-device is for a GPU; the target is '" + to_string(place_.target) + "'");
  if (place_.remote && !request_.inputs.empty())
    return usage_error(
        "--inputs runs the artifact, which is possible here only: with --tracker there are --check, --bench and "
        "--profile, layer by layer");
  if (!request_.runs() || place_.remote) return absl::OkStatus();
  if (request_.emit == "obj" || is_c)
    return usage_error("--bench, --check, --profile and --inputs run a shared object: --emit so");
  if (!place_.is_here())
    return no_device_error(
        "cannot check, time or run code for another machine here: with --fleet and --device an agent there checks and "
        "times, and `tensorc run` there runs what was built");
  return absl::OkStatus();
}

Status ModelArtifact::check(CommandFiles read) {
  HONE_RETURN_IF_ERROR(check_form());
  const std::string extension = request_.emit == "obj" ? ".o" : request_.emit == "c" ? ".c" : ".so";
  path_ = !request_.output.empty() ? request_.output : fs::path(request_.model).stem().string() + extension;
  header_ = fs::path(path_).replace_extension(".h").string();
  name_ = entry_name(path_, 'm');
  if (!request_.weights.empty() && fs::path(request_.weights).filename().empty())
    return usage_error(fmt::format("--weights {}: this is a folder, not a file", request_.weights));
  files_ = std::move(read);
  files_.writes(request_.output.empty() ? "the artifact" : "-o", path_);
  files_.writes("its header", header_);
  files_.writes("--weights", request_.weights);
  files_.writes("--ranges", request_.quantize.ranges);
  files_.writes("--lock", request_.lock);
  for (const std::string& report : request_.reports) files_.writes("--report", report);
  HONE_RETURN_IF_ERROR(files_.check());
  std::vector<std::string> made = {path_, header_};
  for (const std::string& path : {request_.weights, request_.quantize.ranges, request_.lock})
    if (!path.empty()) made.push_back(path);
  made.insert(made.end(), request_.reports.begin(), request_.reports.end());
  for (const std::string& path : made) HONE_RETURN_IF_ERROR(check_writable(path));
  return absl::OkStatus();
}

Status ModelArtifact::build(const std::vector<ModelVariant>& variants, ChooseConfig configs,
                            const ModelMetadata& metadata, const SealFiles& seal) {
  ModelOptions options{name_, place_.target, std::move(configs)};
  options.weights_file = fs::path(request_.weights).filename().string();
  options.host = place_.host;
  options.in_c = request_.emit == "c";
  options.header = fs::path(header_).filename().string();
  options.denormals = place_.denormals;
  options.assume_finite = request_.assume_finite;
  options.metadata = metadata;
  options.progress = events_.progress;
  built_ = build_model(variants, options);
  tell_what_was_built();
  HONE_RETURN_IF_ERROR(check_host_layers(variants));
  if (!built_.weights_file.empty()) {
    weights_ =
        request_.weights.empty() ? (fs::path(path_).parent_path() / built_.weights_file).string() : request_.weights;
    if (request_.weights.empty())
      events_.tell(fmt::format("the weights, {:.1f} GB, are in a file of their own: {}",
                               static_cast<double>(built_.weight_bytes) / 1e9, weights_));
  } else if (!request_.weights.empty()) {
    events_.tell("--weights: the model has none, and no file is written");
  }
  return write(seal);
}

// For a GPU: says which layers run on the host between the device's, and refuses them where the request wants none.
Status ModelArtifact::check_host_layers(const std::vector<ModelVariant>& variants) const {
  if (!place_.target.is_gpu()) return absl::OkStatus();
  std::vector<std::string> layers;
  int64_t bytes = 0;
  for (const Layer& call : built_.variants[0].layers.calls) {
    const Kernel& kernel = built_.variants[0].layers.kernels[call.kernel];
    if (!kernel.host) continue;
    layers.push_back(fmt::format("'{}' ({})", variants[0].graph->nodes[static_cast<size_t>(call.node)].origin,
                                 kernel.workload.operator_name()));
    bytes += bytes_of_all(kernel.host->inputs) + bytes_of_all(kernel.host->outputs);
  }
  if (layers.empty()) return absl::OkStatus();
  const std::string told = fmt::format(
      "{} of the layers run{} on the host, between the device's: {}; {} bytes are copied there and back in every call",
      layers.size(), layers.size() == 1 ? "s" : "", fmt::join(layers, ", "), bytes);
  if (request_.require_device) return usage_error("--require-device: " + told);
  events_.tell(told);
  return absl::OkStatus();
}

// The weights, the code, and the header, which declares both.
Status ModelArtifact::write(const SealFiles& seal) {
  const std::string& form = request_.emit;
  std::vector<std::string> paths = {path_};
  if (form == "obj") paths = object_paths(built_.objects, path_);
  // Files whose names are known only after the build.
  if (request_.weights.empty()) files_.writes("its weights", weights_);
  for (const std::string& path : paths)
    if (path != path_) files_.writes("an object beside it,", path);
  HONE_RETURN_IF_ERROR(files_.check());

  FileSet made;
  if (!weights_.empty()) HONE_RETURN_IF_ERROR(made.add(weights_, {built_.weights_begin, built_.weights}));
  if (form == "c")
    HONE_RETURN_IF_ERROR(made.add(path_, built_.c_source));
  else if (form == "obj")
    HONE_RETURN_IF_ERROR(write_objects(built_.objects, path_, made).status());
  else
    link_artifact(built_.objects, place_.target.is_gpu() ? place_.host : place_.target, name_, path_, request_.sysroot,
                  made);
  if (seal) HONE_RETURN_IF_ERROR(seal(made, {header_, built_.header}));
  HONE_RETURN_IF_ERROR(made.add(header_, built_.header));
  HONE_RETURN_IF_ERROR(made.commit());
  for (const std::string& path : paths) bytes_ += bytes_of_file(path);
  events_.tell(fmt::format("wrote {}{} {}", weights_.empty() ? "" : weights_ + " ", fmt::join(paths, " "), header_));
  return absl::OkStatus();
}

void ModelArtifact::tell_what_was_built() const {
  const bool is_one = built_.variants.size() == 1;
  const std::string weights = fmt::format(", weights {:.1f} MB", megabytes(built_.weight_bytes));
  for (const BuiltVariant& v : built_.variants) {
    std::map<std::string, int> sources, held_back;
    int defaults = 0;  // although more is known
    for (const Layer& call : v.layers.calls) {
      const Kernel& kernel = v.layers.kernels[call.kernel];
      ++sources[kernel.source.substr(0, kernel.source.find(' '))];
      if (!kernel.held_back.empty()) ++held_back[kernel.held_back], ++defaults;
    }
    const auto counted = [](const std::map<std::string, int>& words) {
      return absl::StrJoin(words, ", ", [](std::string* out, const auto& word) {
        *out += fmt::format("{} {}", word.second, word.first);
      });
    };
    const std::string found = counted(sources);
    if (defaults > 0)
      events_.tell(fmt::format("{}{} layer{} the default, since what is known is less than --min-confidence {}: {}",
                               v.name.empty() ? "" : v.name + ": ", defaults, defaults == 1 ? " takes" : "s take",
                               to_string(request_.least_confidence), counted(held_back)));
    events_.tell(fmt::format("{}{} layers ({} kernels), configs: {}; arena {:.1f} MB (at least {:.1f}){}",
                             v.name.empty() ? "" : v.name + ": ", v.layers.calls.size(), v.layers.kernels.size(), found,
                             megabytes(v.memory.bytes), megabytes(v.memory.bound), is_one ? weights : ""));
  }
  if (!is_one)
    events_.tell(fmt::format(
        "{} variants, {} kernels; weights {:.1f} MB, of which {:.1f} MB are for variants behind the first",
        built_.variants.size(), built_.kernels, megabytes(built_.weight_bytes), megabytes(built_.more_weight_bytes)));
}

}  // namespace hone
