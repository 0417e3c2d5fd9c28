#include "compiler/runtime/gpu/nvrtc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "compiler/runtime/gpu/ptxas_log.h"
#include "compiler/runtime/shared_library.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

using Result = int;  // nvrtcResult
constexpr Result kSuccess = 0, kOutOfMemory = 1, kCompilation = 6;
using ProgramHandle = void*;

// Sonames: 11.2 is that of all later 11s.
constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.11.1",
                                  "libnvrtc.so.11.0"};

// CUDA's headers that belong to the library: kernels may include cuda_fp16.h or mma.h. Empty when there are none.
std::string headers_beside(const std::string& library) {
  std::error_code error;
  const fs::path real = fs::canonical(library, error);
  if (error) return "";
  // …/lib64/libnvrtc.so, …/targets/x86_64-linux/lib/libnvrtc.so; Debian has both below /usr.
  for (fs::path folder = real.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (fs::exists(folder / "include" / "cuda_fp16.h", error)) return (folder / "include").string();
  return "";
}

// NVRTC opens its library of built-in functions by name when it first compiles; once loaded from beside it, that name
// is found in CUDA folders that the loader does not know and in processes that may open no more files by then. Where it
// is elsewhere, NVRTC looks for it itself.
void load_builtins_beside(const std::string& library, int major, int minor) {
  (void)SharedLibrary::open(
      {(fs::path(library).parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor)).string()});
}

// 90 of sm_90 and sm_90a; 0 when it is no architecture.
int number_of(const std::string& arch) {
  int number = 0;
  if (arch.rfind("sm_", 0) != 0) return 0;
  const auto [end, error] = std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  const bool whole = error == std::errc() && (end == arch.data() + arch.size() ||
                                              (end + 1 == arch.data() + arch.size() && (*end == 'a' || *end == 'f')));
  return whole ? number : 0;
}

}  // namespace

