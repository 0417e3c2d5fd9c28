#include "compiler/runtime/gpu/opencl_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/runtime/gpu/binary_cache.h"

namespace hone {
namespace {

// Buffers and programs share it, so that they may be destroyed in any order.
struct Context {
  std::shared_ptr<const OpenclApi> api;
  cl_device_id id = nullptr;
  ClOwned<cl_context> context;
  ClOwned<cl_command_queue> queue;
};
using ContextRef = std::shared_ptr<const Context>;

class OpenclBuffer final : public DeviceBuffer {
 public:
  OpenclBuffer(const Device* owner, int64_t bytes, ContextRef context, cl_mem memory)
      : DeviceBuffer(owner, bytes), context_(std::move(context)), memory_(memory, context_->api->clReleaseMemObject) {}
  cl_mem memory() const { return memory_.get(); }
  void* native() const override { return memory_.get(); }

 private:
  ContextRef context_;
  ClOwned<cl_mem> memory_;
};

class OpenclKernel final : public DeviceKernel {
 public:
  OpenclKernel(const Device* owner, KernelInfo info, cl_uint parameters, ClOwned<cl_kernel> kernel)
      : DeviceKernel(owner, std::move(info)), parameters_(parameters), kernel_(std::move(kernel)) {}
  cl_kernel get() const { return kernel_.get(); }
  cl_uint parameters() const { return parameters_; }

 private:
  cl_uint parameters_;
  ClOwned<cl_kernel> kernel_;
};

class OpenclProgram final : public DeviceProgram {
 public:
  OpenclProgram(const Device* owner, ContextRef context, ClOwned<cl_program> program, std::string log, bool from_cache)
      : DeviceProgram(std::move(log), from_cache),
        owner_(owner),
        context_(std::move(context)),
        program_(std::move(program)) {}

  StatusOr<DeviceKernel*> kernel(const std::string& name) override {
    if (const auto found = kernels_.find(name); found != kernels_.end()) return found->second.get();
    const OpenclApi& cl = *context_->api;
    cl_int error = CL_SUCCESS;
    ClOwned<cl_kernel> made(cl.clCreateKernel(program_.get(), name.c_str(), &error), cl.clReleaseKernel);
    if (error == CL_INVALID_KERNEL_NAME)
      return absl::NotFoundError(fmt::format("the program has no kernel '{}'", name));
    HONE_RETURN_IF_ERROR(opencl_status(error, fmt::format("kernel '{}'", name)));
    cl_uint parameters = 0;
    HONE_RETURN_IF_ERROR(
        opencl_status(cl.clGetKernelInfo(made.get(), CL_KERNEL_NUM_ARGS, sizeof parameters, &parameters, nullptr),
                      fmt::format("parameters of kernel '{}'", name)));
    KernelInfo info{.name = name};
    if (cl_ulong bytes = 0; cl.clGetKernelWorkGroupInfo(made.get(), context_->id, CL_KERNEL_LOCAL_MEM_SIZE,
                                                        sizeof bytes, &bytes, nullptr) == CL_SUCCESS)
      info.local_bytes = static_cast<int64_t>(bytes);
    if (size_t threads = 0; cl.clGetKernelWorkGroupInfo(made.get(), context_->id, CL_KERNEL_WORK_GROUP_SIZE,
                                                        sizeof threads, &threads, nullptr) == CL_SUCCESS &&
                            threads > 0)
      info.max_threads = static_cast<int>(threads);
    auto kernel = std::make_unique<OpenclKernel>(owner_, std::move(info), parameters, std::move(made));
    return kernels_.emplace(name, std::move(kernel)).first->second.get();
  }

  StatusOr<DeviceImage> image() const override {
    const OpenclApi& cl = *context_->api;
    size_t bytes = 0;
    HONE_RETURN_IF_ERROR(
        opencl_status(cl.clGetProgramInfo(program_.get(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr),
                      "the program's binary"));
    std::string binary(bytes, '\0');
    auto* data = reinterpret_cast<unsigned char*>(binary.data());
    HONE_RETURN_IF_ERROR(opencl_status(
        cl.clGetProgramInfo(program_.get(), CL_PROGRAM_BINARIES, sizeof data, &data, nullptr), "the program's binary"));
    if (binary.empty()) return absl::InternalError("the driver gives no binary of the program");
    return DeviceImage{.bytes = std::move(binary), .log = log()};
  }

 private:
  const Device* owner_;
  ContextRef context_;
  ClOwned<cl_program> program_;
  std::map<std::string, std::unique_ptr<OpenclKernel>> kernels_;
};

class OpenclDevice final : public Device {
 public:
  OpenclDevice(const DeviceInfo& info, ContextRef context, BinaryCache cache)
      : Device(info), context_(std::move(context)), cl_(*context_->api), cache_(std::move(cache)) {}

