#include "db/package/pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/exit_code.h"
#include "base/json.h"
#include "base/plain_file.h"
#include "base/secure_hash.h"
#include "base/text.h"
#include "db/check.h"
#include "db/lookup.h"
#include "db/package/durable_file.h"
#include "db/store.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;

Status denied(const std::string& line) { return absl::PermissionDeniedError(line); }

// The digits that stand for a source in names of folders. Nothing that a package or a place says becomes a path.
std::string key_of_source(const std::string& source) { return sha256_hex(source).substr(0, 16); }

// The fingerprint that the user trusts.
StatusOr<std::string> wanted_fingerprint(const std::string& trust, const PackageHooks& hooks) {
  if (trust.empty() || is_sha256_hex(trust)) return trust;
  std::error_code ec;
  if (!fs::exists(trust, ec))
    return usage_error(fmt::format("--trust {}: neither a file nor the 64 hexadecimal digits of a fingerprint", trust));
  HONE_ASSIGN_OR_RETURN(const std::string key, hooks.read_key(trust));
  return key_fingerprint(key);
}

// Whether a package may be taken, by its key and its number.
class Judge {
 public:
  Judge(const std::string& source, const PackageFiles& files, std::string wanted)
      : source_(source),
        files_(files),
        fingerprint_(key_fingerprint(files.signature.key)),
        wanted_(std::move(wanted)) {}

  // Null: nobody named the key of this place yet.
  Status key(const TrustedSource* pinned) const {
    if (!wanted_.empty() && wanted_ != fingerprint_)
      return denied(fmt::format("{}: it is signed by key {}, not by {} of --trust", source_, fingerprint_, wanted_));
    if (wanted_.empty() && !pinned)
      return denied(
          fmt::format("{}: signed by key {}, which nobody here trusts yet; compare it with what its owner "
                      "says, and give --trust {}",
                      source_, fingerprint_, fingerprint_));
    if (wanted_.empty() && pinned->key != files_.signature.key)
      return denied(
          fmt::format("{}: signed by another key than so far: {} instead of {}; if its owner says so, give "
                      "--trust {}",
                      source_, fingerprint_, key_fingerprint(pinned->key), fingerprint_));
    return absl::OkStatus();
  }

  Status number(const TrustedSource* pinned) const {
    if (!pinned) return absl::OkStatus();
    const PackageStatement& s = files_.statement;
    if (s.name != pinned->name)
      return denied(fmt::format("{}: it is package '{}', and was '{}' so far", source_, s.name, pinned->name));
    if (s.number < pinned->number)
      return denied(fmt::format("{}: package '{}' {} is older than {}, which was taken from there; it is not replaced",
                                source_, s.name, s.number, pinned->number));
    if (s.number == pinned->number && files_.manifest.statement.sha256 != pinned->statement)
      return denied(
          fmt::format("{}: there are two packages '{}' {}: another one was taken from there; its owner signed "
                      "both, or an old one is shown",
                      source_, s.name, s.number));
    return absl::OkStatus();
  }

 private:
  const std::string& source_;
  const PackageFiles& files_;
  const std::string fingerprint_, wanted_;
};

const TrustedSource* find(const TrustedSources& sources, const std::string& name) {
  const auto at = sources.find(name);
  return at == sources.end() ? nullptr : &at->second;
}

// All but the records.
StatusOr<PackageFiles> read_signed(PackagePlace& place, const PackageHooks& hooks) {
  if (!hooks.verifies)
    return usage_error("packages: this program was built without a fleet, whose part signatures are");
  HONE_ASSIGN_OR_RETURN(PackageFiles files, read_package(place));
  if (!hooks.verifies(files.signature, signed_bytes(files.statement_text)))
    return denied(fmt::format("{}: its signature is not one of its statement", place.name()));
  return files;
}

