#include "db/lookup.h"

#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "base/child_process.h"
#include "base/key.h"
#include "base/log.h"
#include "base/text.h"
#include "db/chain/file_source.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;

// The folder's files that end in `extension`, sorted; none when there is no such folder.
std::vector<std::string> files_in(const std::string& folder, const std::string& extension) {
  std::vector<std::string> files;
  std::error_code ec;
  if (folder.empty()) return files;
  for (const auto& entry : fs::directory_iterator(folder, ec))
    if (std::error_code unknown; entry.path().extension() == extension && entry.is_regular_file(unknown))
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// Whether configs of that space, and that config, are a template's. Others are for versions that build them.
bool is_of_template(const BestRow& row) {
  const StatusOr<SpaceKind> kind = parse_space_key(row.space);
  return !kind.ok() || *kind == SpaceKind::kTemplate;
}
bool is_of_template(const ChoiceRow& choice) {
  const StatusOr<ConfigKey> config = parse_config_key(choice.config);
  return config.ok() && space_of(*config) == SpaceKind::kTemplate;
}

}  // namespace

TopHub::~TopHub() = default;

std::string user_packages_dir() {
  const auto env = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value ? value : "");
  };
  const std::string data = env("XDG_DATA_HOME"), home = env("HOME");
  if (!data.empty() && data[0] == '/') return data + "/hone/packages";
  return (home.empty() ? "." : home) + "/.local/share/hone/packages";
}

std::vector<std::string> installed_packages(const std::string& folder) {
  std::map<std::string, std::pair<int64_t, std::string>> newest;  // by source
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const std::string name = entry.path().filename().string();
    const size_t dot = name.find('.');
    int64_t number = 0;
    if (dot != 16 || name.substr(0, dot).find_first_not_of("0123456789abcdef") != std::string::npos ||
        !absl::SimpleAtoi(name.substr(dot + 1), &number))
      continue;
    const std::string database = entry.path() / "records.db";
    if (std::error_code unknown; !fs::is_regular_file(database, unknown)) continue;
    auto& kept = newest[name.substr(0, dot)];
    if (kept.second.empty() || number > kept.first) kept = {number, database};
  }
  std::vector<std::string> out;
  for (const auto& [source, package] : newest) out.push_back(package.second);
  return out;
}

HubOptions usual_hub(const std::string& db_file, std::shared_ptr<Source> team) {
  HubOptions options;
  options.db_file = db_file;
  options.user_db = user_db_path();
  options.user_packages_dir = user_packages_dir();
  // A folder of programs that was moved has its packages with it.
  options.shipped_dir = fs::path(sibling_program("../share/hone/packages")).lexically_normal();
  options.team = std::move(team);
  return options;
}

StatusOr<std::unique_ptr<TopHub>> TopHub::open(const HubOptions& options) {
  std::unique_ptr<TopHub> hub(new TopHub());
  std::vector<Link>& links = hub->links_;
  hub->least_ = options.least;
  std::error_code ec;
  if (!options.db_file.empty()) links.push_back({file_source(options.db_file, SourceFile::kTophub)});
  if (!options.user_db.empty() && fs::exists(options.user_db, ec) &&
      !fs::equivalent(options.user_db, options.db_file, ec))
    links.push_back({file_source(options.user_db, SourceFile::kTophub)});
  if (!links.empty()) {
    hub->is_first_a_file_ = true;
    HONE_RETURN_IF_ERROR(links[0].source->open());
  }
  if (options.team) links.push_back({options.team, /*is_team=*/true});
  for (const std::string& path : installed_packages(options.user_packages_dir))
    links.push_back({file_source(path, SourceFile::kPackage, Trust::kTrusted)});
  for (const std::string& path : files_in(options.packages_dir, ".db"))
    links.push_back({file_source(path, SourceFile::kPackage)});
  for (const std::string& path : files_in(options.shipped_dir, ".jsonl"))
    links.push_back({file_source(path, SourceFile::kExport)});
  return hub;
}

