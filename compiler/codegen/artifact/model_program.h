// The steps of a whole model: calls of its layers in order, and where their arguments lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/denormals.h"

namespace hone {

/// Where a layer's argument lies when the entry runs.
struct TensorSlot {
  enum class In : uint8_t {
    kArena,    ///< the workspace that the caller passes
    kWeights,  ///< the model's constants
    kTensor,   ///< the caller's tensor number `index`
    kExtent,   ///< an extent of that tensor, the s64 in its shape; `offset` is in there
  };
  In in = In::kArena;
  int64_t offset = 0;  ///< bytes
  size_t index = 0;
};

/// A new row for a cache, copied behind the existing rows: one row of each matrix.
struct NewRow {
  TensorSlot from, to;  ///< the row of the first matrix; row 0 of the cache
  TensorSlot count;     ///< s64: rows that are there
  int64_t matrices = 1;
  int64_t bytes = 0;         ///< of a row
  int64_t matrix_bytes = 0;  ///< from one matrix of the cache to the next
};

/// Iterations begin .. end - 1 of a parallel loop, counted from 0.
struct IterationRange {
  int64_t begin = 0, end = 0;
  bool operator==(const IterationRange&) const = default;
};

/// The part of a step that one thread of a region runs.
struct StepShare {
  int thread = 0;                          ///< counted from 0
  std::vector<IterationRange> iterations;  ///< of the layer's only parallel loop; empty: the whole layer
};

/// One call of a layer's function (emit_layer_object()), or a copy of bytes.
struct ModelStep {
  std::string symbol;  ///< empty: copies arguments[0] to arguments[1], where there are any
  std::vector<TensorSlot> arguments;
  int64_t workspace = 0;          ///< where in the arena the layer's own workspace begins
  int64_t bytes = 0;              ///< of a copy
  std::vector<NewRow> rows = {};  ///< written before the call
  bool is_alone = false;          ///< on the calling thread, whatever the runtime offers
  /// Neighbours of one region (0: of none) run in one parallel region of the runtime: each thread's shares in order,
  /// and no thread needs another one's results. Without a region there are no shares.
  int region = 0;
  std::vector<StepShare> shares = {};
};

struct ModelProgram {
  std::string name;
  std::vector<std::vector<ModelStep>> variants;  ///< the steps of each; at least one
  std::string json;
  /// The weights are in a file of their own, whose first bytes (HoneWeightsFile) these are.
  struct WeightsFile {
    std::string name;   ///< without a folder
    std::string begin;  ///< begin_of_weights()
  };
  std::optional<WeightsFile> weights_file = {};
  Denormals denormals = Denormals::kKeep;  ///< in every entry; of CPUs
  bool has_tiles = false;                  ///< some layers may run on registers of tiles, which entries configure
};

/// The entry of a variant, of `count`: NAME where there is one, else hidden, NAME.variant<v>.
std::string variant_symbol(const std::string& name, size_t variant, size_t count);
/// The entry of a step of the variant of that symbol: hidden, SYMBOL.step<i>.
std::string step_symbol(const std::string& variant, size_t i);

}  // namespace hone
