#include "compiler/driver/build_report.h"

#include <filesystem>
#include <map>

#include "compiler/build/build.h"
#include "compiler/driver/report_of.h"
#include "compiler/host/machine_roof.h"
#include "compiler/report/report_files.h"

namespace hone {

ModelReport model_report(const BuildRequest& request, const BuildPlace& place, const PreparedModel& model,
                         const ModelArtifact& artifact, const std::vector<VariantFigures>& figures,
                         const Events& events) {
  const bool is_gpu = place.target.is_gpu();
  const BuiltModel& built = artifact.built();
  ModelReport r;
  r.model = std::filesystem::path(request.model).filename().string();
  r.hone = hone_version();
  r.target = to_string(place.target);
  if (!is_gpu) r.denormals = name_of(place.denormals);
  r.nans = request.assume_finite ? "taken for impossible" : "kept";
  r.when = time_now();
  r.artifact_bytes = artifact.bytes();
  r.weight_bytes = built.weight_bytes;
  r.weights_file = built.weights_file;
  if (place.remote)
    r.machine = place.remote->name();
  else if (place.is_here())
    r.machine = is_gpu ? place.gpu.device()->info().name : cpu_name();
  else
    events.tell(is_gpu ? "--report: no times, as nothing was run on a GPU"
                       : "--report: no times, as this machine is another");
  std::map<int, MachineRoof> roofs;  // by threads
  for (size_t v = 0; v < model.variants().size(); ++v) {
    const Target& target = model.variants()[v].target;
    const bool has_roof = place.is_here() && !target.is_gpu();
    if (has_roof && !roofs.contains(target.threads)) roofs[target.threads] = machine_roof(target);
    const MachineRoof* roof = has_roof ? &roofs[target.threads] : nullptr;
    if (v == 0 && roof) r.peak_gflops = roof->peak_gflops;
    const PreparedBinding& p = model.of(v);
    r.variants.push_back(report_of(
        {p.graph, built.variants[v], target, p.growth ? &*p.growth : nullptr, p.notes, p.passes, figures[v], roof}));
  }
  return r;
}

}  // namespace hone
