// Which variants of a model are asked for: `--bind batch=1|4|16 --shape 'x=1x3x48x192|1x3x48x320' --threads 1|2`.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/onnx/import.h"

namespace hone {

/// The most that one artifact holds.
inline constexpr size_t kMostVariants = 64;

/// One value for each of the flags.
struct ModelBinding {
  /// `batch=4, sequence=128`: the flags that have several values; empty where none has.
  std::string name;
  std::vector<std::string> bind, shapes;  ///< values of the flags that say this combination alone: `batch=4`
  OnnxOptions options;
};

/// Every combination of the flags' values, `NAME=N|N` as --bind and `INPUT=1x3x224x224|1x3x320x320` as --shape have
/// them; the last flag's values change first, --shape's behind --bind's. UserError, one line, for other texts, a value
/// that is there twice, a name that is given again where there are several values, and for more than `most`
/// combinations, which then are said to be for `thread_counts` numbers of threads each. `data`: NAME=FILE as
/// --bind-data has them, which are read once and hold for all combinations; UserError as bound_data(). So does `batch`,
/// OnnxOptions::batch.
std::vector<ModelBinding> model_bindings(const std::vector<std::string>& bind, const std::vector<std::string>& shapes,
                                         size_t thread_counts = 1, const std::vector<std::string>& data = {},
                                         int64_t batch = 1);

/// `2` or `1|2` as --threads has them, the most first; none for an empty text. UserError, one line, for other texts.
std::vector<int> thread_counts(const std::string& text);

/// `batch=4, 2 threads`: a variant by what sets it apart; `threads` is 0 where all variants have the same.
std::string variant_name(const ModelBinding& binding, int threads);

}  // namespace hone