StatusOr<bool> TopHub::any_source(const std::function<StatusOr<bool>(Link&)>& ask) {
  for (Link& link : links_) {
    if (link.is_broken) continue;
    const StatusOr<bool> found = ask(link);
    if (found.ok()) {
      if (*found) return true;
      continue;
    }
    // A team's tophub that is gone has nothing; its errors are the user's.
    if (link.is_team || (is_first_a_file_ && &link == &links_[0])) return found.status();
    log::warn("{} (left out of the lookup)", message_of(found.status()));
    link.is_broken = true;
  }
  return false;
}

Status TopHub::prefetch(const std::vector<TeamKey>& keys) {
  for (Link& link : links_) HONE_RETURN_IF_ERROR(link.source->prefetch(keys));
  return absl::OkStatus();
}

// One lookup, from its question to its answer.
class TopHub::Lookup {
 public:
  Lookup(TopHub& hub, const LookupQuery& query) : hub_(hub), query_(query) {}

  StatusOr<LookupAnswer> run() {
    HONE_ASSIGN_OR_RETURN(bool done, try_exact(query_.workload, query_.target));
    if (!done) {
      step_ = LookupStep::kOtherTarget;
      HONE_ASSIGN_OR_RETURN(done, try_other_targets(query_.workload));
    }
    if (!done && query_.rank_nearest) {
      step_ = LookupStep::kNearest;
      HONE_RETURN_IF_ERROR(try_nearest());
    }
    if (!answer_.row) answer_.step = step_;
    return std::move(answer_);
  }

 private:
  // Whether the chain need not be followed further.
  bool is_done() const {
    if (query_.observe) return false;
    // Nothing better follows a row that was held back in these steps.
    return answer_.row || (step_ != LookupStep::kExact && !answer_.held_back.empty());
  }

  StatusOr<bool> try_exact(const std::string& workload, const std::string& target) {
    return hub_.any_source([&](Link& link) -> StatusOr<bool> {
      Source& source = *link.source;
      if (link.is_team && step_ == LookupStep::kExact)
        HONE_RETURN_IF_ERROR(source.prefetch({{query_.workload, query_.target}}));
      Status failed;
      HONE_RETURN_IF_ERROR(source.visit(workload, target, query_.in_layout, query_.out_layout,
                                        [&](BestRow& row, std::string_view owner) {
                                          failed = consider(link, row, owner);
                                          return !failed.ok() || is_done();
                                        }));
      HONE_RETURN_IF_ERROR(failed);
      return is_done();
    });
  }

  Status consider(Link& link, BestRow& row, std::string_view owner) {
    Source& source = *link.source;
    std::string why_not;
    Confidence confidence = Confidence::kNearest;
    if (!is_of_template(row)) {
      why_not = "its config is no template's, which this version does not build";
    } else if (query_.accept && !query_.accept(row)) {
      why_not = query_.observe && query_.why_refused ? query_.why_refused(row) : "this build has no config like it";
      if (!answer_.row) note_refused(row);
    } else {
      HONE_ASSIGN_OR_RETURN(const Trust trust, source.trust(row, owner));
      if (step_ == LookupStep::kExact) confidence = confidence_of(trust, row);
      if (query_.no_strangers && link.is_team && trust == Trust::kElsewhere)
        why_not = "its owner is not trusted";
      else if (answer_.row)
        why_not = "a row before it is taken";
      else if (confidence < hub_.least_)
        why_not = fmt::format("{} is less than {}", to_string(confidence), to_string(hub_.least_));
      if (why_not.empty()) {
        if (query_.observe) tell(link, row, owner, confidence, "");
        return take(link, row, owner, confidence);
      }
      if (!answer_.row && confidence < hub_.least_ && answer_.held_back.empty())
        hold_back(link, row, owner, confidence);
    }
    if (query_.observe) tell(link, row, owner, confidence, why_not);
    return absl::OkStatus();
  }

