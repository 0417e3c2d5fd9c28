#include "compiler/model/weights.h"

#include <fmt/format.h>

#include <cstring>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/load_objects.h"
#include "compiler/ir/dlpack_type.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/model/pack/shared_packing.h"
#include "compiler/runtime/buffer.h"

namespace hone {
namespace {

// The least CPU of this machine's architecture.
Target baseline() {
  Target t = host_target(1);
  return Target::parse(t.arch == "x86_64" ? "llvm -mtriple=x86_64-linux -mcpu=x86-64"
                                          : "llvm -mtriple=aarch64-linux -mcpu=generic");
}

}  // namespace

// By kernel and parameter; none where kernels take constants as they are.
std::vector<std::vector<std::optional<WeightsPacker::Packer>>> WeightsPacker::packers(const Layers& layers) {
  Module made;                     // the functions that are not compiled yet, each once
  std::vector<std::string> codes;  // of these
  std::vector<std::vector<std::string>> code_of;
  for (const Kernel& k : layers.kernels) {
    auto& of_kernel = code_of.emplace_back(k.module.params.size());
    for (size_t p = 0; p < k.module.params.size(); ++p) {
      auto f = k.is_packed[p] ? packing_function(k.module, p) : std::nullopt;
      if (!f) continue;
      of_kernel[p] = canonical_bytes(*f);
      if (!entries_.emplace(of_kernel[p], nullptr).second) continue;
      made.prepacks.push_back({static_cast<int>(made.prepacks.size()), std::move(*f)});
      codes.push_back(of_kernel[p]);
    }
  }
  if (!codes.empty()) {
    artifacts_.push_back(
        load_objects({emit_object(made, baseline(), {.name = "pack", .with_entry = false, .element_aligned = true})},
                     "pack_prepack0"));
    for (size_t i = 0; i < codes.size(); ++i)
      entries_[codes[i]] = reinterpret_cast<HoneEntry>(artifacts_.back().symbol(fmt::format("pack_prepack{}", i)));
  }
  std::vector<std::vector<std::optional<Packer>>> out;
  for (size_t k = 0; k < code_of.size(); ++k) {
    auto& of_kernel = out.emplace_back(code_of[k].size());
    for (size_t p = 0; p < code_of[k].size(); ++p)
      if (!code_of[k][p].empty())
        of_kernel[p] = Packer{entries_.at(code_of[k][p]), kernel_arguments(layers.kernels[k].module, p)};
  }
  return out;
}

PackedArguments WeightsPacker::pack(const Graph& g, const Layers& layers) {
  const auto packer_of = packers(layers);
  // Once, instead of growing while it is copied: large models would be there three times.
  size_t bytes = blob_.size();
  for (const Value& v : g.values) bytes += v.constant ? v.constant->bytes().size() + alignment_ : 0;
  blob_.reserve(bytes);
  PackedArguments out;
  for (const Layer& call : layers.calls) {
    const Node& node = g.nodes[call.node];
    auto& offsets = out.emplace_back();
    for (size_t p = 0; p < packer_of[call.kernel].size(); ++p) {
      offsets.emplace_back();
      if (p < node.inputs.size() && g.is_constant(node.inputs[p]))
        offsets.back() = blaming(layers.kernels[call.kernel].workload,
                                 [&] { return slot(packer_of[call.kernel][p], *g.value(node.inputs[p]).constant); });
    }
  }
  return out;
}

std::vector<int64_t> WeightsPacker::slot(const std::optional<Packer>& packer, const TensorData& data) {
  if (!packer) return {keep(data.bytes())};
  const auto [it, is_new] = placed_.emplace(std::pair(data.bytes().data(), packer->entry), std::vector<int64_t>{});
  if (!is_new) return it->second;
  AlignedBuffer plain(static_cast<int64_t>(data.bytes().size()));
  std::memcpy(plain.data(), data.bytes().data(), data.bytes().size());
  std::vector<HostTensor> packed;
  DLTensor in{};
  in.data = plain.data();
  in.device = {kDLCPU, 0};
  in.dtype = dlpack_type(data.type().dtype);
  std::vector<const DLTensor*> args{&in};
  for (const KernelArgument& a : packer->packed) packed.emplace_back(dlpack_type(a.dtype), a.shape);
  for (const HostTensor& t : packed) {
    std::memset(t.data(), 0, static_cast<size_t>(t.bytes()));
    args.push_back(t.view());
  }
  const int32_t code = packer->entry(args.data(), static_cast<int32_t>(args.size()), nullptr, nullptr);
  HONE_ICHECK(code == HONE_OK) << "packing returned " << code;
  for (const HostTensor& t : packed)
    it->second.push_back(keep({static_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())}));
  return it->second;
}

int64_t WeightsPacker::keep(std::span<const char> bytes) {
  const Hash128 hash = hash_bytes({bytes.data(), bytes.size()});
  const auto [begin, end] = kept_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (it->second.second == bytes.size() &&
        std::memcmp(blob_.data() + it->second.first, bytes.data(), bytes.size()) == 0)
      return static_cast<int64_t>(it->second.first);
  blob_.resize((blob_.size() + alignment_ - 1) / alignment_ * alignment_);
  const size_t at = blob_.size();
  blob_.append(bytes.data(), bytes.size());
  kept_.emplace(hash, std::pair(at, bytes.size()));
  return static_cast<int64_t>(at);
}

Weights pack_weights(const Graph& g, const Layers& layers) {
  WeightsPacker packer;
  PackedArguments offsets = packer.pack(g, layers);
  return {packer.take_blob(), std::move(offsets)};
}

}  // namespace hone
