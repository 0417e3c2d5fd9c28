#include "db/cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <ostream>
#include <string_view>
#include <type_traits>

#include "base/atomic_file.h"
#include "base/clean_stream.h"
#include "base/cli.h"
#include "base/json_options.h"
#include "base/key.h"
#include "base/short_hash.h"
#include "base/text.h"
#include "base/time_text.h"
#include "db/check.h"
#include "db/cli/package_commands.h"
#include "db/cli/tophub_help.h"
#include "db/cli/why.h"
#include "db/exchange.h"
#include "db/hub_files.h"
#include "db/lookup.h"
#include "db/migrations.h"
#include "db/rescue.h"
#include "db/store.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string db;
  bool json = false;
  std::string task, args, workload, target = "llvm", in_layout, out_layout;  // best
  std::string list_task, list_target;
  int64_t limit = 50;
  std::string file;
  std::vector<std::string> files;
  bool best_only = false, repair = false;
  std::string target_kind = "llvm", out_file;  // train
  std::string min_confidence = "default";      // why
  bool all = false;                            // sync
  PackageFlags package;                        // pack, push, pull, verify, diff
};

struct Context {
  const Flags& flags;
  const std::string flags_file;  ///< empty: none
  const CompilerHooks& hooks;
  std::ostream& out;
};

void print_json(std::ostream& out, const OrderedJson& json) { out << json_line(json) << '\n'; }

template <class T>
decltype(auto) one_line(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return clean_line(value);
  else
    return (value);
}

// Lines for people: texts of old databases and names of files may hold anything, line feeds too.
template <class... T>
void print(std::ostream& out, fmt::format_string<T...> format, T&&... values) {
  out << fmt::format(fmt::runtime(fmt::string_view(format)), one_line(values)...);
}

OrderedJson to_json(const MachineState& m) {
  const auto reading = [](const std::optional<double>& x) { return x ? OrderedJson(*x) : OrderedJson(); };
  return {{"governor", m.governor},
          {"temperature_c", {reading(m.temperature_before_c), reading(m.temperature_after_c)}},
          {"clock_mhz", {reading(m.clock_before_mhz), reading(m.clock_after_mhz)}},
          {"throttled", m.throttled}};
}

// A best in words; its config as it is stored where the compiler does not know it.
BestInWords described(const CompilerHooks& hooks, const BestRow& row) {
  BestInWords out = hooks.describe ? hooks.describe(row) : BestInWords();
  if (out.config.empty()) out.config = row.config;
  return out;
}

OrderedJson to_json(const BestRow& row, const BestInWords& words) {
  return {{"workload", row.workload},
          {"target", row.target},
          {"in_layout", row.in_layout},
          {"out_layout", row.out_layout},
          {"config", row.config},
          {"config_name", words.name},
          {"config_words", words.config},
          {"time_ms", row.seconds * 1e3},
          {"gflops", words.gflops > 0 ? OrderedJson(words.gflops) : OrderedJson()},
          {"spread", row.spread},
          {"confirmed", row.confirmed},
          {"disturbed", row.disturbed},
          {"of_default", row.of_default() ? OrderedJson(*row.of_default()) : OrderedJson()},
          {"of_sentinel", row.of_sentinel() ? OrderedJson(*row.of_sentinel()) : OrderedJson()},
          {"space", row.space},
          {"template", row.template_name},
          {"revision", row.template_revision},
          {"device", row.device},
          {"device_model", row.device_model},
          {"missing", row.missing},
          {"machine", row.machine ? to_json(*row.machine) : OrderedJson()},
          {"versions", {{"hone", row.hone_version}, {"codegen", row.codegen_version}}},
          {"session", row.session},
          {"seq", row.seq},
          {"candidate", row.candidate},
          {"measured_at", row.updated_at}};
}

StatusOr<std::string> wanted_workload(const Context& c, const std::string& target) {
  const Flags& f = c.flags;
  if (f.task.empty() == f.workload.empty())
    return usage_error("best: give either --task (with --args) or --workload TEXT");
  if (!f.workload.empty()) {
    if (!f.args.empty()) return usage_error("best: --args belongs to --task; --workload holds its own arguments");
    return c.hooks.parse_workload ? c.hooks.parse_workload(f.workload) : f.workload;
  }
  if (!c.hooks.workload)
    return usage_error(
        "best: this program was built without the compiler's tasks; give --workload TEXT (`tophub list` shows them)");
  return c.hooks.workload(f.task, f.args, target);
}

