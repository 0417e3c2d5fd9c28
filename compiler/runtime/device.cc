#include "compiler/runtime/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

// Errors travel and are stored: they keep the first kilobytes of a compiler's log.
constexpr size_t kMaxLogInError = 8192;

Status refused(const std::string& why) { return absl::InvalidArgumentError(why); }

}  // namespace

std::string target_text(const DeviceInfo& d) {
  const auto within = [](int64_t value, int64_t most) { return std::clamp<int64_t>(value, 1, most); };
  const std::string shape = fmt::format("-sms={} -shared={} -max-threads={}", within(d.compute_units, 65536),
                                        std::max(d.local_bytes, d.max_local_bytes), within(d.max_threads, 1024));
  return gpu_kind(d.api).architectures.empty() ? fmt::format("{} {} -warp={}", d.api, shape, within(d.warp, 128))
                                               : fmt::format("{} -arch={} {}", d.api, d.arch, shape);
}

Device::~Device() = default;

Status Device::lose(Status status) {
  if (lost_.ok()) lost_ = status;
  return status;
}

StatusOr<std::unique_ptr<DeviceBuffer>> Device::allocate(int64_t bytes) {
  HONE_RETURN_IF_ERROR(lost_);
  if (bytes < 1) return refused(fmt::format("a device buffer has at least one byte, not {}", bytes));
  const int64_t most = info_.max_buffer_bytes > 0 ? info_.max_buffer_bytes : info_.memory_bytes;
  if (most > 0 && bytes > most)
    return absl::ResourceExhaustedError(
        fmt::format("a buffer of {} bytes: '{}' has at most {} for one", bytes, info_.name, most));
  return do_allocate(bytes);
}

StatusOr<std::unique_ptr<DeviceBuffer>> Device::wrap(void* native, int64_t bytes) {
  HONE_RETURN_IF_ERROR(lost_);
  if (!native || bytes < 1) return refused(fmt::format("memory of somebody else's: {} bytes at {}", bytes, native));
  return do_wrap(native, bytes);
}

StatusOr<std::unique_ptr<DeviceBuffer>> Device::part(DeviceBuffer& of, int64_t offset, int64_t bytes) {
  HONE_RETURN_IF_ERROR(lost_);
  HONE_RETURN_IF_ERROR(check_range(of, "a part", bytes, offset));
  if (bytes < 1) return refused(fmt::format("a device buffer has at least one byte, not {}", bytes));
  return do_part(of, offset, bytes);
}

Status Device::copy(const DeviceBuffer& from, DeviceBuffer& to, int64_t bytes) {
  HONE_RETURN_IF_ERROR(lost_);
  HONE_RETURN_IF_ERROR(check_range(from, "copy", bytes, 0));
  HONE_RETURN_IF_ERROR(check_range(to, "copy", bytes, 0));
  return bytes == 0 ? absl::OkStatus() : do_copy(from, to, bytes);
}

Status Device::check_range(const DeviceBuffer& buffer, const char* what, int64_t bytes, int64_t offset) const {
  if (buffer.owner_ != this) return refused(fmt::format("{}: the buffer is another device's", what));
  if (bytes < 0 || offset < 0 || offset > buffer.bytes() || bytes > buffer.bytes() - offset)
    return refused(fmt::format("{} of {} bytes at {}: the buffer has {}", what, bytes, offset, buffer.bytes()));
  return absl::OkStatus();
}

Status Device::write(DeviceBuffer& to, const void* from, int64_t bytes, int64_t offset) {
  HONE_RETURN_IF_ERROR(lost_);
  HONE_RETURN_IF_ERROR(check_range(to, "write", bytes, offset));
  return bytes == 0 ? absl::OkStatus() : do_write(to, from, bytes, offset);
}

Status Device::read(const DeviceBuffer& from, void* to, int64_t bytes, int64_t offset) {
  HONE_RETURN_IF_ERROR(lost_);
  HONE_RETURN_IF_ERROR(check_range(from, "read", bytes, offset));
  return bytes == 0 ? absl::OkStatus() : do_read(from, to, bytes, offset);
}

Status Device::fill(DeviceBuffer& buffer, uint8_t byte) {
  HONE_RETURN_IF_ERROR(lost_);
  HONE_RETURN_IF_ERROR(check_range(buffer, "fill", buffer.bytes(), 0));
  return do_fill(buffer, byte);
}

StatusOr<std::unique_ptr<DeviceProgram>> Device::compile(const std::string& source, const CompileOptions& options) {
  HONE_RETURN_IF_ERROR(lost_);
  return do_compile(source, options);
}

StatusOr<std::unique_ptr<DeviceProgram>> Device::load(const DeviceImage& image) {
  HONE_RETURN_IF_ERROR(lost_);
  return do_load(image);
}

