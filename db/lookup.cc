#include "db/lookup.h"

#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/child_process.h"
#include "base/exit_code.h"
#include "base/key.h"
#include "base/log.h"
#include "base/text.h"
#include "db/exchange.h"
#include "db/plausible.h"

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

struct TopHub::Source {
  enum Kind { kFile, kPackage, kShipped } kind;
  std::string path;
  bool first = false;  // its errors are the caller's; other sources are only left out
  bool broken = false;
  std::unique_ptr<Store> stores[2] = {};  // by Part, opened when first asked; a database has but the first
};

TopHub::TopHub() = default;
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

HubOptions usual_hub(const std::string& db_file) {
  HubOptions options;
  options.db_file = db_file;
  options.user_db = user_db_path();
  options.user_packages_dir = user_packages_dir();
  // A folder of programs that was moved has its packages with it.
  options.shipped_dir = fs::path(sibling_program("../share/hone/packages")).lexically_normal();
  return options;
}

StatusOr<std::unique_ptr<TopHub>> TopHub::open(const HubOptions& options) {
  std::unique_ptr<TopHub> hub(new TopHub());
  std::vector<Source>& sources = hub->sources_;
  std::error_code ec;
  if (!options.db_file.empty()) sources.push_back({Source::kFile, options.db_file});
  if (!options.user_db.empty() && fs::exists(options.user_db, ec) &&
      !fs::equivalent(options.user_db, options.db_file, ec))
    sources.push_back({Source::kFile, options.user_db});
  if (!sources.empty()) {
    sources[0].first = true;
    HONE_ASSIGN_OR_RETURN(sources[0].stores[kTrials], open_source(sources[0], kTrials));
  }
  for (const std::string& path : installed_packages(options.user_packages_dir))
    sources.push_back({Source::kPackage, path});
  for (const std::string& path : files_in(options.packages_dir, ".db")) sources.push_back({Source::kPackage, path});
  for (const std::string& path : files_in(options.shipped_dir, ".jsonl")) sources.push_back({Source::kShipped, path});
  return hub;
}

StatusOr<std::unique_ptr<Store>> TopHub::open_source(const Source& source, Part part) {
  if (source.kind == Source::kFile) return open_for_reading(source.path);
  OpenOptions options;
  options.mode = source.kind == Source::kPackage ? OpenMode::kImmutable : OpenMode::kMemory;
  HONE_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, Store::open(source.path, options));
  if (source.kind == Source::kShipped) {
    std::ifstream in(source.path);
    if (!in) return database_error(fmt::format("{} cannot be read", source.path));
    // Installed with the program, and read where a board's clock may not have been set yet.
    const ImportParts parts{part == kTrials, part == kPriors, nullptr, kAnyDate};
    HONE_RETURN_IF_ERROR(import_records(*store, in, source.path, parts).status());
  }
  return store;
}

StatusOr<bool> TopHub::any_source(Part part, const std::function<StatusOr<bool>(Source&, Store&)>& ask) {
  for (Source& source : sources_) {
    if (source.broken) continue;
    const StatusOr<bool> found = [&]() -> StatusOr<bool> {
      std::unique_ptr<Store>& store = source.stores[source.kind == Source::kShipped ? part : kTrials];
      if (!store) {
        HONE_ASSIGN_OR_RETURN(store, open_source(source, part));
      }
      return ask(source, *store);
    }();
    if (found.ok()) {
      if (*found) return true;
      continue;
    }
    if (source.first) return found.status();
    log::warn("{} (left out of the lookup)", message_of(found.status()));
    source.broken = true;
  }
  return false;
}

Status TopHub::apply_choice(const LookupQuery& query, LookupAnswer& answer) {
  BestRow& best = *answer.row;
  // The first source that knows of one decides, in whichever the best is.
  return any_source(kTrials,
                    [&](Source&, Store& store) -> StatusOr<bool> {
                      HONE_ASSIGN_OR_RETURN(const auto choice,
                                            store.choices().find(best.workload, best.target, best.space, best.config));
                      if (!choice || choice->config == best.config) return choice.has_value();
                      if (!is_of_template(*choice)) return false;
                      BestRow chosen = best;
                      chosen.config = choice->config;
                      if (query.accept && !query.accept(chosen)) return false;
                      best = std::move(chosen);
                      return answer.is_choice = true;
                    })
      .status();
}

