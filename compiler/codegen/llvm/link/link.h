// Objects to shared objects, and to one object.
#pragma once

#include <string>
#include <vector>

#include "base/file_set.h"

namespace hone {

struct LinkOptions {
  std::string sysroot;  ///< where the libraries that code calls are looked for; empty: where this system keeps them
  /// The artifact's name: NAME_artifact is exported as hone_this_artifact, too, by which a loader finds it without
  /// knowing NAME. Empty: it is not.
  std::string artifact;
  /// For a library instead: LIBRARY_library is exported as hone_this_library, too, and `functions` are the names of its
  /// artifacts. Empty: it is none.
  std::string library = {};
  std::vector<std::string> functions = {};
  /// Objects with threads of their own, which call the C library's functions for them: the result stays loaded for as
  /// long as the process lives (-z nodelete).
  std::vector<std::string> threads;
  /// A shared library of their architecture, whose soname the result names as needed; its symbols do not count.
  std::string threads_library;
  /// The linker maps the file: for processes that may have neither threads nor pipes. A full disk ends them (SIGBUS).
  bool maps_file = false;
};

/// Links objects (contents, not paths) of one architecture into a shared object; in process, no linker need be
/// installed. Code that calls the mathematical library (f64's exp, log, tanh and erf) or the compiler's (f16 where the
/// processor does not know it) is linked with the one of its own architecture; other code with none. Functions of the C
/// library stay without a version: whatever the loader finds serves. UserError when a library of another architecture
/// is not there, and when the file cannot be written; InternalError with the linker's first lines when it fails.
void link_shared(const std::vector<std::string>& objects, const std::string& output_path,
                 const LinkOptions& options = {});
/// Links objects of one architecture into one relocatable object. UserError when the file cannot be written.
void merge_objects(const std::vector<std::string>& objects, const std::string& output_path);

/// The same with the file added to `files`: it is at `output_path` when these are committed. `options.maps_file` does
/// not go with it.
void link_shared(const std::vector<std::string>& objects, const std::string& output_path, const LinkOptions& options,
                 FileSet& files);
void merge_objects(const std::vector<std::string>& objects, const std::string& output_path, FileSet& files);

}  // namespace hone
