#include "db/cli/package_commands.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/command_line.h"
#include "base/exit_code.h"
#include "base/json.h"
#include "base/text.h"
#include "db/lock/lock_file.h"
#include "db/package/pack.h"
#include "db/package/pull.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

OrderedJson statement_json(const PackageStatement& s) {
  return {{"name", s.name}, {"number", s.number}, {"packed_by", s.packed_by}, {"summary", to_json(s.summary)}};
}

std::string key_file_of(const PackageFlags& f) { return f.key.empty() ? user_package_paths().key : f.key; }

// Packs the tophub at `place`.
StatusOr<Packed> pack_at(const PackageFlags& f, const PackageHooks& hooks, PackagePlace& place,
                         const std::string& name) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, open_for_reading(f.db));
  PackOptions options;
  options.name = name, options.key_file = key_file_of(f);
  options.number = f.number, options.all = f.all, options.now_ms = unix_ms();
  return pack(*store, place, options, hooks);
}

void tell(std::ostream& out, bool json, const char* what, const std::string& place, const Packed& made) {
  const std::string fingerprint = key_fingerprint(made.key);
  if (json) {
    OrderedJson j = statement_json(made.statement);
    j["place"] = place, j["bytes"] = made.bytes, j["fingerprint"] = fingerprint;
    out << json_line(j) << '\n';
    return;
  }
  out << fmt::format("{} {} {} at {}: {:.1f} kB\n", what, made.statement.name, made.statement.number, clean_line(place),
                     static_cast<double>(made.bytes) / 1e3)
      << fmt::format("behind it    {}\nsigned by    {}\n", to_string(made.statement.summary), fingerprint);
}

PullOptions pull_options(const PackageFlags& f, const PriorCheck& check_prior) {
  PullOptions options;
  options.paths = user_package_paths();
  options.trust = f.trust, options.check_prior = check_prior, options.now_ms = unix_ms();
  return options;
}

Status merge_pulled(const PackageFlags& f, const Pulled& pulled, const PriorCheck& check_prior, std::ostream& out) {
  OpenOptions immutable;
  immutable.mode = OpenMode::kImmutable;
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> package, Store::open(pulled.folder + "/records.db", immutable));
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, open_for_writing(f.db));
  HONE_ASSIGN_OR_RETURN(const ExchangeCount count, merge_records(*store, *package, check_prior));
  if (!f.json)
    out << fmt::format("added        {} new trials to {}, {} were there\n", count.trials, clean_line(store->path()),
                       count.duplicates);
  return absl::OkStatus();
}

}  // namespace

Status PackageCommands::pack() const {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<PackagePlace> place, find_place(flags.folder, hooks, flags.access));
  HONE_ASSIGN_OR_RETURN(const Packed made, pack_at(flags, hooks, *place, flags.name));
  tell(out, flags.json, "packed", place->name(), made);
  return absl::OkStatus();
}

Status PackageCommands::push() const {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<PackagePlace> to, find_place(flags.to, hooks, flags.access));
  std::error_code ec;
  if (!std::filesystem::is_directory(flags.from, ec)) {
    if (!is_package_name(flags.from))
      return usage_error(fmt::format("push {}: neither a folder nor the name of a package", flags.from));
    HONE_ASSIGN_OR_RETURN(const Packed made, pack_at(flags, hooks, *to, flags.from));
    tell(out, flags.json, "pushed", to->name(), made);
    return absl::OkStatus();
  }
  const std::unique_ptr<PackagePlace> from = package_folder(flags.from);
  HONE_ASSIGN_OR_RETURN(const PackageStatement s, copy_package(*from, *to));
  if (flags.json) {
    OrderedJson j = statement_json(s);
    j["place"] = to->name();
    out << json_line(j) << '\n';
  } else {
    out << fmt::format("pushed {} {} to {}\n", s.name, s.number, clean_line(to->name()));
  }
  return absl::OkStatus();
}

Status PackageCommands::pull() const {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<PackagePlace> place, find_place(flags.from, hooks, flags.access));
  HONE_ASSIGN_OR_RETURN(const Pulled pulled, db::pull(*place, pull_options(flags, check_prior), hooks));
  const PackageStatement& s = pulled.statement;
  if (flags.json) {
    OrderedJson j = statement_json(s);
    j["place"] = place->name(), j["folder"] = pulled.folder, j["was_there"] = pulled.was_there;
    j["fingerprint"] = key_fingerprint(pulled.key);
    out << json_line(j) << '\n';
  } else {
    out << fmt::format("{} {} {} from {}\nbehind it    {}\nsigned by    {}{}\n",
                       pulled.was_there ? "there already:" : "pulled", s.name, s.number, clean_line(place->name()),
                       to_string(s.summary), key_fingerprint(pulled.key),
                       pulled.is_new_key ? ", trusted for this place from now on" : "");
  }
  return flags.merge ? merge_pulled(flags, pulled, check_prior, out) : absl::OkStatus();
}

