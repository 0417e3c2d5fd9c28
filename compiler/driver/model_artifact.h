// A model's artifact on the disk: the shared object, objects or C, its header and its file of weights.
#pragma once

#include <string>
#include <vector>

#include "base/command_files.h"
#include "base/status.h"
#include "compiler/build/module_files.h"
#include "compiler/driver/place/build_place.h"
#include "compiler/driver/request/events.h"
#include "compiler/model/build_model.h"

namespace hone {

class ModelArtifact {
 public:
  /// All outlive it.
  ModelArtifact(const BuildRequest& request, const BuildPlace& place, const Events& events)
      : request_(request), place_(place), events_(events) {}

  /// Before anything is built: checks that the request is consistent, and that its files can be written, none of them
  /// over one of `read`, the files that the command reads. Usage errors; Unavailable where it cannot run here.
  Status check(CommandFiles read);
  /// Builds and writes all files, or none. Notes the files and figures. UserError and statuses of writing.
  /// `seal`: of all but the header, as write_module() has it; may be empty.
  Status build(const std::vector<ModelVariant>& variants, ChooseConfig configs, const ModelMetadata& metadata,
               const SealFiles& seal = {});

  const BuiltModel& built() const { return built_; }
  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }        ///< that its entries begin with
  const std::string& weights() const { return weights_; }  ///< path of the file; empty: they are in the artifact
  int64_t bytes() const { return bytes_; }                 ///< of the files at `path`

 private:
  Status check_form() const;
  Status check_host_layers(const std::vector<ModelVariant>& variants) const;
  Status write(const SealFiles& seal);
  void tell_what_was_built() const;

  const BuildRequest& request_;
  const BuildPlace& place_;
  const Events& events_;
  std::string path_, header_, name_, weights_;
  CommandFiles files_;
  BuiltModel built_;
  int64_t bytes_ = 0;
};

}  // namespace hone
