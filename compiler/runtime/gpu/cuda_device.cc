#include "compiler/runtime/gpu/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {
namespace {

// Buffers and programs share it, so that they may be destroyed in any order.
struct Context {
  std::shared_ptr<const CudaApi> api;
  CuDevice id = 0;
  CuContext context = nullptr;

  // CUDA contexts are current to a thread: each call makes its own the thread's current one.
  CuResult enter() const { return api->set_context(context); }
  ~Context() {
    if (context) api->release_context(id);
  }
};
using ContextRef = std::shared_ptr<const Context>;

class CudaBuffer final : public DeviceBuffer {
 public:
  CudaBuffer(const Device* owner, int64_t bytes, ContextRef context, CuAddress address)
      : DeviceBuffer(owner, bytes), context_(std::move(context)), address_(address) {}
  // Errors of earlier kernels show up here, too; synchronize() reports them.
  ~CudaBuffer() override {
    if (context_ && context_->enter() == 0) context_->api->free(address_);
  }
  CuAddress address() const { return address_; }
  void* native() const override { return reinterpret_cast<void*>(address_); }

 private:
  ContextRef context_;  // null: another object frees it
  CuAddress address_;
};

class CudaKernel final : public DeviceKernel {
 public:
  CudaKernel(const Device* owner, KernelInfo info, CuFunction function)
      : DeviceKernel(owner, std::move(info)), function_(function) {}
  CuFunction function() const { return function_; }
  mutable int64_t granted_bytes = 0;  ///< dynamic shared memory that the driver was asked to allow

 private:
  CuFunction function_;
};

class CudaProgram final : public DeviceProgram {
 public:
  CudaProgram(const Device* owner, ContextRef context, CuModule module, DeviceImage image, bool from_cache)
      : DeviceProgram(image.log, from_cache),
        owner_(owner),
        context_(std::move(context)),
        module_(module),
        image_(std::move(image)) {}
  ~CudaProgram() override {
    if (context_->enter() == 0) context_->api->unload_module(module_);
  }

  StatusOr<DeviceKernel*> kernel(const std::string& name) override {
    if (const auto found = kernels_.find(name); found != kernels_.end()) return found->second.get();
    const CudaApi& cu = *context_->api;
    HONE_RETURN_IF_ERROR(cu.status(context_->enter(), "the GPU's context"));
    CuFunction function = nullptr;
    const CuResult found = cu.function(&function, module_, name.c_str());
    if (found == cuda::kNotFound) return absl::NotFoundError(fmt::format("the program has no kernel '{}'", name));
    HONE_RETURN_IF_ERROR(cu.status(found, fmt::format("kernel '{}'", name)));
    KernelInfo info{.name = name};
    // The driver reports everything but the spills.
    for (const KernelInfo& k : image_.kernels)
      if (k.name == name) info = k;
    const auto attribute = [&](int which, auto& out) {
      if (int value = 0; cu.function_attribute(&value, which, function) == 0) out = value;
    };
    attribute(cuda::kFunctionRegisters, info.registers);
    attribute(cuda::kFunctionSharedBytes, info.local_bytes);
    attribute(cuda::kFunctionMaxThreads, info.max_threads);
    return kernels_.emplace(name, std::make_unique<CudaKernel>(owner_, std::move(info), function)).first->second.get();
  }

  StatusOr<DeviceImage> image() const override { return image_; }

 private:
  const Device* owner_;
  ContextRef context_;
  CuModule module_;
  DeviceImage image_;
  std::map<std::string, std::unique_ptr<CudaKernel>> kernels_;
};

// A graph of CUDA's.
class CudaRecording final : public DeviceRecording {
 public:
  CudaRecording(ContextRef context, CuGraphExec graph) : context_(std::move(context)), graph_(graph) {}
  ~CudaRecording() override {
    if (context_->enter() == 0) context_->api->graphs->destroy_exec(graph_);
  }
  CuGraphExec graph() const { return graph_; }

 private:
  ContextRef context_;
  CuGraphExec graph_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(const DeviceInfo& info, ContextRef context, std::shared_ptr<CudaCompiler> compiler, BinaryCache cache)
      : Device(info),
        context_(std::move(context)),
        cu_(*context_->api),
        compiler_(std::move(compiler)),
        cache_(std::move(cache)) {}
  ~CudaDevice() override {
    if (context_->enter() != 0) return;
    for (const CuEvent event : {from_, to_})
      if (event) cu_.destroy_event(event);
    if (recording_stream_) cu_.graphs->destroy_stream(recording_stream_);
  }

