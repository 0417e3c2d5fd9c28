// A GPU (or another device of OpenCL): memory, programs compiled from text, launches, times. One interface
// for every driver.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/runtime/gpu_launch.h"

namespace hone {

/// A driver's description of one device. A block is OpenCL's work-group; "local memory" here is OpenCL's word
/// for shared memory.
struct DeviceInfo {
  std::string api;                                 ///< "cuda" or "opencl"
  std::string kind;                                ///< "gpu", "cpu" (PoCL) or "accelerator"
  std::string name;                                ///< the model
  std::string platform;                            ///< vendor or platform of the driver
  std::string driver;                              ///< its version
  std::map<std::string, std::string> versions;     ///< of the API and other components, by name
  std::string arch;                                ///< "sm_90"; empty where the API has no such thing
  int capability_major = 0, capability_minor = 0;  ///< compute capability; 0.0 where there is none
  int64_t memory_bytes = 0;
  int64_t max_buffer_bytes = 0;
  int64_t cache_bytes = 0;      ///< the last level; 0 when the driver does not say
  int max_threads = 0;          ///< of a block
  int64_t max_blocks = 0;       ///< of a launch
  int64_t local_bytes = 0;      ///< shared memory that a kernel may declare, a block
  int64_t max_local_bytes = 0;  ///< the same with dynamic shared memory (LaunchShape::dynamic_shared_bytes)
  int compute_units = 0;        ///< SMs
  int warp = 1;                 ///< threads that run in lockstep; 1 where the driver does not say
  bool fp16 = false, fp64 = false;
};

/// The target of generated code for the device, as Target::parse reads it: `cuda -arch=sm_90 -sms=132
/// -shared=48K -max-threads=1024`. Numbers beyond the limits of targets (threads of a block, warp width, compute
/// units) are cut to these.
std::string target_text(const DeviceInfo& device);

/// Resources of a compiled kernel.
struct KernelInfo {
  std::string name;
  std::optional<int> registers;        ///< a thread
  std::optional<int64_t> spill_bytes;  ///< stored plus loaded, a thread
  std::optional<int64_t> local_bytes;  ///< declared shared memory (OpenCL: local), a block
  std::optional<int> max_threads;      ///< a block, given its registers
};

/// A compiled program as bytes: one process builds it and another loads it.
struct DeviceImage {
  std::string bytes;                     ///< CUDA: a cubin or PTX text; OpenCL: a binary of the same device and driver
  std::string log;                       ///< the compiler's messages
  std::vector<KernelInfo> kernels = {};  ///< in the log's order; empty when the log does not say
};

class Device;

/// Memory of a device; freed with this object.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  int64_t bytes() const { return bytes_; }
  /// The driver's handle. CUDA: its address, OpenCL: the cl_mem; null when there is no such thing.
  virtual void* native() const { return nullptr; }

 protected:
  DeviceBuffer(const Device* owner, int64_t bytes) : owner_(owner), bytes_(bytes) {}

 private:
  friend class Device;
  const Device* owner_;
  int64_t bytes_;
};

/// An entry of a program; lives as long as the program.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  const KernelInfo& info() const { return info_; }

 protected:
  DeviceKernel(const Device* owner, KernelInfo info) : info_(std::move(info)), owner_(owner) {}
  KernelInfo info_;

 private:
  friend class Device;
  const Device* owner_;
};

/// A launch with its kernel found; the kernel is its program's.
struct BoundLaunch {
  DeviceKernel* kernel = nullptr;
  LaunchShape shape;
};

/// Launches and copies that were recorded once; the host sends them again with one call. Must not outlive its device,
/// nor the launched kernels and buffers.
class DeviceRecording {
 public:
  virtual ~DeviceRecording() = default;

 private:
  friend class Device;
  const Device* owner_ = nullptr;
  int64_t launches_ = 0;
};

class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  /// The kernel of that name; NotFound when there is none.
  virtual StatusOr<DeviceKernel*> kernel(const std::string& name) = 0;
  /// The program as bytes, for load() on this device or another of the same kind.
  virtual StatusOr<DeviceImage> image() const = 0;
  const std::string& log() const { return log_; }
  bool from_cache() const { return from_cache_; }

 protected:
  DeviceProgram(std::string log, bool from_cache) : log_(std::move(log)), from_cache_(from_cache) {}

 private:
  std::string log_;
  bool from_cache_;
};

struct CompileOptions {
  std::vector<std::string> flags = {};  ///< the compiler's own, each one word
};

/// One device, used by one thread at a time; commands run in the order given. Objects made by it may outlive it, but
/// another device cannot use them.
///
/// Errors: InvalidArgument: a fault of the caller or a candidate (text that does not compile, a launch beyond the
/// limits, a copy beyond a buffer), nothing ran; ResourceExhausted: no memory; OutOfRange: a kernel touched memory that
/// it may not; Aborted: it died of something else, or the device did. After the last two the device is lost: every call
/// returns that error, and only a new process can use it again.
class Device {
 public:
  virtual ~Device();
  const DeviceInfo& info() const { return info_; }

  /// At least one byte; contents undefined.
  StatusOr<std::unique_ptr<DeviceBuffer>> allocate(int64_t bytes);
  /// `bytes` bytes of this device (OpenCL: of its context) that another owner allocated and frees; `native` as
  /// DeviceBuffer's.
  StatusOr<std::unique_ptr<DeviceBuffer>> wrap(void* native, int64_t bytes);
  /// The bytes offset .. offset + bytes - 1 of `of`, which must outlive it and be no part itself. OpenCL:
  /// InvalidArgument for an offset that is no multiple of the device's alignment of buffers (512 is one
  /// everywhere).
  StatusOr<std::unique_ptr<DeviceBuffer>> part(DeviceBuffer& of, int64_t offset, int64_t bytes);
  /// Copies within the device, as a command; does not wait. The two do not overlap.
  Status copy(const DeviceBuffer& from, DeviceBuffer& to, int64_t bytes);
  /// Copies; done on return (write: `from` may be changed again).
  Status write(DeviceBuffer& to, const void* from, int64_t bytes, int64_t offset = 0);
  Status read(const DeviceBuffer& from, void* to, int64_t bytes, int64_t offset = 0);
  Status fill(DeviceBuffer& buffer, uint8_t byte);

