// Whether configs measured on one kind of CPU gain on another, by measurements of such pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/ops/workload.h"
#include "compiler/target/target.h"
#include "db/lookup.h"

namespace hone {

/// Cores that execute and cache alike, whatever their number, clock and last cache. Golden Cove stands for the servers
/// of Sapphire, Emerald and Granite Rapids, also where a virtual machine gives them another model number.
enum class CoreKind : uint8_t { kOther, kZen3, kZen4, kZen5, kGoldenCove };
CoreKind core_kind(const Target& target);
/// `Zen 4`, `Golden Cove`, …; `another CPU` of kOther.
std::string_view to_string(CoreKind kind);

/// Workloads whose configs move alike from CPU to CPU. Types count apart: vectors of bytes have other instructions.
enum class TransferFamily : uint8_t { kWindow, kPointwise, kGrouped, kDepthwise, kProduct, kAttention, kOther };
TransferFamily transfer_family(const Workload& w);
enum class TransferTypes : uint8_t { kF32, kNarrowFloats, kBytes };
TransferTypes transfer_types(const Workload& w);
/// `conv2d k x k`, `conv2d 1 x 1`, …
std::string_view to_string(TransferFamily family);
/// `f32`, `f16 and bf16`, `8 bits`
std::string_view to_string(TransferTypes types);

/// The default config's time over that of a config of `from`'s, adapted to `to`: the geometric mean over layers that
/// `to` has no rows of, as `bench_transfer` measured it (docs/packages.md: machines, commits). Nothing where it was not
/// measured. `step`: kOtherTarget, a row of the same workload; kNearest, one of a workload near it.
std::optional<double> transfer_gain(const Workload& w, const Target& from, const Target& to, db::LookupStep step);

/// Configs of other CPUs are taken when they gain at least this much: less is within the difference between two
/// measurements of the same layers.
inline constexpr double kLeastTransferGain = 1.03;

}  // namespace hone
