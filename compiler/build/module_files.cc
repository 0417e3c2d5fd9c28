#include "compiler/build/module_files.h"

#include <cctype>
#include <filesystem>

#include "compiler/build/artifact_header.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {

namespace fs = std::filesystem;

std::string entry_name(const std::string& path, char digit) {
  std::string name = fs::path(path).stem().string();
  if (name.rfind("lib", 0) == 0 && name.size() > 3) name = name.substr(3);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? digit + name : name;
}

std::string header_path(const std::string& path) { return fs::path(path).replace_extension(".h").string(); }

std::string header_file(const std::string& path) { return fs::path(header_path(path)).filename().string(); }

namespace {

bool is_c(const ModuleFiles& f) { return f.form == "c" && !f.target.is_gpu(); }

}  // namespace

MadeModule make_module(const Module& m, const ModuleFiles& f) {
  MadeModule made;
  made.json = artifact_json(m, f.target, f.name, f.what, f.config, f.denormals);
  made.header = header_path(f.path);
  if (f.target.is_gpu()) {
    const GpuArtifactCode code = gpu_artifact_code(m, f.target, nvrtc_here());
    if (gpu_kind(f.target.kind).compiles_ahead) made.device_code_by = code.by;
    made.objects = {{"", gpu_artifact_objects(m, f.target, f.host, code, f.name, made.json)}};
  } else if (!is_c(f)) {
    made.objects = artifact_objects(m, f.target, f.name, made.json, f.denormals);
  }
  made.paths = f.form == "obj" ? object_paths(made.objects, f.path) : std::vector<std::string>{f.path};
  return made;
}

Status write_module(const Module& m, const ModuleFiles& f, const MadeModule& made, const SealFiles& seal) {
  FileSet files;
  if (is_c(f))
    HONE_RETURN_IF_ERROR(
        files.add(f.path, artifact_c_source(m, f.target, f.name, made.json, f.what, f.denormals, header_file(f.path))));
  else if (f.form == "obj")
    HONE_RETURN_IF_ERROR(write_objects(made.objects, f.path, files).status());
  else
    link_artifact(made.objects, f.target.is_gpu() ? f.host : f.target, f.name, f.path, f.sysroot, files);
  const std::string header = artifact_header(m, f.target, f.name, f.what, is_c(f), f.denormals);
  if (seal) HONE_RETURN_IF_ERROR(seal(files, {made.header, header}));
  HONE_RETURN_IF_ERROR(files.add(made.header, header));
  return files.commit();
}

}  // namespace hone
