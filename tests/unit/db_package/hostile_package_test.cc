// Packages by others, that lie, are broken or too large: each is refused in one line, and nothing of it is seen.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <random>

#include "base/json.h"
#include "db/package/gzip.h"
#include "tests/unit/db_package/package_fixture.h"

namespace hone::db {
namespace {

using testing::HasSubstr;

class HostilePackage : public Packages {
 protected:
  std::string blob_path(const std::string& sha256) const { return place() + "/blobs/sha256/" + sha256; }
  PackageFiles files() { return read_package(*package_folder(place())).value(); }
  void write_blob(const std::string& bytes) { write_file(blob_path(sha256_hex(bytes)), bytes); }

  // The package anew, as somebody makes it who has the key: all digests and the signature fit.
  void offer(const std::string& statement, const BlobRef& records, const std::string& key = "key") {
    const std::string signer = sha256_hex(folder / key);
    const std::string signature = to_text(PackageSignature{signer, sample_signature(signer, signed_bytes(statement))});
    write_blob(statement), write_blob(signature);
    offer_manifest(to_text(PackageManifest{blob_ref(statement), records, blob_ref(signature)}, files_.statement));
  }
  void offer(const PackageStatement& s, const std::string& key = "key") { offer(to_text(s), s.records, key); }
  void offer_manifest(const std::string& manifest) {
    write_blob(manifest);
    write_file(place() + "/index.json", index_text(blob_ref(manifest), files_.statement));
  }
  // Other lines as its records.
  PackageStatement with_records(const std::string& lines) {
    write_file(folder / "lines", lines);
    std::filesystem::remove(folder / "lines.gz");
    EXPECT_TRUE(gzip_file(folder / "lines", folder / "lines.gz").ok());
    const std::string packed = read_file(folder / "lines.gz");
    write_blob(packed);
    PackageStatement s = files_.statement;
    s.records = blob_ref(packed), s.record_bytes = static_cast<int64_t>(lines.size());
    return s;
  }
  std::string lines() {
    const std::string to = folder / "unpacked";
    std::filesystem::remove(to);
    EXPECT_TRUE(gunzip_file(blob_path(files_.statement.records.sha256), to, files_.statement.record_bytes).ok());
    return read_file(to);
  }
  void expect_pull_refused(const std::string& part) {
    expect_refused(pull_from("p", fingerprint()).status(), part);
    expect_nothing_installed();
    EXPECT_FALSE(std::filesystem::exists(folder / "config/packages.json")) << "no key is pinned";
  }

