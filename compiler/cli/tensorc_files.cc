#include "compiler/cli/tensorc_files.h"

#include <filesystem>

#include "compiler/frontend/onnx/external_files.h"
#include "db/hub_files.h"

namespace hone {

CommandFiles files_read(const TensorcOptions& o) {
  CommandFiles files;
  if (!o.model.empty())
    for (const std::string& path : onnx_files(o.model))
      files.reads(path == o.model ? "the model" : "the model's data", path);
  files.reads_folder("--inputs", o.inputs, {".npy", ".pb"});
  files.reads_folder("--calibrate", o.quantize.calibrate, {".npy", ".pb"});
  if (!std::filesystem::is_directory(o.quantize.calibrate)) files.reads("--calibrate", o.quantize.calibrate);
  files.reads("--compare", o.compare);
  for (const std::string& text : o.bind_data)
    if (const size_t at = text.find('='); at != std::string::npos) files.reads("--bind-data", text.substr(at + 1));
  for (const auto& [what, path] : o.read_before) files.reads(what, path);
  db::reads_hub(files, db::usual_hub(o.db));
  return files;
}

}  // namespace hone
