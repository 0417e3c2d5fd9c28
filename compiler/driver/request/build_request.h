// The request for a build: of a model, or of an operator.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/request/model_request.h"
#include "compiler/driver/request/remote.h"
#include "compiler/host/busy_machine.h"
#include "db/lookup.h"

namespace hone {

struct BuildRequest : ModelRequest, OperatorRequest {
  std::string host;                  ///< of GPUs: the CPU that calls the kernels; empty: this machine's
  std::vector<int> threads;          ///< of a model a variant of each, the most first; empty: as many as there are CPUs
  std::string db;                    ///< a tophub that is read before the user's; empty: none
  std::shared_ptr<db::Source> team;  ///< a team's tophub, which is read behind the user's; null: none
  /// Rows of less confidence are not taken: the default is.
  db::Confidence least_confidence = db::Confidence::kDefault;
  std::string lock;                   ///< a file to write that says what the build took (db/lock); empty: none
  std::string locked;                 ///< such a file, in place of the tophub; empty: none
  std::string config;                 ///< of an operator, or `default`, of all layers; empty: the best that is known
  std::vector<std::string> disabled;  ///< passes

  std::string emit;     ///< so, obj, c, …; empty: so of a model, nothing of an operator
  std::string output;   ///< path of the artifact; empty: a name of its own
  std::string weights;  ///< of a model: the file to write its weights to; empty: into the artifact
  std::string sysroot;  ///< files of another architecture's system
  /// A model for a GPU is refused where a layer would run on the host between the device's.
  bool require_device = false;

  bool bench = false, check = false;
  bool explain = false;              ///< why each layer is there, or an operator's kernel is as fast as it is
  bool profile = false;              ///< of a model
  std::string inputs;                ///< of a model: a folder with input_0.npy, … and output_0.npy, …
  std::vector<std::string> reports;  ///< of a model: files to write its report to
  std::string compare;               ///< of a model: a report of before
  /// The time, in seconds, that a model's check here may take, roughly. Models whose nodes are of ordinary size
  /// (ResNet-50) are checked completely in half of it, and larger ones end not much later.
  double check_seconds = 60;

  /// Where check, bench and profile run instead of here; empty: here.
  FindRemoteDevice remote;
  /// The CPU account by which bench and profile see that this machine is busy; empty: the kernel's.
  ReadCpuAccount cpu_account;
  /// Files that were read for it, flags and credentials, with names for messages: none is written over.
  std::vector<std::pair<std::string, std::string>> read_before;

  /// Where its configs are looked up.
  db::HubOptions hub() const {
    db::HubOptions options = db::usual_hub(db, team);
    options.least = least_confidence;
    return options;
  }
  /// Whether anything is to run.
  bool runs() const { return bench || check || profile || !inputs.empty(); }
  /// Whether a model's artifact is to run here. Operators, profiles, reports and devices of a fleet run kernels.
  bool runs_artifact() const { return !model.empty() && !remote && (bench || check || !inputs.empty()); }
};

}  // namespace hone
