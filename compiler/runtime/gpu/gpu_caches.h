// Caches of a model on a GPU that grow in place: checks of a call's caches, and copies of those on the CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/runtime/device.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

/// The first version of HoneGpuModel that has more than its steps.
inline constexpr int32_t kModelWithCaches = 1003;

/// The model's caches; none where its version knows nothing of them.
std::span<const HoneGpuCache> caches_of(const HoneGpuModel& model);
/// The cache that tensor number `i` of a call is a part of; null: it is of none.
const HoneGpuCache* cache_of(const HoneGpuModel& model, int64_t i);
/// Bytes of the cache with all rows that it has room for.
inline int64_t cache_bytes(const HoneGpuCache& c) { return c.matrices * c.room * c.row_bytes; }

/// How many rows a call says are there. `cpu_too`: caches may lie on the CPU. InvalidArgument, in one line, where the
/// caches do not say the same number or no number that there is room for, where input and output lie apart, and where
/// they lie otherwise than a buffer of all rows.
StatusOr<int64_t> rows_of(const HoneGpuModel& model, const DLTensor* const* args, bool cpu_too);

/// Copies the first `rows` rows of a cache on the CPU to the device's buffer.
Status write_rows(Device& device, const HoneGpuCache& c, const DLTensor& output, int64_t rows, DeviceBuffer& to);
/// Copies row number `row` of the device's buffer to the cache on the CPU.
Status read_row(Device& device, const HoneGpuCache& c, const DeviceBuffer& from, int64_t row, const DLTensor& output);

}  // namespace hone
