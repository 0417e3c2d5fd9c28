// Which special instructions of a GPU carry out which loops and copies of a kernel: tensor cores' products, shuffles,
// asynchronous copies, moves of vectors. Emitters of GPU code write the selected instructions and choose nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/codegen/gpu/tensor_nest.h"

namespace hone {

/// The instructions that an emitter can write for its device. Those that every device has are always selected:
/// moves of vectors.
struct InstructionSet {
  bool products = false;       ///< of tensor cores (mma.sync, ldmatrix)
  bool shuffles = false;       ///< between the threads of a warp
  bool async_copies = false;   ///< to shared memory (cp.async)
  int compute_capability = 0;  ///< products that need more are not selected; 0: the text itself asks (`plain`)
};

/// A nest on tensor cores, and the unrolled loops around it that move through one of its matrices only: the fragments
/// of B are read once for all rows, those of A once for all columns.
struct TensorProduct {
  TensorNest nest;
  std::vector<const For*> rows, columns;  ///< outermost first
  int64_t tiles = 1;                      ///< how many tiles the columns are
  /// How far apart, in elements, neighbouring tiles of B are where one ldmatrix reads the fragments of two; 0: of one.
  int64_t pairs = 0;
  Stmt loops;  ///< the nest with these loops
  Stmt plain;  ///< the same as plain sums, selected, for architectures before nest.least_sm
};

/// A store that is an asynchronous copy.
struct AsyncCopy {
  int64_t bytes = 0;  ///< 4, 8 or 16
  const Load* from = nullptr;
  Expr condition;  ///< zeros are copied where it is false; null: always true
};

/// A warp loop that became plain loops.
struct PlainLoop {
  enum class Why : uint8_t {
    kNoInstruction,  ///< it has an instruction's form, but the emitter or the device has no such instruction
    kDiverges,       ///< the threads of a warp may not come there together
    kOtherForm,      ///< strides, alignment, types or extents are not those of an instruction
  };
  std::string loop;
  Why why = Why::kOtherForm;
};
/// A line for people: `loop 'h' is a plain sum: …`
std::string to_string(const PlainLoop& loop);

struct Selection {
  /// The kernel's program. Its warp loops are those with an instruction below: nodes that stand there alone.
  Stmt body;
  std::unordered_map<const For*, TensorProduct> products;  ///< by the outermost loop
  std::unordered_map<const For*, WarpSum> sums;
  std::unordered_map<const Store*, AsyncCopy> copies;
  bool copies_ahead = false;  ///< there are copies that barriers wait for
  /// Vectors that one instruction moves.
  std::unordered_set<const Load*> vector_loads;
  std::unordered_set<const Store*> vector_stores;
  std::vector<PlainLoop> plain;
};

/// A loop of GpuKernel::pipelines whose copies are asynchronous. Those of an iteration are a group of cp.async's; those
/// in front of the loop are one group, too, and empty groups behind it make as many as may be under way in the first
/// iteration: `ahead` groups in all are committed there. In the body, barriers before statement `copies` wait for all
/// groups but the `ahead` - 1 newest, and behind that statement the iteration's group ends.
struct Pipeline {
  int64_t ahead = 0;
  const Seq* body = nullptr;
  size_t copies = 0;
};
/// Nothing for another loop.
std::optional<Pipeline> pipeline_of(const GpuKernel& kernel, const For* loop);

/// `stored`: the buffers that the program stores to; loads from these are not copied asynchronously.
Selection select_instructions(const GpuKernel& kernel, const std::set<const BufferNode*>& stored,
                              const InstructionSet& can);

}  // namespace hone
