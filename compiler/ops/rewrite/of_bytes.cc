#include "compiler/ops/rewrite/of_bytes.h"

#include <string>
#include <utility>

#include "compiler/ops/operators.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

using Changes = std::vector<std::pair<std::string, std::string>>;

}  // namespace

Workload sums_of_bytes(const Workload& w, const std::vector<int64_t>& x, std::optional<int64_t> border) {
  Changes changes{{"dtype", "u8:s8:s32:s32"}, {"epilogue", "none"}};
  if (!is<ops::Dense>(w)) {
    const ConvShape& s = conv_shape(w);
    if (x[1] != s.ci) changes.emplace_back("ci", std::to_string(x[1]));
    if (x[2] != s.h || x[3] != s.w) {
      changes.emplace_back("pad", "0");
      changes.emplace_back("h", std::to_string(x[2]));
      changes.emplace_back("w", std::to_string(x[3]));
    }
  }
  if (border) changes.emplace_back("border", std::to_string(*border));
  return Workload::changed(w, changes);
}

Workload matmul_of_bytes(const Workload& w, bool is_first_signed, int64_t depth) {
  return Workload::changed(
      w, Changes{{"dtype", is_first_signed ? "s8:u8:s32:s32" : "u8:s8:s32:s32"}, {"k", std::to_string(depth)}});
}

Workload with_weights_of_bytes(const Workload& w) {
  return Workload::changed(w, Changes{{"dtype", "f32:s8:f32:f32"}, {"epilogue", "none"}});
}

}  // namespace hone
