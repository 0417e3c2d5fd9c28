#include "compiler/model/weights.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <unordered_map>

#include "base/hash.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/host/load_objects.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/lower/layout_functions.h"
#include "compiler/runtime/buffer.h"

namespace hone {
namespace {

constexpr size_t kWeightAlignment = 64;

// The least CPU of this machine's architecture.
Target baseline() {
  Target t = host_target(1);
  return Target::parse(t.arch == "x86_64" ? "llvm -mtriple=x86_64-linux -mcpu=x86-64"
                                          : "llvm -mtriple=aarch64-linux -mcpu=generic");
}

// How a parameter's constants are packed; null where kernels take them as they are.
struct Packer {
  size_t prepack = 0;  // index into the Module of all packers
  std::vector<KernelArgument> packed;
};

class WeightsBuilder {
 public:
  WeightsBuilder(const Graph& g, const Layers& layers) : g_(g), layers_(layers) {
    for (const Kernel& k : layers.kernels) add_packers(k);
    if (!packers_.prepacks.empty())
      artifact_.emplace(load_objects(
          {emit_object(packers_, baseline(), {.name = "pack", .with_entry = false, .element_aligned = true})},
          "pack_prepack0"));
  }

  Weights build() {
    for (const Layer& call : layers_.calls) {
      const Node& node = g_.nodes[static_cast<size_t>(call.node)];
      auto& offsets = out_.offsets.emplace_back();
      for (size_t p = 0; p < layers_.kernels[call.kernel].module.params.size(); ++p) {
        offsets.emplace_back();
        if (p < node.inputs.size() && g_.is_constant(node.inputs[p]))
          offsets.back() = place(call.kernel, p, node.inputs[p]);
      }
    }
    return std::move(out_);
  }

 private:
  void add_packers(const Kernel& k) {
    auto& of_kernel = packers_of_.emplace_back(k.module.params.size());
    for (size_t p = 0; p < k.module.params.size(); ++p) {
      const Param& param = k.module.params[p];
      const Prepack* prepack = prepack_of(k.module, p);
      if (!k.is_packed[p] || param.role != ParamRole::kConstant ||
          (!prepack && param.layout == Layout::identity(param.shape)))
        continue;
      Function f = prepack ? prepack->function : pack_function(param);
      // Equal functions are compiled once.
      const auto [it, is_new] = by_code_.emplace(canonical_bytes(f), packers_.prepacks.size());
      if (is_new) packers_.prepacks.push_back({static_cast<int>(it->second), std::move(f)});
      of_kernel[p] = Packer{it->second, kernel_arguments(k.module, p)};
    }
  }

  std::vector<int64_t> place(size_t kernel, size_t param, ValueId v) {
    const TensorData& data = *g_.value(v).constant;
    const auto& packer = packers_of_[kernel][param];
    const auto [it, is_new] =
        placed_.emplace(std::pair(v, packer ? static_cast<int64_t>(packer->prepack) : -1), std::vector<int64_t>{});
    if (!is_new) return it->second;
    if (!packer) return it->second = {keep(data.bytes())};
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
    const HoneEntry entry =
        reinterpret_cast<HoneEntry>(artifact_->symbol(fmt::format("pack_prepack{}", packer->prepack)));
    const int32_t code = entry(args.data(), static_cast<int32_t>(args.size()), nullptr, nullptr);
    HONE_ICHECK(code == HONE_OK) << "packing %" << g_.value(v).name << " returned " << code;
    for (const HostTensor& t : packed)
      it->second.push_back(keep({static_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())}));
    return it->second;
  }

  // The bytes in the blob; equal ones once.
  int64_t keep(std::span<const char> bytes) {
    const Hash128 hash = hash_bytes({bytes.data(), bytes.size()});
    const auto [begin, end] = kept_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (it->second.second == bytes.size() &&
          std::memcmp(out_.bytes.data() + it->second.first, bytes.data(), bytes.size()) == 0)
        return static_cast<int64_t>(it->second.first);
    out_.bytes.resize((out_.bytes.size() + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment);
    const size_t at = out_.bytes.size();
    out_.bytes.append(bytes.data(), bytes.size());
    kept_.emplace(hash, std::pair(at, bytes.size()));
    return static_cast<int64_t>(at);
  }

  const Graph& g_;
  const Layers& layers_;
  Module packers_;
  std::optional<Artifact> artifact_;
  std::vector<std::vector<std::optional<Packer>>> packers_of_;  // by kernel and parameter
  std::map<std::string, size_t> by_code_;
  std::map<std::pair<ValueId, int64_t>, std::vector<int64_t>> placed_;
  std::unordered_multimap<Hash128, std::pair<size_t, size_t>> kept_;  // offset and bytes
  Weights out_;
};

}  // namespace

Weights pack_weights(const Graph& g, const Layers& layers) { return WeightsBuilder(g, layers).build(); }

}  // namespace hone
