#include "tuner/api/python/te/template.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <random>

#include "base/check.h"
#include "base/key.h"
#include "base/text.h"
#include "compiler/build/choose_config.h"
#include "compiler/codegen/llvm/machine/parse_target.h"
#include "compiler/host/local_gpu.h"
#include "compiler/ops/definition_text.h"
#include "compiler/ops/same_definition.h"
#include "compiler/schedule/steps_text.h"
#include "tuner/api/python/te/kernel.h"
#include "tuner/api/python/te/references.h"
#include "tuner/api/python/text.h"
#include "tuner/api/python/whole_objects.h"

namespace hone::python {
namespace {

namespace py = pybind11;

// A template is called twice with its default, with each of its first knobs elsewhere, and with random configs.
constexpr size_t kKnobs = 8;
constexpr int kSamples = 4;
// Configs whose constraints are known: a hundred bytes each.
constexpr size_t kMostBroken = 200'000;

std::vector<Config> some_configs(const Space& space) {
  std::vector<Config> configs{space.default_config()};
  for (size_t k = 0; k < std::min(kKnobs, space.knobs().size()); ++k) {
    Config c = space.default_config();
    const auto last = static_cast<int32_t>(space.knobs()[k].choices.size()) - 1;
    c.choices[k] = c.choices[k] == last ? 0 : last;
    configs.push_back(space.canonical(c));
  }
  std::mt19937_64 rng(1);
  for (int i = 0; i < kSamples; ++i)
    if (const std::optional<Config> c = space.sample(rng, 50)) configs.push_back(*c);
  return configs;
}

constexpr char kEndless[] = "the template does not return";

// The first line of an exception, as `ValueError: text`; Hone's own errors without their type. Throws on what is no
// Exception: Ctrl-C, or the end of the program.
std::string line_of(py::error_already_set& e) {
  if (e.matches(too_long())) return kEndless;
  if (!e.matches(PyExc_Exception)) throw py::error_already_set(e);
  std::string text = clean_line(py::str(e.value()).cast<std::string>());
  const py::object hone_error = py::module_::import("hone.errors").attr("Error");
  if (e.matches(hone_error)) return text;
  const auto type = py::str(e.type().attr("__name__")).cast<std::string>();
  return text.empty() ? type : type + ": " + text;
}

std::string db_text(const Space& space, const Config& config) {
  const std::string text = space.describe(config);
  return text.empty() ? "its only config" : text;
}

}  // namespace

PyTemplate::PyTemplate(std::string name, int revision, py::object function, Attributes attributes, const Target& target,
                       std::optional<double> seconds)
    : name_(std::move(name)),
      revision_(revision),
      function_(std::move(function)),
      attributes_(std::move(attributes)),
      target_(target) {
  if (seconds)
    limit_ = std::make_unique<CallLimit>(
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(*seconds)));
  declare();
  auto own = std::make_shared<UserTemplate>();
  own->name = name_;
  own->revision = revision_;
  own->knobs = knobs_;
  workload_ = user_workload(name_, *definition_, attributes_, std::move(own));
  check_repeats();
  space_.emplace(make_space(program_));
  check_default();
}

PySchedule PyTemplate::returned(const py::object& result) const {
  HONE_USER_CHECK(py::isinstance<PySchedule>(result))
      << "template '" << name_ << "' returns a " << type_name(result) << ", not a te.Schedule";
  auto schedule = result.cast<PySchedule>();
  HONE_USER_CHECK(schedule.definition) << "template '" << name_ << "' returns a schedule without a definition";
  return schedule;
}

// Throws what the template raises; none where it was left behind its last question.
py::object PyTemplate::call(KnobCalls asked, Knobs& knobs) {
  asked.knobs = &knobs;
  asked.target = &target_;
  asked.wanted = &calls_;
  auto calls = std::make_shared<KnobCalls>(std::move(asked));
  const auto differs = [&] {
    if (odd_.empty()) odd_ = calls->odd;
    return !calls->odd.empty();
  };
  const auto check_defaults = [&] {
    HONE_USER_CHECK(!calls->declares || calls->broken.empty())
        << "template '" << name_ << "': its defaults break '" << calls->broken << "'";
  };
  const py::object k = py::cast(PyKnobs{calls});
  py::object result = py::none();
  try {
    result = limit_ ? limit_->call(function_, k) : function_(k);
  } catch (py::error_already_set& e) {
    calls->knobs = nullptr;
    differs();
    if (calls->until == KnobCalls::Until::kLastCall && e.matches(knobs_are_read())) return py::none();
    if (e.matches(PyExc_Exception)) check_defaults();
    throw;
  }
  calls->end();
  check_defaults();
  if (differs()) throw UserError(odd_);
  return result;
}

