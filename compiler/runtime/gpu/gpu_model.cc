#include "compiler/runtime/gpu/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/runtime/gpu/gpu_caches.h"
#include "compiler/runtime/gpu/gpu_tensors.h"

namespace hone {
namespace {

// Bytes of a call's tensor, on the CPU and on the device alike; a buffer has at least one byte.
int64_t plain_bytes(const HoneGpuParam& p) { return p.plain_elements * element_bytes(p); }

char* data_of(const DLTensor& t) { return static_cast<char*>(t.data) + t.byte_offset; }

}  // namespace

StatusOr<DeviceBuffer*> GpuModels::weights_of(const HoneGpuModel& model) {
  if (model.weights_bytes == 0) return nullptr;
  const void* weights = model.weights;
  if (model.head.abi_version >= kModelWithCaches && model.mapped_weights)
    weights = __atomic_load_n(model.mapped_weights, __ATOMIC_ACQUIRE);
  if (!weights) return absl::InvalidArgumentError("the file of the model's weights is not mapped: call NAME_weights");
  std::unique_ptr<DeviceBuffer>& known = weights_[weights];
  if (!known) {
    HONE_ASSIGN_OR_RETURN(std::unique_ptr<DeviceBuffer> made, device_.allocate(model.weights_bytes));
    HONE_RETURN_IF_ERROR(device_.write(*made, weights, model.weights_bytes));
    known = std::move(made);
  }
  return known.get();
}

StatusOr<DeviceBuffer*> GpuModels::rows_buffer(const HoneGpuModel& model) {
  if (caches_of(model).empty()) return nullptr;
  std::unique_ptr<DeviceBuffer>& known = rows_[&model];
  if (!known) {
    HONE_ASSIGN_OR_RETURN(known, device_.allocate(sizeof(int64_t)));
  }
  return known.get();
}

StatusOr<DeviceBuffer*> GpuModels::place(const HoneGpuPlace& p, const Memory& memory, Bound* bound) {
  DeviceBuffer* whole = p.in == HONE_GPU_ARENA     ? memory.arena
                        : p.in == HONE_GPU_WEIGHTS ? memory.weights
                        : p.in == HONE_GPU_ROWS    ? memory.rows
                                                   : memory.tensors[static_cast<size_t>(p.tensor)];
  if (!whole) return absl::InternalError("a model's step takes memory that the model does not have");
  // A part at offset 0 needs no object of its own, because kernels know how much they touch.
  if (p.offset == 0) return whole;
  std::unique_ptr<DeviceBuffer>& known = bound->parts[{whole, p.offset, p.bytes}];
  if (!known) {
    HONE_ASSIGN_OR_RETURN(known, device_.part(*whole, p.offset, p.bytes));
  }
  return known.get();
}

Status GpuModels::bind(const HoneGpuModel& model, std::span<DeviceBuffer* const> tensors, DeviceBuffer* arena,
                       Bound* bound) {
  Memory memory{tensors, arena};
  HONE_ASSIGN_OR_RETURN(memory.weights, weights_of(model));
  HONE_ASSIGN_OR_RETURN(memory.rows, rows_buffer(model));
  for (int64_t s = 0; s < model.step_count; ++s) {
    const HoneGpuStep& step = model.steps[s];
    BoundStep& to = bound->steps.emplace_back();
    for (int64_t i = 0; i < step.place_count; ++i) {
      HONE_ASSIGN_OR_RETURN(to.arguments.emplace_back(), place(step.places[i], memory, bound));
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

// Waits for the commands that compute the inputs.
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

// Where the buffers are the same in every call, the second call records the device's steps, and from then on they
// are one command: a launch takes the host as long as many a layer takes the device. The first call loads the
// programs.
Status GpuModels::run_steps(Bound& bound) {
  const bool records = std::exchange(bound.has_run, true) && bound.is_repeated;
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

Status GpuModels::run(const HoneGpuModel& model, std::span<DeviceBuffer* const> tensors, DeviceBuffer* arena,
                      int64_t rows) {
  Bound bound;
  HONE_RETURN_IF_ERROR(bind(model, tensors, arena, &bound));
  HONE_RETURN_IF_ERROR(tell_rows(model, rows));
  return run_steps(bound);
}

// The copy is ordered with the device's commands, so that an earlier call reads the number that it was given.
Status GpuModels::tell_rows(const HoneGpuModel& model, int64_t rows) {
  HONE_ASSIGN_OR_RETURN(DeviceBuffer* const to, rows_buffer(model));
  return to ? device_.write(*to, &rows, sizeof rows) : absl::OkStatus();
}

StatusOr<GpuModels::Own*> GpuModels::own_buffers(const HoneGpuModel& model) {
  if (const auto found = own_.find(&model); found != own_.end()) return &found->second;
  Own made;
  for (int64_t i = 0; i < model.head.param_count; ++i) {
    made.tensors.emplace_back();
    if (cache_of(model, i)) continue;
    HONE_ASSIGN_OR_RETURN(made.tensors.back(),
                          device_.allocate(std::max<int64_t>(1, plain_bytes(model.head.params[i]))));
  }
  if (model.head.workspace_bytes > 0) {
    HONE_ASSIGN_OR_RETURN(made.arena, device_.allocate(model.head.workspace_bytes));
  }
  made.theirs.resize(caches_of(model).size());
  return &own_.emplace(&model, std::move(made)).first->second;
}

// Binds the steps, once and where caches lie elsewhere than in the last call.
Status GpuModels::take_caches(const HoneGpuModel& model, const DLTensor* const* args, Own* own) {
  bool is_same = !own->bound.steps.empty();
  for (size_t c = 0; c < own->theirs.size(); ++c) {
    const HoneGpuCache& cache = caches_of(model)[c];
    const DLTensor& given = *args[cache.output];
    std::unique_ptr<DeviceBuffer> theirs;
    if (given.device.device_type != kDLCPU) {
      HONE_ASSIGN_OR_RETURN(theirs, wrap_tensor(device_, model.head, cache.output, given, cache_bytes(cache)));
    } else if (std::unique_ptr<DeviceBuffer>& room = own->tensors[static_cast<size_t>(cache.output)]; !room) {
      HONE_ASSIGN_OR_RETURN(room, device_.allocate(cache_bytes(cache)));
    }
    const auto native = [](const std::unique_ptr<DeviceBuffer>& b) { return b ? b->native() : nullptr; };
    if (native(theirs) == native(own->theirs[c]) && is_same) continue;
    is_same = false;
    own->bound = Bound{};  // of the buffers of before
    own->theirs[c] = std::move(theirs);
  }
  if (is_same) return absl::OkStatus();
  std::vector<DeviceBuffer*> tensors;
  for (const auto& t : own->tensors) tensors.push_back(t.get());
  for (size_t c = 0; c < own->theirs.size(); ++c) {
    const HoneGpuCache& cache = caches_of(model)[c];
    DeviceBuffer*& room = tensors[static_cast<size_t>(cache.output)];
    if (own->theirs[c]) room = own->theirs[c].get();
    tensors[static_cast<size_t>(cache.input)] = room;
  }
  own->bound.is_repeated = true;
  const Status bound = bind(model, tensors, own->arena.get(), &own->bound);
  if (!bound.ok()) own->bound = Bound{};
  return bound;
}

namespace {

bool is_on_cpu(const HoneGpuCache& c, const DLTensor* const* args) {
  return args[c.output]->device.device_type == kDLCPU;
}

}  // namespace

Status GpuModels::copy_inputs(const HoneGpuModel& model, const DLTensor* const* args, int64_t rows, const Own& own) {
  for (int64_t i = 0; i < model.head.param_count; ++i)
    if (const HoneGpuParam& p = model.head.params[i]; !p.is_output && !cache_of(model, i))
      HONE_RETURN_IF_ERROR(device_.write(*own.tensors[static_cast<size_t>(i)], data_of(*args[i]), plain_bytes(p)));
  for (const HoneGpuCache& c : caches_of(model))
    if (is_on_cpu(c, args))
      HONE_RETURN_IF_ERROR(write_rows(device_, c, *args[c.output], rows, *own.tensors[static_cast<size_t>(c.output)]));
  return tell_rows(model, rows);
}

// Once the steps are done.
Status GpuModels::copy_outputs(const HoneGpuModel& model, const DLTensor* const* args, int64_t rows, const Own& own) {
  for (int64_t i = 0; i < model.head.param_count; ++i)
    if (const HoneGpuParam& p = model.head.params[i]; p.is_output && !cache_of(model, i))
      HONE_RETURN_IF_ERROR(device_.read(*own.tensors[static_cast<size_t>(i)], data_of(*args[i]), plain_bytes(p)));
  for (const HoneGpuCache& c : caches_of(model))
    if (is_on_cpu(c, args))
      HONE_RETURN_IF_ERROR(read_row(device_, c, *own.tensors[static_cast<size_t>(c.output)], rows, *args[c.output]));
  return absl::OkStatus();
}

Status GpuModels::run_plain(const HoneGpuModel& model, const DLTensor* const* args) {
  HONE_ASSIGN_OR_RETURN(const int64_t rows, rows_of(model, args, /*cpu_too=*/true));
  HONE_ASSIGN_OR_RETURN(Own* const own, own_buffers(model));
  HONE_RETURN_IF_ERROR(take_caches(model, args, own));
  HONE_RETURN_IF_ERROR(copy_inputs(model, args, rows, *own));
  HONE_RETURN_IF_ERROR(run_steps(own->bound));
  HONE_RETURN_IF_ERROR(device_.synchronize());
  return copy_outputs(model, args, rows, *own);
}

Status GpuModels::run_part(const HoneGpuPart& part, const DLTensor* const* args) {
  const HoneGpuModel& model = *part.whole;
  HONE_ASSIGN_OR_RETURN(const int64_t rows, rows_of(model, args, /*cpu_too=*/true));
  HONE_ASSIGN_OR_RETURN(Own* const own, own_buffers(model));
  HONE_RETURN_IF_ERROR(take_caches(model, args, own));
  if (part.copies & HONE_GPU_COPY_INPUTS) HONE_RETURN_IF_ERROR(copy_inputs(model, args, rows, *own));
  const auto begin = static_cast<size_t>(part.first_step);
  for (size_t i = begin; i < begin + static_cast<size_t>(part.step_count); ++i) {
    const BoundStep& step = own->bound.steps[i];
    HONE_RETURN_IF_ERROR(step.host ? call_host(step) : launch(own->bound, i, i + 1));
  }
  HONE_RETURN_IF_ERROR(device_.synchronize());
  return part.copies & HONE_GPU_COPY_OUTPUTS ? copy_outputs(model, args, rows, *own) : absl::OkStatus();
}

}  // namespace hone
