// Shared by the files of the fake CUDA driver: its state, what is alive, and how commands are sent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "compiler/runtime/launcher/cuda_functions.h"
#include "tests/fakes/fake_cuda.h"
#include "tests/fakes/fake_cuda/memory.h"
#include "tests/fakes/fake_cuda/streams.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace hone::fake_driver {

inline FakeCuda* state = new FakeCuda();  // never freed: the library stays loaded

struct Module {
  std::string image;
};
struct Function {
  std::string name;
  int max_dynamic = 48 << 10;
};
inline constexpr const char* kKernels[] = {"scale", "crash", "wide"};

#ifdef HONE_FAKE_ADDS
inline constexpr bool kAdds = true;
#else
inline constexpr bool kAdds = false;
#endif
inline constexpr unsigned kCrashingBlocks = 20;

// One call at a time, as drivers do it inside.
inline std::recursive_mutex mutex;
using Locked = std::lock_guard<std::recursive_mutex>;

// A thread's contexts; the last one is current.
inline thread_local std::vector<void*> contexts;

inline void* current() { return contexts.empty() ? nullptr : contexts.back(); }

// Records the call and returns its code.
inline int called(const std::string& name, const std::string& arguments = "") {
  state->calls.push_back(arguments.empty() ? name : name + " " + arguments);
  if (state->broken) return state->broken;
  const auto failure = state->failures.find(name);
  return failure == state->failures.end() ? 0 : failure->second;
}

// The same of a call that is of the current context.
inline int called_in_context(const std::string& name, const std::string& arguments = "") {
  if (!current()) ++state->outside;
  return called(name, arguments);
}

// Something that a program must not do: recorded, and refused.
inline int refuse(const std::string& what, int code = 1) { return state->wrong.push_back(what), code; }

// --- what there is ---

inline Memory memory;
inline std::map<void*, std::shared_ptr<Stream>> default_streams;  // by context
inline std::map<void*, std::shared_ptr<Stream>> streams;          // by handle
inline std::map<void*, std::unique_ptr<Event>> events;
inline std::map<void*, std::unique_ptr<Graph>> graphs;
inline std::map<void*, std::unique_ptr<GraphExec>> execs;

// Null for a handle of nothing that is alive.
inline std::shared_ptr<Stream> stream_of(void* handle) {
  if (!handle) {
    std::shared_ptr<Stream>& s = default_streams[current()];
    if (!s) s = std::make_shared<Stream>(), s->context = current();
    return s;
  }
  const auto found = streams.find(handle);
  if (found == streams.end()) return refuse("a stream that is not alive"), nullptr;
  if (found->second->context != current()) return refuse("a stream of another context"), nullptr;
  return found->second;
}
inline Event* event_of(void* handle) {
  const auto found = events.find(handle);
  return found == events.end() ? (refuse("an event that is not alive"), nullptr) : found->second.get();
}
inline Graph* graph_of(void* handle) {
  const auto found = graphs.find(handle);
  return found == graphs.end() ? (refuse("a graph that is not alive"), nullptr) : found->second.get();
}
inline GraphExec* exec_of(void* handle) {
  const auto found = execs.find(handle);
  return found == execs.end() ? (refuse("an executable graph that is not alive"), nullptr) : found->second.get();
}

// Whether a command of the current context may use the memory; what may not is refused.
inline bool may_use(const void* from, size_t bytes, void* context) {
  const std::string wrong = memory.wrong_with(from, bytes, context);
  return wrong.empty() || (refuse(wrong), false);
}

// --- work ---

inline constexpr int kInvalidHandle = 400, kIllegalAddress = 700;

inline void send(const std::shared_ptr<Stream>& s, bool is_default, Work work) {
  s->send(std::move(work));
  if (state->order == FakeOrder::kAtOnce || (state->order == FakeOrder::kOthersFirst && !is_default)) s->run_all();
}

// To the stream's queue, or to what it records. A null stream, the default one, records nothing.
inline int do_or_record(void* handle, Work work) {
  const std::shared_ptr<Stream> s = stream_of(handle);
  if (!s) return kInvalidHandle;
  if (s->recording) {
    auto node = std::make_unique<Node>();
    node->work = std::move(work);
    if (!s->recording->nodes.empty()) node->after = {s->recording->nodes.back().get()};
    return s->recording->nodes.push_back(std::move(node)), 0;
  }
  state->streams_used.push_back(handle);
  return send(s, !handle, std::move(work)), 0;
}

// Functions without a stream wait for the default stream, and for those that wait for it.
inline void finish_default() {
  stream_of(nullptr)->run_all();
  for (const auto& [handle, s] : streams)
    if (s->is_blocking && s->context == current()) s->run_all();
}

inline Work copying(void* to, const void* from, size_t bytes) {
  return [=, context = current()] {
    if (!may_use(to, bytes, context) || !may_use(from, bytes, context)) return state->pending = kIllegalAddress, 0;
    return std::memcpy(to, from, bytes), 0;
  };
}

template <class T = void>
T* at(unsigned long long address) {
  return reinterpret_cast<T*>(address);
}

inline int waited(int code) {
  if (state->pending) state->broken = state->pending;
  return state->broken ? state->broken : code;
}

// A launch, with its arguments as they are now; no work where it is refused.
inline int make_launch(const std::string& called_as, const CuKernelNode& k, Work* work) {
  const auto& f = *static_cast<Function*>(k.function);
  const unsigned threads = k.grid_x * k.block_x;
  if (const int code =
          called_in_context(called_as, f.name + " " + std::to_string(k.grid_x) + "x" + std::to_string(k.block_x) + " " +
                                           std::to_string(k.dynamic_bytes)))
    return code;
  if (k.grid_y != 1 || k.grid_z != 1 || k.block_y != 1 || k.block_z != 1 || k.extra ||
      static_cast<int>(k.dynamic_bytes) + 1024 > std::max(f.max_dynamic + 1024, 48 << 10))
    return 1;
  std::vector<float*> buffers;
  for (int i = 0; i < (f.name == "add" ? 3 : f.name == "scale" ? 2 : 0); ++i)
    buffers.push_back(at<float>(*static_cast<unsigned long long*>(k.parameters[i])));
  *work = [=, name = f.name, context = current(),
           is_crash = f.name == "crash" || (kAdds && k.grid_x == kCrashingBlocks)] {
    state->now_ms += state->kernel_ms;
    if (is_crash) return state->pending = kIllegalAddress, 0;
    for (const float* b : buffers)
      if (!may_use(b, threads * sizeof(float), context)) return state->pending = kIllegalAddress, 0;
    for (unsigned i = 0; i < threads; ++i) {
      if (name == "add") buffers[2][i] = buffers[0][i] + buffers[1][i];
      if (name == "scale") buffers[1][i] = 2 * buffers[0][i];
    }
    return 0;
  };
  return 0;
}

}  // namespace hone::fake_driver
