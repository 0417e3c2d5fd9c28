// A caller's template (HoneTemplate), as the tuner knows one: its questions and answers, remembered.
// hone_compiler.h has the questions; the texts in the answers are those of compiler/ops/definition_text.h and of
// compiler/schedule/steps_text.h.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "compiler/ops/user_operator.h"
#include "compiler/target/target.h"
#include "tuner/api/hone_compiler.h"
#include "tuner/search/moves.h"

namespace hone::api {

/// May be asked from several threads, which take turns. Answers are remembered by config.
class TemplateCalls {
 public:
  /// `given` outlives this object.
  explicit TemplateCalls(const HoneTemplate& given);

  /// The operator on `target`, whose template asks this object. UserError for what the caller refuses, and for answers
  /// that are none.
  Workload workload(const Target& target);
  /// Whether the caller has said HONE_STOPPED: the session is to end, too.
  bool is_stopped() const { return stopped_; }

 private:
  struct Applied {
    std::string steps, error;
  };
  /// Throws WorkStopped when the caller says HONE_STOPPED.
  Json ask(const Json& question);
  Json ask_about(const char* what, const Space& space, std::span<const Config> configs);
  Settled settle(const Space& space, const Config& config);
  std::unique_ptr<Schedule> apply(const Space& space, const Config& config);
  void expect(const Space& space, std::span<const Config> configs);

  const HoneTemplate given_;
  std::atomic<bool> stopped_ = false;
  Definition definition_;
  std::mutex asking_;  // one question at a time
  std::mutex known_;   // both below; never held while a question is asked
  std::unordered_map<ConfigIndex, Settled, HashIndex> settled_;
  std::unordered_map<ConfigIndex, Applied, HashIndex> applied_;
};

}  // namespace hone::api
