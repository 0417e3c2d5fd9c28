#include "compiler/build/artifact.h"

#include <dlpack/dlpack.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/json.h"
#include "compiler/build/build.h"
#include "compiler/build/c_parts.h"
#include "compiler/codegen/c/describe.h"
#include "compiler/codegen/llvm/artifact/describe.h"
#include "compiler/codegen/llvm/artifact/gpu_host.h"
#include "compiler/codegen/llvm/artifact/pool_entries.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/lower/layout_functions.h"
#include "compiler/runtime/c_objects.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

// Whether the kernels take the row-major tensor as it is.
bool is_plain(const Module& m, size_t i) {
  return !prepack_of(m, i) && m.params[i].layout == Layout::identity(m.params[i].shape);
}

// The prepacks that run on the CPU; NAME_prepack<i> is the i-th. First each constant, in the order of the parameters;
// for a GPU then inputs and outputs in layouts of their own.
std::vector<Prepack> packing_of(const Module& m, const Target& target) {
  std::vector<Prepack> out;
  for (const bool constants : {true, false})
    for (size_t i = 0; i < m.params.size(); ++i) {
      const Param& p = m.params[i];
      if ((p.role == ParamRole::kConstant) != constants || (!constants && (!target.is_gpu() || is_plain(m, i))))
        continue;
      const Prepack* made = prepack_of(m, i);
      out.push_back(
          made ? *made
               : Prepack{static_cast<int>(i), p.role == ParamRole::kOutput ? unpack_function(p) : pack_function(p)});
    }
  return out;
}

// The entry that packs parameter `i` (unpacks it when it is an output); empty: it needs none.
std::string packing_entry(const std::vector<Prepack>& packing, size_t i, const std::string& name) {
  for (size_t k = 0; k < packing.size(); ++k)
    if (packing[k].param == static_cast<int>(i)) return fmt::format("{}_prepack{}", name, k);
  return "";
}

// `f32 [4, 8]`
std::string type_text(const KernelArgument& a) {
  return fmt::format("{} [{}]", to_string(a.dtype), fmt::join(a.shape, ", "));
}

// `packed [4, 8]`, with types where there are several tensors or another type.
std::string packed_text(const Module& m, size_t param) {
  const std::vector<KernelArgument> arguments = kernel_arguments(m, param);
  if (arguments.size() == 1 && arguments[0].dtype == m.params[param].dtype)
    return fmt::format("packed [{}]", fmt::join(arguments[0].shape, ", "));
  std::string out;
  for (const KernelArgument& a : arguments) out += (out.empty() ? "packed " : ", packed ") + type_text(a);
  return out;
}

// The module as emitted.
Module with_packing(const Module& m, const Target& target) {
  Module out = m;
  out.prepacks = packing_of(m, target);
  return out;
}

// Whether its artifacts bring a thread pool.
bool has_pool(const Target& target) {
  return !target.is_gpu() && target.os == "linux" && !pool_object(target.arch).empty();
}

// `run_workspace_bytes`: of NAME_run.
ArtifactDescription description(const Module& m, const Target& target, const std::string& name,
                                int64_t run_workspace_bytes) {
  ArtifactDescription d{.name = name, .target = to_string(target), .has_gpu = target.is_gpu()};
  ArtifactDescription::Variant& v = d.variants.emplace_back();
  v.entry = name;
  v.plain = name + "_plain";
  v.workers = m.workers;
  v.workspace_bytes = m.workspace_bytes;
  v.run_workspace_bytes = run_workspace_bytes;
  const std::vector<Prepack> packing = packing_of(m, target);
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& from = m.params[i];
    ArtifactDescription::Parameter& to = v.params.emplace_back();
    to.name = from.name;
    to.role = from.role;
    to.plain = {from.dtype, from.shape};
    for (const KernelArgument& a : kernel_arguments(m, i)) to.packed.push_back({a.dtype, a.shape});
    if (!is_plain(m, i)) (from.role == ParamRole::kOutput ? to.unpack : to.pack) = packing_entry(packing, i, name);
  }
  return d;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::isalnum(c) ? std::toupper(c) : '_'; });
  return text;
}

}  // namespace

