// Inputs that a user gives in a folder, and the variants of a model that take them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/growth.h"
#include "compiler/graph/tensor_data.h"

namespace hone {

/// Inputs of a model and the outputs to expect; both from a folder's files.
struct TestTensors {
  std::vector<TensorData> inputs, outputs;
};

/// A variant's inputs and outputs, and its caches, if these grow.
struct VariantPorts {
  const Graph* ports;
  const Growth* growth = nullptr;
};

/// None: a model runs on seeded numbers.
class GivenInputs {
 public:
  GivenInputs() = default;
  /// FOLDER/input_0.npy or .pb, …, and output_0, … of a model with these variants, one of which takes them. `names`: of
  /// the inputs of the model's file, where inputs that were bound may have files, too; empty: there are no such ones.
  /// UserError for no such folder, and files that are no tensors; usage errors.
  static StatusOr<GivenInputs> read(const std::string& folder, const std::vector<VariantPorts>& variants,
                                    const std::vector<std::string>& names);

  /// Null where there are none.
  const TestTensors* tensors() const { return tensors_ ? &*tensors_ : nullptr; }
  explicit operator bool() const { return tensors_.has_value(); }
  /// Whether the variant runs on them: it takes them, or it is the only one, whose call reports any mismatch.
  bool are_for(size_t variant) const { return !tensors_ || takes_[variant]; }

 private:
  std::optional<TestTensors> tensors_;
  std::vector<bool> takes_;  ///< by variant
};

}  // namespace hone