Status cmd_best(const Context& c) {
  const Flags& f = c.flags;
  LookupQuery query;
  query.target = f.target;
  if (c.hooks.target) {
    HONE_ASSIGN_OR_RETURN(query.target, c.hooks.target(f.target));
  }
  HONE_ASSIGN_OR_RETURN(query.workload, wanted_workload(c, query.target));
  if (!f.in_layout.empty()) query.in_layout = f.in_layout;
  if (!f.out_layout.empty()) query.out_layout = f.out_layout;
  if (c.hooks.rank_nearest)
    query.rank_nearest = [&](const std::vector<std::string>& known) {
      return c.hooks.rank_nearest(query.workload, known);
    };
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<TopHub> hub, TopHub::open(usual_hub(f.db)));
  HONE_ASSIGN_OR_RETURN(const LookupAnswer answer, hub->best(query));
  if (!answer.row)
    return absl::NotFoundError(
        fmt::format("no record of {} for {} or another {} target; `tophub list` shows the stored workloads",
                    query.workload, query.target, target_kind(query.target)));
  const BestRow& row = *answer.row;
  query.in_model = true;
  HONE_ASSIGN_OR_RETURN(const LookupAnswer in_model, hub->best(query));
  const BestInWords words = described(c.hooks, row);
  static constexpr const char* kSteps[] = {"exact", "other target", "nearest"};
  if (f.json) {
    OrderedJson json = to_json(row, words);
    json["source"] = answer.source;
    json["step"] = kSteps[static_cast<int>(answer.step)];
    if (in_model.is_choice) json["in_models"] = in_model.row->config;
    print_json(c.out, json);
    return absl::OkStatus();
  }
  print(c.out, "workload  {}\ntarget    {}\n", row.workload, row.target);
  if (!row.in_layout.empty() || !row.out_layout.empty())
    print(c.out, "layouts   {} -> {}\n", row.in_layout, row.out_layout);
  print(c.out, "config    {}\ntime      {} ms, spread {:.1f}%, {}\n", words.config, ms_text(row.seconds),
        row.spread * 100, row.standing());
  if (in_model.is_choice)
    print(c.out, "in models {} (faster inside a model that was timed with it)\n",
          described(c.hooks, *in_model.row).config);
  if (row.disturbed)
    print(c.out, "disturbed {} while this was timed{}; tune again when the machine is quiet, which confirms it first\n",
          row.disturbed_by(),
          row.of_default()
              ? fmt::format(": it took {:.3g} of the time of the default, timed next to it", *row.of_default())
              : "");
  print(c.out, "space     {} ({} revision {})\ndevice    {} {}\nversions  hone {}, codegen {}\nsource    {} ({})\n",
        short_hash(row.space), row.template_name, row.template_revision, row.device, row.device_model, row.hone_version,
        row.codegen_version, answer.source, kSteps[static_cast<int>(answer.step)]);
  if (row.machine) print(c.out, "machine   {}\n", row.machine->text());
  if (!row.missing.empty()) print(c.out, "measured  without {}, which the device did not have\n", row.missing);
  return absl::OkStatus();
}