 private:
  Status check(CuResult code, const std::string& what) {
    if (code == 0) return absl::OkStatus();
    Status status = cu_.status(code, what);
    return cuda_error_is_final(code) ? lose(std::move(status)) : status;
  }
  Status enter() { return check(context_->enter(), "the GPU's context"); }

  StatusOr<std::unique_ptr<DeviceBuffer>> do_allocate(int64_t bytes) override {
    HONE_RETURN_IF_ERROR(enter());
    CuAddress address = 0;
    HONE_RETURN_IF_ERROR(
        check(cu_.allocate(&address, static_cast<size_t>(bytes)), fmt::format("a buffer of {} bytes", bytes)));
    return std::make_unique<CudaBuffer>(this, bytes, context_, address);
  }

  StatusOr<std::unique_ptr<DeviceBuffer>> do_wrap(void* native, int64_t bytes) override {
    return std::make_unique<CudaBuffer>(this, bytes, nullptr, reinterpret_cast<CuAddress>(native));
  }

  StatusOr<std::unique_ptr<DeviceBuffer>> do_part(DeviceBuffer& of, int64_t offset, int64_t bytes) override {
    const CuAddress address = static_cast<CudaBuffer&>(of).address() + static_cast<CuAddress>(offset);
    return std::make_unique<CudaBuffer>(this, bytes, nullptr, address);
  }
  Status do_copy(const DeviceBuffer& from, DeviceBuffer& to, int64_t bytes) override {
    HONE_RETURN_IF_ERROR(enter());
    return check(
        cu_.copy_on_device(static_cast<CudaBuffer&>(to).address(), static_cast<const CudaBuffer&>(from).address(),
                           static_cast<size_t>(bytes), stream_),
        "copying a buffer");
  }

  Status do_write(DeviceBuffer& to, const void* from, int64_t bytes, int64_t offset) override {
    HONE_RETURN_IF_ERROR(enter());
    return check(cu_.copy_to_device(static_cast<CudaBuffer&>(to).address() + static_cast<CuAddress>(offset), from,
                                    static_cast<size_t>(bytes)),
                 "writing a buffer");
  }
  Status do_read(const DeviceBuffer& from, void* to, int64_t bytes, int64_t offset) override {
    HONE_RETURN_IF_ERROR(enter());
    return check(cu_.copy_to_host(to, static_cast<const CudaBuffer&>(from).address() + static_cast<CuAddress>(offset),
                                  static_cast<size_t>(bytes)),
                 "reading a buffer");
  }
  Status do_fill(DeviceBuffer& buffer, uint8_t byte) override {
    HONE_RETURN_IF_ERROR(enter());
    return check(cu_.fill(static_cast<CudaBuffer&>(buffer).address(), byte, static_cast<size_t>(buffer.bytes())),
                 "filling a buffer");
  }

