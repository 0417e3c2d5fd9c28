// The command tensorc: builds one operator with the best known config.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/driver/request/build_request.h"
#include "compiler/ops/operator.h"

namespace hone {

/// A build, and the output that tensorc prints about it.
struct TensorcOptions : BuildRequest {
  std::string artifact;  ///< `tensorc run`: a model's that exists; empty: something is built
  bool json = false;
  /// For programs that call it themselves, of a model: as Events::progress.
  std::function<void(std::string_view what, size_t done, size_t all)> progress = {};
};

/// Results go to `out`, the line that says which config was used and why to `err`.
Status run_tensorc(const OperatorTable& operators, const TensorcOptions& options, std::ostream& out, std::ostream& err);

}  // namespace hone
