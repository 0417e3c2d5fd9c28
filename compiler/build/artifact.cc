#include "compiler/build/artifact.h"

#include <absl/strings/str_replace.h>
#include <dlpack/dlpack.h>
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "compiler/build/artifact_parts.h"
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
  run.push_back(emit_description_object(description_of(m, target, name, plain.workspace_bytes), target));
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
                              const std::string& workload, Denormals denormals, const std::string& header) {
  const Module packing = with_packing(m, target), plain = plain_module(m);
  CFile file(target.vector_bits);
  std::set<std::string> included;
  if (denormals == Denormals::kZero) file.add(c_source("denormals.c", &included));
  for (const char* code : {"check.c", "errors.c"}) file.add(c_source(code, &included));
  for (size_t i = 0; i < packing.prepacks.size(); ++i)
    file.add_prepack(packing, i, fmt::format("{}_prepack{}", name, i));
  file.add_entry(m, name, /*element_aligned=*/false, denormals);
  file.add_entry(plain, name + "_plain", /*element_aligned=*/true, denormals);
  add_description(file, description_of(m, target, name, plain.workspace_bytes), json);
  return file.text(c_source_head(name, workload, header));
}

std::string c_source_head(const std::string& name, const std::string& what, const std::string& header) {
  const std::string included = header.empty() ? name + ".h" : header;
  HONE_USER_CHECK(included.find_first_of("\"\\\n\r") == std::string::npos && included.find("*/") == std::string::npos)
      << "a file of C cannot include '" << clean_line(included) << "': its name has a quotation mark, a backslash or a "
      << "line's end";
  std::string source = included.substr(0, included.size() - 2) + ".c";
  if (source.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+") !=
      std::string::npos)
    source = "'" + absl::StrReplaceAll(source, {{"'", "'\\''"}}) + "'";
  return fmt::format(
      "/* {0}\n   Generated by Hone {1}. C99 with GCC's vectors, for GCC and Clang; it needs {2}, hone_runtime.h,\n"
      "   DLPack's header and the mathematical library:\n\n"
      "     cc -O3 -march=native -ffp-contract=fast -fno-math-errno -c {3}\n*/\n#include \"{2}\"\n",
      what, hone_version(), included, source);
}

void link_artifact(const std::vector<ArtifactObject>& objects, const Target& target, LinkOptions options,
                   const std::string& output_path, FileSet& files) {
  std::vector<std::string> parts;
  for (const ArtifactObject& object : objects) {
    auto& to = object.has_threads ? options.threads : parts;
    to.insert(to.end(), object.parts.begin(), object.parts.end());
    if (object.has_threads) options.threads_library = pool_library(target.arch);
  }
  link_shared(parts, output_path, options, files);
}

void link_artifact(const std::vector<ArtifactObject>& objects, const Target& target, const std::string& name,
                   const std::string& output_path, const std::string& sysroot, FileSet& files) {
  link_artifact(objects, target, {.sysroot = sysroot, .artifact = name}, output_path, files);
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

std::vector<std::string> gpu_module_objects(const Module& m, const Target& target, const Target& host,
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
  return {emit_object(on_host, host, {.name = name, .with_entry = false, .json = json, .element_aligned = true}),
          emit_gpu_host_object(p, host)};
}

std::vector<std::string> gpu_artifact_objects(const Module& m, const Target& target, const Target& host,
                                              const GpuArtifactCode& code, const std::string& name,
                                              const std::string& json) {
  std::vector<std::string> objects = gpu_module_objects(m, target, host, code, name, json);
  for (std::string& part : entry_parts({"check", "errors", "gpu_entry"}, host)) objects.push_back(std::move(part));
  objects.push_back(emit_description_object(description_of(m, target, name, 0), host));
  return objects;
}

}  // namespace hone
