// One variant of a model: its layers, and where each of their tensors lies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/artifact/model_entry.h"
#include "compiler/graph/graph.h"
#include "compiler/model/build_model.h"
#include "compiler/model/plan/layers.h"
#include "compiler/model/plan/memory_plan.h"
#include "compiler/model/weights.h"

namespace hone {

/// A copy of a value to tensor number `tensor` of the caller, behind all layers.
struct OutputCopy {
  ValueId value;
  size_t tensor;
};

/// Inputs are read where the caller has them, and outputs written there; an output that is also an input, a constant,
/// another output, or a part of a value, is copied at the end. All else lies in the arena.
class VariantBuilder {
 public:
  /// Chooses and lowers the layers and plans the arena; `packings`, null for the first variant: of those before.
  /// UserError where a workload has no template for the target.
  VariantBuilder(const ModelVariant& variant, const std::string& name, const ChooseConfig& choose,
                 const SharedPackings* packings);

  /// Packs the layers' weights and makes their steps; behind it, make_copies() adds those of `copies()`.
  void make_steps(WeightsPacker& packer);
  void make_copies(WeightsPacker& packer);

  const ModelVariant& variant() const { return v_; }
  Layers& layers() { return layers_; }
  const Layers& layers() const { return layers_; }
  const MemoryPlan& memory() const { return memory_; }
  /// The buffers that `memory()` slots.
  const std::vector<PlannedBuffer>& buffers() const { return planned_; }
  const std::vector<OutputCopy>& copies() const { return copies_; }
  /// The steps: a call for each layer, then a copy for each of `copies()`, then a step for the rows of caches that no
  /// layer reads, where there are any.
  const std::vector<ModelStep>& steps() const { return steps_; }

 private:
  const TensorSlot* tensor_of(ValueId v) const;
  std::vector<int64_t> alignments() const;
  TensorSlot slot_of(ValueId v) const;
  const Node& node_of(int call) const { return g_.nodes[layers_.calls[static_cast<size_t>(call)].node]; }
  int region_of(int call) const { return layers_.calls[static_cast<size_t>(call)].region; }
  void slot_tensors();
  void share_regions();
  void find_rows();
  NewRow row_of(size_t cache) const;
  ValueId new_row(size_t cache) const;
  TensorSlot count_slot() const;
  void plan();
  void keep_plan(const std::vector<ArenaBuffer>& buffers, const std::vector<int>& buffer_of);
  ValueId overwrite_input(size_t call, const std::vector<int>& last_use);
  bool is_written_beside(int call, ValueId root) const;
  bool reads_each_element(const Node& n, size_t input) const;

  const ModelVariant v_;
  const Graph& g_;
  const Storage storage_;
  std::vector<std::optional<TensorSlot>> slots_;  ///< by value; of views that of their root
  std::vector<OutputCopy> copies_;
  Layers layers_;
  MemoryPlan memory_;
  std::vector<PlannedBuffer> planned_;
  std::vector<int64_t> workspaces_;  ///< by call
  std::vector<int> row_written_;  ///< by cache: the call before which its row is written; behind all: that of the end
  std::vector<ModelStep> steps_;
};

}  // namespace hone