void PyTemplate::declare() try {
  py::object result;
  KnobCalls calls;
  calls.declares = true;
  knobs_ = Space::declared([&](Knobs& knobs) { result = call(calls, knobs); });
  const PySchedule schedule = returned(result);
  definition_ = schedule.definition;
  definition_text_ = definition_to_text(*definition_);
} catch (py::error_already_set& e) {
  if (!e.matches(too_long())) throw;
  throw UserError("template '" + name_ + "' does not return with its defaults");
}

// The constraint that `config` breaks; empty: none. A search asks for it first, and for the steps of configs later.
std::string PyTemplate::broken_in(const Space& space, const Config& config) {
  const ConfigIndex index = space.index_of(config);
  const auto known = broken_.find(index);
  if (known != broken_.end()) return known->second;
  if (broken_.size() >= kMostBroken) broken_.clear();
  return broken_.emplace(index, space.broken_constraint(config)).first->second;
}

// A config whose questions raise something is none of the space.
Settled PyTemplate::settle(const Space& space, const Config& config) try {
  if (endless_.contains(space.index_of(config))) return {{}, kEndless, space.knobs().size()};
  KnobCalls calls;
  calls.until = KnobCalls::Until::kLastCall;
  return Space::settled_by([&](Knobs& knobs) { call(calls, knobs); }, space, config);
} catch (py::error_already_set& e) {
  if (e.matches(too_long())) endless_.insert(space.index_of(config));
  return {{}, line_of(e), space.knobs().size()};
} catch (const UserError& e) {
  return {{}, e.what(), space.knobs().size()};
}

PySchedule PyTemplate::apply(const Space& space, const Config& config) {
  Knobs knobs = space.reader(config);
  PySchedule schedule = returned(call({}, knobs));
  HONE_USER_CHECK(is_same_definition(*schedule.definition, *definition_))
      << "template '" << name_ << "' returns a schedule of another definition than with its defaults";
  return schedule;
}

PyTemplate::Outcome PyTemplate::outcome(const Space& space, const Config& config) {
  if (endless_.contains(space.index_of(config))) return {"", kEndless, ""};
  Outcome out{broken_in(space, config), "", ""};
  if (!out.broken.empty()) return out;
  try {
    out.steps = steps_to_text(apply(space, config).schedule->steps());
  } catch (py::error_already_set& e) {
    if (e.matches(too_long())) endless_.insert(space.index_of(config));
    out.error = line_of(e);
  } catch (const UserError& e) {
    out.error = e.what();
  }
  return out;
}

Space PyTemplate::make_space(const std::string& program) {
  return Space(name_, revision_, program, knobs_,
               [this](const Space& space, const Config& config) { return settle(space, config); });
}

// Calls it twice with some configs, in one order and in the other, and names the program by what it gave.
void PyTemplate::check_repeats() {
  const Space space = make_space("");
  const std::vector<Config> configs = some_configs(space);
  std::vector<Outcome> first;
  std::string programs;
  for (const Config& c : configs) {
    first.push_back(outcome(space, c));
    programs += first.back().steps + "\n";
  }
  HONE_USER_CHECK(odd_.empty()) << "template '" << name_ << "': " << odd_
                                << ": it is to make the same calls of its knobs each time, whatever they choose";
  broken_.clear();
  for (size_t i = configs.size(); i-- > 0;)
    HONE_USER_CHECK(outcome(space, configs[i]) == first[i])
        << "template '" << name_ << "' gives another schedule when it is called again with "
        << db_text(space, configs[i]) << ": it is to depend on its choices and arguments alone";
  program_ = key_hash(programs);
}

void PyTemplate::check_default() {
  const PySchedule s = apply(*space_, space_->default_config());
  const Module m = lowered(s, std::max(1, target_.threads));
  HONE_USER_CHECK(unproved(m).empty() || !target_.is_gpu())
      << "an index that is data is not checked on a GPU: bound it by te.minimum and te.maximum";
}

