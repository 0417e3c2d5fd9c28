#include "db/package/trusted_sources.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "base/exit_code.h"
#include "base/json.h"
#include "base/plain_file.h"
#include "base/secure_hash.h"
#include "db/lookup.h"
#include "db/package/durable_file.h"
#include "db/package/hooks.h"

namespace hone::db {
namespace {

constexpr int64_t kMostBytes = int64_t{16} << 20;

// The XDG specification says to ignore a relative path.
std::string folder_of(const char* variable, const char* under_home) {
  const char* const given = std::getenv(variable);
  if (given && given[0] == '/') return given;
  const char* const home = std::getenv("HOME");
  return fmt::format("{}/{}", home && *home ? home : ".", under_home);
}

}  // namespace

StatusOr<TrustedSources> read_trusted_sources(const std::string& path) {
  TrustedSources out;
  std::error_code ec;
  if (!std::filesystem::exists(path, ec) && !ec) return out;
  HONE_ASSIGN_OR_RETURN(const std::string text, read_plain_file(path, kMostBytes));
  try {
    const Json j = Json::parse(text);
    if (j.at("hone_packages") != 1) throw std::invalid_argument("another format");
    for (const auto& [source, s] : j.at("sources").items()) {
      TrustedSource t{s.at("key"), s.at("name"), s.at("number"), s.at("statement"), s.at("seen_at")};
      if (!is_sha256_hex(t.key) || !is_sha256_hex(t.statement) || !is_package_name(t.name) || t.number < 1)
        throw std::invalid_argument("a source without its key");
      out[source] = t;
    }
  } catch (const std::exception&) {
    return usage_error(
        fmt::format("{} is damaged: it says which keys are trusted; restore it, or remove it and give "
                    "--trust anew",
                    path));
  }
  return out;
}

Status write_trusted_sources(const std::string& path, const TrustedSources& sources) {
  OrderedJson j = {{"hone_packages", 1}, {"sources", OrderedJson::object()}};
  for (const auto& [source, t] : sources)
    j["sources"][source] = {{"key", t.key},
                            {"fingerprint", key_fingerprint(t.key)},
                            {"name", t.name},
                            {"number", t.number},
                            {"statement", t.statement},
                            {"seen_at", t.seen_at}};
  std::error_code ec;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::filesystem::create_directories(folder, ec);
  if (ec) return database_error(fmt::format("{} cannot be made: {}", folder, ec.message()));
  return write_durably(path, json_lines(j) + "\n");
}

PackagePaths user_package_paths() {
  const std::string config = folder_of("XDG_CONFIG_HOME", ".config") + "/hone";
  return {user_packages_dir(), config + "/packages.json", config + "/package-key"};
}

}  // namespace hone::db
