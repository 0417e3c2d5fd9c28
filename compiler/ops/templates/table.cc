#include "base/check.h"
#include "compiler/ops/templates/template.h"

namespace hone {
namespace {

constexpr Template kTemplates[] = {
    {"conv2d_cpu", "conv2d", "llvm", 3, &conv2d_cpu},
    {"depthwise_cpu", "depthwise_conv2d", "llvm", 2, &depthwise_cpu},
    {"matmul_cpu", "dense", "llvm", 3, &matmul_cpu},
    {"matmul_cpu", "batch_matmul", "llvm", 3, &matmul_cpu},
    {"pool_cpu", "max_pool2d", "llvm", 1, &pool_cpu},
    {"pool_cpu", "avg_pool2d", "llvm", 1, &pool_cpu},
    {"fused_cpu", "elementwise", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "reduce", "llvm", 1, &fused_workload_cpu},
};

}  // namespace

const Template& template_for(const Workload& w, const Target& target) {
  for (const Template& t : kTemplates)
    if (t.task == w.task && t.target_kind == target.kind) return t;
  throw UserError("no template for task '" + w.task + "' on target kind '" + target.kind + "'; there are some for llvm");
}

}  // namespace hone
