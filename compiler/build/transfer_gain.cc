#include "compiler/build/transfer_gain.h"

#include <string>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/operators.h"
#include "compiler/ops/user_operator.h"

namespace hone {
namespace {

struct Measured {
  CoreKind from, to;
  TransferTypes types;
  TransferFamily family;
  double same;      ///< gain of rows of the same workload; 0: fewer than 20 layers were measured
  double near = 0;  ///< of a near workload's
};

// bench_transfer's means; docs/packages.md has the machine, the commit, how many layers and how far they spread.
constexpr Measured kMeasured[] = {
    {CoreKind::kZen5, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kWindow, 1.14, 1.01},
    {CoreKind::kZen5, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kPointwise, 0.99, 1.00},
    {CoreKind::kZen5, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kDepthwise, 1.025},
    {CoreKind::kZen5, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kProduct, 1.02},
    {CoreKind::kZen5, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kOther, 1.02, 1.04},
    {CoreKind::kZen4, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kWindow, 1.08, 1.16},
    {CoreKind::kZen4, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kPointwise, 0.92, 0.93},
    {CoreKind::kZen4, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kDepthwise, 1.02},
    {CoreKind::kZen4, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kProduct, 0.99},
    {CoreKind::kZen4, CoreKind::kGoldenCove, TransferTypes::kF32, TransferFamily::kOther, 1.04, 1.06},
    {CoreKind::kZen4, CoreKind::kGoldenCove, TransferTypes::kBytes, TransferFamily::kWindow, 0.87, 0.90},
    {CoreKind::kZen4, CoreKind::kGoldenCove, TransferTypes::kBytes, TransferFamily::kPointwise, 0.91},
    {CoreKind::kZen4, CoreKind::kGoldenCove, TransferTypes::kBytes, TransferFamily::kDepthwise, 1.025},
};

}  // namespace

CoreKind core_kind(const Target& target) {
  if (target.is_gpu() || target.arch != "x86_64") return CoreKind::kOther;
  if (target.mcpu == "znver3") return CoreKind::kZen3;
  if (target.mcpu == "znver4") return CoreKind::kZen4;
  if (target.mcpu == "znver5") return CoreKind::kZen5;
  // Among x86 CPUs only these servers compute in f16 so far, so this works where the model number is masked.
  return target.vector_bits == 512 && target.has(Feature::kSumsOfF16) ? CoreKind::kGoldenCove : CoreKind::kOther;
}

std::string_view to_string(CoreKind kind) {
  switch (kind) {
    case CoreKind::kZen3: return "Zen 3";
    case CoreKind::kZen4: return "Zen 4";
    case CoreKind::kZen5: return "Zen 5";
    case CoreKind::kGoldenCove: return "Golden Cove";
    case CoreKind::kOther: break;
  }
  return "another CPU";
}

TransferFamily transfer_family(const Workload& w) {
  if (is<ops::DepthwiseConv2d>(w)) return TransferFamily::kDepthwise;
  if (is<ops::Conv2d>(w)) {
    if (w.attributes.number("groups") > 1) return TransferFamily::kGrouped;
    const bool is_pointwise = w.attributes.number("kh") == 1 && w.attributes.number("kw") == 1;
    return is_pointwise ? TransferFamily::kPointwise : TransferFamily::kWindow;
  }
  if (is<ops::Dense, ops::DenseNbits, ops::BatchMatmul>(w)) return TransferFamily::kProduct;
  return is<ops::Attention, ops::CachedAttention>(w) ? TransferFamily::kAttention : TransferFamily::kOther;
}

std::string_view to_string(TransferFamily family) {
  switch (family) {
    case TransferFamily::kWindow: return "convolutions";
    case TransferFamily::kPointwise: return "1 x 1 convolutions";
    case TransferFamily::kGrouped: return "grouped convolutions";
    case TransferFamily::kDepthwise: return "depthwise convolutions";
    case TransferFamily::kProduct: return "products";
    case TransferFamily::kAttention: return "attention";
    case TransferFamily::kOther: break;
  }
  return "other operators";
}

TransferTypes transfer_types(const Workload& w) {
  if (!w.attributes.has("dtype")) return TransferTypes::kF32;
  const DType in = dtypes_of(w).in;
  if (in.bits == 8) return TransferTypes::kBytes;
  return in.is_narrow_float() ? TransferTypes::kNarrowFloats : TransferTypes::kF32;
}

std::string_view to_string(TransferTypes types) {
  switch (types) {
    case TransferTypes::kF32: return "f32";
    case TransferTypes::kNarrowFloats: return "f16 and bf16";
    case TransferTypes::kBytes: break;
  }
  return "8 bits";
}

std::optional<double> transfer_gain(const Workload& w, const Target& from, const Target& to, db::LookupStep step) {
  if (is_user_operator(w)) return std::nullopt;  // nobody has measured that
  const CoreKind source = core_kind(from), here = core_kind(to);
  const TransferTypes types = transfer_types(w);
  const TransferFamily family = transfer_family(w);
  for (const Measured& row : kMeasured) {
    if (row.from != source || row.to != here || row.types != types || row.family != family) continue;
    const double gain = step == db::LookupStep::kNearest ? row.near : row.same;
    return gain > 0 ? std::optional(gain) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hone
