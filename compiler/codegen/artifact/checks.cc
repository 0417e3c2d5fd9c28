#include "compiler/codegen/artifact/checks.h"

#include <dlpack/dlpack.h>

#include <map>

#include "base/check.h"
#include "compiler/runtime/include/hone_runtime.h"
#include "compiler/target/gpu_kinds.h"
#include "compiler/target/target.h"

namespace hone {
namespace {

constexpr uint64_t bit(int32_t device_type) { return uint64_t{1} << device_type; }

// Where a cache of a model for that GPU may stay from call to call, beside the CPU.
uint64_t devices_of(const GpuKind& kind) {
  uint64_t devices = bit(kind.device_type);
  for (const int32_t type : kind.host_device_types) devices |= bit(type);
  return devices;
}

}  // namespace

ArtifactChecks checks_of(const ArtifactDescription& description, const ArtifactDescription::Variant& variant) {
  const uint64_t on_gpu = description.has_gpu ? devices_of(gpu_kind(Target::parse(description.target).kind)) : 0;
  ArtifactChecks out;
  std::map<size_t, size_t> symbols;  // by the parameter that says how many rows a cache has
  for (size_t i = 0; i < variant.params.size(); ++i) {
    const ArtifactDescription::Parameter& p = variant.params[i];
    ArtifactChecks::Tensor& tensor = out.tensors.emplace_back();
    tensor.devices = bit(kDLCPU);
    if (!p.cache) continue;
    tensor.devices |= on_gpu;
    const auto [symbol, is_new] = symbols.emplace(p.cache->counted_by, out.symbols.size());
    HONE_ICHECK(is_new == (i == p.cache->counted_by)) << "the first cache says how many rows there are";
    if (is_new) out.symbols.push_back({p.cache->symbol, 0, p.cache->room - 1, 1});
    const bool is_output = p.role == ParamRole::kOutput;
    tensor.extents.push_back({p.cache->axis, symbol->second, is_output ? 1 : 0, p.cache->room});
    HONE_ICHECK(!is_output || p.cache->input < i) << "a cache's output stands behind its input";
    if (is_output) tensor.begins_with = static_cast<int>(p.cache->input);
  }
  HONE_ICHECK(out.symbols.size() <= HONE_MOST_SYMBOLS) << "too many symbols";
  return out;
}

}  // namespace hone
