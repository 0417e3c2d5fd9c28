// Models that gpu-check's caller names: the list of their layers, which are tuned for the package, and the whole beside
// PyTorch.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tests/gpu_check/plan.h"
#include "tests/gpu_check/run_program.h"

namespace hone::gpu_check {

/// The models of `paths`, files or folders with .onnx and .tflite files, by name. Usage error for a path that is
/// neither, a folder without any, and two models of one name.
StatusOr<std::vector<ModelFile>> find_models(const std::vector<std::string>& paths);

/// The words that tensorc and tuner are given for it: its file, and its flags' where there is one.
std::vector<std::string> words_of(const ModelFile& model);

/// One file of `tuner --tasks` from several: each workload once, in the order in which they come, with the sum of its
/// weights.
std::string joined_tasks(const std::vector<std::string>& texts);

/// The model's layers as text of `tuner --print-tasks`, member `tasks`.
Json list_layers(const ModelFile& model, const Target& target, double most_seconds);

/// The model as an artifact in `folder`, built with the configs of the database `db` where that exists: checked and
/// timed, tuned and with default configs, members `tuned_ms` and `default_ms`.
Json time_model(const ModelFile& model, const Target& target, const std::string& folder, const std::string& db,
                double most_seconds);

/// PyTorch's time, by gpu-torch beside this program, member `time_ms`; where it is missing, `missing` says what is.
Json time_in_torch(const ModelFile& model, const TorchWay& way, double most_seconds);

}  // namespace hone::gpu_check