Status cmd_list(const Context& c) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, open_for_reading(c.flags.db));
  BestFilter filter;
  filter.task = c.flags.list_task;
  if (c.flags.list_target.find(' ') == std::string::npos)
    filter.target_kind = c.flags.list_target;
  else
    filter.target = c.flags.list_target;
  HONE_ASSIGN_OR_RETURN(std::vector<BestRow> rows, store->best().list(filter));
  if (c.flags.json) {
    for (const BestRow& row : rows) print_json(c.out, to_json(row, described(c.hooks, row)));
    return absl::OkStatus();
  }
  std::vector<BestRow> all = one_per_workload(rows);
  const size_t count = all.size(), shown = std::min(count, static_cast<size_t>(c.flags.limit));
  all.resize(shown);
  c.out << listing(all, c.hooks.describe, c.hooks.columns) << standing_legend(all);
  print(c.out, "{} best config{} in {}{}{}\n", count, count == 1 ? "" : "s", store->path(),
        count < rows.size() ? fmt::format(", {} with those of other layouts (--json)", rows.size()) : "",
        shown < count ? fmt::format(", {} shown (--limit)", shown) : "");
  HONE_ASSIGN_OR_RETURN(const int64_t foreign, store->foreign().count());
  if (foreign > 0)
    print(c.out, "{} foreign record{} (from other tuners): starting points for a search, never a best config\n",
          foreign, foreign == 1 ? "" : "s");
  return absl::OkStatus();
}

// ", 2 priors"; nothing of none.
std::string counted(int64_t n, const char* what) {
  return n > 0 ? fmt::format(", {} {}{}", n, what, n == 1 ? "" : "s") : "";
}

Status cmd_stats(const Context& c) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, open_for_reading(c.flags.db));
  Database& db = store->database();
  std::map<std::string, int64_t> by_status;
  {
    HONE_ASSIGN_OR_RETURN(Statement q, db.prepare("SELECT status, count(*) FROM trials GROUP BY status"));
    for (;;) {
      HONE_ASSIGN_OR_RETURN(const bool row, q.step());
      if (!row) break;
      by_status[q.text(0)] = q.integer(1);
    }
  }
  int64_t trials = 0;
  for (const auto& [status, n] : by_status) trials += n;
  HONE_ASSIGN_OR_RETURN(const int64_t sessions, db.query_integer("SELECT count(*) FROM sessions"));
  HONE_ASSIGN_OR_RETURN(const int64_t workloads, db.query_integer("SELECT count(DISTINCT workload) FROM keys"));
  HONE_ASSIGN_OR_RETURN(const int64_t targets, db.query_integer("SELECT count(DISTINCT target) FROM keys"));
  HONE_ASSIGN_OR_RETURN(const int64_t bests, db.query_integer("SELECT count(*) FROM best"));
  HONE_ASSIGN_OR_RETURN(const int64_t confirmed, db.query_integer("SELECT count(*) FROM best WHERE confirmed"));
  HONE_ASSIGN_OR_RETURN(const int64_t disturbed,
                        db.query_integer("SELECT count(*) FROM best JOIN disturbed_trials d ON d.trial = best.trial"));
  HONE_ASSIGN_OR_RETURN(const int64_t priors, db.query_integer("SELECT count(*) FROM priors"));
  HONE_ASSIGN_OR_RETURN(const int64_t choices, db.query_integer("SELECT count(*) FROM choices"));
  HONE_ASSIGN_OR_RETURN(const int64_t definitions, db.query_integer("SELECT count(*) FROM definitions"));
  HONE_ASSIGN_OR_RETURN(const int64_t foreign, store->foreign().count());
  HONE_ASSIGN_OR_RETURN(const int64_t mapped,
                        db.query_integer("SELECT count(*) FROM foreign_records WHERE workload <> ''"));
  HONE_ASSIGN_OR_RETURN(const int64_t version, db.query_integer("PRAGMA user_version"));
  std::error_code ec;
  const auto bytes = static_cast<int64_t>(fs::file_size(store->path(), ec));
  if (c.flags.json) {
    print_json(c.out, {{"db", store->path()},
                       {"version", version},
                       {"bytes", bytes},
                       {"sessions", sessions},
                       {"workloads", workloads},
                       {"targets", targets},
                       {"trials", trials},
                       {"by_status", by_status},
                       {"best", bests},
                       {"confirmed", confirmed},
                       {"disturbed", disturbed},
                       {"choices", choices},
                       {"definitions", definitions},
                       {"priors", priors},
                       {"foreign", foreign},
                       {"foreign_mapped", mapped}});
    return absl::OkStatus();
  }
  print(c.out,
        "{}: version {}, {:.1f} MB\n{} workloads, {} targets, {} sessions\n{} best configs, {} of them "
        "confirmed, {} disturbed (timed while others used the machine or it was throttled)\n{} chosen inside "
        "models\n{} prior{}{}\n{} foreign records (from other tuners), {} of them of workloads "
        "that Hone knows\n{} trials\n",
        store->path(), version, static_cast<double>(bytes) / 1e6, workloads, targets, sessions, bests, confirmed,
        disturbed, choices, priors, priors == 1 ? "" : "s", counted(definitions, "definition"), foreign, mapped,
        trials);
  for (const auto& [status, n] : by_status) print(c.out, "{:>10}  {}\n", n, status);
  return absl::OkStatus();
}

