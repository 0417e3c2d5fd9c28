#include "tuner/api/template_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "compiler/ops/definition_text.h"
#include "compiler/schedule/steps_text.h"
#include "tuner/measure/core_sharing.h"

namespace hone::api {
namespace {

// Answers that are kept: some hundred bytes of a config's knobs, a KiB or two of its steps.
constexpr size_t kMostSettled = 200'000, kMostApplied = 10'000;

// The error in an answer; empty: none.
std::string error_of(const Json& answer) {
  return answer.is_object() && answer.contains("error") ? clean_line(answer["error"].get<std::string>()) : "";
}

Knob knob_from(const Json& j) {
  Knob knob{j.at("name").get<std::string>(), KnobKind::kChoice, {}, 0};
  const auto kind = j.at("kind").get<std::string>();
  HONE_USER_CHECK(kind == "split" || kind == "choice") << "knob '" << clean_line(knob.name) << "' of another kind";
  if (kind == "split") knob.kind = KnobKind::kSplit;
  j.at("choices").get_to(knob.choices);
  j.at("default").get_to(knob.default_choice);
  knob.for_threads = j.value("for_threads", false);
  const bool is_whole = !knob.choices.empty() && knob.default_choice >= 0 &&
                        static_cast<size_t>(knob.default_choice) < knob.choices.size() &&
                        std::none_of(knob.choices.begin(), knob.choices.end(), [](const auto& c) { return c.empty(); });
  HONE_USER_CHECK(is_whole) << "knob '" << clean_line(knob.name) << "' without choices, or with a default that is none";
  return knob;
}

Settled settled_from(const Json& j, size_t knobs) {
  if (std::string error = error_of(j); !error.empty()) return {{}, std::move(error), knobs};
  Settled out;
  j.at("idle").get_to(out.idle);
  out.broken = clean_line(j.at("broken").get<std::string>());
  j.at("at").get_to(out.broken_at);
  HONE_USER_CHECK(std::is_sorted(out.idle.begin(), out.idle.end()) && (out.idle.empty() || out.idle.back() < knobs))
      << "idle knobs that are none";
  return out;
}

const HoneTemplate& whole(const HoneTemplate& given) {
  HONE_USER_CHECK(given.size >= sizeof(HoneTemplate) && given.answer) << "a template without the function that answers";
  return given;
}

}  // namespace

TemplateCalls::TemplateCalls(const HoneTemplate& given) : given_(whole(given)) {}

Json TemplateCalls::ask(const Json& question) {
  const std::lock_guard lock(asking_);
  std::string text;
  const auto write = [](void* to, const char* answer) { *static_cast<std::string*>(to) = answer; };
  if (given_.answer(given_.data, json_line(question).c_str(), &text, write) != HONE_OK) {
    stopped_ = true;
    throw WorkStopped();
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    throw UserError("the template's answer is none: " + clean_line(e.what()));
  }
}

Workload TemplateCalls::workload(const Target& target) try {
  const Json told = ask({{"target", to_string(target)}});
  if (const std::string error = error_of(told); !error.empty()) throw UserError(error);
  auto own = std::make_shared<UserTemplate>();
  told.at("name").get_to(own->name);
  told.at("revision").get_to(own->revision);
  told.at("program").get_to(own->program);
  std::set<std::string> names;
  for (const Json& knob : told.at("knobs")) {
    own->knobs.push_back(knob_from(knob));
    HONE_USER_CHECK(names.insert(own->knobs.back().name).second)
        << "knob '" << clean_line(own->knobs.back().name) << "' is declared twice";
  }
  own->settle = [this](const Space& space, const Config& config) { return settle(space, config); };
  own->apply = [this](const Space& space, const Config& config) { return apply(space, config); };
  own->expect = [this](const Space& space, std::span<const Config> configs) { expect(space, configs); };
  definition_ = definition_from_text(told.at("definition").get<std::string>());
  const auto attributes = told.at("attributes").get<std::vector<std::pair<std::string, std::string>>>();
  const std::string name = own->name;
  return user_workload(name, definition_, attributes, std::move(own));
} catch (const Json::exception& e) {
  throw UserError("the template's answer: " + clean_line(e.what()));
}

Json TemplateCalls::ask_about(const char* what, const Space& space, std::span<const Config> configs) {
  Json choices = Json::array();
  for (const Config& c : configs) choices.push_back(c.choices);
  Json answers = ask({{what, std::move(choices)}});
  HONE_USER_CHECK(answers.is_array() && answers.size() == configs.size())
      << "template " << space.template_name() << ": " << configs.size() << " configs, and other answers";
  return answers;
}

Settled TemplateCalls::settle(const Space& space, const Config& config) {
  const ConfigIndex index = space.index_of(config);
  {
    const std::lock_guard lock(known_);
    if (const auto it = settled_.find(index); it != settled_.end()) return it->second;
  }
  const Json answers = ask_about("settle", space, {&config, 1});
  Settled settled = settled_from(answers[0], space.knobs().size());
  const std::lock_guard lock(known_);
  if (settled_.size() >= kMostSettled) settled_.clear();
  return settled_.insert_or_assign(index, std::move(settled)).first->second;
}

void TemplateCalls::expect(const Space& space, std::span<const Config> configs) {
  std::vector<Config> unknown;
  {
    const std::lock_guard lock(known_);
    for (const Config& c : configs)
      if (!applied_.contains(space.index_of(c))) unknown.push_back(c);
  }
  if (unknown.empty()) return;
  const Json answers = ask_about("apply", space, unknown);
  const std::lock_guard lock(known_);
  if (applied_.size() + unknown.size() > kMostApplied) applied_.clear();
  for (size_t i = 0; i < unknown.size(); ++i) {
    Applied a{"", error_of(answers[i])};
    if (a.error.empty()) answers[i].at("steps").get_to(a.steps);
    applied_.insert_or_assign(space.index_of(unknown[i]), std::move(a));
  }
}

std::unique_ptr<Schedule> TemplateCalls::apply(const Space& space, const Config& config) {
  expect(space, {&config, 1});
  Applied a;
  {
    const std::lock_guard lock(known_);
    a = applied_.at(space.index_of(config));
  }
  if (!a.error.empty()) throw UserError(a.error);
  auto schedule = std::make_unique<Schedule>(definition_.inputs, definition_.outputs);
  schedule->replay(steps_from_text(a.steps));
  return schedule;
}

}  // namespace hone::api
