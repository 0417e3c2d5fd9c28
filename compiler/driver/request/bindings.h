// The requested variants of a model: `--bind batch=1|4|16 --shape 'x=1x3x48x192|1x3x48x320' --threads 1|2`.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/request/model_request.h"
#include "compiler/frontend/lowering/import_options.h"

namespace hone {

/// The most that one artifact holds.
inline constexpr size_t kMostVariants = 64;

/// A model with one value for each of the request's choices.
struct ModelBinding {
  std::string name;  ///< `batch=4, sequence=128`: the choices that have several values; empty where none has
  ImportOptions options;
};

/// Every combination of the values of `bind` and `shapes`; the last choice's values change first, those of shapes
/// behind those of `bind`. Elements of `bind_data` are read once and hold for all, as `model_batch` does.
/// `thread_counts`: of how many numbers of threads there are variants, too. UserError, one line, for a name that is
/// there twice where there are several values, for more than kMostVariants, and as read_tensor_file() (files of 1 GiB
/// at the most).
std::vector<ModelBinding> bindings_of(const ModelRequest& request, size_t thread_counts = 1);

/// `batch=4, 2 threads`: the name that distinguishes a variant; `threads` is 0 where all variants have the same.
std::string variant_name(const ModelBinding& binding, int threads);

}  // namespace hone