// The command's database.
std::string own_db(const Context& c) { return c.flags.db.empty() ? user_db_path() : c.flags.db; }

// Checks a command that writes `file` (empty: none) beside its database: neither may be another's, or one that is read.
Status check_files(const Context& c, CommandFiles files, const std::string& what, const std::string& file) {
  files.reads(kFlagsFile, c.flags_file);
  writes_database(files, c.flags.db.empty() ? "the user's tophub" : "--db", own_db(c));
  files.writes(what, file);
  return files.check();
}

Status cmd_export(const Context& c) {
  if (c.flags.file != "-") HONE_RETURN_IF_ERROR(check_files(c, {}, "export", c.flags.file));
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, open_for_reading(c.flags.db));
  if (c.flags.file == "-") return export_records(*store, c.out, c.flags.best_only).status();
  ExchangeCount count;
  HONE_RETURN_IF_ERROR(write_atomically(c.flags.file, [&](std::ostream& file) -> Status {
    HONE_ASSIGN_OR_RETURN(count, export_records(*store, file, c.flags.best_only));
    return absl::OkStatus();
  }));
  if (c.flags.json)
    print_json(c.out, {{"file", c.flags.file},
                       {"sessions", count.sessions},
                       {"trials", count.trials},
                       {"choices", count.choices},
                       {"definitions", count.definitions},
                       {"priors", count.priors}});
  else
    print(c.out, "{}: {} trials, {} sessions{}{}{}\n", c.flags.file, count.trials, count.sessions,
          counted(count.choices, "choice"), counted(count.definitions, "definition"), counted(count.priors, "prior"));
  return absl::OkStatus();
}

void print_added(const Context& c, const std::string& from, const ExchangeCount& count) {
  if (c.flags.json) {
    print_json(c.out, {{"file", from},
                       {"sessions", count.sessions},
                       {"trials", count.trials},
                       {"duplicates", count.duplicates},
                       {"choices", count.choices},
                       {"definitions", count.definitions},
                       {"priors", count.priors},
                       {"foreign", count.foreign},
                       {"dated_ahead", count.dated_ahead}});
    return;
  }
  print(c.out, "{}: {} new trials, {} were there already", from, count.trials, count.duplicates);
  if (count.choices > 0) print(c.out, "; {} new choice{}", count.choices, count.choices == 1 ? "" : "s");
  if (count.definitions > 0)
    print(c.out, "; {} new definition{}", count.definitions, count.definitions == 1 ? "" : "s");
  if (count.priors > 0) print(c.out, "; {} new prior{}", count.priors, count.priors == 1 ? "" : "s");
  if (count.foreign > 0) print(c.out, "; {} new foreign records", count.foreign);
  if (count.dated_ahead > 0) print(c.out, "; {} dated in the future, stored with the present time", count.dated_ahead);
  print(c.out, "\n");
}

void print_foreign(const Context& c, const std::string& from, const ForeignCount& count) {
  if (c.flags.json) {
    print_json(c.out, {{"file", from},
                       {"format", "autotvm"},
                       {"foreign", count.records},
                       {"duplicates", count.duplicates},
                       {"mapped", count.mapped},
                       {"seeds", count.seeds},
                       {"skipped", count.skipped},
                       {"reasons", count.reasons}});
    return;
  }
  print(c.out,
        "{}: an AutoTVM log: {} new foreign records, {} were there already, {} skipped\n"
        "{}: {} are of workloads that Hone knows, and {} of them can start a search on this machine\n",
        from, count.records, count.duplicates, count.skipped, from, count.mapped, count.seeds);
  for (const auto& [reason, n] : count.reasons) print(c.out, "{:>8}  {}\n", n, reason);
}

