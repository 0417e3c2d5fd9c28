#include "db/package/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/json.h"
#include "base/secure_hash.h"
#include "base/text.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

constexpr int kMostDepth = 8;
constexpr std::string_view kSha256 = "sha256:";
constexpr std::string_view kEmptyFormat = "its format is another's";

// nlohmann's messages begin with "[json.exception.type_error.302] ".
std::string plain(const std::string& what) {
  const size_t end = what.find("] ");
  return clean_line(!what.empty() && what[0] == '[' && end != std::string::npos ? what.substr(end + 2) : what);
}

// Reads an object of bounded depth; `read` may throw what JSON throws.
template <class T>
StatusOr<T> parsed(const char* what, std::string_view text, int64_t most, const std::function<T(const Json&)>& read) {
  const auto bad = [&](const std::string& why) { return absl::InvalidArgumentError(fmt::format("{}: {}", what, why)); };
  if (static_cast<int64_t>(text.size()) > most) return bad(fmt::format("it is larger than {} bytes", most));
  bool is_deep = false;
  const Json j = Json::parse(
      text, [&](int depth, Json::parse_event_t, Json&) { return !(is_deep = is_deep || depth > kMostDepth); },
      /*allow_exceptions=*/false);
  if (is_deep || j.is_discarded() || !j.is_object()) return bad("it is no JSON object");
  try {
    return read(j);
  } catch (const std::exception& e) {
    return bad(plain(e.what()));
  }
}

OrderedJson descriptor(std::string_view type, const BlobRef& blob) {
  return {{"mediaType", type}, {"digest", std::string(kSha256) + blob.sha256}, {"size", blob.size}};
}

BlobRef blob_of(const Json& j, int64_t most) {
  BlobRef blob;
  if (!j.at("digest").is_string()) throw std::invalid_argument("a digest is no text");
  const auto& digest = j.at("digest").get_ref<const std::string&>();
  if (!digest.starts_with(kSha256) || !is_sha256_hex(std::string_view(digest).substr(kSha256.size())))
    throw std::invalid_argument("a digest is not sha256: and 64 digits");
  blob.sha256 = digest.substr(kSha256.size());
  j.at("size").get_to(blob.size);
  if (blob.size < 1 || blob.size > most)
    throw std::invalid_argument(fmt::format("a blob has {} bytes, allowed are 1 to {}", blob.size, most));
  return blob;
}

void expect_type(const Json& j, const char* member, std::string_view type) {
  if (!j.contains(member) || j.at(member) != type) throw std::invalid_argument(std::string(kEmptyFormat));
}

OrderedJson annotations(const PackageStatement& s) {
  return {{"org.opencontainers.image.title", s.name}, {"org.opencontainers.image.version", std::to_string(s.number)}};
}

}  // namespace

BlobRef blob_ref(std::string_view bytes) { return {sha256_hex(bytes), static_cast<int64_t>(bytes.size())}; }

bool is_package_name(std::string_view name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= 64 && is_word(name.front()) && is_word(name.back()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_word(c) || c == '.' || c == '_' || c == '-'; });
}

std::string to_text(const PackageStatement& s) {
  return json_lines(OrderedJson{{"hone_package", 1},
                                {"name", s.name},
                                {"number", s.number},
                                {"created_at", s.created_at},
                                {"packed_by", s.packed_by},
                                {"records", descriptor(kRecordsType, s.records)},
                                {"record_bytes", s.record_bytes},
                                {"summary", to_json(s.summary)}}) +
         "\n";
}

