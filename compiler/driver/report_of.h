// The data of a report on a variant that was built.
#pragma once

#include <vector>

#include "compiler/driver/run_variant.h"
#include "compiler/graph/fusion_notes.h"
#include "compiler/host/machine_roof.h"
#include "compiler/model/build_model.h"
#include "compiler/report/model_report.h"

namespace hone {

struct ReportedVariant {
  const Graph& graph;
  const BuiltVariant& built;
  const Target& target;
  const Growth* growth;  ///< of caches that grow in place; null: there are none
  const FusionNotes& notes;
  const std::vector<ReportPass>& passes;
  const VariantFigures& figures;
  const MachineRoof* roof;  ///< of the machine that layers were timed on; null: they were not
};
ReportVariant report_of(const ReportedVariant& v);

}  // namespace hone