Json PyTemplate::told() const {
  Json knobs = Json::array();
  for (const Knob& k : knobs_)
    knobs.push_back({{"name", k.name},
                     {"kind", k.kind == KnobKind::kSplit ? "split" : "choice"},
                     {"choices", k.choices},
                     {"default", k.default_choice},
                     {"for_threads", k.for_threads}});
  return {{"name", name_},
          {"revision", revision_},
          {"program", program_},
          {"definition", definition_text_},
          {"attributes", attributes_},
          {"knobs", std::move(knobs)}};
}

std::string PyTemplate::answer(const std::string& question) {
  const Json asked = Json::parse(question);
  if (asked.contains("target")) return json_line(told());
  const bool applies = asked.contains("apply");
  Json answers = Json::array();
  for (const Json& choices : asked.at(applies ? "apply" : "settle")) {
    const Config config{choices.get<std::vector<int32_t>>()};
    if (applies) {
      const Outcome out = outcome(*space_, config);
      const std::string& wrong = out.broken.empty() ? out.error : out.broken;
      answers.push_back(wrong.empty() ? Json{{"steps", out.steps}} : Json{{"error", wrong}});
    } else {
      const Settled s = settle(*space_, config);
      if (broken_.size() < kMostBroken && s.idle.empty()) broken_.emplace(space_->index_of(config), s.broken);
      answers.push_back({{"idle", s.idle}, {"broken", s.broken}, {"at", s.broken_at}});
    }
  }
  return json_line(answers);
}

PySchedule PyTemplate::schedule(const std::string& config) {
  const Config c = space_->parse(config);
  const std::string broken = space_->broken_constraint(c);
  HONE_USER_CHECK(broken.empty()) << "config " << config << " breaks the constraint '" << broken << "'";
  return apply(*space_, c);
}

PyTemplate::Choice PyTemplate::choose(const std::string& db) const {
  const auto hub = db::TopHub::open(db::usual_hub(db));
  HONE_USER_CHECK(hub.ok()) << message_of(hub.status());
  const StatusOr<ChosenConfig> chosen = choose_config(workload_, target_, *space_, **hub);
  HONE_USER_CHECK(chosen.ok()) << message_of(chosen.status());
  return {space_->print(chosen->config), chosen->source, chosen->skipped};
}

void bind_templates(py::module_& m) {
  py::class_<PyTemplate> bound(m, "TemplateSpace", "A template with its arguments, on a target.");
  make_only_whole(bound);
  bound
      .def(py::init([](const std::string& name, int revision, const py::object& function,
                       const PyTemplate::Attributes& attributes, const std::string& target, std::optional<int> threads,
                       bool is_here, std::optional<double> seconds) {
             Target on = is_here ? target_here(target, threads) : parse_target(target);
             if (!is_here && threads && !on.is_gpu()) on.threads = *threads;
             // A device's description of itself is a part of its target, by which configs are found.
             if (is_here && on.is_gpu())
               if (const auto gpu = open_local_gpu(on); gpu.ok()) on = gpu->target;
             return std::make_unique<PyTemplate>(name, revision, function, attributes, on, seconds);
           }),
           py::arg("name"), py::arg("revision"), py::arg("function"), py::arg("attributes"), py::arg("target"),
           py::arg("threads"), py::arg("is_here"), py::arg("seconds"))
      .def("answer", [](PyTemplate& t, const std::string& question) { return str_of(t.answer(question)); })
      .def("schedule", &PyTemplate::schedule, py::arg("config"))
      .def("choose",
           [](const PyTemplate& t, const std::string& db) {
             const PyTemplate::Choice c = t.choose(db);
             return py::make_tuple(c.config, str_of(c.source), str_of(c.skipped));
           })
      .def_property_readonly("workload", &PyTemplate::workload)
      .def_property_readonly("target", [](const PyTemplate& t) { return to_string(t.target()); })
      .def_property_readonly("default", [](const PyTemplate& t) { return t.space().print(t.space().default_config()); })
      .def_property_readonly("fingerprint", [](const PyTemplate& t) { return t.space().fingerprint().hex(); })
      .def_property_readonly("size", [](const PyTemplate& t) {
        return py::module_::import("builtins").attr("int")(to_string(t.space().size()));
      });
}

}  // namespace hone::python