  static Confidence confidence_of(Trust trust, const BestRow& row) {
    if (trust == Trust::kHere) return row.confirmed ? Confidence::kConfirmed : Confidence::kTrusted;
    return trust == Trust::kTrusted ? Confidence::kTrusted : Confidence::kElsewhere;
  }

  Status take(Link& link, BestRow& row, std::string_view owner, Confidence confidence) {
    answer_.row = std::move(row);
    answer_.source = link.source->name();
    answer_.owner = owner;
    answer_.confidence = confidence;
    answer_.step = step_;
    return query_.in_model ? apply_choice(*link.source) : absl::OkStatus();
  }

  void hold_back(const Link& link, const BestRow& row, std::string_view owner, Confidence confidence) {
    LookupAnswer held;
    held.row = row, held.source = link.source->name(), held.owner = owner, held.step = step_;
    answer_.held_back = held.describe();
    answer_.held_back_confidence = confidence;
  }

  void note_refused(const BestRow& row) {
    ++answer_.refused;
    const std::string listed = "," + answer_.refused_spaces + ",";
    if (listed.find("," + row.space + ",") == std::string::npos)
      answer_.refused_spaces += (answer_.refused_spaces.empty() ? "" : ",") + row.space;
  }

  void tell(const Link& link, const BestRow& row, std::string_view owner, Confidence confidence,
            const std::string& why_not) const {
    query_.observe({link.source->name(), std::string(owner), row, step_, confidence, why_not.empty(), why_not});
  }

  // Puts the config of a choice in the place of the best's. The first source that knows of one decides, in whichever
  // the best is.
  Status apply_choice(const Source& best_from) {
    BestRow& best = *answer_.row;
    return hub_
        .any_source([&](Link& link) -> StatusOr<bool> {
          HONE_ASSIGN_OR_RETURN(const auto choice, link.source->choice(best, answer_.owner, best_from));
          if (!choice || choice->row.config == best.config) return choice.has_value();
          if (!is_of_template(choice->row)) return false;
          BestRow chosen = best;
          chosen.config = choice->row.config;
          if (query_.accept && !query_.accept(chosen)) return false;
          Confidence confidence = answer_.confidence;
          if (step_ == LookupStep::kExact) confidence = std::min(confidence, confidence_of(choice->trust, best));
          if (confidence < hub_.least_) return false;
          answer_.confidence = confidence;
          best = std::move(chosen);
          return answer_.is_choice = true;
        })
        .status();
  }

  StatusOr<bool> try_other_targets(const std::string& workload) {
    // Most alike first over all sources, so that a close target in a package goes before a far one in the user's file.
    std::vector<std::string> targets;
    HONE_RETURN_IF_ERROR(hub_.any_source([&](Link& link) -> StatusOr<bool> {
                               HONE_ASSIGN_OR_RETURN(const std::vector<std::string> some,
                                                     link.source->other_targets(workload, query_.target));
                               targets.insert(targets.end(), some.begin(), some.end());
                               return false;
                             })
                             .status());
    sort_by_likeness(targets, query_.target);
    const std::vector<std::string> known = targets;
    if (query_.rank_targets) targets = query_.rank_targets(targets, step_);
    for (const std::string& target : targets) {
      HONE_ASSIGN_OR_RETURN(const bool done, try_exact(workload, target));
      if (done) return true;
    }
    if (query_.observe)
      for (const std::string& target : known)
        if (std::find(targets.begin(), targets.end(), target) == targets.end())
          HONE_RETURN_IF_ERROR(tell_left_out(
              workload, target,
              query_.why_not_target ? query_.why_not_target(target, step_) : "its target is not worth trying"));
    return false;
  }