std::string artifact_json(const Module& m, const Target& target, const std::string& name, const std::string& workload,
                          const std::string& config, Denormals denormals) {
  OrderedJson j;
  j["name"] = name;
  j["hone"] = hone_version();
  j["codegen"] = codegen_version();
  j["workload"] = workload;
  j["target"] = to_string(target);
  j["config"] = config;
  j["workers"] = m.workers;
  if (!target.is_gpu()) j["denormals"] = name_of(denormals);
  j["assume_finite"] = m.assume_finite;
  j["workspace_bytes"] = m.workspace_bytes;
  j["plain_workspace_bytes"] = target.is_gpu() ? 0 : plain_module(m).workspace_bytes;
  const std::vector<Prepack> packing = packing_of(m, target);
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    OrderedJson param;
    param["name"] = p.name;
    param["role"] = name_of(p.role);
    param["dtype"] = to_string(p.dtype);
    param["shape"] = p.shape;
    const std::vector<KernelArgument> arguments = kernel_arguments(m, i);
    param["physical_shape"] = arguments[0].shape;
    OrderedJson dims = OrderedJson::array();
    for (const LayoutDim& d : p.layout.dims)
      dims.push_back({{"axis", d.axis}, {"stride", d.stride}, {"extent", d.extent}});
    // A prepack that is more than a layout (Winograd's weights): only its entry says how.
    if (prepack_of(m, i)) {
      param["layout"] = nullptr;
      for (const KernelArgument& a : arguments)
        param["packed"].push_back({{"dtype", to_string(a.dtype)}, {"shape", a.shape}});
    } else {
      param["layout"] = dims;
    }
    if (const std::string entry = packing_entry(packing, i, name); !entry.empty())
      param[p.role == ParamRole::kConstant ? "prepack" : p.role == ParamRole::kOutput ? "unpack" : "pack"] = entry;
    j["params"].push_back(param);
  }
  return json_line(j);
}

std::vector<ArtifactObject> artifact_objects(const Module& m, const Target& target, const std::string& name,
                                             const std::string& json, Denormals denormals) {
  const Module plain = plain_module(m);
  const CodegenOptions packed{.name = name, .json = json, .denormals = denormals},
      row_major{.name = name + "_plain", .element_aligned = true, .denormals = denormals};
  std::vector<std::string> run = entry_parts({"check", "errors"}, target);
  run.push_back(emit_description_object(description(m, target, name, plain.workspace_bytes), target));
  std::vector<ArtifactObject> objects = {{"", {emit_object(with_packing(m, target), target, packed)}},
                                         {"_plain", {emit_object(plain, target, row_major)}},
                                         {"_run", std::move(run)}};
  if (auto pool = pool_artifact_object(target, name)) objects.push_back(std::move(*pool));
  return objects;
}

std::optional<ArtifactObject> pool_artifact_object(const Target& target, const std::string& name) {
  if (!has_pool(target)) return std::nullopt;
  return ArtifactObject{"_pool", {emit_pool_entries_object(name, target), std::string(pool_object(target.arch))}, true};
}

std::string artifact_c_source(const Module& m, const Target& target, const std::string& name, const std::string& json,
                              const std::string& workload, Denormals denormals) {
  const Module packing = with_packing(m, target), plain = plain_module(m);
  CFile file(target.vector_bits);
  std::set<std::string> included;
  if (denormals == Denormals::kZero) file.add(c_source("denormals.c", &included));
  for (const char* code : {"check.c", "errors.c"}) file.add(c_source(code, &included));
  for (size_t i = 0; i < packing.prepacks.size(); ++i)
    file.add_prepack(packing, i, fmt::format("{}_prepack{}", name, i));
  file.add_entry(m, name, /*element_aligned=*/false, denormals);
  file.add_entry(plain, name + "_plain", /*element_aligned=*/true, denormals);
  add_description(file, description(m, target, name, plain.workspace_bytes), json);
  return file.text(c_source_head(name, workload));
}

std::string c_source_head(const std::string& name, const std::string& what) {
  return fmt::format(
      "/* {0}\n   Generated by Hone {1}. C99 with GCC's vectors, for GCC and Clang; it needs {2}.h, hone_runtime.h,\n"
      "   DLPack's header and the mathematical library:\n\n"
      "     cc -O3 -march=native -ffp-contract=fast -fno-math-errno -c {2}.c\n*/\n#include \"{2}.h\"\n",
      what, hone_version(), name);
}

