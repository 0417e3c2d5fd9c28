// Two builds of a model beside each other: `tensorc --report new.html --compare old.html`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "compiler/report/model_report.h"

namespace hone {

/// Layers of two builds that are one: of the same workload and nodes, else of the same nodes, else of the same
/// workload.
struct LayerPair {
  std::optional<size_t> before, now;  ///< which layer of each; nothing: it is new, or gone
  bool operator==(const LayerPair&) const = default;
};

/// Each layer of both once: the layers of `now` in order, then the old layers that are gone.
std::vector<LayerPair> pair_layers(const std::vector<ReportLayer>& before, const std::vector<ReportLayer>& now);

/// The value of `compared` in the JSON of `now`: the older build's figures, differences that make times incomparable,
/// and for each variant of `now` the layers of the older variant of the same name, else of the same threads and inputs;
/// two reports of one variant each are compared as they are.
OrderedJson compare_reports(const ModelReport& before, const ModelReport& now);

}  // namespace hone
