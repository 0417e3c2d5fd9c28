#include "compiler/cli/tensorc_files.h"

#include <filesystem>

#include "compiler/cli/model_flags.h"
#include "db/hub_files.h"

namespace hone {

CommandFiles files_read(const TensorcOptions& o) {
  CommandFiles files;
  reads_model(files, o, "the model");
  files.reads_folder("--inputs", o.inputs, {".npy", ".pb"});
  files.reads_folder("--calibrate", o.quantize.calibrate, {".npy", ".pb"});
  if (!std::filesystem::is_directory(o.quantize.calibrate)) files.reads("--calibrate", o.quantize.calibrate);
  files.reads("--compare", o.compare);
  files.reads("--locked", o.locked);
  for (const auto& [what, path] : o.read_before) files.reads(what, path);
  db::reads_hub(files, db::usual_hub(o.db));
  return files;
}

}  // namespace hone