Status cannot_import(const std::string& name, const std::string& why) {
  return usage_error(
      fmt::format("import: {} {}; name a file of `tophub export` or an AutoTVM log, or - for stdin", name, why));
}

Status import_file(const Context& c, Store& store, std::istream& in, const std::string& name) {
  LineReader lines(in);
  if (is_autotvm_log(lines)) {
    HONE_ASSIGN_OR_RETURN(const ForeignCount count, import_autotvm(store, lines, name, c.hooks.foreign));
    print_foreign(c, name, count);
    return absl::OkStatus();
  }
  HONE_ASSIGN_OR_RETURN(const ExchangeCount count,
                        import_records(store, lines, name, {.check_prior = c.hooks.check_prior}));
  print_added(c, name, count);
  return absl::OkStatus();
}

Status cmd_import(const Context& c) {
  // A missing file should not leave a new, empty database behind. Pipes and devices may never answer, or never end:
  // data from a pipe comes by stdin.
  for (const std::string& name : c.flags.files) {
    std::error_code ec;
    if (name == "-") continue;
    if (access(name.c_str(), R_OK) != 0) return cannot_import(name, "cannot be read");
    if (!fs::is_regular_file(name, ec)) return cannot_import(name, "is not a regular file");
    if (fs::file_size(name, ec) == 0 && !ec) return cannot_import(name, "is empty");
  }
  CommandFiles files;
  for (const std::string& name : c.flags.files)
    if (name != "-") files.reads("import", name);
  HONE_RETURN_IF_ERROR(check_files(c, std::move(files), "", ""));
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, open_for_writing(c.flags.db));
  for (const std::string& name : c.flags.files) {
    if (name == "-") {
      HONE_RETURN_IF_ERROR(import_file(c, *store, c.hooks.in ? *c.hooks.in : std::cin, "stdin"));
      continue;
    }
    std::ifstream file(name, std::ios::binary);
    if (!file) return cannot_import(name, "cannot be read");
    HONE_RETURN_IF_ERROR(import_file(c, *store, file, name));
  }
  return absl::OkStatus();
}

Status cmd_merge(const Context& c) {
  CommandFiles files;
  reads_database(files, "merge", c.flags.file);
  HONE_RETURN_IF_ERROR(check_files(c, std::move(files), "", ""));
  if (std::error_code ec; !fs::exists(c.flags.file, ec))
    return database_error(fmt::format("merge: {} does not exist", c.flags.file));
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> other, open_for_reading(c.flags.file));
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, open_for_writing(c.flags.db));
  HONE_ASSIGN_OR_RETURN(const ExchangeCount count, merge_records(*store, *other, c.hooks.check_prior));
  print_added(c, c.flags.file, count);
  return absl::OkStatus();
}

Status cmd_check(const Context& c) {
  HONE_RETURN_IF_ERROR(check_files(c, {}, "", ""));
  HONE_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, open_for_reading(c.flags.db));
  int64_t mended = 0;
  if (c.flags.repair) {
    const std::string path = store->path();
    store.reset();
    HONE_ASSIGN_OR_RETURN(store, Store::open(path));
    HONE_ASSIGN_OR_RETURN(mended, store->best().rebuild());
  }
  HONE_ASSIGN_OR_RETURN(const std::vector<std::string> problems, check_store(*store));
  HONE_ASSIGN_OR_RETURN(const int64_t ahead, count_dated_ahead(*store));
  if (c.flags.json) {
    print_json(c.out, {{"db", store->path()},
                       {"ok", problems.empty()},
                       {"problems", problems},
                       {"dated_ahead", ahead},
                       {"bests_changed", mended}});
  } else {
    for (const std::string& problem : problems) print(c.out, "{}\n", problem);
    if (ahead > 0)
      print(c.out, "{}: {} record{} dated in the future, stored while a clock was ahead: they count as if stored now\n",
            store->path(), ahead, ahead == 1 ? " is" : "s are");
    if (c.flags.repair)
      print(c.out, "{}: best configs derived again from the trials, {} changed\n", store->path(), mended);
    if (problems.empty()) print(c.out, "{}: ok\n", store->path());
  }
  if (problems.empty()) return absl::OkStatus();
  return database_error(fmt::format(
      "{} has {} problem{}; `tophub check --repair` derives the best configs again; for other damage restore a copy",
      store->path(), problems.size(), problems.size() == 1 ? "" : "s"));
}

