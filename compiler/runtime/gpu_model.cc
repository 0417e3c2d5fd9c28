#include "compiler/runtime/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hone {
namespace {

// Of a tensor of a call, on the CPU and on the device alike; a buffer has at least one byte.
int64_t bytes_of(const HoneGpuParam& p) { return p.plain_elements * ((p.dtype.bits * p.dtype.lanes + 7) / 8); }

char* data_of(const DLTensor& t) { return static_cast<char*>(t.data) + t.byte_offset; }

}  // namespace

StatusOr<DeviceBuffer*> GpuModels::weights_of(const HoneGpuModel& model) {
  if (model.weights_bytes == 0) return nullptr;
  std::unique_ptr<DeviceBuffer>& known = weights_[model.weights];
  if (!known) {
    HONE_ASSIGN_OR_RETURN(std::unique_ptr<DeviceBuffer> made, device_.allocate(model.weights_bytes));
    HONE_RETURN_IF_ERROR(device_.write(*made, model.weights, model.weights_bytes));
    known = std::move(made);
  }
  return known.get();
}

StatusOr<DeviceBuffer*> GpuModels::place(const HoneGpuPlace& p, std::span<DeviceBuffer* const> tensors,
                                         DeviceBuffer* arena, DeviceBuffer* weights, Bound* bound) {
  DeviceBuffer* whole = p.in == HONE_GPU_ARENA     ? arena
                        : p.in == HONE_GPU_WEIGHTS ? weights
                                                   : tensors[static_cast<size_t>(p.tensor)];
  if (!whole) return absl::InternalError("a model's step takes memory that the model does not have");
  // What begins where its buffer does needs no object of its own: kernels know how much they touch.
  if (p.offset == 0) return whole;
  std::unique_ptr<DeviceBuffer>& known = bound->parts[{whole, p.offset, p.bytes}];
  if (!known) {
    HONE_ASSIGN_OR_RETURN(known, device_.part(*whole, p.offset, p.bytes));
  }
  return known.get();
}

Status GpuModels::bind(const HoneGpuModel& model, std::span<DeviceBuffer* const> tensors, DeviceBuffer* arena,
                       Bound* bound) {
  HONE_ASSIGN_OR_RETURN(DeviceBuffer* const weights, weights_of(model));
  for (int64_t s = 0; s < model.step_count; ++s) {
    const HoneGpuStep& step = model.steps[s];
    BoundStep& to = bound->steps.emplace_back();
    for (int64_t i = 0; i < step.place_count; ++i) {
      HONE_ASSIGN_OR_RETURN(to.arguments.emplace_back(), place(step.places[i], tensors, arena, weights, bound));
    }
    if (step.program) {
      HONE_ASSIGN_OR_RETURN(to.launches, load_(*step.program));
    } else if (step.host) {
      to.host = step.host;
      for (int64_t i = 0; i < step.place_count; ++i) to.on_host.emplace_back(step.places[i].bytes);
      to.on_host.emplace_back(std::max<int64_t>(1, step.host->workspace_bytes));
    } else {
      to.bytes = step.places[0].bytes;
    }
  }
  return absl::OkStatus();
}

// Waits for what the inputs are computed by.
Status GpuModels::call_host(const BoundStep& step) {
  HONE_RETURN_IF_ERROR(device_.synchronize());
  const size_t tensors = step.arguments.size(), inputs = static_cast<size_t>(step.host->input_count);
  std::vector<void*> on_host;
  for (size_t i = 0; i < tensors; ++i) {
    on_host.push_back(step.on_host[i].data());
    if (i < inputs) HONE_RETURN_IF_ERROR(device_.read(*step.arguments[i], on_host[i], step.on_host[i].bytes()));
  }
  if (const int32_t code = step.host->call(step.host->numbers, on_host.data(), step.on_host.back().data()))
    return code == HONE_NO_RESULT ? absl::DataLossError("the model takes a branch that its shapes do not allow")
                                  : absl::InternalError(fmt::format("a function on the host returned code {}", code));
  for (size_t i = inputs; i < tensors; ++i)
    HONE_RETURN_IF_ERROR(device_.write(*step.arguments[i], on_host[i], step.on_host[i].bytes()));
  return absl::OkStatus();
}

