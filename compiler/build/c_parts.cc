#include "compiler/build/c_parts.h"

#include "base/check.h"
#include "compiler/runtime/c_objects.h"

namespace hone {

std::string c_part(std::string_view object, std::string_view what, const Target& cpu) {
  HONE_USER_CHECK(!object.empty() && cpu.os == "linux")
      << what << ": Hone was built without a C compiler for " << cpu.arch;
  return std::string(object);
}

std::vector<std::string> entry_parts(const std::vector<std::string_view>& files, const Target& cpu) {
  std::vector<std::string> parts;
  for (const std::string_view file : files) parts.push_back(c_part(entry_object(file, cpu.arch), "artifacts", cpu));
  return parts;
}

std::vector<std::string_view> entry_files(const ModelProgram& program) {
  bool has_regions = false, has_rows = false;
  for (const std::vector<ModelStep>& steps : program.variants)
    for (const ModelStep& step : steps) {
      has_regions |= step.region > 0;
      has_rows |= !step.rows.empty();
    }
  std::vector<std::string_view> files;
  if (has_regions) files.push_back("regions");
  if (has_rows) files.push_back("rows");
  return files;
}

}  // namespace hone