// Makes `folder`/records.db of the records, and checks that they are what the statement says.
StatusOr<std::string> make_records(PackagePlace& place, const PackageStatement& s, const std::string& folder,
                                   const PullOptions& o) {
  HONE_ASSIGN_OR_RETURN(const std::string lines, fetch_records(place, s, folder));
  const std::string path = folder + "/records.db";
  {
    HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, Store::open(path));
    std::ifstream in(lines, std::ios::binary);
    ImportParts parts;
    parts.check_prior = o.check_prior, parts.now_ms = o.now_ms;
    HONE_RETURN_IF_ERROR(import_records(*store, in, place.name() + ": records", parts).status());
    HONE_ASSIGN_OR_RETURN(const PackageSummary found, summary_of(*store));
    if (!found.counts_as(s.summary))
      return absl::InvalidArgumentError(
          fmt::format("{}: its summary says other machines, versions or counts than its "
                      "records have: {}; found: {}",
                      place.name(), to_string(s.summary), to_string(found)));
    // Read without locks or files beside it.
    HONE_RETURN_IF_ERROR(store->database().execute("PRAGMA journal_mode = DELETE"));
  }
  std::error_code ec;
  fs::remove(lines, ec);
  for (const char* suffix : {"-wal", "-shm"}) fs::remove(path + suffix, ec);
  HONE_RETURN_IF_ERROR(sync_file(path));
  return path;
}

std::string describe_installed(const std::string& source, const PackageFiles& files, const std::string& database) {
  return json_lines(OrderedJson{{"hone_installed", 1},
                                {"source", source},
                                {"statement", files.statement_text},
                                {"signature", to_text(files.signature)},
                                {"records", database}}) +
         "\n";
}

// Folders of a source in the user's, newest last.
std::vector<fs::path> folders_of(const std::string& packages, const std::string& key) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(packages, ec))
    if (entry.path().filename().string().starts_with(key + ".")) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

StatusOr<Pulled> pull(PackagePlace& place, const PullOptions& o, const PackageHooks& hooks) {
  const std::string& source = place.name();
  HONE_ASSIGN_OR_RETURN(const PackageFiles files, read_signed(place, hooks));
  HONE_ASSIGN_OR_RETURN(std::string wanted, wanted_fingerprint(o.trust, hooks));
  const Judge judge(source, files, std::move(wanted));
  const auto judged = [&](TrustedSources* sources) -> Status {
    HONE_ASSIGN_OR_RETURN(*sources, read_trusted_sources(o.paths.sources));
    const TrustedSource* pinned = find(*sources, source);
    HONE_RETURN_IF_ERROR(judge.key(pinned));
    return judge.number(pinned);
  };
  TrustedSources sources;
  HONE_RETURN_IF_ERROR(judged(&sources));

  Pulled out{.statement = files.statement, .key = files.signature.key};
  const std::string key = key_of_source(source);
  out.folder = fmt::format("{}/{}.{}", o.paths.packages, key, files.statement.number);
  std::error_code ec;
  fs::create_directories(o.paths.packages, ec);
  if (ec) return database_error(fmt::format("{} cannot be made: {}", o.paths.packages, ec.message()));
  HONE_ASSIGN_OR_RETURN(PartFolder work, PartFolder::make(o.paths.packages));
  const bool is_there = fs::exists(out.folder + "/package.json", ec);
  if (!is_there) {
    HONE_ASSIGN_OR_RETURN(const std::string database, make_records(place, files.statement, work.path(), o));
    HONE_ASSIGN_OR_RETURN(const std::string digest, sha256_of_file(database));
    HONE_RETURN_IF_ERROR(write_durably(work.path() + "/package.json", describe_installed(source, files, digest)));
  }

  // Another pull may have come between: it is judged again, by what that one left.
  HONE_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::take(o.paths.packages));
  HONE_ASSIGN_OR_RETURN(const FolderLock config, FolderLock::take(fs::path(o.paths.sources).parent_path().string()));
  HONE_RETURN_IF_ERROR(judged(&sources));
  const TrustedSource* pinned = find(sources, source);
  out.is_new_key = !pinned || pinned->key != out.key;
  out.was_there = fs::exists(out.folder + "/package.json", ec);
  if (!out.was_there && is_there)
    return database_error(fmt::format("{} was removed meanwhile; pull again", out.folder));
  // The number first: a package that is visible was never an unknown one.
  sources[source] = {out.key, files.statement.name, files.statement.number, files.manifest.statement.sha256, o.now_ms};
  HONE_RETURN_IF_ERROR(write_trusted_sources(o.paths.sources, sources));
  if (!out.was_there) HONE_RETURN_IF_ERROR(work.rename_to(out.folder));
  for (const fs::path& old : folders_of(o.paths.packages, key))
    if (old != fs::path(out.folder)) fs::remove_all(old, ec);
  return out;
}

