#include "compiler/cli/run_artifact.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/cpus.h"
#include "base/exit_code.h"
#include "base/time_text.h"
#include "compiler/api/cpu_features.h"
#include "compiler/api/shared_object.h"
#include "compiler/cli/result_text.h"
#include "compiler/driver/given_inputs.h"
#include "compiler/driver/model_layers.h"
#include "compiler/driver/place/build_gpu.h"
#include "compiler/driver/run_variant.h"
#include "compiler/model/described_model.h"
#include "compiler/model/model_data.h"

namespace hone {
namespace {

// Whether it is one for this machine, said as by hone_open().
Status check_file(const std::string& path) {
  char words[384];
  const int32_t code = hone_check_shared_object(path.c_str(), words, sizeof words);
  if (code == HONE_OK) return absl::OkStatus();
  const std::string line = fmt::format("run: '{}' {}", path, words);
  return code == HONE_WRONG_MACHINE ? no_device_error(line) : usage_error(line);
}

Status check_artifact(const Artifact& a, const TensorcOptions& o) {
  const HoneArtifact& says = *a.description();
  if (says.abi_version < HONE_ARTIFACT_ABI_OLDEST || says.abi_version > HONE_ARTIFACT_ABI)
    return usage_error(fmt::format("run: '{}' is of ABI version {}, and this program knows {} to {}: build it anew",
                                   o.artifact, says.abi_version, HONE_ARTIFACT_ABI_OLDEST, HONE_ARTIFACT_ABI));
  char missing[256] = "";
  if (const auto* needed = static_cast<const char*>(a.symbol(std::string(says.name) + "_cpu")))
    hone_missing_features(needed, missing, sizeof missing);
  if (missing[0] != '\0')
    return no_device_error(
        fmt::format("run: '{}' is for a CPU that has {}; this one has not (it was built with --target '{}')",
                    o.artifact, missing, says.target));
  if (!o.weights.empty() && !a.symbol(std::string(says.name) + "_weights_file"))
    return usage_error(fmt::format("--weights {}: '{}' has its weights in it", o.weights, o.artifact));
  return absl::OkStatus();
}

// The median seconds of each layer, in calls layer by layer.
std::vector<double> layer_seconds(LoadedModel& loaded) {
  constexpr double kLongEnough = 1;
  constexpr size_t kLeastCalls = 5, kMostCalls = 1000;
  std::vector<std::vector<double>> calls;
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  while (calls.size() < kLeastCalls || (calls.size() < kMostCalls && passed() < kLongEnough)) {
    calls.push_back(loaded.run_again_timed());
    if (calls.back().empty()) return {};
  }
  std::vector<double> medians, times(calls.size());
  for (size_t l = 0; l < calls[0].size(); ++l) {
    std::transform(calls.begin(), calls.end(), times.begin(), [l](const auto& call) { return call[l]; });
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    medians.push_back(times[times.size() / 2]);
  }
  return medians;
}

// `-` of operators of another version of Hone, too.
std::string rate_text(const OperatorTable& operators, const std::string& workload, double seconds) {
  try {
    return rate_text(Workload::parse(operators, workload), seconds);
  } catch (const UserError&) {
    return "-";
  }
}

std::string layer_table(const OperatorTable& operators, const HoneLayers& layers, const std::vector<double>& seconds) {
  double all = 0, layouts = 0;
  int changes = 0;
  std::string out = fmt::format("{:>4} {:>10} {:>6} {:>8}  layer\n", "", "ms", "share", "GFLOPS");
  for (const double s : seconds) all += s;
  for (size_t l = 0; l < seconds.size(); ++l) {
    const HoneLayer& layer = layers.layers[l];
    if (changes_layout(layer.workload)) layouts += seconds[l], ++changes;
    out += fmt::format("{:4} {:>10} {:5.1f}% {:>8}  {}  {}\n", l, ms_text(seconds[l]), 100 * seconds[l] / all,
                       rate_text(operators, layer.workload, seconds[l]), layer.name, layer.workload);
  }
  return out + sums_text(all, layouts, changes);
}

class ArtifactCommand {
 public:
  ArtifactCommand(const OperatorTable& operators, const TensorcOptions& o, const Artifact& artifact, std::ostream& out,
                  std::ostream& err)
      : operators_(operators),
        o_(o),
        says_(*artifact.description()),
        target_(Target::parse(says_.target)),
        out_(out),
        events_{[&err](const std::string& line) { err << line << std::endl; }} {}

