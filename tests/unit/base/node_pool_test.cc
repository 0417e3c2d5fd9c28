#include "base/node_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "base/ref.h"

namespace hone {
namespace {

template <size_t Bytes>
struct Node final : RefCounted, Pooled {
  std::array<unsigned char, Bytes> bytes;
  explicit Node(unsigned char fill) { bytes.fill(fill); }
  bool holds(unsigned char fill) const {
    for (unsigned char b : bytes)
      if (b != fill) return false;
    return true;
  }
};

TEST(NodePool, LiveBlocksNeverOverlap) {
  std::vector<std::unique_ptr<Node<20>>> small;
  std::vector<std::unique_ptr<Node<100>>> large;
  std::vector<std::unique_ptr<Node<1000>>> unpooled;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 10'000; ++i) {
      const auto fill = static_cast<unsigned char>(i);
      small.push_back(std::make_unique<Node<20>>(fill));
      large.push_back(std::make_unique<Node<100>>(fill));
      unpooled.push_back(std::make_unique<Node<1000>>(fill));
    }
    for (int i = 0; i < 10'000; ++i) {
      const auto fill = static_cast<unsigned char>(i);
      ASSERT_TRUE(small[static_cast<size_t>(i)]->holds(fill) && large[static_cast<size_t>(i)]->holds(fill) &&
                  unpooled[static_cast<size_t>(i)]->holds(fill));
    }
    small.clear();
    large.clear();
    unpooled.clear();
  }
}

TEST(NodePool, NodesMayBeFreedOnOtherThreads) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Ref<const Node<40>>> made(4000);
    std::thread([&] {
      for (size_t i = 0; i < made.size(); ++i)
        made[i] = Ref<const Node<40>>(new Node<40>(static_cast<unsigned char>(i)));
    }).join();
    std::vector<std::thread> threads;  // each holds all of them for a while; the last to let go frees
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([mine = made] {
        for (size_t i = 0; i < mine.size(); ++i) ASSERT_TRUE(mine[i]->holds(static_cast<unsigned char>(i)));
      });
    made.clear();
    for (std::thread& t : threads) t.join();
  }
}

TEST(Ref, TheLastOwnerFrees) {
  struct Counted final : RefCounted {
    int* alive;
    explicit Counted(int* a) : alive(a) { ++*alive; }
    ~Counted() { --*alive; }
  };
  int alive = 0;
  {
    Ref<Counted> a(new Counted(&alive));
    Ref<Counted> b = a, c = b;
    a = nullptr;
    c = nullptr;
    EXPECT_EQ(alive, 1);
    Ref<Counted> d = std::move(b);
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace hone
