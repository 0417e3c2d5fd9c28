#include "tuner/cli/tuner_files.h"

#include "compiler/cli/model_flags.h"
#include "db/hub_files.h"
#include "tuner/cli/fleet_flags.h"

namespace hone {

CommandFiles files_of(const TunerFlags& f) {
  CommandFiles files;
  reads_model(files, f, "--model");
  files.reads("--tasks", f.tasks);
  files.reads("--ranges", f.quantize.calibrate);
  for (const auto& [what, path] : credential_files(f)) files.reads(what, path);
  for (const auto& [what, path] : f.read_before) files.reads(what, path);
  const std::string own = f.db.empty() ? db::user_db_path() : f.db;
  db::reads_hub(files, db::usual_hub(f.db), own);
  db::writes_database(files, f.db.empty() ? "the user's tophub" : "--db", own);
  files.writes("--plot", f.plot);
  return files;
}

}  // namespace hone
