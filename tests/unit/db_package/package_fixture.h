// A maker of packages and a reader, each with folders of their own, and a signature that tests can forge.
#pragma once

#include <sys/stat.h>

#include <map>

#include "base/plain_file.h"
#include "base/secure_hash.h"
#include "db/lookup.h"
#include "db/package/pack.h"
#include "db/package/pull.h"
#include "tests/unit/db/db_fixture.h"

namespace hone::db {

/// Stands for Ed25519: whoever has the private key, here the public one, makes the only signature that fits. That the
/// real one does is tested with the program.
inline std::string sample_signature(const std::string& key, std::string_view message) {
  const std::string half = sha256_hex(key + std::string(message));
  return half + half;
}

inline PackageHooks sample_hooks() {
  PackageHooks hooks;
  hooks.program = "tophub 0.9.0 (commit abc1234)";
  hooks.sign = [](const std::string& file, std::string_view message) -> StatusOr<PackageSignature> {
    const std::string key = sha256_hex(file);
    return PackageSignature{key, sample_signature(key, message)};
  };
  hooks.verifies = [](const PackageSignature& s, std::string_view message) {
    return s.signature == sample_signature(s.key, message);
  };
  hooks.read_key = [](const std::string& path) { return read_plain_file(path, 100); };
  return hooks;
}

class Packages : public testing::Test {
 protected:
  Packages() { add(*store, {ok_trial(0, 0.002), confirmed_trial(1, 0.001, "tile=2")}); }

  std::string place(const std::string& name = "p") const { return folder / name; }
  StatusOr<Packed> pack_to(const std::string& name, int64_t number = 0, const std::string& key = "key") {
    PackOptions o;
    o.name = "zen5", o.key_file = folder / key, o.number = number, o.now_ms = 1'800'000'000'000;
    return pack(*store, *package_folder(place(name)), o, hooks);
  }
  std::string fingerprint(const std::string& key = "key") const { return key_fingerprint(sha256_hex(folder / key)); }
  PullOptions options(const std::string& trust = "") const {
    PullOptions o;
    o.paths = {folder / "data/packages", folder / "config/packages.json", folder / "key"};
    o.trust = trust, o.now_ms = 1'800'000'000'000;
    return o;
  }
  StatusOr<Pulled> pull_from(const std::string& name, const std::string& trust = "") {
    return pull(*package_folder(place(name)), options(trust), hooks);
  }
  std::vector<std::string> installed() const { return installed_packages(folder / "data/packages"); }
  /// Nothing is visible, and nothing half is left.
  void expect_nothing_installed() const {
    EXPECT_THAT(installed(), testing::IsEmpty());
    std::error_code ec;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "data/packages", ec))
      EXPECT_EQ(entry.path().filename(), ".lock");
  }
  static void expect_refused(const Status& status, const std::string& part) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(message_of(status), testing::HasSubstr(part));
    EXPECT_EQ(message_of(status).find('\n'), std::string::npos) << status;
  }

  TempFolder folder;
  std::unique_ptr<Store> store = memory_store();
  PackageHooks hooks = sample_hooks();
};

}  // namespace hone::db