// Steps of the device.
Status GpuModels::launch(const Bound& bound, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const BoundStep& step = bound.steps[i];
    if (!step.launches) {
      HONE_RETURN_IF_ERROR(device_.copy(*step.arguments[0], *step.arguments[1], step.bytes));
      continue;
    }
    for (const auto& [kernel, shape] : *step.launches)
      HONE_RETURN_IF_ERROR(device_.launch(*kernel, shape, step.arguments));
  }
  return absl::OkStatus();
}

// Null where the driver records nothing.
StatusOr<DeviceRecording*> GpuModels::recording_of(Bound& bound, size_t begin, size_t end) {
  if (const auto found = bound.recordings.find(begin); found != bound.recordings.end()) return found->second.get();
  auto recorded = device_.record([&] { return launch(bound, begin, end); });
  HONE_RETURN_IF_ERROR(device_.health());
  return (bound.recordings[begin] = recorded.ok() ? *std::move(recorded) : nullptr).get();
}

// Where the buffers are its own, and so the same in every call, the second call records the device's steps, and from
// then on they are one command: a launch costs the host as long as many a layer takes. The first call loads what is
// launched.
Status GpuModels::run_steps(Bound& bound) {
  const bool records = std::exchange(bound.has_run, true) && !bound.own.empty();
  for (size_t begin = 0; begin < bound.steps.size();) {
    if (bound.steps[begin].host) {
      HONE_RETURN_IF_ERROR(call_host(bound.steps[begin++]));
      continue;
    }
    size_t end = begin;
    while (end < bound.steps.size() && !bound.steps[end].host) ++end;
    DeviceRecording* recording = nullptr;
    if (records) {
      HONE_ASSIGN_OR_RETURN(recording, recording_of(bound, begin, end));
    }
    HONE_RETURN_IF_ERROR(recording ? device_.replay(*recording) : launch(bound, begin, end));
    begin = end;
  }
  return absl::OkStatus();
}

Status GpuModels::run(const HoneGpuModel& model, std::span<DeviceBuffer* const> tensors, DeviceBuffer* arena) {
  Bound bound;
  HONE_RETURN_IF_ERROR(bind(model, tensors, arena, &bound));
  return run_steps(bound);
}

StatusOr<GpuModels::Bound*> GpuModels::own_buffers(const HoneGpuModel& model) {
  if (const auto found = bound_.find(&model); found != bound_.end()) return &found->second;
  Bound made;
  std::vector<DeviceBuffer*> tensors;
  for (int64_t i = 0; i < model.head.param_count; ++i) {
    HONE_ASSIGN_OR_RETURN(made.own.emplace_back(),
                          device_.allocate(std::max<int64_t>(1, bytes_of(model.head.params[i]))));
    tensors.push_back(made.own.back().get());
  }
  DeviceBuffer* arena = nullptr;
  if (model.head.workspace_bytes > 0) {
    HONE_ASSIGN_OR_RETURN(made.own.emplace_back(), device_.allocate(model.head.workspace_bytes));
    arena = made.own.back().get();
  }
  HONE_RETURN_IF_ERROR(bind(model, tensors, arena, &made));
  return &bound_.emplace(&model, std::move(made)).first->second;
}

Status GpuModels::run_plain(const HoneGpuModel& model, const DLTensor* const* args) {
  HONE_ASSIGN_OR_RETURN(Bound* const bound, own_buffers(model));
  for (int64_t i = 0; i < model.head.param_count; ++i)
    if (const HoneGpuParam& p = model.head.params[i]; !p.is_output)
      HONE_RETURN_IF_ERROR(device_.write(*bound->own[static_cast<size_t>(i)], data_of(*args[i]), bytes_of(p)));
  HONE_RETURN_IF_ERROR(run_steps(*bound));
  HONE_RETURN_IF_ERROR(device_.synchronize());
  for (int64_t i = 0; i < model.head.param_count; ++i)
    if (const HoneGpuParam& p = model.head.params[i]; p.is_output)
      HONE_RETURN_IF_ERROR(device_.read(*bound->own[static_cast<size_t>(i)], data_of(*args[i]), bytes_of(p)));
  return absl::OkStatus();
}

}  // namespace hone
