#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/templates/template.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

// A template, and the tasks that it is for on these kinds of targets.
struct Row {
  Template is;
  std::vector<std::string_view> kinds, tasks;

  bool is_for_kind(std::string_view kind) const { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); }
  bool is_for_task(std::string_view task) const { return std::find(tasks.begin(), tasks.end(), task) != tasks.end(); }
};

const std::vector<Row>& rows() {
  static const std::vector<std::string_view> kCpus = {"llvm"};
  static const std::vector<std::string_view> kGpus = [] {
    std::vector<std::string_view> names;
    for (const GpuKind& kind : gpu_kinds()) names.push_back(kind.name);
    return names;
  }();
  static const std::vector<Row> table = {
      {{"conv2d_cpu", 4, &conv2d_cpu}, kCpus, {"conv2d"}},
      {{"depthwise_cpu", 3, &depthwise_cpu}, kCpus, {"depthwise_conv2d"}},
      {{"matmul_cpu", 4, &matmul_cpu}, kCpus, {"dense"}},
      {{"matmul_cpu", 3, &matmul_cpu}, kCpus, {"batch_matmul"}},
      {{"dense_nbits_cpu", 1, &dense_nbits_cpu}, kCpus, {"dense_nbits"}},
      {{"pool_cpu", 2, &pool_cpu}, kCpus, {"max_pool2d", "avg_pool2d"}},
      {{"fused_cpu", 1, &fused_workload_cpu},
       kCpus,
       {"elementwise", "reduce", "reshape", "broadcast", "concat", "slice", "pad", "gather", "gather_elements",
        "gather_nd", "lookup", "depth_to_space", "space_to_depth"}},
      {{"transpose_cpu", 1, &transpose_cpu}, kCpus, {"transpose"}},
      {{"resize_cpu", 1, &resize_cpu}, kCpus, {"resize"}},
      {{"generic_cpu", 1, &generic_workload_cpu},
       kCpus,
       {"softmax", "log_softmax", "layer_norm", "rms_norm", "l2_norm", "argmax", "argmin", "top_k", "op"}},
      {{"attention_cpu", 1, &attention_cpu}, kCpus, {"attention"}},
      {{"cached_attention_cpu", 2, &cached_attention_cpu}, kCpus, {"cached_attention"}},
      {{"recurrent_cpu", 1, &recurrent_cpu}, kCpus, {"lstm", "gru", "rnn"}},
      {{"matmul_gpu", 3, &matmul_gpu}, kGpus, {"dense", "batch_matmul"}},
      {{"elementwise_gpu", 1, &elementwise_gpu},
       kGpus,
       {"elementwise", "transpose", "reshape", "broadcast", "concat", "slice", "pad", "gather", "gather_elements",
        "gather_nd", "lookup", "depth_to_space", "space_to_depth", "resize"}},
      {{"reduce_gpu", 2, &reduce_gpu}, kGpus, {"reduce"}},
      {{"conv2d_gpu", 3, &conv2d_gpu}, kGpus, {"conv2d"}},
      {{"depthwise_gpu", 1, &depthwise_gpu}, kGpus, {"depthwise_conv2d"}},
      {{"pool_gpu", 1, &pool_gpu}, kGpus, {"max_pool2d", "avg_pool2d"}},
      {{"generic_gpu", 1, &generic_workload_gpu},
       kGpus,
       {"dense_nbits", "attention", "lstm", "gru", "rnn", "softmax", "log_softmax", "layer_norm", "rms_norm", "l2_norm",
        "argmax", "top_k", "argmin", "op"}},
      {{"cached_attention_gpu", 1, &cached_attention_gpu}, kGpus, {"cached_attention"}},
  };
  return table;
}

}  // namespace

const Template& template_for(const Workload& w, const Target& target) {
  for (const Row& row : rows())
    if (row.is_for_task(w.operator_name()) && row.is_for_kind(target.kind)) return row.is;
  HONE_USER_CHECK(w.op->define) << w.operator_name()
                                << " is a part of models alone: a function in C, of which there is no other "
                                << "program to choose";
  std::vector<std::string_view> kinds, tasks;
  for (const Row& row : rows()) {
    if (row.is_for_task(w.operator_name())) kinds.insert(kinds.end(), row.kinds.begin(), row.kinds.end());
    if (row.is_for_kind(target.kind)) tasks.insert(tasks.end(), row.tasks.begin(), row.tasks.end());
  }
  throw UserError(fmt::format("no template for task '{}' on target kind '{}'; the task has some for {}{}{}",
                              w.operator_name(), target.kind, fmt::join(kinds, ", "),
                              tasks.empty() ? "" : ", the kind for ", fmt::join(tasks, ", ")));
}

}  // namespace hone
