#include "tests/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace hone::replay {

ReplayedSpace::ReplayedSpace(Recording recording) : recording_(std::move(recording)), best_(recording_.best_seconds()) {
  const auto& knobs = recording_.knobs;
  matters_.assign(knobs.front().choices.size(), std::vector<bool>(knobs.size(), false));
  const auto row = [&](const RecordedConfig& c) -> std::vector<bool>& {
    return matters_[static_cast<size_t>(std::max(0, c.choices[0]))];
  };
  for (const RecordedConfig& c : recording_.configs)
    for (size_t k = 0; k < knobs.size(); ++k)
      if (c.choices[k] >= 0) row(c)[k] = true;
  for (size_t i = 0; i < recording_.configs.size(); ++i) {
    const RecordedConfig& c = recording_.configs[i];
    for (size_t k = 0; k < knobs.size(); ++k)
      HONE_USER_CHECK(row(c)[k] == (c.choices[k] >= 0)) << recording_.name << ": whether knob '" << knobs[k].name
                                                        << "' matters depends on more than '" << knobs[0].name << "'";
    places_.emplace(key(c.choices), i);
  }
  // A knob that does not matter reads as its default. The default of the others is the recorded default config's.
  const RecordedConfig& fallback = recording_.configs[recording_.default_config];
  std::vector<std::vector<int64_t>> numbers;
  std::vector<int64_t> defaults;
  for (size_t k = 0; k < knobs.size(); ++k) {
    numbers.emplace_back();
    for (size_t i = 0; i < knobs[k].choices.size(); ++i) numbers.back().push_back(static_cast<int64_t>(i));
    defaults.push_back(fallback.choices[k] >= 0 ? fallback.choices[k] : knobs[k].default_choice);
  }
  const auto declare = [this, numbers, defaults](Knobs& k) {
    std::vector<int32_t> choices(numbers.size(), -1);
    const std::vector<bool>* matters = nullptr;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (matters) k.when((*matters)[i]);
      const auto chosen = static_cast<int32_t>(k.choice(recording_.knobs[i].name, numbers[i], defaults[i]));
      if (i == 0) matters = &matters_[static_cast<size_t>(chosen)];
      if ((*matters)[i]) choices[i] = chosen;
    }
    k.when(true);
    k.require("recorded", places_.count(key(choices)) != 0);
  };
  space_ = std::make_unique<Space>(recording_.template_name, static_cast<int>(recording_.template_revision), declare);
}

uint64_t ReplayedSpace::key(const std::vector<int32_t>& choices) const {
  uint64_t key = 0;
  for (size_t k = 0; k < choices.size(); ++k)
    key = key * (recording_.knobs[k].choices.size() + 1) + static_cast<uint64_t>(choices[k] + 1);
  return key;
}

const RecordedConfig* ReplayedSpace::find(const Config& config) const {
  const std::vector<bool>& matters = matters_[static_cast<size_t>(config.choices[0])];
  std::vector<int32_t> choices = config.choices;
  for (size_t k = 0; k < choices.size(); ++k)
    if (!matters[k]) choices[k] = -1;
  const auto place = places_.find(key(choices));
  return place == places_.end() ? nullptr : &recording_.configs[place->second];
}

Config ReplayedSpace::config(size_t i) const {
  Config c;
  for (const int32_t choice : recording_.configs[i].choices) c.choices.push_back(std::max(0, choice));
  return space_->canonical(std::move(c));
}

size_t ReplayedSpace::within(double share) const {
  return static_cast<size_t>(std::count_if(
      recording_.configs.begin(), recording_.configs.end(),
      [&](const RecordedConfig& c) { return c.seconds > 0 && !c.censored && c.seconds <= best_ * (1 + share); }));
}

const Features* ReplayedCandidates::features(const Config& config) {
  const RecordedConfig* c = space_.find(config);
  return c ? &c->features : nullptr;
}

std::shared_ptr<const Candidate> ReplayedCandidates::prepare(const Config& config) {
  auto out = std::make_shared<Candidate>();
  out->config = config;
  out->config_text = space_.space().print(config);
  const RecordedConfig* c = space_.find(config);
  if (c)
    out->hash = {1, static_cast<uint64_t>(c->program)};
  else
    out->error = "not recorded";
  return out;
}

void ReplayedMeasurer::submit(std::vector<MeasureJob> jobs) {
  for (MeasureJob& j : jobs) queue_.push_back(std::move(j));
}

StatusOr<std::vector<wire::JobResult>> ReplayedMeasurer::collect(std::chrono::milliseconds) {
  std::vector<wire::JobResult> out;
  for (; !queue_.empty(); queue_.pop_front()) {
    wire::JobResult& r = out.emplace_back();
    r.seq = queue_.front().seq;
    for (const auto& candidate : queue_.front().candidates) {
      const RecordedConfig& recorded = *space_.find(candidate->config);
      wire::CandidateResult& c = r.candidates.emplace_back();
      c.status = wire::parse_result_status(recorded.status).value_or(wire::ResultStatus::kRunFailed);
      if (recorded.seconds > 0) c.times = {recorded.seconds};
      c.censored = recorded.censored;
    }
  }
  return out;
}

Status ReplayedLog::add(std::span<const db::TrialRow> trials) {
  for (const db::TrialRow& r : trials)
    if (!r.confirmed) {
      seconds.push_back(r.censored ? 0 : r.seconds.value_or(0));
      configs.insert(r.config);
    }
  return absl::OkStatus();
}

size_t ReplayedLog::trials_to(double target) const {
  const auto hit = std::find_if(seconds.begin(), seconds.end(), [&](double s) { return s > 0 && s <= target; });
  return hit == seconds.end() ? 0 : static_cast<size_t>(hit - seconds.begin()) + 1;
}

}  // namespace hone::replay
