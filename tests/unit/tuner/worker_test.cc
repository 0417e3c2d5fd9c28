#include "tuner/session/worker.h"

#include <gtest/gtest.h>

#include "tests/fakes/eventually.h"
#include "tests/unit/tuner/fakes.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

// Proposes the space in order, records the outcomes reported to it, and stops at a gate while that is closed.
class Scripted final : public Searcher {
 public:
  explicit Scripted(const Space& space) : space_(space) {}
  std::vector<Proposal> propose(size_t n) override {
    std::unique_lock lock(mutex);
    log.push_back("propose " + std::to_string(n));
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    std::vector<Proposal> out;
    while (out.size() < n)
      if (auto c = space_.next_valid(&at_))
        out.push_back({*c, 1.5F});
      else
        break;
    return out;
  }
  void report(const std::vector<Observation>& outcomes) override {
    const std::lock_guard lock(mutex);
    log.push_back("report " + std::to_string(outcomes.size()));
  }
  void wait_until_asked() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !log.empty(); });
  }
  void set_open(bool value) {
    const std::lock_guard lock(mutex);
    open = value;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> log;
  bool open = true;

 private:
  const Space& space_;
  ConfigIndex at_ = 0;
};

struct WorkerBench {
  explicit WorkerBench(int configs) : space(toy::small_space(configs)), candidates(space), searcher(space) {}
  std::unique_ptr<SearchWorker> worker(std::unordered_set<std::string> programs = {}) {
    std::vector<SearchedTask> tasks;
    tasks.push_back({&space, &candidates, &searcher, std::move(programs)});
    return std::make_unique<SearchWorker>(std::move(tasks), cores, clock, [this] { ++answers; });
  }
  static std::unique_ptr<SearchWorker::Answer> next(SearchWorker& worker) {
    for (;;) {
      auto answer = worker.take();
      EXPECT_TRUE(answer.ok()) << answer.status();
      if (!answer.ok() || *answer) return answer.ok() ? *std::move(answer) : nullptr;
      worker.wait(milliseconds(1000));
    }
  }

  Space space;
  toy::FakeCandidates candidates;
  Scripted searcher;
  NoCoreSharing cores;
  FakeClock clock;
  std::atomic<int> answers{0};
};

TEST(SearchWorker, DoesWhatItIsToldInOrder) {
  WorkerBench b(100);
  auto worker = b.worker();
  worker->report(0, std::vector<Observation>(3));
  worker->propose(0, 4, false);
  worker->report(0, std::vector<Observation>(2));
  worker->propose(0, 5, false);
  EXPECT_EQ(WorkerBench::next(*worker)->items.size(), 4u);
  const auto second = WorkerBench::next(*worker);
  ASSERT_EQ(second->items.size(), 5u);
  EXPECT_EQ(second->items[0].candidate->config_text, "a=4");
  EXPECT_EQ(second->items[0].predicted, 1.5F);
  EXPECT_EQ(b.searcher.log, (std::vector<std::string>{"report 3", "propose 4", "report 2", "propose 5"}));
  worker.reset();  // an answer can be taken before its callback has run
  EXPECT_EQ(b.answers, 2);
}

TEST(SearchWorker, TheDefaultGoesFirst) {
  WorkerBench b(100);
  auto worker = b.worker();
  worker->propose(0, 3, true);
  const auto answer = WorkerBench::next(*worker);
  ASSERT_EQ(answer->items.size(), 4u);
  EXPECT_EQ(answer->items[0].candidate->config, b.space.default_config());
  EXPECT_FALSE(answer->items[1].fresh) << "the searcher proposed it too: the same program";
}

TEST(SearchWorker, GoesOnUntilEnoughProgramsAreNew) {
  WorkerBench b(100);
  b.candidates.programs = 10;  // config a has program a modulo 10
  auto worker = b.worker({Hash128{1, 0}.hex(), Hash128{1, 1}.hex()});
  worker->propose(0, 4, false);
  const auto answer = WorkerBench::next(*worker);
  size_t fresh = 0;
  for (const SearchWorker::Prepared& p : answer->items) fresh += p.fresh;
  EXPECT_EQ(fresh, 4u);
  EXPECT_EQ(answer->items.size(), 6u) << "two programs were known";
  EXPECT_FALSE(answer->exhausted);
}

