// The files of an artifact of one module: an operator's, or that of a user's own definition.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_set.h"
#include "base/status.h"
#include "compiler/build/artifact.h"

namespace hone {

/// A C identifier of a path's last part: `libfoo-1.so` is `foo_1`; `digit`, which may be a letter, comes before a first
/// digit.
std::string entry_name(const std::string& path, char digit);

/// The path of the header of the artifact at `path`; its name without the folder.
std::string header_path(const std::string& path);
std::string header_file(const std::string& path);

/// The files to write for an artifact, and what they say of it.
struct ModuleFiles {
  Target target;
  Target host;          ///< of a target for GPUs: the CPU that calls it
  std::string name;     ///< of its entries: entry_name()
  std::string what;     ///< for people: a workload, or what was defined
  std::string config;   ///< as JSON has it
  std::string form;     ///< "so", "obj"; for CPUs also "c"
  std::string path;     ///< of the artifact; objects beside it have names of their own, and the header ends with .h
  std::string sysroot;  ///< as link_artifact() takes it
  Denormals denormals = kUsualDenormals;
};

/// An artifact in memory.
struct MadeModule {
  std::vector<ArtifactObject> objects;  ///< none of C's
  std::string json;
  std::string device_code_by;      ///< the compiler of a GPU's code that was compiled here; else empty
  std::vector<std::string> paths;  ///< that it is written to, but for the header
  std::string header;              ///< its path
};

/// Compiles it. UserError where a module has no form as code for the target.
MadeModule make_module(const Module& m, const ModuleFiles& files);
/// Called when an artifact's files are written and none has taken its place, with the path and text of the header that
/// comes behind them: it may add a file, and its error ends the work.
using SealFiles = std::function<Status(FileSet& files, const std::pair<std::string, std::string>& header)>;

/// Writes all files or none. `seal` may be empty.
Status write_module(const Module& m, const ModuleFiles& files, const MadeModule& made, const SealFiles& seal = {});

}  // namespace hone
