#include "tests/fuzz/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace hone::fuzz {
namespace {

constexpr std::byte kFence{0xC3};
size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

GuardedMemory::GuardedMemory(int64_t bytes, Side side)
    : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), bytes_(static_cast<size_t>(bytes)) {
  room_ = std::max(round_up(bytes_, page_), page_);
  void* map = mmap(nullptr, room_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<std::byte*>(map);
  if (mprotect(map_ + page_, room_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  data_ = map_ + page_ + (side == Side::kLeft ? 0 : room_ - round_up(bytes_, 64));
  std::memset(map_ + page_, static_cast<int>(kFence), room_);
  std::memset(data_, 0, bytes_);
}

GuardedMemory::~GuardedMemory() { munmap(map_, room_ + 2 * page_); }

void GuardedMemory::make_read_only() { mprotect(map_ + page_, room_, PROT_READ); }

bool GuardedMemory::intact() const {
  const auto is_fence = [](std::byte b) { return b == kFence; };
  return std::all_of(map_ + page_, data_, is_fence) && std::all_of(data_ + bytes_, map_ + page_ + room_, is_fence);
}

}  // namespace hone::fuzz
