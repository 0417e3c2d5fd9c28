// A model for a GPU: its layers' code, and where on the device each of their tensors lies.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "compiler/codegen/llvm/artifact/gpu_host.h"
#include "compiler/model/build_model.h"
#include "compiler/model/variant.h"

namespace hone {

/// The data for the variants' HoneGpuModels: a program for each kernel, a step for each call and copy. `program`: the
/// artifact's name, its NAME_json, and where its weights are. `told` is called now and then with the number of kernels
/// compiled so far. UserError for a kernel that has no form as GPU code.
GpuHostModel gpu_model(const std::deque<VariantBuilder>& variants, const ModelProgram& program, int64_t weight_bytes,
                       const std::function<void(size_t done)>& told);

}  // namespace hone
