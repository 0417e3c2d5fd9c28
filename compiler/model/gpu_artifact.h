// A model for a GPU: its layers' code, and where on the device each of their tensors lies.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "compiler/codegen/llvm/gpu_host.h"
#include "compiler/model/build_model.h"
#include "compiler/model/variant.h"

namespace hone {

/// UserError, one line, for what models for GPUs do not have: caches that grow in place, weights in a file of their
/// own.
void check_gpu_model(const std::deque<VariantBuilder>& variants, const ModelOptions& options, int64_t weight_bytes);

/// What becomes the variants' HoneGpuModels: a program for each kernel, a step for each call and copy. `json`:
/// NAME_json. `told`: how many kernels are compiled, now and then. UserError where a kernel has no form as GPU code.
GpuHostModel gpu_model(const std::deque<VariantBuilder>& variants, const std::string& name, const std::string& json,
                       int64_t weight_bytes, const std::function<void(size_t done)>& told);

}  // namespace hone
