// The search thread: it reports outcomes to searchers, updates the model, proposes, and lowers the proposals, so that
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

/// The search of one task. Space, candidates and searcher are used by the worker only, while it lives.
struct SearchedTask {
  const Space* space = nullptr;
  CandidateSource* candidates = nullptr;
  Searcher* searcher = nullptr;
  /// Hashes of programs that need no measuring; the worker adds the programs that it proposes.
  std::unordered_set<std::string> programs;
};

/// Executes requests in the order given, so that proposals depend on that order and on nothing else.
class SearchWorker {
 public:
  struct Prepared {
    std::shared_ptr<const Candidate> candidate;
    std::optional<float> predicted;  ///< predicted by the model; nothing when it made no prediction
    bool fresh = true;               ///< its program was not proposed before, or it could not be lowered
  };
  struct Answer {
    size_t task = 0;
    std::vector<Prepared> items;
    bool exhausted = false;  ///< of a proposal: the space has no new program
  };
  /// Seconds of work, including waits for timed runs on this host.
  struct Spent {
    double propose = 0, prepare = 0, learn = 0;
  };

  /// `tasks`, `cores` and `clock` outlive the worker. `on_answer` is called on the worker's thread whenever there is
  /// something to take().
  SearchWorker(std::vector<SearchedTask> tasks, CoreSharing& cores, const Clock& clock,
               std::function<void()> on_answer);
  /// Drops all requests, and waits for the current one to end.
  ~SearchWorker();
  SearchWorker(const SearchWorker&) = delete;
  SearchWorker& operator=(const SearchWorker&) = delete;

  // Requests, executed in this order. None of these calls waits.

  /// Reports outcomes to a task's searcher. Has no answer.
  void report(size_t task, std::vector<Observation> outcomes);
  /// Answers with `n` fresh candidates, or fewer when the space has no more; and with the candidates met on the way
  /// whose program is known. The default goes first if `default_first`.
  void propose(size_t task, size_t n, bool default_first);
  /// Answers with the candidates of these configs, all marked fresh.
  void prepare(size_t task, std::vector<Config> configs);

  /// The oldest answer not taken yet; null when there is none. After an error (a bug in a searcher) no more answers
  /// come.
  StatusOr<std::unique_ptr<Answer>> take();
  /// Waits until there is an answer to take, or no request is left, or `at_most` (real time) has passed.
  void wait(std::chrono::milliseconds at_most);
  /// Drops requests that have not begun, and answers not taken. The current request ends without an answer when it
  /// yields next; its task's searcher may have got only a part of the outcomes.
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
  uint64_t generation_ = 0;  // drop() starts a new one
  Spent spent_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace hone
