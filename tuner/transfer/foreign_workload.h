// Maps a record of AutoTVM to a workload.
#pragma once

#include <string_view>

#include "base/status.h"
#include "compiler/ops/operator.h"
#include "db/rows.h"

namespace hone {

/// Families of AutoTVM templates by the names of their knobs, which decide how they map to ours.
enum class ForeignTemplate {
  kConvBlocked,
  kConvSpatialPack,
  kConvWinograd,
  kDepthwiseBlocked,
  kDepthwisePlain,
  kDense
};

/// `conv2d_NCHWc.x86`, …; NotFound for a template that has no counterpart here.
StatusOr<ForeignTemplate> foreign_template(std::string_view name);

/// The workload of `record`, whose layout is NCHWc where AutoTVM's template chooses blocks, else as its name says.
/// NotFound when the template has no counterpart here; InvalidArgument when this workload has none: a few words without
/// its numbers, so that records can be counted by it.
StatusOr<Workload> foreign_workload(const OperatorTable& operators, const db::ForeignRow& record);

}  // namespace hone
