// The command tensorc: builds one operator with the best known config.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/cli/busy_machine.h"
#include "compiler/cli/remote.h"
#include "compiler/driver/model_words.h"
#include "compiler/ops/operator.h"

namespace hone {

/// `tensorc m.onnx --quantize int8`: products of bytes instead of f32.
struct QuantizeFlags {
  std::string type;               ///< int8; empty: nothing is quantised
  std::string calibrate;          ///< a folder with samples, or a file of ranges
  std::string range = "min-max";  ///< how ranges are chosen of what samples have
  std::string ranges;             ///< the file to write them to; empty: none
  std::vector<std::string> keep;  ///< nodes of the model that stay in f32
};

/// Without a model one operator is built; denormals and assume_finite are of both.
struct TensorcOptions : ModelWords {
  std::string task = "conv2d", args, workload, target = "llvm", db, emit, output, sysroot, config;
  std::string host;                   ///< of GPUs: the CPU that calls the kernels; empty: this machine's
  std::string artifact;               ///< `tensorc run`: a model's that exists; empty: something is built
  std::string weights;                ///< of a model: the file to write its weights to; empty: into the artifact.
                                      ///< Of `artifact`: the file they are in; empty: beside it
  std::string inputs;                 ///< of a model: a folder with input_0.npy, … and output_0.npy, …
  std::vector<std::string> disabled;  ///< passes
  std::vector<std::string> reports;   ///< of a model: files to write its report to
  std::string compare;                ///< of a model: a report of before
  std::string threads;                ///< a number; of a model also several: 1|2; empty: as many as there are CPUs
  QuantizeFlags quantize;             ///< of a model
  bool bench = false, explain = false, check = false, json = false;
  bool profile = false;  ///< of a model
  /// Files that were read for it, flags and credentials, and what their user calls them: none is written over.
  std::vector<std::pair<std::string, std::string>> read_before;
  /// Of a model's --check here: what it may take, roughly, in seconds. Models whose nodes are of ordinary size
  /// (ResNet-50) are checked in all respects in half of that, and nobody waits much longer for those that are not.
  double check_seconds = 60;
  /// Where --check, --bench and --profile run instead of here; empty: here.
  FindRemoteDevice remote;
  /// By which --bench and --profile see that this machine is busy; empty: the kernel's.
  ReadCpuAccount cpu_account;
  /// For programs that call it themselves, of a model: told what is done, now and then, on the thread that calls.
  /// What it throws ends the build.
  std::function<void(std::string_view what, size_t done, size_t all)> progress;
};

/// Results go to `out`, the line that says which config was used and why to `err`.
Status run_tensorc(const OperatorTable& operators, const TensorcOptions& options, std::ostream& out, std::ostream& err);

}  // namespace hone