 private:
  cl_command_queue queue() const { return context_->queue.get(); }

  // The status of a call that ran, or waited for, commands.
  Status ran(cl_int code, const std::string& what) {
    Status status = opencl_status(code, what);
    return status.code() == absl::StatusCode::kAborted ? lose(std::move(status)) : status;
  }
  // The same after waiting for commands: some drivers report there, as a lack of some resource, that a kernel died.
  Status waited(cl_int code, const std::string& what) {
    return code == CL_OUT_OF_RESOURCES
               ? lose(absl::AbortedError(fmt::format("{}: {}: a kernel failed", what, opencl_error_name(code))))
               : ran(code, what);
  }
  Status finish() {
    HONE_RETURN_IF_ERROR(waited(cl_.clFinish(queue()), "waiting for the device"));
    // clFinish itself may succeed however the commands ended.
    cl_int state = CL_COMPLETE;
    if (last_)
      HONE_RETURN_IF_ERROR(opencl_status(
          cl_.clGetEventInfo(last_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr),
          "a launch's status"));
    return state < 0 ? lose(absl::AbortedError(fmt::format("a kernel failed: {}", opencl_error_name(state))))
                     : absl::OkStatus();
  }

  StatusOr<std::unique_ptr<DeviceBuffer>> do_allocate(int64_t bytes) override {
    cl_int error = CL_SUCCESS;
    const cl_mem memory =
        cl_.clCreateBuffer(context_->context.get(), CL_MEM_READ_WRITE, static_cast<size_t>(bytes), nullptr, &error);
    HONE_RETURN_IF_ERROR(ran(error, fmt::format("a buffer of {} bytes", bytes)));
    return std::make_unique<OpenclBuffer>(this, bytes, context_, memory);
  }

  StatusOr<std::unique_ptr<DeviceBuffer>> do_wrap(void* native, int64_t bytes) override {
    // Retained as long as the wrapper lives.
    HONE_RETURN_IF_ERROR(opencl_status(cl_.clRetainMemObject(static_cast<cl_mem>(native)), "somebody else's cl_mem"));
    return std::make_unique<OpenclBuffer>(this, bytes, context_, static_cast<cl_mem>(native));
  }

