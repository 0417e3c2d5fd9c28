#include "tuner/cli/tuner_files.h"

#include "compiler/frontend/onnx/external_files.h"
#include "db/hub_files.h"
#include "tuner/cli/fleet_flags.h"

namespace hone {

CommandFiles files_of(const TunerFlags& f) {
  CommandFiles files;
  if (!f.model.empty())
    for (const std::string& path : onnx_files(f.model))
      files.reads(path == f.model ? "--model" : "the model's data", path);
  files.reads("--tasks", f.tasks);
  files.reads("--ranges", f.ranges);
  for (const std::string& text : f.bind_data)
    if (const size_t at = text.find('='); at != std::string::npos) files.reads("--bind-data", text.substr(at + 1));
  for (const auto& [what, path] : credential_files(f)) files.reads(what, path);
  for (const auto& [what, path] : f.read_before) files.reads(what, path);
  const std::string own = f.db.empty() ? db::user_db_path() : f.db;
  db::reads_hub(files, db::usual_hub(f.db), own);
  db::writes_database(files, f.db.empty() ? "the user's tophub" : "--db", own);
  files.writes("--plot", f.plot);
  return files;
}

}  // namespace hone
