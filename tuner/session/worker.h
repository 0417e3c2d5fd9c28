// The thread that searches: it hears of outcomes, updates the model, proposes, and lowers what was proposed, so that
// the loop that takes, stores and acknowledges results never waits for it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "tuner/measure/candidate.h"
#include "tuner/search/searcher.h"

namespace hone {

/// What is searched. Space, candidates and searcher are the worker's alone while it lives.
struct SearchedTask {
  const Space* space = nullptr;
  CandidateSource* candidates = nullptr;
  Searcher* searcher = nullptr;
  /// Hashes of those that need no measuring; the worker adds what it proposes.
  std::unordered_set<std::string> programs;
};

/// Does what it is told in the order told, so that what is proposed depends on that order and on nothing else.
class SearchWorker {
 public:
  struct Prepared {
    std::shared_ptr<const Candidate> candidate;
    std::optional<float> predicted;  ///< by the model; nothing when it did not guess
    bool fresh = true;               ///< its program was not proposed before, or it could not be lowered
  };
  struct Answer {
    size_t task = 0;
    std::vector<Prepared> items;
    bool exhausted = false;  ///< of a proposal: nothing new is left
  };
  /// Seconds of work, waits for timed runs on this host included.
  struct Spent {
    double propose = 0, prepare = 0, learn = 0;
  };

  /// `tasks`, `cores` and `clock` outlive the worker. `on_answer` is called on the worker's thread whenever there is
  /// something to take().
  SearchWorker(std::vector<SearchedTask> tasks, CoreSharing& cores, const Clock& clock,
               std::function<void()> on_answer);
  /// Drops what it was told, and waits for what is being done to end.
  ~SearchWorker();
  SearchWorker(const SearchWorker&) = delete;
  SearchWorker& operator=(const SearchWorker&) = delete;

  // What to do, in this order. None of them waits.

  /// Tells a task's searcher what came of configs. Gives no answer.
  void report(size_t task, std::vector<Observation> outcomes);
  /// Answers with fresh candidates, `n` or, where the space has no more, fewer; and with those met on the way whose
  /// program is known. The default goes first if `default_first`.
  void propose(size_t task, size_t n, bool default_first);
  /// Answers with these configs' candidates, all fresh.
  void prepare(size_t task, std::vector<Config> configs);

  /// The oldest answer not taken yet; null when there is none. After an error (a bug in a searcher) no more answers
  /// come.
  StatusOr<std::unique_ptr<Answer>> take();
  /// Waits until there is something to take, or nothing left to do, or `at_most` (real time) has passed.
  void wait(std::chrono::milliseconds at_most);
  /// Forgets what it was told and has not begun, and answers not taken. What is being done ends, unanswered, when it
  /// breathes next; its task's searcher may have heard of a part only.
  void drop();
  Spent spent() const;

 private:
  using Work = std::function<std::unique_ptr<Answer>()>;  // null: no answer
  void run();
  void enqueue(Work work);
  Answer propose_now(size_t task, size_t n, bool default_first);
  Prepared prepared(SearchedTask& task, const Config& config, std::optional<float> predicted);
  double now() const { return std::chrono::duration<double>(clock_.now().time_since_epoch()).count(); }
  void spend(double Spent::*on, double seconds);

  std::vector<SearchedTask> tasks_;
  CoreSharing& cores_;
  const Clock& clock_;
  const std::function<void()> on_answer_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All below under mutex_.
  std::deque<Work> work_;
  std::deque<StatusOr<std::unique_ptr<Answer>>> answers_;
  bool busy_ = false, leaving_ = false;
  uint64_t generation_ = 0;  // drop() begins a new one
  Spent spent_;
  std::thread thread_;  // last: it sees all of the above
};

}  // namespace hone