StatusOr<PackageStatement> parse_statement(std::string_view text) {
  return parsed<PackageStatement>("the statement", text, kMostStatementBytes, [&](const Json& j) {
    if (!j.contains("hone_package") || j["hone_package"] != 1)
      throw std::invalid_argument("it is of a format that this Hone does not know");
    PackageStatement s;
    j.at("name").get_to(s.name), j.at("number").get_to(s.number);
    j.at("created_at").get_to(s.created_at), j.at("packed_by").get_to(s.packed_by);
    if (!is_package_name(s.name)) throw std::invalid_argument("its name is none of a package");
    if (s.number < 1 || s.number > kMostNumber) throw std::invalid_argument("its number is not from 1 to 2^53");
    if (s.packed_by.size() > kMostTextBytes || has_controls(s.packed_by))
      throw std::invalid_argument("'packed_by' is too long or not one line");
    s.records = blob_of(j.at("records"), kMostPackageBytes);
    j.at("record_bytes").get_to(s.record_bytes);
    if (s.record_bytes < 1 || s.record_bytes > kMostRecordBytes)
      throw std::invalid_argument(
          fmt::format("its records have {} bytes, allowed are 1 to {}", s.record_bytes, kMostRecordBytes));
    s.summary = summary_of(j.at("summary"));
    if (to_text(s) != text) throw std::invalid_argument("it is not in canonical form");
    return s;
  });
}

std::string to_text(const PackageManifest& m, const PackageStatement& s) {
  return json_line(
      OrderedJson{{"schemaVersion", 2},
                  {"mediaType", kManifestType},
                  {"artifactType", kPackageType},
                  {"config", descriptor(kPackageType, m.statement)},
                  {"layers", {descriptor(kRecordsType, m.records), descriptor(kSignatureType, m.signature)}},
                  {"annotations", annotations(s)}});
}

StatusOr<PackageManifest> parse_manifest(std::string_view text) {
  return parsed<PackageManifest>("the manifest", text, kMostManifestBytes, [](const Json& j) {
    const Json& config = j.at("config");
    const Json& layers = j.at("layers");
    expect_type(config, "mediaType", kPackageType);
    if (!layers.is_array() || layers.size() != 2)
      throw std::invalid_argument("a package has two layers, records and signature");
    expect_type(layers[0], "mediaType", kRecordsType), expect_type(layers[1], "mediaType", kSignatureType);
    return PackageManifest{blob_of(config, kMostStatementBytes), blob_of(layers[0], kMostPackageBytes),
                           blob_of(layers[1], kMostSignatureBytes)};
  });
}

std::string index_text(const BlobRef& manifest, const PackageStatement& s) {
  OrderedJson entry = descriptor(kManifestType, manifest);
  entry["artifactType"] = kPackageType;
  entry["annotations"] = annotations(s);
  return json_line(OrderedJson{{"schemaVersion", 2}, {"mediaType", kIndexType}, {"manifests", {entry}}});
}

StatusOr<BlobRef> parse_index(std::string_view text) {
  return parsed<BlobRef>("index.json", text, kMostManifestBytes, [](const Json& j) {
    const Json& manifests = j.at("manifests");
    if (!manifests.is_array() || manifests.size() != 1)
      throw std::invalid_argument("a package's folder has one manifest");
    return blob_of(manifests[0], kMostManifestBytes);
  });
}

std::string to_text(const PackageSignature& s) {
  return json_line(OrderedJson{{"hone_signature", 1}, {"key", s.key}, {"signature", s.signature}});
}

StatusOr<PackageSignature> parse_signature(std::string_view text) {
  return parsed<PackageSignature>("the signature", text, kMostSignatureBytes, [](const Json& j) {
    PackageSignature s;
    j.at("key").get_to(s.key), j.at("signature").get_to(s.signature);
    const auto is_hex = [](const std::string& digits, size_t size) {
      return digits.size() == size && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
    };
    if (!is_hex(s.key, 64) || !is_hex(s.signature, 128))
      throw std::invalid_argument("a key has 64 hexadecimal digits, a signature 128");
    return s;
  });
}

std::string signed_bytes(std::string_view statement_text) {
  return "hone package statement 1\n" + std::string(statement_text);
}

}  // namespace hone::db