void link_artifact(const std::vector<ArtifactObject>& objects, const Target& target, const std::string& name,
                   const std::string& output_path, const std::string& sysroot, FileSet& files) {
  std::vector<std::string> parts;
  LinkOptions options{.sysroot = sysroot, .artifact = name, .threads = {}, .threads_library = ""};
  for (const ArtifactObject& object : objects) {
    auto& to = object.has_threads ? options.threads : parts;
    to.insert(to.end(), object.parts.begin(), object.parts.end());
    if (object.has_threads) options.threads_library = pool_library(target.arch);
  }
  link_shared(parts, output_path, options, files);
}

void link_artifact(const std::vector<ArtifactObject>& objects, const Target& target, const std::string& name,
                   const std::string& output_path, const std::string& sysroot) {
  FileSet files;
  link_artifact(objects, target, name, output_path, sysroot, files);
  const Status placed = files.commit();
  HONE_USER_CHECK(placed.ok()) << message_of(placed);
}

std::vector<std::string> object_paths(const std::vector<ArtifactObject>& objects, const std::string& path) {
  std::vector<std::string> paths;
  for (const ArtifactObject& object : objects)
    paths.push_back(
        object.suffix.empty() ? path : std::filesystem::path(path).replace_extension().string() + object.suffix + ".o");
  return paths;
}

StatusOr<std::vector<std::string>> write_objects(const std::vector<ArtifactObject>& objects, const std::string& path,
                                                 FileSet& files) {
  std::vector<std::string> paths = object_paths(objects, path);
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::vector<std::string>& parts = objects[i].parts;
    if (parts.size() == 1)
      HONE_RETURN_IF_ERROR(files.add(paths[i], parts[0]));
    else
      merge_objects(parts, paths[i], files);
  }
  return paths;
}

std::vector<std::string> gpu_artifact_objects(const Module& m, const Target& target, const Target& host,
                                              const GpuArtifactCode& code, const std::string& name,
                                              const std::string& json) {
  Module on_host = with_packing(m, target);
  on_host.kernels.clear();
  on_host.workers = host.threads;
  GpuHostProgram p{.name = name,
                   .device_type = gpu_kind(target.kind).device_type,
                   .target = to_string(target),
                   .arch = code.binary.empty() ? "" : target.arch,
                   .binary = code.binary,
                   .text = code.source.text,
                   .workspace_bytes = m.workspace_bytes};
  p.launches = code.source.launches;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& from = m.params[i];
    GpuHostProgram::Parameter to{from.name, from.role == ParamRole::kOutput, from.dtype, from.layout.physical_size(),
                                 element_count(from.shape)};
    if (!is_plain(m, i)) (to.is_output ? to.unpack : to.pack) = packing_entry(on_host.prepacks, i, name);
    p.params.push_back(std::move(to));
  }
  std::vector<std::string> objects = entry_parts({"check", "errors", "gpu_entry"}, host);
  objects.push_back(
      emit_object(on_host, host, {.name = name, .with_entry = false, .json = json, .element_aligned = true}));
  objects.push_back(emit_gpu_host_object(p, host));
  objects.push_back(emit_description_object(description(m, target, name, 0), host));
  return objects;
}

std::string pool_declarations(const Target& target, const std::string& name, bool in_c) {
  std::string h;
  if (in_c)
    return fmt::format(
        "/* The last argument of the entries: null, and all runs on the calling thread, or a HoneRuntime of yours, "
        "whose\n"
        "   parallel_for has the threads; {}_pool is only there in objects and shared objects. */\n\n",
        name);
  if (has_pool(target))
    h += fmt::format(
        "/* A pool of `threads` threads, those that call it included (0: one for each CPU that the caller may run "
        "on),\n"
        "   for the last argument of this and any other artifact's entries; any number of threads may use it at once,\n"
        "   and in the child of a fork() all runs on the calling thread. Null, and errno says why, where it cannot be\n"
        "   made. {0}_pool_free ends it; nothing may run on it then. Of objects: they are in {0}_pool.o, which all "
        "else\n"
        "   does without. */\n"
        "HoneRuntime* {0}_pool(int32_t threads);\nvoid {0}_pool_free(HoneRuntime* pool);\n\n",
        name);
  else if (!target.is_gpu())
    h += fmt::format("/* There is no {0}_pool: Hone was built without a C compiler for {1}. */\n\n", name, target.arch);
  return h;
}

