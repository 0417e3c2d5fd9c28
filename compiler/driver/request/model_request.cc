#include "compiler/driver/request/model_request.h"

#include <absl/strings/str_join.h>

#include <utility>
#include <vector>

namespace hone {

void take_passes(const ModelRequest& request, PassContext& context) {
  context.sums_in_f16 = request.sums_in_f16;
  context.level = static_cast<OptLevel>(request.optimize);
  context.user_passes = &request.passes;
}

std::string flags_of_models_alone(const ModelRequest& r, bool names_definitions) {
  std::vector<std::string> out;
  for (const auto& [flag, is_given] :
       {std::pair("--bind", !r.bind.empty()), std::pair("--shape", !r.shapes.empty()),
        std::pair("--bind-data", !r.bind_data.empty()), std::pair("--input", !r.formats.empty()),
        std::pair("--model-batch", r.model_batch != 1), std::pair("--cache", r.cache.has_value()),
        std::pair("--operators", !r.operators.empty() && !names_definitions),
        std::pair("--replace", !r.replace.empty()), std::pair("--accumulate", r.sums_in_f16),
        std::pair("--quantize", !r.quantize.type.empty()), std::pair("--keep", !r.quantize.keep.empty()),
        std::pair("-O", r.optimize != ModelRequest{}.optimize), std::pair("graph passes", !r.passes.empty())})
    if (is_given) out.emplace_back(flag);
  return absl::StrJoin(out, ", ");
}

}  // namespace hone
