// A model's constants as its kernels take them: packed when the model is built, one blob, equal ones once.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "compiler/graph/graph.h"
#include "compiler/model/plan/layers.h"
#include "compiler/runtime/artifact.h"

namespace hone {

/// By call and parameter: where in the blob the kernel's arguments of that parameter begin; empty where it is no
/// constant.
using PackedArguments = std::vector<std::vector<std::vector<int64_t>>>;

/// Packs on this machine, with code for the least CPU of its architecture and without contraction: the bytes do not
/// depend on the machine.
class WeightsPacker {
 public:
  /// `alignment`: bytes that everything in the blob begins at a multiple of.
  explicit WeightsPacker(int64_t alignment = kArenaAlignment) : alignment_(static_cast<size_t>(alignment)) {}

  /// Adds the layers' weights that are not there yet.
  PackedArguments pack(const Graph& g, const Layers& layers);
  /// Where `bytes` begin, which are added unless they are there.
  int64_t keep(std::span<const char> bytes);
  const std::string& blob() const { return blob_; }
  /// The blob, with which the packer is at its end.
  std::string take_blob() { return std::move(blob_); }

 private:
  /// How a parameter's constants are packed.
  struct Packer {
    HoneEntry entry = nullptr;
    std::vector<KernelArgument> packed;
  };
  std::vector<std::vector<std::optional<Packer>>> packers(const Layers& layers);
  std::vector<int64_t> slot(const std::optional<Packer>& packer, const TensorData& data);

  const size_t alignment_;
  std::vector<Artifact> artifacts_;           ///< the packers' code
  std::map<std::string, HoneEntry> entries_;  ///< by the canonical bytes of the packing function
  /// By the elements that are packed, which graphs may share, and by packer.
  std::map<std::pair<const char*, HoneEntry>, std::vector<int64_t>> placed_;
  std::unordered_multimap<Hash128, std::pair<size_t, size_t>> kept_;  ///< offset and bytes
  std::string blob_;
};

struct Weights {
  std::string bytes;
  PackedArguments offsets;
};
/// The packed weights of one graph.
Weights pack_weights(const Graph& g, const Layers& layers);

}  // namespace hone
