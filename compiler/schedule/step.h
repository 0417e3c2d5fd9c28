// A schedule as data: the list of primitives applied, printable and replayable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

enum class Primitive : uint8_t {
  kSplit,
  kFuse,
  kReorder,
  kVectorize,
  kUnroll,
  kParallel,
  kComputeAt,
  kComputeInline,
  kCacheRead,
  kCacheWrite,
  kDecomposeReduction,
  kTransformLayout,
  kSetScope,
  kAnnotate,
  kSplitParts,
  kReverseComputeAt,
  kReverseComputeInline,
  kRfactor,
  kPrepack,
  kPad,
  kAnnotateLoop,
  kTensorize,
  kBind,
  kStorageAlign,
  kDoubleBuffer,
};

/// One application of a primitive. Loops and blocks are named by their numbers, which are given out in order, so a
/// replay gets the same ones.
struct Step {
  Primitive primitive;
  std::vector<int64_t> args;  ///< loop and block numbers, factors
  std::string name;           ///< buffer, layout or annotation
  std::string text;           ///< for people: `split(oc, 16) -> oc_o, oc_i`
};

}  // namespace hone