  /// Compiles `source` (CUDA C++ or OpenCL C), or takes it from the cache. A build error is InvalidArgument with the
  /// compiler's log.
  StatusOr<std::unique_ptr<DeviceProgram>> compile(const std::string& source, const CompileOptions& options = {});
  StatusOr<std::unique_ptr<DeviceProgram>> load(const DeviceImage& image);

  /// Starts a kernel whose parameters are pointers to `buffers`, in that order; does not wait. Everything that can be
  /// known to be too much for the device is refused before.
  Status launch(const DeviceKernel& kernel, const LaunchShape& shape, std::span<DeviceBuffer* const> buffers);
  /// Records the launches and copies of `enqueue` without running them; `enqueue` gives the device no other
  /// commands. Null where the driver records nothing. Recordings do not nest, and are made outside of timed
  /// regions.
  StatusOr<std::unique_ptr<DeviceRecording>> record(const std::function<Status()>& enqueue);
  /// Starts the recorded commands, as if they were launched again; does not wait.
  Status replay(const DeviceRecording& recording);
  /// Waits for all commands; reports the errors of kernels.
  Status synchronize();

  /// Seconds on the device's clock from the start of the first launch of `enqueue` to the end of its last one; waits
  /// for it. Regions do not nest; one without a launch is InvalidArgument.
  StatusOr<double> time_region(const std::function<Status()>& enqueue);
  /// Writes memory larger than the last cache, so that the next kernel finds its data outside of it.
  Status flush_cache();

  /// Ok, or the error after which the device is of no use.
  const Status& health() const { return lost_; }

 protected:
  explicit Device(DeviceInfo info) : info_(std::move(info)) {}
  /// Marks the device as lost and returns the status.
  Status lose(Status status);

 private:
  virtual StatusOr<std::unique_ptr<DeviceBuffer>> do_allocate(int64_t bytes) = 0;
  virtual StatusOr<std::unique_ptr<DeviceBuffer>> do_wrap(void* native, int64_t bytes) = 0;
  virtual StatusOr<std::unique_ptr<DeviceBuffer>> do_part(DeviceBuffer& of, int64_t offset, int64_t bytes) = 0;
  virtual Status do_copy(const DeviceBuffer& from, DeviceBuffer& to, int64_t bytes) = 0;
  virtual Status do_write(DeviceBuffer& to, const void* from, int64_t bytes, int64_t offset) = 0;
  virtual Status do_read(const DeviceBuffer& from, void* to, int64_t bytes, int64_t offset) = 0;
  virtual Status do_fill(DeviceBuffer& buffer, uint8_t byte) = 0;
  virtual StatusOr<std::unique_ptr<DeviceProgram>> do_compile(const std::string& source,
                                                              const CompileOptions& options) = 0;
  virtual StatusOr<std::unique_ptr<DeviceProgram>> do_load(const DeviceImage& image) = 0;
  virtual Status do_launch(const DeviceKernel& kernel, const LaunchShape& shape,
                           std::span<DeviceBuffer* const> buffers) = 0;
  /// Records the launches and copies of `enqueue`, or returns its error; null, without calling it, if not supported.
  virtual StatusOr<std::unique_ptr<DeviceRecording>> do_record(const std::function<Status()>&) { return nullptr; }
  virtual Status do_replay(const DeviceRecording&) { return absl::UnimplementedError("nothing is recorded here"); }
  virtual Status do_synchronize() = 0;
  virtual Status begin_region() = 0;
  /// Seconds of the region that begin_region() opened. Also called when enqueuing failed; its result is not used then.
  virtual StatusOr<double> end_region() = 0;

  Status check_range(const DeviceBuffer& buffer, const char* what, int64_t bytes, int64_t offset) const;
  Status check_launch(const DeviceKernel& kernel, const LaunchShape& shape,
                      std::span<DeviceBuffer* const> buffers) const;

  DeviceInfo info_;
  Status lost_;
  std::unique_ptr<DeviceBuffer> flush_;
  uint8_t flushed_ = 0;
  bool in_region_ = false, is_recording_ = false;
  int64_t launches_ = 0;  ///< of the open region or recording
};

struct DeviceOptions {
  std::string cache_folder = {};  ///< where compiled programs are kept; empty: nowhere
};

/// A loaded driver and the devices it offers.
class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;
  /// At least one.
  const std::vector<DeviceInfo>& devices() const { return devices_; }
  /// Devices that cannot be used, one line each with the reason.
  const std::vector<std::string>& skipped() const { return skipped_; }
  /// Opens devices()[index]; only this takes memory of the device for the driver's own use. InvalidArgument when there
  /// is no such device.
  StatusOr<std::unique_ptr<Device>> open(size_t index, const DeviceOptions& options = {}) const;

 protected:
  std::vector<DeviceInfo> devices_;
  std::vector<std::string> skipped_;

 private:
  virtual StatusOr<std::unique_ptr<Device>> do_open(size_t index, const DeviceOptions& options) const = 0;
};

/// A build error's one status: `what` failed, and as much of the compiler's log as an error may hold.
Status build_error(const std::string& what, const std::string& log);

}  // namespace hone
