// A CUDA driver without a GPU: a shared object with the functions of compiler/runtime/launcher/cuda_functions.h over
// host memory. It records calls, counts live objects and fails where a test wants it to. Its only kernels are `scale`
// (two buffers of floats, the second becomes twice the first) and `crash` (an illegal address, reported by the next
// call that waits and by every call after it). Built with HONE_FAKE_ADDS, for programs that are tested whole, it takes
// every cubin and PTX text for one that adds two buffers of floats into a third; with 20 blocks, it crashes. It is
// strict: what was freed, is of another context or of another graph is refused, and said in `wrong`. Threads may call
// it at once; a test reads the state when none does.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hone {

/// When the commands of a stream run. Where streams are not tied to each other as they have to be, results differ.
enum class FakeOrder {
  kAtOnce,       ///< when they are sent
  kWhenWaited,   ///< when somebody waits for them, and no others
  kOthersFirst,  ///< those of the default stream when somebody waits for them, the others at once
};

struct FakeCuda {
  FakeOrder order = FakeOrder::kAtOnce;
  int devices = 2;
  int version = 13000;
  /// CUdevice_attribute -> value; others are 0. Much like an H100: threads, grid, shared memory, warp, multiprocessors,
  /// L2, capability, shared memory on request.
  std::map<int, int> attributes = {{1, 1024},     {5, 0x7fffffff}, {8, 48 << 10}, {10, 32},       {16, 132},
                                   {38, 1 << 20}, {75, 9},         {76, 0},       {97, 227 << 10}};
  std::map<std::string, int> failures;      ///< function -> the code that it answers with
  double kernel_ms = 0.25;                  ///< each launch takes so long by the events' clock
  bool is_never_ready = false;              ///< streams never become so: as behind a kernel that does not end
  std::map<void*, int> contexts_of_others;  ///< made by a program itself -> the device's handle (40 + its number)

  std::vector<std::string> calls;   ///< "cuMemAlloc 64", in order; those that only ask are left out
  std::vector<void*> streams_used;  ///< by launches, graphs and copies that were not recorded, in order
  int pageable = 0;                 ///< copies of memory that is not pinned, for which the host waits
  int outside = 0;                  ///< calls that need a context, made by a thread that had none
  std::vector<std::string> wrong;   ///< faults that a driver may end a program for
  int contexts = 0, modules = 0, buffers = 0, pinned = 0, events = 0, streams = 0, graphs = 0;  ///< alive
  int broken = 0;   ///< every call's answer after a crashed kernel
  int pending = 0;  ///< the same before anyone waited
  double now_ms = 0;
};

/// The function that the shared object exports: it returns the state, new at every call.
using FakeCudaReset = FakeCuda* (*)();
inline constexpr const char* kFakeCudaReset = "fake_cuda_reset";

}  // namespace hone
