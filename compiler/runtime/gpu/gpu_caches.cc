#include "compiler/runtime/gpu/gpu_caches.h"

#include <fmt/format.h>

#include "compiler/runtime/gpu/gpu_tensors.h"

namespace hone {
namespace {

const char* begin_of(const DLTensor& t) { return static_cast<const char*>(t.data) + t.byte_offset; }

// Whether `t` has `rows` rows of the cache, and all of its matrices and elements.
bool has_shape(const HoneGpuCache& c, int64_t element, const DLTensor& t, int64_t rows) {
  if (t.ndim <= c.axis || !t.shape || t.shape[c.axis] != rows) return false;
  int64_t matrices = 1, row_bytes = element;
  for (int32_t d = 0; d < t.ndim; ++d)
    if (d != c.axis) (d < c.axis ? matrices : row_bytes) *= t.shape[d];
  return matrices == c.matrices && row_bytes == c.row_bytes;
}

// Whether its elements lie as those of a buffer of all rows do. Without strides they are said to follow each other.
bool has_strides(const HoneGpuCache& c, const DLTensor& t) {
  if (!t.strides) return c.matrices == 1;
  int64_t stride = 1;
  for (int32_t d = t.ndim; d-- > 0;) {
    // The stride of a dimension of one element says nothing.
    if (t.shape[d] > 1 && t.strides[d] != stride) return false;
    stride *= d == c.axis ? c.room : t.shape[d];
  }
  return true;
}

Status check_part(const HoneGpuModel& model, const HoneGpuCache& c, const DLTensor* t, bool is_output, int64_t rows,
                  bool cpu_too) {
  const HoneGpuParam& p = model.head.params[is_output ? c.output : c.input];
  const auto bad = [&](const std::string& what) {
    return absl::InvalidArgumentError(fmt::format("cache '{}' {}", p.name, what));
  };
  if (!t || (!t->data && (is_output || rows > 0))) return bad("has no data");
  if (!is_on_device(model.head, *t) && !(cpu_too && t->device.device_type == kDLCPU))
    return bad(fmt::format("is on a device of type {}, not {}{}", static_cast<int>(t->device.device_type),
                           model.head.device_type, cpu_too ? " nor the CPU" : ""));
  HONE_RETURN_IF_ERROR(check_type(p, *t));
  if (!has_shape(c, element_bytes(p), *t, rows + (is_output ? 1 : 0)))
    return bad(fmt::format("has another shape than {} matrices of {} rows of {} bytes along dimension {}", c.matrices,
                           rows + (is_output ? 1 : 0), c.row_bytes, c.axis));
  if (!has_strides(c, *t)) return bad(fmt::format("has other strides than a buffer of {} rows", c.room));
  return absl::OkStatus();
}

}  // namespace

std::span<const HoneGpuCache> caches_of(const HoneGpuModel& model) {
  if (model.head.abi_version < kModelWithCaches) return {};
  return {model.caches, static_cast<size_t>(model.cache_count)};
}

const HoneGpuCache* cache_of(const HoneGpuModel& model, int64_t i) {
  for (const HoneGpuCache& c : caches_of(model))
    if (c.input == i || c.output == i) return &c;
  return nullptr;
}

StatusOr<int64_t> rows_of(const HoneGpuModel& model, const DLTensor* const* args, bool cpu_too) {
  const auto caches = caches_of(model);
  if (caches.empty()) return 0;
  const DLTensor* const first = args[caches[0].input];
  const char* const name = model.head.params[caches[0].input].name;
  if (!first || !first->shape || first->ndim <= caches[0].axis)
    return absl::InvalidArgumentError(
        fmt::format("cache '{}' has no dimension {}, that of rows", name, caches[0].axis));
  const int64_t rows = first->shape[caches[0].axis];
  if (rows < 0 || rows >= caches[0].room)
    return absl::InvalidArgumentError(
        fmt::format("cache '{}' has {} rows; there may be 0 to {}", name, rows, caches[0].room - 1));
  for (const HoneGpuCache& c : caches) {
    const DLTensor *const input = args[c.input], *const output = args[c.output];
    HONE_RETURN_IF_ERROR(check_part(model, c, input, false, rows, cpu_too));
    HONE_RETURN_IF_ERROR(check_part(model, c, output, true, rows, cpu_too));
    if (rows > 0 && (begin_of(*input) != begin_of(*output) || input->device.device_type != output->device.device_type))
      return absl::InvalidArgumentError(fmt::format("cache '{}' lies elsewhere than '{}', whose rows it has",
                                                    model.head.params[c.output].name, model.head.params[c.input].name));
  }
  return rows;
}

Status write_rows(Device& device, const HoneGpuCache& c, const DLTensor& output, int64_t rows, DeviceBuffer& to) {
  if (rows == 0) return absl::OkStatus();
  for (int64_t m = 0; m < c.matrices; ++m) {
    const int64_t at = m * c.room * c.row_bytes;
    HONE_RETURN_IF_ERROR(device.write(to, begin_of(output) + at, rows * c.row_bytes, at));
  }
  return absl::OkStatus();
}

Status read_row(Device& device, const HoneGpuCache& c, const DeviceBuffer& from, int64_t row, const DLTensor& output) {
  char* const data = static_cast<char*>(output.data) + output.byte_offset;
  for (int64_t m = 0; m < c.matrices; ++m) {
    const int64_t at = (m * c.room + row) * c.row_bytes;
    HONE_RETURN_IF_ERROR(device.read(from, data + at, c.row_bytes, at));
  }
  return absl::OkStatus();
}

}  // namespace hone