  Status try_nearest() {
    HONE_ASSIGN_OR_RETURN(std::vector<std::string> known, hub_.workloads(std::string(workload_name(query_.workload)),
                                                                         std::string(target_kind(query_.target))));
    std::erase(known, query_.workload);
    if (known.empty()) return absl::OkStatus();
    const std::vector<std::string> near = query_.rank_nearest(known);
    for (const std::string& workload : near) {
      HONE_ASSIGN_OR_RETURN(bool done, try_exact(workload, query_.target));
      if (!done) {
        HONE_ASSIGN_OR_RETURN(done, try_other_targets(workload));
      }
      if (done) return absl::OkStatus();
    }
    if (!query_.observe) return absl::OkStatus();
    for (const std::string& workload : known)
      if (std::find(near.begin(), near.end(), workload) == near.end()) {
        const std::string why = query_.why_not_near ? query_.why_not_near(workload) : "it is not near";
        if (!why.empty()) HONE_RETURN_IF_ERROR(tell_left_out(workload, query_.target, why));
      }
    return absl::OkStatus();
  }

  // The rows that the ranks left out.
  Status tell_left_out(const std::string& workload, const std::string& target, const std::string& why) {
    return hub_
        .any_source([&](Link& link) -> StatusOr<bool> {
          HONE_RETURN_IF_ERROR(link.source->visit(workload, target, query_.in_layout, query_.out_layout,
                                                  [&](BestRow& row, std::string_view owner) {
                                                    tell(link, row, owner, Confidence::kNearest, why);
                                                    return false;
                                                  }));
          return false;
        })
        .status();
  }

  TopHub& hub_;
  const LookupQuery& query_;
  LookupStep step_ = LookupStep::kExact;
  LookupAnswer answer_;
};

StatusOr<LookupAnswer> TopHub::best(const LookupQuery& query) { return Lookup(*this, query).run(); }

StatusOr<PriorAnswer> TopHub::prior(const std::string& target_kind, const std::string& schema) {
  PriorAnswer answer;
  HONE_RETURN_IF_ERROR(any_source([&](Link& link) -> StatusOr<bool> {
                         HONE_ASSIGN_OR_RETURN(answer.row, link.source->prior(target_kind, schema));
                         if (answer.row) {
                           answer.source = link.source->name();
                           return true;
                         }
                         HONE_ASSIGN_OR_RETURN(const bool has_other, link.source->has_prior(target_kind));
                         if (has_other) answer.skipped.push_back(link.source->name());
                         return false;
                       }).status());
  return answer;
}

StatusOr<std::vector<std::string>> TopHub::workloads(const std::string& task, const std::string& target_kind) {
  std::set<std::string> all;
  HONE_RETURN_IF_ERROR(any_source([&](Link& link) -> StatusOr<bool> {
                         HONE_ASSIGN_OR_RETURN(const std::vector<std::string> some,
                                               link.source->workloads(task, target_kind));
                         all.insert(some.begin(), some.end());
                         return false;
                       }).status());
  return std::vector<std::string>(all.begin(), all.end());
}

std::vector<std::string> TopHub::sources() const {
  std::vector<std::string> names;
  for (const Link& link : links_) names.push_back(link.source->name());
  return names;
}

std::string LookupAnswer::describe() const {
  if (!row) return "default";
  // Rows of old files may hold anything, and this is printed.
  const auto clean = [](const std::string& text) { return clean_line(text); };
  const std::string how = fmt::format("{}, device {}{}{}", row->confirmed ? "confirmed" : "provisional",
                                      clean(row->device_model.empty() ? row->device : row->device_model),
                                      row->disturbed ? ", disturbed: not yet confirmed in quiet" : "",
                                      is_choice ? ", another one chosen inside a model" : "");
  const std::string from = clean(source) + (owner.empty() ? "" : fmt::format(" ({})", clean(owner)));
  switch (step) {
    case LookupStep::kExact: return fmt::format("best (exact workload, {}) from {}", how, from);
    case LookupStep::kOtherTarget:
      return fmt::format("best (same workload, other target: {}, {}) from {}", clean(row->target), how, from);
    case LookupStep::kNearest:
      return fmt::format("nearest ({}, target {}, {}) from {}", clean(row->workload), clean(row->target), how, from);
  }
  return "default";
}

}  // namespace hone::db
