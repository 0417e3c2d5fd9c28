#include "compiler/ops/rewrite/of_bytes.h"

#include <string>
#include <utility>

namespace hone {
namespace {

using Changes = std::vector<std::pair<std::string, std::string>>;

}  // namespace

Workload sums_of_bytes(const Workload& w, const BytesRead& read) {
  Changes changes{{"dtype", "u8:s8:s32:s32"}, {"epilogue", "none"}};
  if (read.height) {
    changes.emplace_back("pad", "0");
    changes.emplace_back("h", std::to_string(*read.height));
    changes.emplace_back("w", std::to_string(*read.width));
  }
  if (read.border) changes.emplace_back("border", std::to_string(*read.border));
  if (read.input_channels) changes.emplace_back("ci", std::to_string(*read.input_channels));
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
