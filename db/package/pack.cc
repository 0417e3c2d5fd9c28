#include "db/package/pack.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/exit_code.h"
#include "base/json.h"
#include "base/plain_file.h"
#include "base/secure_hash.h"
#include "base/text.h"
#include "db/exchange.h"
#include "db/package/durable_file.h"
#include "db/package/gzip.h"
#include "db/package/read_package.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;

// The last number of each name that a key signed: a name's numbers grow wherever its packages are put.
StatusOr<std::map<std::string, int64_t>> read_numbers(const std::string& path) {
  std::error_code ec;
  if (!fs::exists(path, ec)) return std::map<std::string, int64_t>();
  HONE_ASSIGN_OR_RETURN(const std::string text, read_plain_file(path, int64_t{1} << 20));
  try {
    return Json::parse(text).get<std::map<std::string, int64_t>>();
  } catch (const std::exception&) {
    return usage_error(
        fmt::format("{} is damaged: it has the last number of each package; restore it, or give "
                    "--number and remove it",
                    path));
  }
}

StatusOr<int64_t> next_number(const PackOptions& o, PackagePlace& place, int64_t last_signed) {
  int64_t last = last_signed;
  // Another's package, or none, or one that cannot be read: the number of what is replaced there does not matter then.
  if (const auto there = read_package(place); there.ok() && there->statement.name == o.name)
    last = std::max(last, there->statement.number);
  if (o.number == 0) return last + 1;
  if (o.number <= last)
    return usage_error(fmt::format("--number {}: the last package '{}' has {}; who has that would refuse this one",
                                   o.number, o.name, last));
  return o.number;
}

// The records in memory, as whoever pulls them will have them.
StatusOr<PackageSummary> summary_of_file(const std::string& path) {
  OpenOptions memory;
  memory.mode = OpenMode::kMemory;
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, Store::open(path, memory));
  std::ifstream in(path, std::ios::binary);
  HONE_RETURN_IF_ERROR(import_records(*store, in, path).status());
  return summary_of(*store);
}

int64_t bytes_of(const std::string& path) {
  std::error_code ec;
  return static_cast<int64_t>(fs::file_size(path, ec));
}

Status write_file(const std::string& path, std::string_view text) {
  HONE_ASSIGN_OR_RETURN(DurableFile file, DurableFile::create(path));
  HONE_RETURN_IF_ERROR(file.write(text));
  return file.close();
}

}  // namespace

StatusOr<Packed> pack(Store& store, PackagePlace& place, const PackOptions& o, const PackageHooks& hooks) {
  if (!hooks.sign) return usage_error("pack: this program was built without a fleet, whose part signatures are");
  if (!is_package_name(o.name))
    return usage_error(fmt::format("'{}' is no name of a package: letters, digits, and . _ - between them, at most 64",
                                   clean_line(o.name)));
  HONE_ASSIGN_OR_RETURN(const PartFolder work, PartFolder::make(fs::temp_directory_path().string()));
  const std::string lines = work.path() + "/records.jsonl", packed = work.path() + "/records.gz";
  {
    std::ofstream out(lines, std::ios::binary);
    HONE_RETURN_IF_ERROR(export_records(store, out, /*best_only=*/!o.all).status());
    out.close();
    if (!out) return database_error(fmt::format("{} cannot be written; is the disk full?", lines));
  }
  Packed made;
  PackageStatement& s = made.statement;
  HONE_ASSIGN_OR_RETURN(s.summary, summary_of_file(lines));
  if (s.summary.trials == 0 && s.summary.priors == 0)
    return usage_error(fmt::format("{} has no records to pack; `tuner` makes some", store.path()));
  s.name = o.name, s.created_at = o.now_ms, s.packed_by = hooks.program;
  s.record_bytes = bytes_of(lines);
  HONE_RETURN_IF_ERROR(gzip_file(lines, packed));
  HONE_ASSIGN_OR_RETURN(s.records.sha256, sha256_of_file(packed));
  s.records.size = bytes_of(packed);
  if (s.records.size > kMostPackageBytes || s.record_bytes > kMostRecordBytes)
    return usage_error(fmt::format("{} has {} bytes of records, {} packed; a package has at most {} and {}",
                                   store.path(), s.record_bytes, s.records.size, kMostRecordBytes, kMostPackageBytes));

  std::error_code ec;
  const std::string folder = fs::absolute(o.key_file).parent_path().string();
  const std::string numbers_file = o.key_file + ".numbers";
  HONE_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::take(folder));
  HONE_ASSIGN_OR_RETURN(auto numbers, read_numbers(numbers_file));
  HONE_ASSIGN_OR_RETURN(s.number, next_number(o, place, numbers[o.name]));
  const std::string text = to_text(s);
  HONE_ASSIGN_OR_RETURN(const PackageSignature signature, hooks.sign(o.key_file, signed_bytes(text)));
  // Before it is given away: a number is never used twice.
  numbers[o.name] = s.number;
  HONE_RETURN_IF_ERROR(write_durably(numbers_file, json_lines(Json(numbers)) + "\n"));
  made.key = signature.key;

  const std::string signature_text = to_text(signature);
  const PackageManifest manifest{blob_ref(text), s.records, blob_ref(signature_text)};
  HONE_RETURN_IF_ERROR(write_file(work.path() + "/statement", text));
  HONE_RETURN_IF_ERROR(write_file(work.path() + "/signature", signature_text));
  const std::string manifest_text = to_text(manifest, s);
  HONE_RETURN_IF_ERROR(place.put({{s.records, packed},
                                  {manifest.statement, work.path() + "/statement"},
                                  {manifest.signature, work.path() + "/signature"}},
                                 manifest_text, s));
  made.bytes =
      s.records.size + manifest.statement.size + manifest.signature.size + static_cast<int64_t>(manifest_text.size());
  return made;
}

StatusOr<PackageStatement> copy_package(PackagePlace& from, PackagePlace& to) {
  HONE_ASSIGN_OR_RETURN(const PackageFiles files, read_package(from));
  HONE_ASSIGN_OR_RETURN(const PartFolder work, PartFolder::make(fs::temp_directory_path().string()));
  std::vector<PackagePlace::NewBlob> blobs;
  const PackageManifest& m = files.manifest;
  for (const auto& [ref, name] :
       {std::pair(m.records, "/records"), {m.statement, "/statement"}, {m.signature, "/signature"}}) {
    HONE_RETURN_IF_ERROR(fetch_blob(from, ref, work.path() + name));
    blobs.push_back({ref, work.path() + name});
  }
  HONE_RETURN_IF_ERROR(to.put(blobs, files.manifest_text, files.statement));
  return files.statement;
}

}  // namespace hone::db