struct Nvrtc::Api {
  explicit Api(SharedLibrary opened) : library(std::move(opened)) {}
  SharedLibrary library;
  Result (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (*create)(ProgramHandle*, const char* source, const char* name, int headers, const char* const* header_texts,
                   const char* const* header_names) = nullptr;
  Result (*destroy)(ProgramHandle*) = nullptr;
  Result (*compile)(ProgramHandle, int options, const char* const* option_texts) = nullptr;
  Result (*log_size)(ProgramHandle, size_t*) = nullptr;
  Result (*log)(ProgramHandle, char*) = nullptr;
  Result (*ptx_size)(ProgramHandle, size_t*) = nullptr;
  Result (*ptx)(ProgramHandle, char*) = nullptr;
  Result (*cubin_size)(ProgramHandle, size_t*) = nullptr;
  Result (*cubin)(ProgramHandle, char*) = nullptr;
  Result (*architectures)(int*) = nullptr;  ///< these two from 11.2 on; else null
  Result (*number_of_architectures)(int*) = nullptr;

  template <class F>
  bool find(F& function, const char* name) {
    function = reinterpret_cast<F>(library.symbol(name));
    return function != nullptr;
  }
  bool find_all() {
    find(architectures, "nvrtcGetSupportedArchs");
    find(number_of_architectures, "nvrtcGetNumSupportedArchs");
    return find(version, "nvrtcVersion") && find(error_string, "nvrtcGetErrorString") &&
           find(create, "nvrtcCreateProgram") && find(destroy, "nvrtcDestroyProgram") &&
           find(compile, "nvrtcCompileProgram") && find(log_size, "nvrtcGetProgramLogSize") &&
           find(log, "nvrtcGetProgramLog") && find(ptx_size, "nvrtcGetPTXSize") && find(ptx, "nvrtcGetPTX") &&
           find(cubin_size, "nvrtcGetCUBINSize") && find(cubin, "nvrtcGetCUBIN");
  }
  /// The bytes that a pair of functions gives, which count a final zero where it is text.
  StatusOr<std::string> fetch(ProgramHandle program, Result (*size)(ProgramHandle, size_t*),
                              Result (*get)(ProgramHandle, char*), const char* what) const {
    size_t n = 0;
    if (const Result r = size(program, &n); r != kSuccess)
      return absl::InternalError(fmt::format("NVRTC: {}: {}", what, error_string(r)));
    std::string bytes(n, '\0');
    if (const Result r = n == 0 ? kSuccess : get(program, bytes.data()); r != kSuccess)
      return absl::InternalError(fmt::format("NVRTC: {}: {}", what, error_string(r)));
    return bytes;
  }
};

std::vector<std::string> nvrtc_libraries(const std::string& cuda_home, const std::string& local) {
  std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  names.push_back("libnvrtc.so");
  std::vector<fs::path> folders;
  if (!cuda_home.empty()) folders = {fs::path(cuda_home) / "lib64", fs::path(cuda_home) / "lib"};
  std::vector<fs::path> installed;
  std::error_code error;
  for (auto it = fs::directory_iterator(local, error); !error && it != fs::directory_iterator(); it.increment(error))
    if (it->path().filename().string().rfind("cuda", 0) == 0) installed.push_back(it->path());
  // Newest first by number: cuda-9.2 after cuda-13.0, `cuda` (the machine's choice) before all.
  const auto rank = [](const fs::path& p) {
    const std::string name = p.filename().string();
    const double version = name == "cuda" ? 1e9 : std::atof(name.substr(std::min<size_t>(name.size(), 5)).c_str());
    return std::make_pair(-version, name);
  };
  std::sort(installed.begin(), installed.end(),
            [&](const fs::path& a, const fs::path& b) { return rank(a) < rank(b); });
  for (const fs::path& p : installed) folders.push_back(p / "lib64"), folders.push_back(p / "lib");
  for (const fs::path& folder : folders)
    for (const char* name : kNames)
      if (fs::exists(folder / name, error)) names.push_back((folder / name).string());
  return names;
}

NvrtcOptions nvrtc_here() {
  const char* home = std::getenv("CUDA_HOME");
  if (!home || !*home) home = std::getenv("CUDA_PATH");
  return {.libraries = nvrtc_libraries(home ? home : "")};
}

StatusOr<std::shared_ptr<const Nvrtc>> Nvrtc::load(const NvrtcOptions& options) {
  std::vector<std::string> reasons;
  bool any = false;
  for (const std::string& name : options.libraries) {
    const StatusOr<SharedLibrary> opened = SharedLibrary::open({name});
    if (!opened.ok()) {
      reasons.push_back(message_of(opened.status()));
      continue;
    }
    if (!any) reasons.clear();  // libraries that could not be loaded are reported only when none could
    any = true;
    auto api = std::make_shared<Api>(*opened);
    std::shared_ptr<Nvrtc> nvrtc(new Nvrtc());
    if (!api->find_all() || api->version(&nvrtc->major_, &nvrtc->minor_) != kSuccess) {
      reasons.push_back(fmt::format("{} is no NVRTC of CUDA 11.1 or newer", name));
      continue;
    }
    int n = 0;
    if (api->number_of_architectures && api->architectures && api->number_of_architectures(&n) == kSuccess && n > 0) {
      nvrtc->architectures_.resize(static_cast<size_t>(n));
      if (api->architectures(nvrtc->architectures_.data()) != kSuccess) nvrtc->architectures_.clear();
    }
    nvrtc->api_ = std::move(api);
    nvrtc->path_ = opened->path().empty() ? name : opened->path();
    nvrtc->headers_ = headers_beside(nvrtc->path_);
    if (options.max_major > 0 && nvrtc->major_ > options.max_major) {
      reasons.push_back(fmt::format("{} is of CUDA {}, newer than the driver's {}", nvrtc->path_, nvrtc->version(),
                                    options.max_major));
      continue;
    }
    if (const Status fits = options.arch.empty() ? absl::OkStatus() : nvrtc->supports(options.arch); !fits.ok()) {
      reasons.push_back(message_of(fits));
      continue;
    }
    load_builtins_beside(nvrtc->path_, nvrtc->major_, nvrtc->minor_);
    return nvrtc;
  }
  std::sort(reasons.begin(), reasons.end());
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  return absl::NotFoundError(fmt::format("no NVRTC that serves: {}", fmt::join(reasons, "; ")));
}

std::string Nvrtc::version() const { return fmt::format("{}.{}", major_, minor_); }

Status Nvrtc::supports(const std::string& arch) const {
  const int number = number_of(arch);
  if (number == 0)
    return absl::InvalidArgumentError(fmt::format("'{}' is no GPU architecture: sm_75, sm_90a, …", arch));
  if (architectures_.empty() || std::find(architectures_.begin(), architectures_.end(), number) != architectures_.end())
    return absl::OkStatus();
  return absl::UnimplementedError(fmt::format("NVRTC {} does not compile for {}; it does for sm_{}", version(), arch,
                                              fmt::join(architectures_, ", sm_")));
}

std::vector<std::string> Nvrtc::flags_for(const char* kind, const std::string& arch,
                                          const std::vector<std::string>& more) const {
  std::vector<std::string> flags = {fmt::format("--gpu-architecture={}_{}", kind, arch.substr(3)), "--std=c++17"};
  if (!headers_.empty()) flags.push_back("--include-path=" + headers_);
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

StatusOr<DeviceImage> Nvrtc::run(const std::string& source, const std::vector<std::string>& flags, bool to_ptx) const {
  struct Program {
    const Api& api;
    ProgramHandle handle = nullptr;
    ~Program() {
      if (handle) api.destroy(&handle);
    }
  } program{*api_};
  if (const Result r = api_->create(&program.handle, source.c_str(), "kernel.cu", 0, nullptr, nullptr); r != kSuccess)
    return absl::InternalError(fmt::format("NVRTC: {}", api_->error_string(r)));
  std::vector<const char*> texts;
  for (const std::string& flag : flags) texts.push_back(flag.c_str());
  const Result compiled = api_->compile(program.handle, static_cast<int>(texts.size()), texts.data());
  HONE_ASSIGN_OR_RETURN(std::string log, api_->fetch(program.handle, api_->log_size, api_->log, "the log"));
  log.resize(std::char_traits<char>::length(log.c_str()));
  if (compiled == kOutOfMemory)
    return absl::ResourceExhaustedError(fmt::format("NVRTC: {}", api_->error_string(compiled)));
  if (compiled != kSuccess)
    return build_error(compiled == kCompilation ? "the kernel's CUDA text does not compile"
                                                : fmt::format("NVRTC: {}", api_->error_string(compiled)),
                       log);
  DeviceImage image;
  HONE_ASSIGN_OR_RETURN(image.bytes, to_ptx ? api_->fetch(program.handle, api_->ptx_size, api_->ptx, "the PTX")
                                            : api_->fetch(program.handle, api_->cubin_size, api_->cubin, "the cubin"));
  if (to_ptx && !image.bytes.empty() && image.bytes.back() == '\0') image.bytes.pop_back();
  if (image.bytes.empty()) return absl::InternalError("NVRTC compiled to nothing");
  image.log = std::move(log);
  return image;
}

StatusOr<DeviceImage> Nvrtc::compile(const std::string& source, const std::string& arch,
                                     const std::vector<std::string>& flags, BinaryCache* cache,
                                     bool* from_cache) const {
  HONE_RETURN_IF_ERROR(supports(arch));
  const std::vector<std::string> all = flags_for("sm", arch, flags);
  const Hash128 key = BinaryCache::key({"nvrtc", version(), fmt::format("{}", fmt::join(all, "\n")), source});
  if (from_cache) *from_cache = false;
  if (cache)
    if (auto found = cache->find(key)) {
      if (from_cache) *from_cache = true;
      DeviceImage image{.bytes = std::move(found->bytes), .log = std::move(found->log)};
      image.kernels = kernels_of_ptxas_log(image.log);
      return image;
    }
  std::vector<std::string> verbose = all;
  verbose.push_back("--ptxas-options=-v");
  StatusOr<DeviceImage> compiled = run(source, verbose, /*to_ptx=*/false);
  // A verbose ptxas says how much a kernel uses, but no longer that this was too much: its error comes without the flag
  // only.
  if (compiled.status().code() == absl::StatusCode::kInvalidArgument &&
      message_of(compiled.status()).find("error") == std::string::npos)
    compiled = run(source, all, /*to_ptx=*/false);
  HONE_RETURN_IF_ERROR(compiled.status());
  DeviceImage& image = *compiled;
  image.kernels = kernels_of_ptxas_log(image.log);
  if (cache) cache->store(key, {image.bytes, image.log});
  return compiled;
}

StatusOr<std::string> Nvrtc::ptx(const std::string& source, const std::string& arch,
                                 const std::vector<std::string>& flags) const {
  HONE_RETURN_IF_ERROR(supports(arch));
  HONE_ASSIGN_OR_RETURN(DeviceImage image, run(source, flags_for("compute", arch, flags), /*to_ptx=*/true));
  return std::move(image.bytes);
}

}  // namespace hone