  StatusOr<std::unique_ptr<DeviceProgram>> load_module(DeviceImage image, bool from_cache) {
    HONE_RETURN_IF_ERROR(enter());
    if (image.bytes.empty()) return absl::InvalidArgumentError("loading a CUDA image: it is empty");
    // Options and their values travel as arrays; a size is passed in the pointer itself. PTX ends with the string's
    // zero.
    char log[8192] = {};
    int options[] = {cuda::kJitErrorLog, cuda::kJitErrorLogBytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
    CuModule module = nullptr;
    const CuResult loaded = cu_.load_module(&module, image.bytes.c_str(), 2, options, values);
    if (loaded != 0 && log[0] != '\0' && !cuda_error_is_final(loaded))
      return build_error(fmt::format("the driver does not load the program: {}", cu_.describe(loaded)), log);
    HONE_RETURN_IF_ERROR(check(loaded, "loading a CUDA image"));
    return std::make_unique<CudaProgram>(this, context_, module, std::move(image), from_cache);
  }

  StatusOr<std::unique_ptr<DeviceProgram>> do_load(const DeviceImage& image) override {
    return load_module(image, false);
  }

  StatusOr<std::unique_ptr<DeviceProgram>> do_compile(const std::string& source,
                                                      const CompileOptions& options) override {
    HONE_ASSIGN_OR_RETURN(const auto nvrtc, compiler_->for_arch(info().arch));
    bool from_cache = false;
    HONE_ASSIGN_OR_RETURN(DeviceImage image, nvrtc->compile(source, info().arch, options.flags, &cache_, &from_cache));
    return load_module(std::move(image), from_cache);
  }

  Status do_launch(const DeviceKernel& kernel, const LaunchShape& shape,
                   std::span<DeviceBuffer* const> buffers) override {
    HONE_RETURN_IF_ERROR(enter());
    const auto& k = static_cast<const CudaKernel&>(kernel);
    // More than a kernel may declare has to be asked for, once.
    if (const int64_t dynamic = shape.dynamic_shared_bytes;
        dynamic > k.granted_bytes && dynamic + k.info().local_bytes.value_or(0) > info().local_bytes) {
      HONE_RETURN_IF_ERROR(
          check(cu_.set_function_attribute(k.function(), cuda::kFunctionMaxDynamicShared, static_cast<int>(dynamic)),
                fmt::format("{} bytes of shared memory for kernel '{}'", dynamic, k.info().name)));
      k.granted_bytes = dynamic;
    }
    std::vector<CuAddress> addresses;
    for (const DeviceBuffer* b : buffers) addresses.push_back(static_cast<const CudaBuffer*>(b)->address());
    std::vector<void*> parameters;
    for (CuAddress& a : addresses) parameters.push_back(&a);
    return check(
        cu_.launch(k.function(), static_cast<unsigned>(shape.blocks), 1, 1, static_cast<unsigned>(shape.threads), 1, 1,
                   static_cast<unsigned>(shape.dynamic_shared_bytes), stream_, parameters.data(), nullptr),
        fmt::format("launching kernel '{}'", k.info().name));
  }

  // The default stream records nothing: while there is a recording, commands go to a stream of its own.
  StatusOr<std::unique_ptr<DeviceRecording>> do_record(const std::function<Status()>& enqueue) override {
    if (!cu_.graphs) return nullptr;
    HONE_RETURN_IF_ERROR(enter());
    if (!recording_stream_)
      HONE_RETURN_IF_ERROR(check(cu_.graphs->create_stream(&recording_stream_, cuda::kStreamNonBlocking), "a stream"));
    stream_ = recording_stream_;
    const StatusOr<CuGraphExec> graph = cu_.record(recording_stream_, enqueue);
    stream_ = nullptr;
    HONE_RETURN_IF_ERROR(graph.status());
    return std::make_unique<CudaRecording>(context_, *graph);
  }
  Status do_replay(const DeviceRecording& recording) override {
    HONE_RETURN_IF_ERROR(enter());
    return check(cu_.graphs->launch(static_cast<const CudaRecording&>(recording).graph(), nullptr),
                 "launching a graph");
  }

  Status do_synchronize() override {
    HONE_RETURN_IF_ERROR(enter());
    return check(cu_.synchronize(), "waiting for the GPU");
  }

  // Events are points in the stream. On an idle GPU the first one passes before the first kernel arrives, some
  // microseconds later: many launches a region, or work queued before it (a flush), hide that.
  Status begin_region() override {
    HONE_RETURN_IF_ERROR(enter());
    for (CuEvent* event : {&from_, &to_})
      if (!*event) HONE_RETURN_IF_ERROR(check(cu_.create_event(event, 0), "an event"));
    return check(cu_.record_event(from_, nullptr), "an event");
  }
  StatusOr<double> end_region() override {
    HONE_RETURN_IF_ERROR(enter());
    HONE_RETURN_IF_ERROR(check(cu_.record_event(to_, nullptr), "an event"));
    HONE_RETURN_IF_ERROR(check(cu_.synchronize_event(to_), "waiting for the GPU"));
    float ms = 0;
    HONE_RETURN_IF_ERROR(check(cu_.elapsed_ms(&ms, from_, to_), "the time between two events"));
    return static_cast<double>(ms) * 1e-3;
  }

  ContextRef context_;
  const CudaApi& cu_;
  std::shared_ptr<CudaCompiler> compiler_;
  BinaryCache cache_;
  CuEvent from_ = nullptr, to_ = nullptr;
  CuStream stream_ = nullptr, recording_stream_ = nullptr;  ///< where commands go; the other is made when needed
};

}  // namespace

StatusOr<std::shared_ptr<const Nvrtc>> CudaCompiler::for_arch(const std::string& arch) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Nvrtc>& nvrtc = loaded_[arch];
  if (!nvrtc) {
    NvrtcOptions wanted = options;
    wanted.arch = arch;
    HONE_ASSIGN_OR_RETURN(nvrtc, Nvrtc::load(wanted));
  }
  return nvrtc;
}

StatusOr<std::unique_ptr<Device>> open_cuda_device(std::shared_ptr<const CudaApi> api, CuDevice id,
                                                   const DeviceInfo& info, std::shared_ptr<CudaCompiler> compiler,
                                                   const DeviceOptions& options) {
  auto context = std::make_shared<Context>();
  context->api = std::move(api);
  context->id = id;
  HONE_RETURN_IF_ERROR(context->api->status(context->api->retain_context(&context->context, id),
                                            fmt::format("opening '{}'", info.name)));
  return std::make_unique<CudaDevice>(info, std::move(context), std::move(compiler), BinaryCache(options.cache_folder));
}

}  // namespace hone