  StatusOr<std::unique_ptr<DeviceBuffer>> do_part(DeviceBuffer& of, int64_t offset, int64_t bytes) override {
    const cl_buffer_region region{static_cast<size_t>(offset), static_cast<size_t>(bytes)};
    cl_int error = CL_SUCCESS;
    const cl_mem memory = cl_.clCreateSubBuffer(static_cast<OpenclBuffer&>(of).memory(), CL_MEM_READ_WRITE,
                                                CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    HONE_RETURN_IF_ERROR(opencl_status(error, fmt::format("a part of a buffer, {} bytes at {}", bytes, offset)));
    return std::make_unique<OpenclBuffer>(this, bytes, context_, memory);
  }
  Status do_copy(const DeviceBuffer& from, DeviceBuffer& to, int64_t bytes) override {
    return ran(cl_.clEnqueueCopyBuffer(queue(), static_cast<const OpenclBuffer&>(from).memory(),
                                       static_cast<OpenclBuffer&>(to).memory(), 0, 0, static_cast<size_t>(bytes), 0,
                                       nullptr, nullptr),
               "copying a buffer");
  }

  Status do_write(DeviceBuffer& to, const void* from, int64_t bytes, int64_t offset) override {
    return waited(
        cl_.clEnqueueWriteBuffer(queue(), static_cast<OpenclBuffer&>(to).memory(), CL_TRUE, static_cast<size_t>(offset),
                                 static_cast<size_t>(bytes), from, 0, nullptr, nullptr),
        "writing a buffer");
  }
  Status do_read(const DeviceBuffer& from, void* to, int64_t bytes, int64_t offset) override {
    return waited(
        cl_.clEnqueueReadBuffer(queue(), static_cast<const OpenclBuffer&>(from).memory(), CL_TRUE,
                                static_cast<size_t>(offset), static_cast<size_t>(bytes), to, 0, nullptr, nullptr),
        "reading a buffer");
  }
  Status do_fill(DeviceBuffer& buffer, uint8_t byte) override {
    return ran(cl_.clEnqueueFillBuffer(queue(), static_cast<OpenclBuffer&>(buffer).memory(), &byte, 1, 0,
                                       static_cast<size_t>(buffer.bytes()), 0, nullptr, nullptr),
               "filling a buffer");
  }

  std::string build_log(cl_program program) const {
    size_t n = 0;
    if (cl_.clGetProgramBuildInfo(program, context_->id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &n) != CL_SUCCESS || n == 0)
      return "";
    std::string log(n, '\0');
    if (cl_.clGetProgramBuildInfo(program, context_->id, CL_PROGRAM_BUILD_LOG, n, log.data(), nullptr) != CL_SUCCESS)
      return "";
    return log.substr(0, log.find('\0'));
  }

  // Builds a program that was created from text or from a binary.
  Status build(cl_program program, const std::string& flags, std::string& log) const {
    const cl_int error = cl_.clBuildProgram(program, 1, &context_->id, flags.c_str(), nullptr, nullptr);
    log = build_log(program);
    return error == CL_BUILD_PROGRAM_FAILURE ? build_error("the kernel's OpenCL text does not compile", log)
                                             : opencl_status(error, "building an OpenCL program");
  }

  StatusOr<ClOwned<cl_program>> from_binary(const std::string& bytes) const {
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    const size_t size = bytes.size();
    cl_int error = CL_SUCCESS, refused = CL_SUCCESS;
    ClOwned<cl_program> program(
        cl_.clCreateProgramWithBinary(context_->context.get(), 1, &context_->id, &size, &data, &refused, &error),
        cl_.clReleaseProgram);
    HONE_RETURN_IF_ERROR(opencl_status(error, "loading an OpenCL binary"));
    std::string log;
    HONE_RETURN_IF_ERROR(build(program.get(), "", log));
    return program;
  }

  StatusOr<std::unique_ptr<DeviceProgram>> do_load(const DeviceImage& image) override {
    if (image.bytes.empty()) return absl::InvalidArgumentError("loading an OpenCL binary: it is empty");
    HONE_ASSIGN_OR_RETURN(ClOwned<cl_program> program, from_binary(image.bytes));
    return std::make_unique<OpenclProgram>(this, context_, std::move(program), image.log, false);
  }

  StatusOr<std::unique_ptr<DeviceProgram>> do_compile(const std::string& source,
                                                      const CompileOptions& options) override {
    const std::string flags = fmt::format("{}", fmt::join(options.flags, " "));
    const Hash128 key = BinaryCache::key({"opencl", info().platform, info().name, info().driver, flags, source});
    if (const auto cached = cache_.find(key))
      // A driver may refuse its own binary, after an update that kept its version: then the text is compiled
      // again.
      if (auto program = from_binary(cached->bytes); program.ok())
        return std::make_unique<OpenclProgram>(this, context_, std::move(*program), cached->log, true);
    const char* text = source.data();
    const size_t size = source.size();
    if (size == 0) return absl::InvalidArgumentError("the kernel's OpenCL text is empty");
    cl_int error = CL_SUCCESS;
    ClOwned<cl_program> program(cl_.clCreateProgramWithSource(context_->context.get(), 1, &text, &size, &error),
                                cl_.clReleaseProgram);
    HONE_RETURN_IF_ERROR(opencl_status(error, "an OpenCL program"));
    std::string log;
    HONE_RETURN_IF_ERROR(build(program.get(), flags, log));
    auto made = std::make_unique<OpenclProgram>(this, context_, std::move(program), log, false);
    // Asking for the binary costs PoCL another compilation.
    if (cache_.enabled())
      if (const auto image = made->image(); image.ok()) cache_.store(key, {image->bytes, log});
    return made;
  }

  Status do_launch(const DeviceKernel& kernel, const LaunchShape& shape,
                   std::span<DeviceBuffer* const> buffers) override {
    const auto& k = static_cast<const OpenclKernel&>(kernel);
    const cl_uint given = static_cast<cl_uint>(buffers.size()) + (shape.dynamic_shared_bytes > 0 ? 1 : 0);
    if (given != k.parameters())
      return absl::InvalidArgumentError(
          fmt::format("kernel '{}' takes {} parameters, not {}", k.info().name, k.parameters(), given));
    for (cl_uint i = 0; i < buffers.size(); ++i) {
      const cl_mem memory = static_cast<OpenclBuffer*>(buffers[i])->memory();
      HONE_RETURN_IF_ERROR(opencl_status(cl_.clSetKernelArg(k.get(), i, sizeof(cl_mem), &memory),
                                         fmt::format("parameter {} of kernel '{}'", i, k.info().name)));
    }
    if (shape.dynamic_shared_bytes > 0)
      HONE_RETURN_IF_ERROR(opencl_status(
          cl_.clSetKernelArg(k.get(), given - 1, static_cast<size_t>(shape.dynamic_shared_bytes), nullptr),
          fmt::format("local memory of kernel '{}'", k.info().name)));
    const size_t block = static_cast<size_t>(shape.threads), grid = static_cast<size_t>(shape.blocks) * block;
    cl_event event = nullptr;
    HONE_RETURN_IF_ERROR(
        ran(cl_.clEnqueueNDRangeKernel(queue(), k.get(), 1, nullptr, &grid, &block, 0, nullptr, &event),
            fmt::format("launching kernel '{}'", k.info().name)));
    if (timing_ && !first_ && cl_.clRetainEvent(event) == CL_SUCCESS)
      first_ = ClOwned<cl_event>(event, cl_.clReleaseEvent);
    last_ = ClOwned<cl_event>(event, cl_.clReleaseEvent);
    return absl::OkStatus();
  }

  Status do_synchronize() override { return finish(); }

  Status begin_region() override {
    timing_ = true;
    return absl::OkStatus();
  }

  StatusOr<double> end_region() override {
    timing_ = false;
    const ClOwned<cl_event> first = std::move(first_);
    HONE_RETURN_IF_ERROR(finish());
    if (!first) return 0;       // an empty region
    cl_ulong from = 0, to = 0;  // ns
    HONE_RETURN_IF_ERROR(
        opencl_status(cl_.clGetEventProfilingInfo(first.get(), CL_PROFILING_COMMAND_START, sizeof from, &from, nullptr),
                      "a launch's start"));
    HONE_RETURN_IF_ERROR(opencl_status(
        cl_.clGetEventProfilingInfo(last_.get(), CL_PROFILING_COMMAND_END, sizeof to, &to, nullptr), "a launch's end"));
    if (to < from) return absl::InternalError("the driver's clock ran backwards");
    return static_cast<double>(to - from) * 1e-9;
  }

  ContextRef context_;
  const OpenclApi& cl_;
  BinaryCache cache_;
  bool timing_ = false;
  ClOwned<cl_event> first_;  ///< the open region's first launch
  ClOwned<cl_event> last_;   ///< the last launch of all
};

}  // namespace

StatusOr<std::unique_ptr<Device>> open_opencl_device(std::shared_ptr<const OpenclApi> api, cl_device_id id,
                                                     const DeviceInfo& info, const DeviceOptions& options) {
  auto context = std::make_shared<Context>();
  context->api = std::move(api);
  context->id = id;
  const OpenclApi& cl = *context->api;
  cl_int error = CL_SUCCESS;
  context->context =
      ClOwned<cl_context>(cl.clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error), cl.clReleaseContext);
  HONE_RETURN_IF_ERROR(opencl_status(error, fmt::format("opening '{}'", info.name)));
  context->queue = ClOwned<cl_command_queue>(
      cl.clCreateCommandQueue(context->context.get(), id, CL_QUEUE_PROFILING_ENABLE, &error), cl.clReleaseCommandQueue);
  HONE_RETURN_IF_ERROR(opencl_status(error, fmt::format("a queue of '{}'", info.name)));
  return std::make_unique<OpenclDevice>(info, std::move(context), BinaryCache(options.cache_folder));
}

}  // namespace hone
