// Artifacts that are linked or loaded elsewhere: objects, C or a shared object, and a description.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file_set.h"
#include "base/status.h"
#include "compiler/codegen/device/device_code.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/ir/denormals.h"
#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

/// The description embedded as NAME_json: entries, workspace sizes, treatment of denormals, and per parameter name,
/// role, dtype, logical shape and layout. `denormals`, here and below, is for CPUs: a GPU's code keeps them.
std::string artifact_json(const Module& m, const Target& target, const std::string& name, const std::string& workload,
                          const std::string& config, Denormals denormals = kUsualDenormals);

/// One of the objects that are linked to an artifact.
struct ArtifactObject {
  std::string suffix;              ///< of its file: NAME<suffix>.o
  std::vector<std::string> parts;  ///< objects; several are linked to one
  bool has_threads = false;
};

/// The objects of an artifact for a CPU: NAME (tensors in the config's layouts), NAME_prepack<i> (packs the i-th
/// constant) and NAME_json; `_plain` with NAME_plain (row-major logical tensors; packs and unpacks by itself); `_run`
/// with NAME_run (the same, checks all that it is given), NAME_error and NAME_artifact; `_pool`, which the others do
/// without, with NAME_pool and NAME_pool_free, where there is a thread pool for the target (runtime/c_objects.h).
std::vector<ArtifactObject> artifact_objects(const Module& m, const Target& target, const std::string& name,
                                             const std::string& json, Denormals denormals = kUsualDenormals);

/// The same in C: one file for everything but the pool, which it does not have. UserError as CFile.
std::string artifact_c_source(const Module& m, const Target& target, const std::string& name, const std::string& json,
                              const std::string& workload, Denormals denormals = kUsualDenormals,
                              const std::string& header = "");
/// The head of a C source: a comment that says what it computes and how to compile it, and the include of its header.
/// `header`: the header's file, without a folder; empty: NAME.h. UserError for one that no include can say.
std::string c_source_head(const std::string& name, const std::string& what, const std::string& header = "");

/// The objects of artifact_objects for NAME as a shared object, one of `files`. Throws as link_shared.
void link_artifact(const std::vector<ArtifactObject>& objects, const Target& target, const std::string& name,
                   const std::string& output_path, const std::string& sysroot, FileSet& files);
/// The same with options but for the threads, which are the objects'.
void link_artifact(const std::vector<ArtifactObject>& objects, const Target& target, LinkOptions options,
                   const std::string& output_path, FileSet& files);
/// The same as a file of its own.
void link_artifact(const std::vector<ArtifactObject>& objects, const Target& target, const std::string& name,
                   const std::string& output_path, const std::string& sysroot);
/// Writes the objects that are not linked, each as a file of `files`: `path`, and PATH without its extension with the
/// suffix and .o. Returns their paths.
StatusOr<std::vector<std::string>> write_objects(const std::vector<ArtifactObject>& objects, const std::string& path,
                                                 FileSet& files);
/// The paths that write_objects() will give.
std::vector<std::string> object_paths(const std::vector<ArtifactObject>& objects, const std::string& path);

/// NAME_pool and NAME_pool_free with the thread pool behind them; none where there is no pool for the target.
std::optional<ArtifactObject> pool_artifact_object(const Target& target, const std::string& name);

/// For a GPU: NAME, NAME_plain, NAME_gpu, NAME_prepack<i> and, unless `json` is empty, NAME_json.
std::vector<std::string> gpu_module_objects(const Module& m, const Target& target, const Target& host,
                                            const GpuArtifactCode& code, const std::string& name,
                                            const std::string& json);

/// The objects of an artifact for a GPU, which runs on the CPU `host`: `code` with its launches, NAME, NAME_plain and
/// NAME_gpu; NAME_json and NAME_prepack<i>, with which the CPU packs constants and, after these, inputs and outputs in
/// layouts of their own; NAME_run, NAME_error and NAME_artifact.
std::vector<std::string> gpu_artifact_objects(const Module& m, const Target& target, const Target& host,
                                              const GpuArtifactCode& code, const std::string& name,
                                              const std::string& json);

}  // namespace hone
