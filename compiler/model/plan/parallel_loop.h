// Layers as iterations that threads share: the elements that each reads and writes, and roughly how long it takes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "compiler/arith/touched_elements.h"
#include "compiler/graph/graph.h"
#include "compiler/model/plan/layers.h"
#include "compiler/target/target.h"

namespace hone {

/// The time to start a region on several threads and wait for the last one, and the bytes a second that a core reads
/// when another one has just written them. Chosen on a virtual machine (Zen 5) whose two CPUs lie close together at
/// times and far apart at others: while they are far, PP-OCR's classifier takes 1.07 times as long with (0.3 us, 40e9)
/// as with (1.5 us, 10e9), and with the latter 1.27 times as long as with all layers divided while they are close.
inline constexpr double kRegionSeconds = 0.7e-6, kBytesBetweenCores = 20e9;

/// Estimated seconds of a layer on one thread, when nothing has to be fetched: at half the peak rate of whole vectors.
/// It serves to find small layers; its absolute value matters little.
double estimated_seconds(const Graph& g, const Node& n, const Target& target);

/// The outer loop structure of a kernel: whether it is one parallel loop, and the elements that its iterations touch.
struct ParallelLoop {
  bool is_divided = false;               ///< all of it is one loop, whose iterations threads share
  int64_t iterations = 1;                ///< of its longest parallel loop; 1: there is none
  int64_t regions = 0;                   ///< how often a parallel loop begins
  std::vector<TouchedElements> touched;  ///< by iteration, by the kernel's argument
};

/// The parallel loops of the kernels of a model, each looked at when it is first asked for.
class ParallelLoops {
 public:
  ParallelLoops(const Layers& layers, int threads) : layers_(layers), threads_(threads) {}
  const ParallelLoop& of(size_t call);

 private:
  const Layers& layers_;
  const int threads_;
  std::map<size_t, std::unique_ptr<ParallelLoop>> loops_;  ///< by kernel
};

}  // namespace hone
