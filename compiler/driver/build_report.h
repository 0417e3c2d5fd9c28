// The report of a built and measured model, as a page or as data.
#pragma once

#include <optional>
#include <vector>

#include "base/status.h"
#include "compiler/driver/model_artifact.h"
#include "compiler/driver/place/build_place.h"
#include "compiler/driver/prepared_model.h"
#include "compiler/driver/run_variant.h"
#include "compiler/report/model_report.h"

namespace hone {

/// `figures`: of each variant. A roofline is measured where layers were timed here.
ModelReport model_report(const BuildRequest& request, const BuildPlace& place, const PreparedModel& model,
                         const ModelArtifact& artifact, const std::vector<VariantFigures>& figures,
                         const Events& events);

}  // namespace hone