Status Device::check_launch(const DeviceKernel& kernel, const LaunchShape& shape,
                            std::span<DeviceBuffer* const> buffers) const {
  const KernelInfo& k = kernel.info();
  if (kernel.owner_ != this) return refused(fmt::format("kernel '{}' was compiled for another device", k.name));
  for (const DeviceBuffer* b : buffers)
    if (!b || b->owner_ != this)
      return refused(fmt::format("kernel '{}' is given a buffer that is not '{}''s", k.name, info_.name));
  if (shape.threads < 1 || shape.threads > info_.max_threads)
    return refused(fmt::format("kernel '{}' with {} threads a block: '{}' runs 1 to {}", k.name, shape.threads,
                               info_.name, info_.max_threads));
  if (k.max_threads && shape.threads > *k.max_threads)
    return refused(fmt::format("kernel '{}' with {} threads a block: its registers leave room for {}", k.name,
                               shape.threads, *k.max_threads));
  if (shape.blocks < 1 || shape.blocks > info_.max_blocks)
    return refused(fmt::format("kernel '{}' with {} blocks: '{}' runs 1 to {}", k.name, shape.blocks, info_.name,
                               info_.max_blocks));
  const int64_t declared = k.local_bytes.value_or(0);
  if (shape.dynamic_shared_bytes < 0 || declared > info_.max_local_bytes ||
      shape.dynamic_shared_bytes > info_.max_local_bytes - declared)
    return refused(
        fmt::format("kernel '{}' with {} bytes of local memory a block ({} declared, {} asked for): '{}' has {}",
                    k.name, declared + shape.dynamic_shared_bytes, declared, shape.dynamic_shared_bytes, info_.name,
                    info_.max_local_bytes));
  return absl::OkStatus();
}

Status Device::launch(const DeviceKernel& kernel, const LaunchShape& shape, std::span<DeviceBuffer* const> buffers) {
  HONE_RETURN_IF_ERROR(lost_);
  HONE_RETURN_IF_ERROR(check_launch(kernel, shape, buffers));
  ++launches_;
  return do_launch(kernel, shape, buffers);
}

Status Device::synchronize() {
  HONE_RETURN_IF_ERROR(lost_);
  return do_synchronize();
}

StatusOr<double> Device::time_region(const std::function<Status()>& enqueue) {
  HONE_RETURN_IF_ERROR(lost_);
  if (in_region_ || is_recording_) return refused("a timed region within another or a recording");
  HONE_RETURN_IF_ERROR(begin_region());
  in_region_ = true;
  launches_ = 0;
  const Status enqueued = enqueue();
  in_region_ = false;
  StatusOr<double> seconds = end_region();
  HONE_RETURN_IF_ERROR(enqueued);
  if (launches_ == 0) return refused("a timed region in which nothing was launched");
  return seconds;
}

StatusOr<std::unique_ptr<DeviceRecording>> Device::record(const std::function<Status()>& enqueue) {
  HONE_RETURN_IF_ERROR(lost_);
  if (in_region_ || is_recording_) return refused("a recording within another or a timed region");
  is_recording_ = true;
  launches_ = 0;
  StatusOr<std::unique_ptr<DeviceRecording>> recording = do_record(enqueue);
  is_recording_ = false;
  if (!recording.ok() || !*recording) return recording;
  if (launches_ == 0) return refused("a recording in which nothing was launched");
  (*recording)->owner_ = this;
  (*recording)->launches_ = launches_;
  return recording;
}

Status Device::replay(const DeviceRecording& recording) {
  HONE_RETURN_IF_ERROR(lost_);
  if (recording.owner_ != this) return refused("the recording is another device's");
  if (is_recording_) return refused("a recording within another");
  launches_ += recording.launches_;
  return do_replay(recording);
}

Status Device::flush_cache() {
  HONE_RETURN_IF_ERROR(lost_);
  if (!flush_) {
    // A quarter more than the cache, as no cache replaces perfectly; some drivers name no cache.
    const int64_t bytes = std::max<int64_t>(info_.cache_bytes + info_.cache_bytes / 4, 4 << 20);
    HONE_ASSIGN_OR_RETURN(flush_, allocate(bytes));
  }
  return fill(*flush_, ++flushed_);
}

StatusOr<std::unique_ptr<Device>> DeviceDriver::open(size_t index, const DeviceOptions& options) const {
  if (index >= devices_.size())
    return refused(fmt::format("there is no device {}: the driver has {}", index, devices_.size()));
  return do_open(index, options);
}

Status build_error(const std::string& what, const std::string& log) {
  return absl::InvalidArgumentError(log.size() <= kMaxLogInError
                                        ? fmt::format("{}:\n{}", what, log)
                                        : fmt::format("{}:\n{}\n… ({} bytes more)", what, log.substr(0, kMaxLogInError),
                                                      log.size() - kMaxLogInError));
}

}  // namespace hone