  PackageFiles packed_files() {
    EXPECT_TRUE(pack_to("p").ok());
    return files();
  }
  const PackageFiles files_ = packed_files();
};

TEST_F(HostilePackage, OneThatFitsIsTakenByTheseTools) {
  offer(with_records(lines()));
  const auto pulled = pull_from("p", fingerprint());
  EXPECT_TRUE(pulled.ok()) << pulled.status();
}

TEST_F(HostilePackage, AKeyIsNeverTrustedByItself) {
  expect_refused(pull_from("p").status(), "which nobody here trusts yet");
  EXPECT_THAT(message_of(pull_from("p").status()), HasSubstr("--trust " + fingerprint()));
  expect_nothing_installed();
  expect_refused(pull_from("p", fingerprint("other")).status(), "not by " + fingerprint("other"));
  expect_refused(pull_from("p", fingerprint().substr(0, 16)).status(), "64 hexadecimal digits");
}

TEST_F(HostilePackage, AnotherKeyThanThePinnedOneIsRefused) {
  ASSERT_TRUE(pull_from("p", fingerprint()).ok());
  PackageStatement s = files_.statement;
  s.number = 2;
  offer(s, "thief");
  expect_refused(pull_from("p").status(), "signed by another key than so far");
  EXPECT_EQ(verify_installed(options().paths, hooks).value()[0].statement.number, 1) << "the old one stays";
  EXPECT_TRUE(pull_from("p", fingerprint("thief")).ok()) << "the user may say so";
}

TEST_F(HostilePackage, AWrongSignatureIsRefused) {
  PackageStatement s = files_.statement;
  s.summary.confirmed += 1;
  const std::string text = to_text(s), signature = read_file(blob_path(files_.manifest.signature.sha256));
  write_blob(text);
  offer_manifest(to_text(PackageManifest{blob_ref(text), s.records, files_.manifest.signature}, s));
  expect_pull_refused("its signature is not one of its statement");
}

TEST_F(HostilePackage, AnOlderNumberIsRefusedAlsoWhenThePackageWasRemoved) {
  PackageStatement s = files_.statement;
  s.number = 5;
  offer(s);
  ASSERT_TRUE(pull_from("p", fingerprint()).ok());
  std::filesystem::remove_all(folder / "data/packages");
  s.number = 4;
  offer(s);
  expect_refused(pull_from("p").status(), "'zen5' 4 is older than 5");
  expect_refused(pull_from("p", fingerprint()).status(), "'zen5' 4 is older than 5");
  expect_nothing_installed();
}

TEST_F(HostilePackage, AnotherOneOfTheSameNumberOrNameIsRefused) {
  ASSERT_TRUE(pull_from("p", fingerprint()).ok());
  PackageStatement s = files_.statement;
  s.created_at += 1;
  offer(s);
  expect_refused(pull_from("p").status(), "there are two packages 'zen5' 1");
  s.name = "zen4", s.number = 9;
  offer(s);
  expect_refused(pull_from("p").status(), "it is package 'zen4', and was 'zen5'");
}

TEST_F(HostilePackage, NamesAreNoPaths) {
  for (const char* name : {"../../x", "/etc/passwd", "a/b", ".."}) {
    PackageStatement s = files_.statement;
    s.name = name;
    offer(s);
    expect_pull_refused("its name is none of a package");
  }
  for (const char* digest : {"sha256:../../../../etc/passwd", "sha256:/etc/passwd", "md5:0", "sha512:00", ""}) {
    write_file(place() + "/index.json", json_line(OrderedJson{{"manifests", {{{"digest", digest}, {"size", 100}}}}}));
    expect_pull_refused("a digest is not sha256: and 64 digits");
  }
}

TEST_F(HostilePackage, LinksLeadToNoOtherBytes) {
  const std::string records = blob_path(files_.statement.records.sha256);
  write_file(folder / "secret", std::string(static_cast<size_t>(files_.statement.records.size), 's'));
  std::filesystem::remove(records);
  std::filesystem::create_symlink(folder / "secret", records);
  expect_pull_refused("its bytes are others than its digest says");
  std::filesystem::remove(records);
  std::filesystem::create_symlink("/dev/zero", records);
  expect_pull_refused("a device");
  std::filesystem::remove(records);
  ASSERT_EQ(mkfifo(records.c_str(), 0600), 0);
  expect_pull_refused("a pipe");
  std::filesystem::remove(records);
  expect_pull_refused("No such file");
}

TEST_F(HostilePackage, BlobsThatAreCutOrLongerAreRefused) {
  for (const std::string& sha256 :
       {files_.statement.records.sha256, files_.manifest.statement.sha256, files_.manifest.signature.sha256}) {
    const std::string whole = read_file(blob_path(sha256));
    write_file(blob_path(sha256), whole.substr(0, whole.size() - 1));
    expect_pull_refused("instead of");
    write_file(blob_path(sha256), whole + "x");
    expect_pull_refused("larger than the");
    write_file(blob_path(sha256), "");
    expect_pull_refused("it has 0 bytes");
    write_file(blob_path(sha256), whole);
  }
}

TEST_F(HostilePackage, IndexesThatPointElsewhereAreRefused) {
  write_file(place() + "/index.json", index_text(blob_ref("nothing there"), files_.statement));
  expect_pull_refused("No such file");
  write_file(place() + "/index.json", index_text(files_.statement.records, files_.statement));
  expect_pull_refused("the manifest: it is no JSON object");
  OrderedJson two = OrderedJson::parse(index_text(blob_ref("x"), files_.statement));
  two["manifests"].push_back(two["manifests"][0]);
  write_file(place() + "/index.json", json_line(two));
  expect_pull_refused("a package's folder has one manifest");
  std::filesystem::remove(place() + "/index.json");
  expect_pull_refused("there is no package");
}

TEST_F(HostilePackage, ManifestsOfOthersAreRefused) {
  const OrderedJson good = OrderedJson::parse(files_.manifest_text);
  const auto with = [&](const std::function<void(OrderedJson&)>& change) {
    OrderedJson j = good;
    change(j);
    offer_manifest(json_line(j));
  };
  with([](OrderedJson& j) { j["config"]["mediaType"] = "application/vnd.docker.container.image.v1+json"; });
  expect_pull_refused("its format is another's");
  with([](OrderedJson& j) { j["layers"].erase(1); });
  expect_pull_refused("two layers");
  with([](OrderedJson& j) { j["layers"][0]["size"] = int64_t{1} << 40; });
  expect_pull_refused("allowed are 1 to");
  with([](OrderedJson& j) { j["layers"][0]["size"] = -1; });
  expect_pull_refused("allowed are 1 to");
  with([](OrderedJson& j) { j["layers"][0]["size"] = "many"; });
  expect_pull_refused("must be number");
  with([](OrderedJson& j) { j["layers"][0]["digest"] = "sha256:" + sha256_hex("x"); });
  expect_pull_refused("other records than the signed statement");
  offer_manifest(std::string(30'000, '['));
  expect_pull_refused("it is no JSON object");
}

TEST_F(HostilePackage, AMillionBlobsAreTooManyBytes) {
  std::string many = R"({"layers":[)";
  while (many.size() < (size_t{1} << 20)) many += R"({"digest":"sha256:00"},)";
  write_file(place() + "/index.json", many + "0]}");
  expect_pull_refused("64 KiB");
  offer_manifest(many + "0]}");
  expect_pull_refused("allowed are 1 to 65536");
}

TEST_F(HostilePackage, StatementsBeyondReasonAreRefused) {
  for (const auto& [change, part] : std::vector<std::pair<std::function<void(PackageStatement&)>, std::string>>{
           {[](PackageStatement& s) { s.number = 0; }, "its number"},
           {[](PackageStatement& s) { s.number = INT64_MAX; }, "its number"},
           {[](PackageStatement& s) { s.record_bytes = int64_t{1} << 40; }, "its records have"},
           {[](PackageStatement& s) { s.packed_by = "a\nb"; }, "'packed_by'"},
           {[](PackageStatement& s) { s.summary.trials = -1; }, "'trials' is no count"},
           {[](PackageStatement& s) { s.summary.machines[0].model = "\x1b[2J"; }, "not one line"}}) {
    PackageStatement s = files_.statement;
    change(s);
    offer(s);
    expect_pull_refused(part);
  }
  std::string text = to_text(files_.statement);
  offer(text + " ", files_.statement.records);
  expect_pull_refused("not in canonical form");
  offer("{}", files_.statement.records);
  expect_pull_refused("a format that this Hone does not know");
}

TEST_F(HostilePackage, ABombEndsAtTheFirstByteTooMany) {
  // 64 MB of blanks that claim to be a thousand bytes.
  PackageStatement s = with_records(std::string(size_t{64} << 20, ' '));
  EXPECT_LT(s.records.size, 100'000);
  s.record_bytes = 1000;
  offer(s);
  expect_pull_refused("it unpacks to more than its author says");
  s.record_bytes = (int64_t{64} << 20) + 1;
  offer(s);
  expect_pull_refused("it unpacks to less than its author says");
}

TEST_F(HostilePackage, RecordsThatAreNoGzipAreRefused) {
  PackageStatement s = files_.statement;
  const std::string packed = read_file(blob_path(s.records.sha256));
  for (const auto& [bytes, part] :
       std::vector<std::pair<std::string, std::string>>{{"no gzip at all, but text", "it is no gzip"},
                                                        {packed.substr(0, packed.size() / 2), "it is cut off"},
                                                        {packed + "more", "there are bytes behind its end"},
                                                        {packed + packed, "there are bytes behind its end"}}) {
    write_blob(bytes);
    s.records = blob_ref(bytes);
    offer(s);
    expect_pull_refused(part);
  }
}

TEST_F(HostilePackage, RecordsThatLieAreRefused) {
  std::string text = lines();
  const auto change = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    const size_t at = out.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return out.replace(at, from.size(), to);
  };
  offer(with_records(change("[0.001,0.001,0.001]", "[1e-12,1e-12,1e-12]")));
  expect_pull_refused("nothing was imported");
  offer(with_records(change("\"tile=2\"", "\"tile=\\u001b\"")));
  expect_pull_refused("nothing was imported");
  offer(with_records(text + std::string(size_t{17} << 20, 'x')));
  expect_pull_refused("nothing was imported");
  offer(with_records("{\"hone_tophub\":1}\n"));
  expect_pull_refused("its summary says other machines, versions or counts");
  PackageStatement s = files_.statement;
  s.summary.machines[0].devices = 100;
  offer(s);
  expect_pull_refused("its summary says other machines, versions or counts");
}

TEST_F(HostilePackage, ADamagedFileOfTrustedKeysIsNoFirstUse) {
  ASSERT_TRUE(pull_from("p", fingerprint()).ok());
  write_file(folder / "config/packages.json", "{");
  expect_refused(pull_from("p", fingerprint()).status(), "is damaged: it says which keys are trusted");
}

TEST_F(HostilePackage, MutatedOnesAreRefused) {
  std::mt19937 random(11);
  const std::vector<std::string> paths = {
      place() + "/index.json", blob_path(files_.manifest.statement.sha256), blob_path(files_.manifest.signature.sha256),
      blob_path(files_.statement.records.sha256), blob_path(sha256_hex(files_.manifest_text))};
  for (int round = 0; round < 400; ++round) {
    const std::string& path = paths[random() % paths.size()];
    const std::string whole = read_file(path);
    std::string bytes = whole;
    const size_t at = random() % bytes.size();
    switch (random() % 3) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 + random() % 255)); break;
      case 1: bytes.erase(at, 1 + random() % 40); break;
      default: bytes.insert(at, bytes.substr(random() % bytes.size(), 1 + random() % 40)); break;
    }
    write_file(path, bytes);
    // index.json alone is not covered by a digest: notes of its carrier may change, and no more.
    const auto pulled = pull_from("p", fingerprint());
    if (pulled.ok()) {
      EXPECT_EQ(path, paths[0]) << round;
      EXPECT_EQ(pulled->statement, files_.statement);
      std::filesystem::remove_all(folder / "data"), std::filesystem::remove_all(folder / "config");
    } else {
      EXPECT_EQ(message_of(pulled.status()).find('\n'), std::string::npos) << pulled.status();
      expect_nothing_installed();
    }
    write_file(path, whole);
  }
}

TEST_F(HostilePackage, ADiskThatIsFullLeavesNothingVisible) {
  // Files of this process may not grow: writing fails at every size, from nothing to nearly all.
  std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t most : {0, 100, 1000, 4096, 20'000, 60'000}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const rlimit limit{most, most};
      setrlimit(RLIMIT_FSIZE, &limit);
      _exit(pull_from("p", fingerprint()).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << most;
    EXPECT_THAT(installed(), testing::IsEmpty()) << most;
  }
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_TRUE(pull_from("p", fingerprint()).ok());
}

TEST_F(HostilePackage, AKilledPullLeavesNothingVisibleAndTheNextCleansUp) {
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      (void)pull_from("p", fingerprint());
      _exit(0);
    }
    usleep(static_cast<useconds_t>(round * 400));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const Installed& one : verify_installed(options().paths, hooks).value())
      EXPECT_TRUE(one.status.ok()) << one.status;
  }
  ASSERT_TRUE(pull_from("p", fingerprint()).ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder / "data/packages"))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".hone-new-"));
}

TEST_F(HostilePackage, ProgramsWithoutSignaturesTakeNone) {
  const PackageHooks none;
  expect_refused(pull(*package_folder(place()), options(fingerprint()), none).status(), "built without a fleet");
  EXPECT_FALSE(find_place("hone.example.org/team/zen5", none).ok());
  EXPECT_FALSE(find_place("https://hone.example.org/zen5", none).ok());
}

}  // namespace
}  // namespace hone::db
