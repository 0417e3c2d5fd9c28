// What is linked, as one of several files that take their places together.
#pragma once

#include <string>
#include <vector>

#include "base/file_set.h"
#include "compiler/codegen/llvm/compile.h"

namespace hone {

/// link_shared() and merge_objects() of compile.h with the file added to `files`: it is at `output_path` when these are
/// committed. `options.maps_file` does not go with it.
void link_shared(const std::vector<std::string>& objects, const std::string& output_path, const LinkOptions& options,
                 FileSet& files);
void merge_objects(const std::vector<std::string>& objects, const std::string& output_path, FileSet& files);

}  // namespace hone
