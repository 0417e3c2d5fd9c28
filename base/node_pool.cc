#include "base/node_pool.h"

#include <cstdint>
#include <new>

#include "base/sanitizer.h"

namespace hone {

#if !HONE_SANITIZER
namespace {

constexpr size_t kStep = 16, kLargest = 128;  // sizes are rounded up to whole steps; above the largest: plain new
// How many blocks of one size a thread keeps: about as many as a batch of candidates needs.
constexpr uint32_t kMostWaiting = 8192;

struct Block {
  Block* next;
};

struct Waiting {
  Block* first;
  uint32_t count;
};

// Without a destructor, so that using them needs no guard; nodes may outlive the thread's other objects.
constinit thread_local Waiting waiting[kLargest / kStep] = {};
constinit thread_local bool thread_ends = false;

// Returns the thread's kept blocks when it ends.
struct Drain {
  ~Drain() {
    thread_ends = true;
    for (Waiting& w : waiting) {
      while (Block* b = w.first) {
        w.first = b->next;
        ::operator delete(b);
      }
      w.count = 0;
    }
  }
};

void drain_when_thread_ends() { static thread_local Drain drain; }

}  // namespace

void* Pooled::operator new(size_t bytes) {
  if (bytes > kLargest) [[unlikely]]
    return ::operator new(bytes);
  const size_t place = (bytes - 1) / kStep;
  Waiting& w = waiting[place];
  Block* b = w.first;
  if (!b) [[unlikely]]
    return ::operator new((place + 1) * kStep);
  w.first = b->next;
  --w.count;
  return b;
}

void Pooled::operator delete(void* block, size_t bytes) noexcept {
  if (!block) return;
  if (bytes > kLargest) [[unlikely]]
    return ::operator delete(block);
  Waiting& w = waiting[(bytes - 1) / kStep];
  if (w.count == 0) [[unlikely]]
    drain_when_thread_ends();
  if (thread_ends || w.count == kMostWaiting) [[unlikely]]
    return ::operator delete(block);
  w.first = new (block) Block{w.first};
  ++w.count;
}

#else

void* Pooled::operator new(size_t bytes) { return ::operator new(bytes); }
void Pooled::operator delete(void* block, size_t) noexcept { ::operator delete(block); }

#endif

}  // namespace hone