using Team = std::pair<std::shared_ptr<RemoteHub>, std::shared_ptr<Source>>;

StatusOr<Team> team_of(const Context& c) {
  if (!c.hooks.open_team) return Team();
  return c.hooks.open_team();
}

Status cmd_why(const Context& c) {
  const Flags& f = c.flags;
  if (!c.hooks.candidates) return usage_error("why: this program was built without the compiler's spaces");
  HONE_RETURN_IF_ERROR(check_files(c, {}, "", ""));
  std::string target = f.target;
  if (c.hooks.target) {
    HONE_ASSIGN_OR_RETURN(target, c.hooks.target(f.target));
  }
  std::string workload = f.workload;
  if (c.hooks.parse_workload) {
    HONE_ASSIGN_OR_RETURN(workload, c.hooks.parse_workload(f.workload));
  }
  HONE_ASSIGN_OR_RETURN(const Team team, team_of(c));
  HubOptions options = usual_hub(f.db, team.second);
  options.least = *parse_confidence(f.min_confidence);
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<TopHub> hub, TopHub::open(options));
  HONE_ASSIGN_OR_RETURN(const std::vector<Candidate> found, c.hooks.candidates(workload, target, *hub));
  print_candidates(found, workload, target, c.hooks, f.json, c.out);
  return absl::OkStatus();
}

Status cmd_sync(const Context& c) {
  HONE_RETURN_IF_ERROR(check_files(c, {}, "", ""));
  HONE_ASSIGN_OR_RETURN(const Team team, team_of(c));
  if (!team.first) return usage_error("sync: there is no team's tophub; give --tophub URL, or HONE_TOPHUB");
  return sync_with_team(c.flags.db, c.flags.all, *team.first, c.flags.json, c.out);
}

std::string accuracy_text(const PriorRow& p) {
  const auto share = [](const std::optional<double>& x) {
    return x ? fmt::format("{:.3f}", *x) : std::string("unknown");
  };
  return fmt::format("pairwise {}, peak@1 {}, peak@5 {}", share(p.pairwise), share(p.peak1), share(p.peak5));
}

Status cmd_train(const Context& c) {
  HONE_RETURN_IF_ERROR(check_files(c, {}, "--out", c.flags.out_file));
  if (!c.hooks.train) return usage_error("train: this program was built without the tuner's cost model");
  // A database that is not there is a typo, not a new one.
  HONE_RETURN_IF_ERROR(open_for_reading(c.flags.db).status());
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, open_for_writing(c.flags.db));
  HONE_ASSIGN_OR_RETURN(const Training made, c.hooks.train(*store, c.flags.target_kind));
  const PriorRow& p = made.prior;
  const StatusOr<bool> put = store->priors().put(p);
  if (is_lost(put.status())) {
    const StatusOr<std::string> file = rescue(store->path(), {.priors = {p}});
    return database_error(
        fmt::format("{}; {}", message_of(put.status()),
                    file.ok() ? "the prior is in " + *file + ", for `tophub import`" : message_of(file.status())));
  }
  HONE_RETURN_IF_ERROR(put.status());
  const std::string& out = c.flags.out_file;
  if (!out.empty())
    HONE_RETURN_IF_ERROR(write_atomically(out, [&](std::ostream& file) {
      write_records({.priors = {p}}, file);
      return absl::OkStatus();
    }));
  if (c.flags.json) {
    const auto share = [](const std::optional<double>& x) { return x ? OrderedJson(*x) : OrderedJson(); };
    print_json(c.out, {{"db", store->path()},
                       {"target_kind", p.target_kind},
                       {"schema", p.schema},
                       {"workloads", made.workloads},
                       {"groups", p.groups},
                       {"trials", p.trials},
                       {"recomputed", made.recomputed},
                       {"skipped", made.skipped_trials},
                       {"skipped_because", made.skipped_because},
                       {"held_out", p.held_out},
                       {"pairwise", share(p.pairwise)},
                       {"peak1", share(p.peak1)},
                       {"peak5", share(p.peak5)},
                       {"bytes", p.model.size()},
                       {"out", out}});
    return absl::OkStatus();
  }
  print(c.out, "learned from {} trials of {} workloads, in {} groups of a workload, a target and a device\n", p.trials,
        made.workloads, p.groups);
  if (made.recomputed > 0) print(c.out, "recomputed   the features of {} of them\n", made.recomputed);
  if (made.skipped_trials > 0) print(c.out, "skipped      {} trials: {}\n", made.skipped_trials, made.skipped_because);
  if (p.held_out > 0)
    print(c.out, "accuracy     {}: the mean of {} groups, each predicted without its workload\n", accuracy_text(p),
          p.held_out);
  else
    print(c.out, "accuracy     unknown: it takes a second workload to test on\n");
  print(c.out, "stored       {}: the prior for {}, {:.0f} kB, feature schema {}\n", store->path(), p.target_kind,
        static_cast<double>(p.model.size()) / 1e3, short_hash(p.schema));
  if (!out.empty()) print(c.out, "written      {}: for `tophub import`, or as a package\n", out);
  return absl::OkStatus();
}