  Status run() {
    try {
      variants_ = described_variants(says_.json);
      metadata_ = described_metadata(says_.json);
    } catch (const UserError& e) {
      return usage_error(fmt::format("run: '{}' {}", o_.artifact, e.what()));
    }
    if (target_.is_gpu()) {
      HONE_ASSIGN_OR_RETURN(gpu_, open_build_gpu(target_, /*is_run=*/true));
    }
    if (!o_.inputs.empty()) {
      std::vector<VariantPorts> ports;
      for (size_t v = 0; v < variants_.size(); ++v) ports.push_back({&variants_[v].ports, growth(v)});
      HONE_ASSIGN_OR_RETURN(given_, GivenInputs::read(o_.inputs, ports, {}));
    }
    for (size_t v = 0; v < variants_.size(); ++v)
      if (given_.are_for(v)) HONE_RETURN_IF_ERROR(run_one(v));
    return absl::OkStatus();
  }

 private:
  const Growth* growth(size_t v) const { return variants_[v].growth ? &*variants_[v].growth : nullptr; }

  LoadedModel loaded(size_t v) {
    const int here = usable_cpu_count();
    return LoadedModel(o_.artifact, says_.name, std::clamp(says_.variants[v].workers, 1, here), o_.weights, v,
                       gpu_.device());
  }

  Status run_one(size_t v) {
    if (o_.profile) HONE_RETURN_IF_ERROR(profile(v));
    if (!o_.profile || o_.bench || given_) {
      VariantFigures figures;
      const DescribedVariant& d = variants_[v];
      const Layers none;  // only --check asks for them
      const Status ran = run_variant(
          {d.name, d.ports, d.ports, none, target_, growth(v), kUsualDenormals, gpu_.device(), &target_, &metadata_},
          {false, o_.bench, 0, given_.tensors(), o_.cpu_account, {}}, loaded(v), &figures, events_);
      out_ << run_text(figures, prefix(v));
      HONE_RETURN_IF_ERROR(ran);
    }
    if (!o_.profile && !o_.bench && !given_)
      for (const Port& p : variants_[v].ports.outputs)
        out_ << prefix(v) << fmt::format("output {}: {}\n", p.name, to_string(p.type));
    return absl::OkStatus();
  }

  Status profile(size_t v) {
    const DescribedVariant& d = variants_[v];
    LoadedModel model = loaded(v);
    std::vector<TensorData> inputs = given_ ? given_.tensors()->inputs : seeded_inputs(d.ports);
    if (d.growth) {
      inputs = with_most_rows(std::move(inputs), d.ports, *d.growth);
      model.join_caches(*d.growth, /*on_device=*/gpu_.device() != nullptr);
    }
    model.run(inputs);
    const BusyMachine others(o_.cpu_account);
    const std::vector<double> seconds = layer_seconds(model);
    if (seconds.empty()) return usage_error(fmt::format("--profile: '{}' does not tell its layers apart", o_.artifact));
    if (const std::string told = gpu_.device() ? "" : others.told(); !told.empty())
      events_.tell(prefix(v) + told + " while layers were timed: their times may be too long");
    if (!d.name.empty()) out_ << d.name << ":\n";
    out_ << layer_table(operators_, *model.layers(), seconds);
    return absl::OkStatus();
  }

  std::string prefix(size_t v) const { return variants_[v].name.empty() ? "" : variants_[v].name + ": "; }

  const OperatorTable& operators_;
  const TensorcOptions& o_;
  const HoneArtifact& says_;
  const Target target_;
  std::ostream& out_;
  const Events events_;
  BuildGpu gpu_;  ///< of a GPU's artifact
  std::vector<DescribedVariant> variants_;
  ModelMetadata metadata_;
  GivenInputs given_;
};

}  // namespace

Status run_artifact(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out, std::ostream& err) {
  HONE_RETURN_IF_ERROR(check_file(o.artifact));
  HONE_ASSIGN_OR_RETURN(const Artifact artifact, Artifact::find(o.artifact));
  HONE_RETURN_IF_ERROR(check_artifact(artifact, o));
  err << fmt::format("{}: {} for {}\n", o.artifact, artifact.description()->name, artifact.description()->target);
  return ArtifactCommand(operators, o, artifact, out, err).run();
}

}  // namespace hone
