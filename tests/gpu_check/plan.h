// The steps of gpu-check on a device.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/workload.h"
#include "compiler/target/target.h"

namespace hone::gpu_check {

enum class StepKind { kSuite, kModel, kTune, kPeer, kBench, kLayers, kTuneLayers, kModelTime, kModelInTorch };

/// A model that the caller names.
struct ModelFile {
  std::string name;  ///< of its file, without what is behind the dot: resnet18
  std::string path;
  std::string flags;  ///< NAME.toml beside it, for --flags-file (its `bind`, say); empty: there is none
};

/// How PyTorch runs a model: `eager`, `graphs` (CUDA graphs) or `autotune` (torch.compile's max-autotune); products in
/// `f32` or `tf32`.
struct TorchWay {
  std::string mode, precision;
  std::string name() const { return mode + "_" + precision; }
};
const std::vector<TorchWay>& torch_ways();

struct Step {
  std::string name;  ///< unique: suite/7/3, model/small, tune/C6, bench/C6, layers/resnet18, torch/resnet18/eager_f32
  StepKind kind;
  std::string row;         ///< C6; empty in the suite and of a model
  Workload workload = {};  ///< none of a model
  std::string config;      ///< of the suite: what is checked
  ModelFile model = {};    ///< of those that the caller names
  TorchWay torch = {};
};

/// Rows that are measured against the same peer.
struct Group {
  std::string title;  ///< `convolutions, fp32`
  std::string peer;   ///< cudnn or cublas
  double expected;    ///< least geometric mean of the peer's time over ours
  std::vector<std::pair<std::string, Workload>> rows;
};

/// The tables: C1-C12 and D1-D9 in fp32; M1-M4, B1-B3 and a product of 4096 in fp16 with fp32 accumulation.
std::vector<Group> tables();

/// The suite: `configs` of each small workload (the default one first) and, on NVIDIA's GPUs, of those for tensor
/// cores; then a small model as a whole; then row by row: tune, peer, bench. `only`: rows of these names; `operators`:
/// the suite's workloads of these; empty: all.
std::vector<Step> plan(const Target& target, int configs, const std::vector<std::string>& only,
                       const std::vector<std::string>& operators = {});

/// The layers of `tuned`, listed model by model, then tuned together; then each of `timed` by itself and in PyTorch,
/// each way.
std::vector<Step> model_plan(const std::vector<ModelFile>& tuned, const std::vector<ModelFile>& timed);

}  // namespace hone::gpu_check
