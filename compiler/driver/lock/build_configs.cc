#include "compiler/driver/lock/build_configs.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/exit_code.h"
#include "base/secure_hash.h"
#include "base/short_hash.h"
#include "compiler/driver/lock/lock_facts.h"

namespace hone {
namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

Status BuildConfigs::differs(const std::string& what) const {
  return usage_error(fmt::format("--locked {}: {}; write it again with --lock", request_.locked, what));
}

StatusOr<std::unique_ptr<BuildConfigs>> BuildConfigs::open(const BuildRequest& r, const BuildPlace& place) {
  std::unique_ptr<BuildConfigs> out(new BuildConfigs(r));
  if (!r.lock.empty() && !r.locked.empty())
    return usage_error("--lock and --locked: one writes a lock, the other reads it; give one of them");
  if (!r.lock.empty() || out->is_locked()) {
    HONE_ASSIGN_OR_RETURN(out->facts_, lock_facts(r, place));
  }
  if (out->is_locked()) {
    if (!r.config.empty())
      return usage_error(fmt::format("--config {}: with --locked, {} says which", r.config, r.locked));
    HONE_ASSIGN_OR_RETURN(out->lock_, db::read_lock(r.locked));
    HONE_RETURN_IF_ERROR(out->compare_with_lock());
    for (const db::LockedConfig& c : out->lock_.configs) out->locked_[{c.workload, c.target}] = &c;
    for (const db::LockedTime& t : out->lock_.times) out->times_[{t.workload, t.target}] = t.seconds;
  } else if (!out->is_given()) {
    HONE_ASSIGN_OR_RETURN(out->hub_, db::TopHub::open(r.hub()));
  }
  return out;
}

Status BuildConfigs::compare_with_lock() const {
  // Inputs that are found while building are compared then.
  db::LockFile there = lock_, here = facts_;
  there.configs.clear(), there.times.clear(), there.artifact.clear();
  std::erase_if(there.inputs, [&](const auto& input) { return input.first == kRanges; });
  const std::vector<std::string> lines = db::differences(there, here);
  return lines.empty() ? absl::OkStatus() : differs("it is of another build: " + lines[0]);
}

StatusOr<ChosenConfig> BuildConfigs::locked(const Workload& w, const Target& target, const Space& space) const {
  const std::string workload = to_string(w), target_text = to_string(target);
  const auto at = locked_.find({workload, target_text});
  if (at == locked_.end()) return differs(fmt::format("it has no config of {} for {}", workload, target_text));
  const db::LockedConfig& c = *at->second;
  if (const std::string own = space.fingerprint().hex(); c.space != own)
    return differs(fmt::format("its config of {} is of space {}, and this Hone's is {}", workload, short_hash(c.space),
                               short_hash(own)));
  try {
    ChosenConfig out{space.parse(c.config), c.source, "", c.is_choice};
    out.confidence = c.confidence;
    if (space.valid(out.config)) return out;
  } catch (const UserError&) {
    // As one that breaks the space's rules.
  }
  return differs(fmt::format("its config of {} is none of the space: {}", workload, c.config));
}

StatusOr<ChosenConfig> BuildConfigs::choose(const Workload& w, const Target& target, const Space& space,
                                            ConfigUse use) {
  if (is_locked()) return locked(w, target, space);
  StatusOr<ChosenConfig> chosen = [&]() -> StatusOr<ChosenConfig> {
    if (request_.config == "default") return ChosenConfig{space.default_config(), "default", ""};
    if (is_given()) {
      ChosenConfig given{space.parse(request_.config), "given", ""};
      given.confidence = "given";
      return given;
    }
    return choose_config(w, target, space, *hub_, use);
  }();
  if (!chosen.ok() || request_.lock.empty()) return chosen;
  db::LockedConfig c{.workload = to_string(w), .target = to_string(target)};
  c.space = space.fingerprint().hex(), c.config = space.print(chosen->config);
  c.source = chosen->source, c.is_choice = chosen->is_choice;
  c.confidence = chosen->confidence;
  if (chosen->row) {
    c.record = db::record_digest(*chosen->row);
    c.in_layout = chosen->row->in_layout, c.out_layout = chosen->row->out_layout;
  }
  taken_[{c.workload, c.target}] = c;
  return chosen;
}

StatusOr<ChosenConfig> BuildConfigs::choose_beside(const Workload& w, const Target& target, const Space& space,
                                                   ConfigUse use) {
  if (hub_) return choose_config(w, target, space, *hub_, use);
  if (is_locked() && locked_.contains({to_string(w), to_string(target)})) return locked(w, target, space);
  return ChosenConfig{space.default_config(), "default", ""};
}

Status BuildConfigs::prefetch(const std::vector<db::TeamKey>& keys) {
  return hub_ ? hub_->prefetch(keys) : absl::OkStatus();
}

std::optional<double> BuildConfigs::measured(const Workload& w, const Target& target) {
  if (is_given()) return std::nullopt;
  const Key key(to_string(w), to_string(target));
  if (is_locked()) {
    const auto at = times_.find(key);
    return at == times_.end() ? std::nullopt : std::optional(at->second);
  }
  const std::optional<double> seconds = measured_seconds(w, target, *hub_);
  if (seconds && !request_.lock.empty()) times_[key] = *seconds;
  return seconds;
}

Status BuildConfigs::check_input(std::string_view name, std::string_view text) {
  if (request_.lock.empty() && !is_locked()) return absl::OkStatus();
  const std::string digest = sha256_hex(text);
  facts_.inputs[std::string(name)] = digest;
  if (!is_locked()) return absl::OkStatus();
  const auto at = lock_.inputs.find(std::string(name));
  if (at != lock_.inputs.end() && at->second == digest) return absl::OkStatus();
  return differs(fmt::format("the {} of this build are others", name));
}

Status BuildConfigs::seal(FileSet& files, const std::pair<std::string, std::string>& header) {
  if (request_.lock.empty() && !is_locked()) return absl::OkStatus();
  std::map<std::string, std::string>& artifact = facts_.artifact;
  for (const auto& [path, written] : files.written()) {
    HONE_ASSIGN_OR_RETURN(artifact[file_name(path)], sha256_of_file(written));
  }
  artifact[file_name(header.first)] = sha256_hex(header.second);
  if (is_locked()) {
    if (artifact == lock_.artifact) return absl::OkStatus();
    for (const auto& [name, digest] : artifact)
      if (const auto at = lock_.artifact.find(name); at == lock_.artifact.end() || at->second != digest)
        return differs(
            fmt::format("{} became another, of the same configs (another build of Hone {}?); nothing was "
                        "written",
                        name, facts_.hone_version));
    return differs("this build has fewer files; nothing was written");
  }
  for (const auto& [key, config] : taken_) facts_.configs.push_back(config);
  for (const auto& [key, seconds] : times_) facts_.times.push_back({key.first, key.second, seconds});
  return files.add(request_.lock, db::to_text(facts_));
}

}  // namespace hone