Status PackageCommands::verify() const {
  if (!flags.folder.empty()) {
    HONE_ASSIGN_OR_RETURN(const std::unique_ptr<PackagePlace> place, find_place(flags.folder, hooks, flags.access));
    HONE_ASSIGN_OR_RETURN(const Verified v, verify_package(*place, pull_options(flags, check_prior), hooks));
    if (flags.json) {
      OrderedJson j = statement_json(v.statement);
      j["place"] = place->name(), j["fingerprint"] = key_fingerprint(v.key), j["trusted"] = v.is_pinned;
      out << json_line(j) << '\n';
      return absl::OkStatus();
    }
    out << fmt::format("whole: {} {} at {}\nbehind it    {}\nsigned by    {}{}\n", v.statement.name, v.statement.number,
                       clean_line(place->name()), to_string(v.statement.summary), key_fingerprint(v.key),
                       v.is_pinned ? "" : ", which nobody here trusts yet");
    return absl::OkStatus();
  }
  const PackagePaths paths = user_package_paths();
  HONE_ASSIGN_OR_RETURN(const std::vector<Installed> all, verify_installed(paths, hooks));
  std::string bad;
  for (const Installed& one : all) {
    if (!one.status.ok() && bad.empty()) bad = message_of(one.status);
    if (flags.json) {
      OrderedJson j = statement_json(one.statement);
      j["source"] = one.source, j["folder"] = one.folder, j["ok"] = one.status.ok(), j["why"] = one.status.message();
      out << json_line(j) << '\n';
    } else if (one.status.ok()) {
      out << fmt::format("whole: {} {} from {}\nbehind it    {}\n", one.statement.name, one.statement.number,
                         clean_line(one.source), to_string(one.statement.summary));
    } else {
      out << fmt::format("bad: {}\n", clean_line(message_of(one.status)));
    }
  }
  if (!flags.json && all.empty()) out << fmt::format("no packages in {}\n", clean_line(paths.packages));
  return bad.empty() ? absl::OkStatus() : database_error(bad);
}

Status PackageCommands::diff() const {
  HONE_ASSIGN_OR_RETURN(const LockFile a, read_lock(flags.a));
  HONE_ASSIGN_OR_RETURN(const LockFile b, read_lock(flags.b));
  const std::vector<std::string> lines = differences(a, b);
  if (flags.json) {
    out << json_line(OrderedJson{{"same", lines.empty()}, {"differences", lines}}) << '\n';
    return absl::OkStatus();
  }
  for (const std::string& line : lines) out << line << '\n';
  if (lines.empty()) out << fmt::format("the same: {} layers\n", a.configs.size());
  return absl::OkStatus();
}

namespace {

void add_key(CommandLine& command, PackageFlags& p) {
  command
      .add_option("--key", p.key,
                  "sign with the private key in FILE (default: package-key in the user's config "
                  "folder, made at the first use)")
      .type_name("FILE");
  command
      .add_option("--number", p.number,
                  "give the package this number, greater than those before (default: the "
                  "next)")
      .check(number_from(int64_t{1}, kMostNumber))
      .type_name("N");
  command.add_flag("--all", p.all, "pack every trial, not only those of best configs");
}

void add_trust(CommandLine& command, PackageFlags& p) {
  command
      .add_option("--trust", p.trust,
                  "trust this key of the place: a file of a public key, or its fingerprint of "
                  "64 digits")
      .type_name("KEY");
}

void add_access(CommandLine& command, PackageFlags& p) {
  command
      .add_option("--auth", p.access.auth_file,
                  "say who asks, over the network: a file, readable by its owner alone, with USER:PASSWORD or a token")
      .type_name("FILE");
  command
      .add_option("--tls-ca", p.access.ca_file,
                  "trust servers whose certificates these in FILE signed (default: those that the system trusts)")
      .type_name("FILE");
}

constexpr PackageCommand kCommands[] = {
    {"pack", "Example: tophub pack zen5 -o zen5-package\nWrite a signed package of the records.",
     [](CommandLine& line, PackageFlags& p) {
       line.add_option("NAME", p.name, "the package's name").required();
       line.add_option("-o", p.folder, "write it to this folder").type_name("FOLDER").required();
       add_key(line, p);
     },
     &PackageCommands::pack},
    {"push", "Example: tophub push zen5-package hone.example.org/team/zen5\nBring a package to a folder or a registry.",
     [](CommandLine& line, PackageFlags& p) {
       line.add_option("FROM", p.from, "a package's folder, or a name: packs the records under it").required();
       line.add_option("TO", p.to, "a folder, or HOST/NAME of a registry").required();
       add_key(line, p);
       add_access(line, p);
     },
     &PackageCommands::push},
    {"pull",
     "Example: tophub pull hone.example.org/team/zen5\nInstall a package: builds look into it behind the user's "
     "tophub.",
     [](CommandLine& line, PackageFlags& p) {
       line.add_option("FROM", p.from, "a folder, https://HOST/FOLDER, or HOST/NAME of a registry").required();
       add_trust(line, p);
       add_access(line, p);
       line.add_flag("--merge", p.merge, "add its records to the tophub, too");
     },
     &PackageCommands::pull},
    {"verify", "Example: tophub verify zen5-package\nCheck a package, or all that were pulled.",
     [](CommandLine& line, PackageFlags& p) {
       line.add_option("PLACE", p.folder, "as of pull; none: what is installed");
       add_trust(line, p);
       add_access(line, p);
     },
     &PackageCommands::verify},
    {"diff", "Example: tophub diff a.lock b.lock\nSay what two lock files differ in, layer by layer.",
     [](CommandLine& line, PackageFlags& p) {
       line.add_option("A", p.a, "a file that tensorc --lock wrote").required();
       line.add_option("B", p.b, "another").required();
     },
     &PackageCommands::diff},
};

}  // namespace

std::span<const PackageCommand> package_commands() { return kCommands; }

}  // namespace hone::db