std::string denormals_line(Denormals denormals, const Target& target) {
  if (target.is_gpu()) return "";
  if (denormals == Denormals::kKeep)
    return "Denormal numbers are computed with, as far as the floating-point modes of the threads say so.";
  return "Denormal numbers of f32 and f64 are zeros to a call, as operands and as results; each thread has its own\n"
         "   floating-point mode again when its part of the call is done.";
}

std::string artifact_header(const Module& m, const Target& target, const std::string& name, const std::string& workload,
                            bool in_c, Denormals denormals) {
  const std::string guard = upper(name) + "_H", macro = upper(name);
  const std::string takes = target.is_gpu() ? fmt::format(
                                                  "{} runs on a GPU ({}) through rt->gpu and takes tensors there; the "
                                                  "other entries take contiguous CPU tensors",
                                                  name, to_string(target))
                                            : fmt::format(
                                                  "Entries take contiguous CPU tensors, 64-byte aligned but for those "
                                                  "of {0}_plain and {0}_run",
                                                  name);
  const std::string finite = m.assume_finite ? fmt::format("\n   {}", kAssumesFinite) : "";
  std::string h = fmt::format(
      "/* {}\n   Generated by Hone {}. {}; see hone_runtime.h.{} */\n#ifndef {}\n#define {}\n\n#include "
      "\"hone_runtime.h\"\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
      workload, hone_version(), takes, (target.is_gpu() ? "" : "\n   " + denormals_line(denormals, target)) + finite,
      guard, guard);
  h += fmt::format(
      "/* Workspace in bytes, 64-byte aligned; for NAME{} and for NAME_plain and NAME_run. */\n#define "
      "{}_WORKSPACE_BYTES "
      "{}\n#define {}_PLAIN_WORKSPACE_BYTES {}\n\n",
      target.is_gpu() ? " (on the GPU)" : "", macro, m.workspace_bytes, macro,
      target.is_gpu() ? 0 : plain_module(m).workspace_bytes);
  std::string packed, plain, prepacks;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    const std::string line = fmt::format("     {:<7} {} ", name_of(p.role), p.name);
    for (const KernelArgument& a : kernel_arguments(m, i)) packed += fmt::format("{}{}\n", line, type_text(a));
    plain += fmt::format("{}{}\n", line, type_text({i, p.dtype, p.shape}));
  }
  const std::vector<Prepack> packing = packing_of(m, target);
  for (const Prepack& made : packing) {
    const auto i = static_cast<size_t>(made.param);
    const Param& p = m.params[i];
    const std::string plain_shape = fmt::format("plain [{}]", fmt::join(p.shape, ", ")), packed_is = packed_text(m, i);
    const std::string what =
        p.role == ParamRole::kOutput
            ? fmt::format("Unpacks the output {}: ({}, {}). No workspace.", p.name, packed_is, plain_shape)
        : p.role == ParamRole::kConstant
            ? fmt::format("Packs the constant {}: ({}, {}). Once; no workspace.", p.name, plain_shape, packed_is)
            : fmt::format("Packs the input {}: ({}, {}). No workspace.", p.name, plain_shape, packed_is);
    prepacks += fmt::format(
        "/* {} */\nint32_t {}(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt);\n\n",
        what, packing_entry(packing, i, name));
  }
  h += fmt::format(
      "/* In the config's layouts:\n{}*/\nint32_t {}(const DLTensor* const* args, int32_t n, void* workspace, const "
      "HoneRuntime* rt);\n\n",
      packed, name);
  h += prepacks;
  h += fmt::format(
      "/* Plain row-major tensors:\n{}*/\nint32_t {}_plain(const DLTensor* const* args, int32_t n, void* workspace, "
      "const HoneRuntime* rt);\n\n",
      plain, name);
  h += fmt::format(
      "/* The same tensors; checks number, device, dtype, shape and strides of them. {0}_error says in words what its\n"
      "   code means. */\n"
      "int32_t {0}_run(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt);\n"
      "const char* {0}_error(int32_t code);\n\n",
      name);
  h += pool_declarations(target, name, in_c);
  if (target.is_gpu()) h += fmt::format("/* Code and launches. */\nextern const HoneGpuProgram {}_gpu;\n\n", name);
  h += fmt::format(
      "/* All of this described, in C and as JSON. */\nextern const HoneArtifact {0}_artifact;\nextern const char "
      "{0}_json[];\n\n#ifdef __cplusplus\n}}\n#endif\n#endif\n",
      name);
  return h;
}

}  // namespace hone