PackageFlags package_flags(const Context& c) {
  PackageFlags f = c.flags.package;
  f.db = c.flags.db, f.json = c.flags.json;
  return f;
}

Status cmd_package(const Context& c, const PackageCommand& command) {
  HONE_RETURN_IF_ERROR(check_files(c, {}, "", ""));
  const PackageFlags flags = package_flags(c);
  const Status done = (PackageCommands{flags, c.hooks.packages, c.hooks.check_prior, c.out}.*command.run)();
  // A key that nobody trusts is the user's to judge; a place that does not answer is a database that cannot be read.
  if (absl::IsPermissionDenied(done)) return usage_error(message_of(done));
  if (absl::IsUnavailable(done)) return database_error(message_of(done));
  return done;
}

}  // namespace

CommandEnd run_tophub(const std::vector<std::string>& words, const std::vector<Json>& options,
                      const CompilerHooks& hooks, std::ostream& out) {
  Flags f;
  CommandLine line("", "tophub");
  line.fallthrough();
  line.add_option("--db", f.db, "the tophub (default: $HONE_DB, else the user's data folder)");
  line.add_flag("--json", f.json, "print results as JSON, one object a line");
  if (hooks.add_flags) hooks.add_flags(line);
  struct Command {
    const CommandLine* line;
    Status (*run)(const Context&);
  };
  std::vector<Command> commands;
  std::vector<std::string> names;
  const auto add = [&](const char* name, const char* text, Status (*run)(const Context&)) -> CommandLine& {
    CommandLine& command = line.add_command(name, text);
    names.emplace_back(name);
    commands.push_back({&command, run});
    return command;
  };
  CommandLine& best =
      add("best", "Example: tophub best --task dense --args m=128,n=768,k=768 --target llvm\nPrint the best config.",
          &cmd_best);
  best.add_option("--task", f.task, hooks.tasks.empty() ? "the operator" : hooks.tasks);
  best.add_option("--args", f.args, "the workload's attributes: k=v,...");
  best.add_option("--workload", f.workload,
                  "the workload's text, as `tophub list` shows it, in place of --task and --args");
  best.add_option("--target", f.target, "llvm or the kind of a GPU, with fields such as -mcpu=znver5")
      .capture_default_str();
  best.add_option("--in-layout", f.in_layout, "only configs with this input layout");
  best.add_option("--out-layout", f.out_layout, "only configs with this output layout");
  CommandLine& list = add(
      "list",
      "Example: tophub list --task conv2d\nList the best of each workload and target; --json: of each layout, whole.",
      &cmd_list);
  list.add_option("--task", f.list_task, "only this task");
  list.add_option("--target", f.list_target, "only this kind of target (llvm) or, given in full, this target");
  list.add_option("--limit", f.limit, "print at most this many lines (without --json)")
      .check(number_from(0, 1 << 30))
      .capture_default_str();
  add("stats", "Example: tophub stats --json\nCount what is stored.", &cmd_stats);
  CommandLine& exported =
      add("export", "Example: tophub export records.jsonl\nWrite the records as JSON lines.", &cmd_export);
  exported.add_option("FILE", f.file, "the file to write; - is stdout").required();
  exported.add_flag("--best", f.best_only, "only the trials of best configs, and the choices between these");
  CommandLine& imported =
      add("import",
          "Example: tophub import records.jsonl\nAdd the records of exported files; those of AutoTVM "
          "logs only start a search.",
          &cmd_import);
  imported.add_option("FILE", f.files, "files of `tophub export` or AutoTVM logs; - is stdin").required();
  CommandLine& merge = add("merge", "Example: tophub merge OTHER.db\nAdd the records of another tophub.", &cmd_merge);
  merge.add_option("OTHER", f.file, "the other tophub").required();
  CommandLine& check = add("check", "Example: tophub check\nLook for damage.", &cmd_check);
  check.add_flag("--repair", f.repair, "derive the best configs from the trials again");

  CommandLine& why =
      add("why",
          "Example: tophub why 'dense(m=128,n=768,k=768)'\nPrint every row that a build comes across for "
          "a workload, and why it is taken or not.",
          &cmd_why);
  why.add_option("WORKLOAD", f.workload, "the workload's text, as `tophub list` shows it").required();
  why.add_option("--target", f.target, "llvm or the kind of a GPU, with fields such as -mcpu=znver5")
      .capture_default_str();
  why.add_option("--min-confidence", f.min_confidence, "as tensorc has it")
      .check(text_from({"confirmed", "trusted", "elsewhere", "nearest", "default"}))
      .capture_default_str();
  CommandLine& sync = add("sync",
                          "Example: tophub sync --tophub https://lab:9200\nSend a team's tophub what sessions with "
                          "--tophub confirmed and could not send.",
                          &cmd_sync);
  sync.add_flag("--all", f.all, "send all that sessions on this tophub confirmed, also without --tophub");
  if (hooks.add_team_flags) {
    hooks.add_team_flags(why);
    hooks.add_team_flags(sync);
  }
  CommandLine& train =
      add("train", "Example: tophub train\nMake a prior, the cost model that a search begins with, from the trials.",
          &cmd_train);
  train.add_option("--target-kind", f.target_kind, "learn from the trials of these targets: llvm or a kind of GPUs")
      .capture_default_str();
  train.add_option("--out", f.out_file, "write the prior to this file, too");

  std::vector<std::pair<const CommandLine*, PackageCommand>> packages;
  for (const PackageCommand& command : package_commands()) {
    CommandLine& own = line.add_command(command.name, command.text);
    names.emplace_back(command.name);
    command.add_flags(own, f.package);
    packages.emplace_back(&own, command);
  }

  std::vector<const CommandLine*> more;
  for (const MoreCommand& command : hooks.commands) {
    CommandLine& own = line.add_command(command.name, command.text);
    names.emplace_back(command.name);
    command.add_flags(own);
    more.push_back(&own);
  }

  set_help(line, tophub_help());
  // A command stands first.
  CommandLine* const given = words.empty() ? nullptr : line.find_command(words[0]);
  for (const Json& object : options) set_options(given ? *given : line, object);
  return run_command(line, words, [&]() -> Status {
    for (const Command& command : commands)
      if (command.line == line.command()) return command.run({f, flags_file(line), hooks, out});
    for (const auto& [own, command] : packages)
      if (own == line.command()) return cmd_package({f, flags_file(line), hooks, out}, command);
    for (size_t i = 0; i < more.size(); ++i)
      if (more[i] == line.command()) return hooks.commands[i].run(f.db, out);
    return usage_error(fmt::format("give one command: {} (--help shows what they do)", fmt::join(names, ", ")));
  });
}

int tophub_main(int argc, const char* const* argv, const CompilerHooks& hooks, std::ostream& out) {
  const CleanStream clean(out), err(std::cerr);
  return print_end("tophub", run_tophub({argv + std::min(1, argc), argv + argc}, {}, hooks, out));
}

}  // namespace hone::db
