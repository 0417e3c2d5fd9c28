// Waiting for what another thread or process must bring about.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace hone {

/// Whether `condition()` comes to hold. It is asked at once, then every few milliseconds, and once more when `patience`
/// is over. That is no time which a test asserts, only how long one takes to fail where nothing comes: so long that a
/// machine with much else to do stays within it. The condition itself must lock what it reads of other threads.
template <class Condition>
[[nodiscard]] bool eventually(const Condition& condition, std::chrono::seconds patience = std::chrono::seconds(120)) {
  constexpr std::chrono::milliseconds kLongest{20};  // between two questions
  std::chrono::milliseconds pause{1};
  for (const auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongest);
  }
  return condition();
}

}  // namespace hone
