// A model's artifact loaded into this process.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/tensor_data.h"
#include "compiler/model/build_model.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/buffer.h"
#include "compiler/runtime/device.h"
#include "compiler/runtime/gpu/gpu_launcher.h"
#include "compiler/runtime/thread_pool.h"

namespace hone {

class LoadedModel {
 public:
  /// Loads the shared object at `path`, of the model `name`, and its weights where they are in a file of their own: at
  /// `weights`, or beside it. Runs are of variant number `variant`, on `threads` threads. UserError where one cannot be
  /// loaded.
  /// Models for GPUs run on `gpu`, which must outlive this object.
  LoadedModel(const std::string& path, const std::string& name, int threads, const std::string& weights = "",
              size_t variant = 0, Device* gpu = nullptr);
  /// Loads a model that was built under this name, for this machine. Leaves no file behind. UserError where no file can
  /// be made.
  LoadedModel(const BuiltModel& model, const std::string& name, int threads, size_t variant = 0, Device* gpu = nullptr);

  /// Each cache's input and output lie in one buffer from now on, as the artifact wants it. `growth`: of its model.
  /// `on_device`: of a model for a GPU, that buffer is the device's, so that runs copy nothing of it. UserError where
  /// the device has no memory for it.
  void join_caches(const Growth& growth, bool on_device = false);
  /// The outputs for these inputs. UserError, in the artifact's own words, where it refuses them.
  std::vector<TensorData> run(const std::vector<TensorData>& inputs);
  /// The outputs of the last run.
  std::vector<TensorData> outputs() const;
  /// Runs once more on the tensors of the last run; the artifact's code.
  int32_t run_again();
  /// The artifact's description of its layers; null when it does not run them one by one.
  const HoneLayers* layers() const;
  /// As run_again(), layer by layer: the seconds of each, in order. Empty when the artifact does not run its layers one
  /// by one, or fails.
  std::vector<double> run_again_timed();
  /// Bytes of the memory between layers.
  int64_t workspace_bytes() const;
  /// Loads the artifact anew, from a copy of its file: from now on code and constants lie in other pages, which decides
  /// the time of a model whose constants fill a cache (one of 1.5 MB took 10.3 to 15.1 us in six places). False, and
  /// nothing is changed, where it was loaded from a file of the caller's, is larger than 16 MiB, or has its weights
  /// beside it.
  bool move();
  /// Runs again on the threads and tensors of `other` from now on, an artifact of the same model for CPUs, with
  /// `workspace`, of at least workspace_bytes(), between layers; both must outlive this. Artifacts on the same
  /// addresses can be compared: on other ones the same artifact took up to 1.08 times as long. No run() any more.
  void run_where(const LoadedModel& other, const AlignedBuffer& workspace);

 private:
  struct JoinedCache;

  struct Loaded {
    Artifact artifact;
    std::string linked, name;
  };
  LoadedModel(Loaded loaded, int threads, size_t variant, Device* gpu);
  static Loaded load(const BuiltModel& model, const std::string& name);
  int32_t run_entry(HoneEntry entry);
  void fill(const JoinedCache& cache, const TensorData& rows);
  void fetch(const JoinedCache& cache);

  Artifact artifact_;
  std::string linked_;  ///< the artifact's bytes, to load them again; empty: it cannot be moved
  std::string name_;
  size_t variant_number_;
  const HoneVariant* variant_ = nullptr;
  ThreadPool pool_;
  Device* const gpu_;                      ///< null: the model is for CPUs
  std::unique_ptr<GpuLauncher> launcher_;  ///< null: the model is for CPUs
  AlignedBuffer arena_;
  void* workspace_ = nullptr;             ///< arena_'s, or another one
  const HoneRuntime* threads_ = nullptr;  ///< of pool_, or of another one
  std::vector<HostTensor> tensors_;
  std::vector<const DLTensor*> views_;
  /// A joined cache: its parameters, the strides of its buffer, and views with these strides.
  struct JoinedCache {
    size_t input, output;
    std::vector<int64_t> strides;
    DLTensor views[2];
    size_t matrix_bytes, rows_bytes;                    ///< of the buffer, and of the rows that the input has
    std::unique_ptr<DeviceBuffer> on_device = nullptr;  ///< where the buffer is; null: tensors_[output]
  };
  std::deque<JoinedCache> caches_;
};

}  // namespace hone