StatusOr<Verified> verify_package(PackagePlace& place, const PullOptions& o, const PackageHooks& hooks) {
  const std::string& source = place.name();
  HONE_ASSIGN_OR_RETURN(const PackageFiles files, read_signed(place, hooks));
  HONE_ASSIGN_OR_RETURN(std::string wanted, wanted_fingerprint(o.trust, hooks));
  HONE_ASSIGN_OR_RETURN(const TrustedSources sources, read_trusted_sources(o.paths.sources));
  const TrustedSource* pinned = find(sources, source);
  const bool is_known = pinned || !wanted.empty();
  const Judge judge(source, files, std::move(wanted));
  if (is_known) HONE_RETURN_IF_ERROR(judge.key(pinned));
  HONE_RETURN_IF_ERROR(judge.number(pinned));
  HONE_ASSIGN_OR_RETURN(const PartFolder work, PartFolder::make(fs::temp_directory_path().string()));
  HONE_RETURN_IF_ERROR(make_records(place, files.statement, work.path(), o).status());
  return Verified{files.statement, files.signature.key, is_known};
}

namespace {

// Reads package.json, and checks it against its neighbours and the pinned key.
Status check_installed(const std::string& folder, const TrustedSources& sources, const PackageHooks& hooks,
                       Installed& out) {
  const auto bad = [&](const std::string& why) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", folder, why));
  };
  HONE_ASSIGN_OR_RETURN(const std::string text, read_plain_file(folder + "/package.json", 8 * kMostStatementBytes));
  std::string statement, signature, digest;
  try {
    const Json j = Json::parse(text);
    j.at("source").get_to(out.source), j.at("statement").get_to(statement);
    j.at("signature").get_to(signature), j.at("records").get_to(digest);
  } catch (const std::exception&) {
    return bad("package.json is damaged; pull it again");
  }
  HONE_ASSIGN_OR_RETURN(out.statement, parse_statement(statement));
  HONE_ASSIGN_OR_RETURN(const PackageSignature signer, parse_signature(signature));
  if (!hooks.verifies) return usage_error("verify: this program was built without a fleet, whose part signatures are");
  if (!hooks.verifies(signer, signed_bytes(statement))) return bad("its signature is not one of its statement");
  const TrustedSource* pinned = find(sources, out.source);
  if (!pinned) return bad(fmt::format("nobody trusts a key of {} any more; remove the folder", clean_line(out.source)));
  if (pinned->key != signer.key) return bad("it is signed by another key than its source's");
  HONE_ASSIGN_OR_RETURN(const std::string found, sha256_of_file(folder + "/records.db"));
  if (found != digest) return bad("records.db was changed since it was pulled; remove the folder and pull again");
  OpenOptions options;
  options.mode = OpenMode::kImmutable;
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, Store::open(folder + "/records.db", options));
  HONE_ASSIGN_OR_RETURN(const std::vector<std::string> problems, check_store(*store));
  return problems.empty() ? absl::OkStatus() : bad(problems[0]);
}

}  // namespace

StatusOr<std::vector<Installed>> verify_installed(const PackagePaths& paths, const PackageHooks& hooks) {
  HONE_ASSIGN_OR_RETURN(const TrustedSources sources, read_trusted_sources(paths.sources));
  std::vector<Installed> out;
  for (const std::string& database : installed_packages(paths.packages)) {
    Installed one;
    one.folder = fs::path(database).parent_path().string();
    one.status = check_installed(one.folder, sources, hooks, one);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace hone::db