StatusOr<bool> TopHub::try_exact(const std::string& workload, const std::string& target, const LookupQuery& query,
                                 LookupAnswer& answer) {
  HONE_ASSIGN_OR_RETURN(
      const bool found, any_source(kTrials, [&](Source& source, Store& store) -> StatusOr<bool> {
        HONE_RETURN_IF_ERROR(store.best().visit(workload, target, query.in_layout, query.out_layout, [&](BestRow& row) {
          if (!is_of_template(row)) return false;
          if (!query.accept || query.accept(row)) {
            answer.row = std::move(row);
            return true;
          }
          ++answer.refused;
          const std::string listed = "," + answer.refused_spaces + ",";
          if (listed.find("," + row.space + ",") == std::string::npos)
            answer.refused_spaces += (answer.refused_spaces.empty() ? "" : ",") + row.space;
          return false;
        }));
        if (answer.row) answer.source = source.path;
        return answer.row.has_value();
      }));
  if (found && query.in_model) HONE_RETURN_IF_ERROR(apply_choice(query, answer));
  return found;
}

StatusOr<bool> TopHub::try_other_targets(const std::string& workload, const LookupQuery& query, LookupAnswer& answer) {
  // Most alike first over all sources, so that a close target in a package goes before a far one in the user's file.
  std::vector<std::string> targets;
  HONE_RETURN_IF_ERROR(any_source(kTrials, [&](Source&, Store& store) -> StatusOr<bool> {
                         HONE_ASSIGN_OR_RETURN(const std::vector<std::string> some,
                                               store.best().other_targets(workload, query.target));
                         targets.insert(targets.end(), some.begin(), some.end());
                         return false;
                       }).status());
  sort_by_likeness(targets, query.target);
  if (query.rank_targets) targets = query.rank_targets(targets, answer.step);
  for (const std::string& target : targets) {
    HONE_ASSIGN_OR_RETURN(const bool found, try_exact(workload, target, query, answer));
    if (found) return true;
  }
  return false;
}

StatusOr<LookupAnswer> TopHub::best(const LookupQuery& query) {
  LookupAnswer answer;
  HONE_ASSIGN_OR_RETURN(bool found, try_exact(query.workload, query.target, query, answer));
  if (found) return answer;
  answer.step = LookupStep::kOtherTarget;
  HONE_ASSIGN_OR_RETURN(found, try_other_targets(query.workload, query, answer));
  if (found || !query.rank_nearest) return answer;
  answer.step = LookupStep::kNearest;
  HONE_ASSIGN_OR_RETURN(std::vector<std::string> known,
                        workloads(std::string(workload_name(query.workload)), std::string(target_kind(query.target))));
  std::erase(known, query.workload);
  if (known.empty()) return answer;
  for (const std::string& workload : query.rank_nearest(known)) {
    HONE_ASSIGN_OR_RETURN(found, try_exact(workload, query.target, query, answer));
    if (found) return answer;
    HONE_ASSIGN_OR_RETURN(found, try_other_targets(workload, query, answer));
    if (found) return answer;
  }
  return answer;
}

StatusOr<PriorAnswer> TopHub::prior(const std::string& target_kind, const std::string& schema) {
  PriorAnswer answer;
  HONE_RETURN_IF_ERROR(any_source(kPriors, [&](Source& source, Store& store) -> StatusOr<bool> {
                         HONE_ASSIGN_OR_RETURN(answer.row, store.priors().find(target_kind, schema));
                         if (answer.row) {
                           answer.source = source.path;
                           return true;
                         }
                         HONE_ASSIGN_OR_RETURN(const std::vector<PriorRow> others,
                                               store.priors().list(target_kind, /*with_models=*/false));
                         if (!others.empty()) answer.skipped.push_back(source.path);
                         return false;
                       }).status());
  return answer;
}

StatusOr<std::vector<std::string>> TopHub::workloads(const std::string& task, const std::string& target_kind) {
  std::set<std::string> all;
  HONE_RETURN_IF_ERROR(any_source(kTrials, [&](Source&, Store& store) -> StatusOr<bool> {
                         HONE_ASSIGN_OR_RETURN(const std::vector<std::string> some,
                                               store.best().workloads(task, target_kind));
                         all.insert(some.begin(), some.end());
                         return false;
                       }).status());
  return std::vector<std::string>(all.begin(), all.end());
}

std::vector<std::string> TopHub::sources() const {
  std::vector<std::string> paths;
  for (const Source& source : sources_) paths.push_back(source.path);
  return paths;
}

std::string LookupAnswer::describe() const {
  if (!row) return "default";
  // Rows of old files may hold anything, and this is printed.
  const auto clean = [](const std::string& text) { return clean_line(text); };
  const std::string how = fmt::format("{}, device {}{}{}", row->confirmed ? "confirmed" : "provisional",
                                      clean(row->device_model.empty() ? row->device : row->device_model),
                                      row->disturbed ? ", disturbed: not yet confirmed in quiet" : "",
                                      is_choice ? ", another one chosen inside a model" : "");
  const std::string from = clean(source);
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
