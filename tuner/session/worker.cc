#include "tuner/session/worker.h"

#include <fmt/format.h>

#include "tuner/measure/core_sharing.h"

namespace hone {
namespace {

// Give up after this many configs in a row whose programs were known already.
constexpr size_t kMostKnown = 2000;

void expect(const SearchedTask& task, const std::vector<Proposal>& proposals) {
  std::vector<Config> configs;
  for (const Proposal& p : proposals) configs.push_back(p.config);
  task.candidates->expect(configs);
}

}  // namespace

SearchWorker::SearchWorker(std::vector<SearchedTask> tasks, CoreSharing& cores, const Clock& clock,
                           std::function<void()> on_answer)
    : tasks_(std::move(tasks)), cores_(cores), clock_(clock), on_answer_(std::move(on_answer)), thread_([this] {
        run();
      }) {}

SearchWorker::~SearchWorker() {
  drop();
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SearchWorker::report(size_t task, std::vector<Observation> outcomes) {
  enqueue([this, task, outcomes = std::move(outcomes)]() -> std::unique_ptr<Answer> {
    const double start = now();
    tasks_[task].searcher->report(outcomes);
    spend(&Spent::learn, now() - start);
    return nullptr;
  });
}

void SearchWorker::propose(size_t task, size_t n, bool default_first) {
  enqueue([=, this] { return std::make_unique<Answer>(propose_now(task, n, default_first)); });
}

void SearchWorker::prepare(size_t task, std::vector<Config> configs) {
  enqueue([this, task, configs = std::move(configs)] {
    const double start = now();
    auto answer = std::make_unique<Answer>();
    answer->task = task;
    tasks_[task].candidates->expect(configs);
    for (const Config& c : configs) answer->items.push_back({tasks_[task].candidates->prepare(c), std::nullopt, true});
    spend(&Spent::prepare, now() - start);
    return answer;
  });
}

SearchWorker::Answer SearchWorker::propose_now(size_t index, size_t n, bool default_first) {
  SearchedTask& task = tasks_[index];
  Answer answer;
  answer.task = index;
  size_t fresh = 0, known_in_a_row = 0;
  const auto add = [&](const Config& config, std::optional<float> predicted) {
    answer.items.push_back(prepared(task, config, predicted));
    if (answer.items.back().fresh) {
      ++fresh;
      known_in_a_row = 0;
    } else {
      ++known_in_a_row;
    }
  };
  if (default_first) add(task.space->default_config(), std::nullopt);
  while (fresh < n && known_in_a_row < kMostKnown) {
    double start = now();
    const std::vector<Proposal> proposals = task.searcher->propose(n - fresh);
    spend(&Spent::propose, now() - start);
    if (proposals.empty()) {
      answer.exhausted = true;
      break;
    }
    start = now();
    expect(task, proposals);
    for (const Proposal& p : proposals) add(p.config, p.predicted);
    spend(&Spent::prepare, now() - start);
  }
  if (known_in_a_row >= kMostKnown) answer.exhausted = true;
  return answer;
}

SearchWorker::Prepared SearchWorker::prepared(SearchedTask& task, const Config& config,
                                              std::optional<float> predicted) {
  Prepared p{task.candidates->prepare(config), predicted, true};
  if (p.candidate->error.empty()) p.fresh = task.programs.insert(p.candidate->hash.hex()).second;
  return p;
}

void SearchWorker::run() {
  for (;;) {
    Work work;
    uint64_t generation = 0;
    {
      std::unique_lock lock(mutex_);
      busy_ = false;
      cores_.stop(false);
      changed_.notify_all();
      changed_.wait(lock, [&] { return leaving_ || !work_.empty(); });
      if (leaving_) return;
      work = std::move(work_.front());
      work_.pop_front();
      busy_ = true;
      generation = generation_;
    }
    // No exception leaves the thread.
    std::unique_ptr<Answer> answer;
    Status failed;
    try {
      const CoreWork sharing(cores_);
      answer = work();
    } catch (const WorkStopped&) {
      // Stopped: the answer is dropped, no caller waits for it.
    } catch (const std::exception& e) {
      failed = absl::InternalError(fmt::format("the search failed: {}", e.what()));
    }
    work = nullptr;
    if (!answer && failed.ok()) continue;
    {
      const std::lock_guard lock(mutex_);
      if (generation != generation_) continue;
      if (failed.ok()) {
        answers_.push_back(std::move(answer));
      } else {
        work_.clear();
        answers_.push_back(failed);
      }
      changed_.notify_all();
    }
    on_answer_();
  }
}

void SearchWorker::enqueue(Work work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

StatusOr<std::unique_ptr<SearchWorker::Answer>> SearchWorker::take() {
  const std::lock_guard lock(mutex_);
  if (answers_.empty()) return nullptr;
  StatusOr<std::unique_ptr<Answer>> answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

void SearchWorker::wait(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, at_most, [&] { return !answers_.empty() || (work_.empty() && !busy_); });
}

void SearchWorker::drop() {
  const std::lock_guard lock(mutex_);
  work_.clear();
  answers_.clear();
  ++generation_;
  if (busy_) cores_.stop(true);
}

SearchWorker::Spent SearchWorker::spent() const {
  const std::lock_guard lock(mutex_);
  return spent_;
}

void SearchWorker::spend(double Spent::*on, double seconds) {
  const std::lock_guard lock(mutex_);
  spent_.*on += seconds;
}

}  // namespace hone