TEST(SearchWorker, SaysWhenNothingNewIsLeft) {
  WorkerBench b(5);
  auto worker = b.worker();
  worker->propose(0, 8, false);
  const auto answer = WorkerBench::next(*worker);
  EXPECT_EQ(answer->items.size(), 5u);
  EXPECT_TRUE(answer->exhausted);
}

TEST(SearchWorker, CandidatesThatCannotBeLoweredAreFresh) {
  WorkerBench b(10);
  b.candidates.broken_every = 2;
  auto worker = b.worker();
  worker->propose(0, 10, false);
  const auto answer = WorkerBench::next(*worker);
  for (const SearchWorker::Prepared& p : answer->items) EXPECT_TRUE(p.fresh);
}

TEST(SearchWorker, ForgetsWhatItIsToldToDrop) {
  WorkerBench b(100);
  auto worker = b.worker();
  b.searcher.set_open(false);
  worker->propose(0, 2, false);
  b.searcher.wait_until_asked();
  worker->propose(0, 3, false);
  worker->drop();
  worker->prepare(0, {b.space.default_config()});
  b.searcher.set_open(true);
  const auto answer = WorkerBench::next(*worker);
  EXPECT_EQ(answer->items.size(), 1u) << "the answer to prepare()";
  EXPECT_EQ(b.searcher.log, std::vector<std::string>{"propose 2"});
}

TEST(SearchWorker, WhatIsBeingDoneEndsWhenItIsDropped) {
  struct Endless final : Searcher {
    explicit Endless(CoreSharing& c) : cores(c) {}
    std::vector<Proposal> propose(size_t) override { return {}; }
    void report(const std::vector<Observation>&) override {
      began = true;
      for (int i = 0; i < 10'000; ++i) {
        cores.yield();
        std::this_thread::sleep_for(milliseconds(1));  // work, ten seconds of it
      }
      came_to_its_end = true;
    }
    CoreSharing& cores;
    std::atomic<bool> began = false, came_to_its_end = false;
  };
  WorkerBench b(10);
  Endless searcher(b.cores);
  std::vector<SearchedTask> tasks;
  tasks.push_back({&b.space, &b.candidates, &searcher, {}});
  auto worker = std::make_unique<SearchWorker>(std::move(tasks), b.cores, b.clock, [] {});
  const auto begin = [&] {
    searcher.began = false;
    worker->report(0, {});
    EXPECT_TRUE(eventually([&] { return searcher.began.load(); }));
  };
  begin();
  worker->drop();
  worker->prepare(0, {b.space.default_config()});
  EXPECT_EQ(WorkerBench::next(*worker)->items.size(), 1u) << "what it is told next is done";
  begin();
  worker.reset();
  EXPECT_FALSE(searcher.came_to_its_end);
  EXPECT_NO_THROW(b.cores.yield()) << "others share the cores as before";
}

TEST(SearchWorker, EndsWithoutFinishingWhatItWasTold) {
  WorkerBench b(100);
  auto worker = b.worker();
  b.searcher.set_open(false);
  worker->propose(0, 2, false);
  b.searcher.wait_until_asked();
  for (int i = 0; i < 100; ++i) worker->propose(0, 1, false);
  b.searcher.set_open(true);
  worker.reset();
  EXPECT_LE(b.searcher.log.size(), 101u);
}

TEST(SearchWorker, WaitingEndsWhenThereIsNothingToDo) {
  WorkerBench b(100);
  auto worker = b.worker();
  worker->report(0, {});
  worker->wait(std::chrono::hours(1));
  EXPECT_EQ(*worker->take(), nullptr);
}

}  // namespace
}  // namespace hone
