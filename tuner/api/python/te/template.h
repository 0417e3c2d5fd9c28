// A template in Python: a function that asks for knobs and returns a schedule, with its other arguments given.
#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "compiler/ops/user_operator.h"
#include "tuner/api/python/call_limit.h"
#include "tuner/api/python/te/knobs.h"
#include "tuner/api/python/te/schedule.h"

namespace hone::python {

/// Its space on one target. All methods want the GIL.
class PyTemplate {
 public:
  using Attributes = std::vector<std::pair<std::string, std::string>>;

  /// `function(knobs)` returns a te.Schedule. `seconds`: the most that one call takes; nothing: no limit. Calls the
  /// function with its defaults, and twice with these and a few other choices. Raises what it raises with its defaults;
  /// UserError, one line, where the defaults break a requirement or cannot be compiled, and for a function whose
  /// schedules depend on more than its choices.
  PyTemplate(std::string name, int revision, pybind11::object function, Attributes attributes, const Target& target,
             std::optional<double> seconds);

  /// The answer to a question of hone_compiler.h.
  std::string answer(const std::string& question);

  const Space& space() const { return *space_; }
  const Target& target() const { return target_; }
  std::string workload() const { return to_string(workload_); }
  /// The schedule of a config's text. Raises what the template raises. UserError for a config that is none.
  PySchedule schedule(const std::string& config);
  struct Choice {
    std::string config, source, skipped;
  };
  /// As choose_config(): `db` as HubOptions has it.
  Choice choose(const std::string& db) const;

 private:
  struct Outcome {
    std::string broken;  ///< it is not of the space
    std::string error;   ///< it is, and has no schedule
    std::string steps;
    bool operator==(const Outcome&) const = default;
  };
  PySchedule returned(const pybind11::object& result) const;
  pybind11::object call(KnobCalls calls, Knobs& knobs);
  void declare();
  Settled settle(const Space& space, const Config& config);
  PySchedule apply(const Space& space, const Config& config);
  std::string broken_in(const Space& space, const Config& config);
  // `space`: of these knobs, whatever it is called. One whose call was ended is not called again.
  Outcome outcome(const Space& space, const Config& config);
  Space make_space(const std::string& program);
  void check_repeats();
  void check_default();
  Json told() const;

  const std::string name_;
  const int revision_;
  const pybind11::object function_;
  const Attributes attributes_;
  const Target target_;
  std::unique_ptr<CallLimit> limit_;
  std::vector<KnobQuestion> calls_;  // of its knobs, as the first call made them
  std::vector<Knob> knobs_;
  std::set<ConfigIndex> endless_;
  std::map<ConfigIndex, std::string> broken_;  ///< of configs that were asked for: the constraint that each breaks
  std::string odd_;                            // how a later call differed; empty: none did
  std::string program_;
  std::shared_ptr<const Definition> definition_;
  std::string definition_text_;
  std::optional<Space> space_;
  Workload workload_;
};

void bind_templates(pybind11::module_& m);

}  // namespace hone::python
