#include "db/lock/lock_file.h"

#include <random>

#include "base/json.h"
#include "base/secure_hash.h"
#include "tests/unit/db/db_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LockFile sample() {
  LockFile lock;
  lock.hone_version = "0.9.0", lock.codegen_version = "llvm-19.1.4 hone-codegen-3";
  lock.target = kTarget;
  lock.options = {"--optimize 3", "--bind batch=4"};
  lock.inputs["model"] = sha256_hex("model");
  lock.configs = {{"dense(m=8,n=8,k=8,dtype=f32,epilogue=none)", kTarget, "feed1234", "tile=2",
                   "best (exact workload, confirmed, device znver5) from t.db", "elsewhere", false, sha256_hex("r")},
                  {kDense, kTarget, "feed1234", "tile=1", "default", "default"}};
  lock.times = {{kDense, kTarget, 1.0 / 3}};
  lock.artifact["m.so"] = sha256_hex("artifact");
  return lock;
}

std::string why(std::string_view text) { return message_of(parse_lock(text, "hone.lock").status()); }

// The text with its checksum made anew: what somebody writes who knows the format.
std::string signed_again(std::string text) {
  const size_t at = text.find(",\n \"checksum\"");
  const std::string head = text.substr(0, at);
  return head + ",\n \"checksum\": \"" + sha256_hex(head) + "\"\n}\n";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LockFile, IsReadAsItWasWrittenAndHasOneText) {
  const std::string text = to_text(sample());
  const auto lock = parse_lock(text, "hone.lock");
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(to_text(*lock), text);
  EXPECT_EQ(lock->configs.size(), 2);
  EXPECT_EQ(lock->configs[0].workload, kDense) << "sorted";
  EXPECT_EQ(lock->times[0].seconds, 1.0 / 3) << "to the last bit";
  EXPECT_TRUE(differences(*lock, sample()).empty());
}

TEST(LockFile, HasOneMemberALineForADiff) {
  const std::string text = to_text(sample());
  EXPECT_THAT(text, HasSubstr("\n   \"config\": \"tile=2\",\n"));
  EXPECT_THAT(text, testing::EndsWith("\"\n}\n"));
  for (size_t at = 0; (at = text.find("dense(", at)) != std::string::npos; ++at)
    EXPECT_EQ(text.rfind('\n', at), text.rfind("\n", text.rfind("\"workload\"", at)));
}

TEST(LockFile, EveryChangedByteIsRefused) {
  const std::string text = to_text(sample());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(parse_lock(changed, "hone.lock").ok()) << i;
    EXPECT_FALSE(parse_lock(text.substr(0, i), "hone.lock").ok()) << i;
  }
  EXPECT_THAT(why(text + "\n"), HasSubstr("not as --lock wrote it"));
  EXPECT_THAT(why(replaced(text, "tile=2", "tile=3")), HasSubstr("hone.lock: it is not as --lock wrote it"));
}

TEST(LockFile, HostileOnesAreRefusedInOneLineThoughTheirChecksumFits) {
  const std::string text = to_text(sample());
  const std::string digest = sha256_hex("model");
  for (const auto& [bad, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "no lock file"},
           {"[]", "no lock file"},
           {std::string(100'000, '['), "no lock file"},
           {R"({"hone_lock":1})", "hone"},
           {R"({"hone_lock":2})", "format 2"},
           {R"({"hone_lock":"1"})", "no lock file"},
           {signed_again(replaced(text, "\"tile=2\"", "7")), "'config' is no text"},
           {signed_again(replaced(text, "\"options\": [", "\"options\": [{},")), "type must be string"},
           {signed_again(replaced(text, "0.3333333333333333", "-1")), "a time cannot be true"},
           {signed_again(replaced(text, "0.3333333333333333", "1e999")), "no lock file"},
           {signed_again(replaced(text, digest, digest.substr(1))), "no SHA-256"},
           {signed_again(replaced(text, "tile=2", "tile=2\\n")), "control characters"},
           {signed_again(replaced(text, "tile=2", "tile=\\u001b[2J")), "control characters"},
           {signed_again(replaced(text, "tile=2", std::string(70'000, 'x'))), "too long"},
           {signed_again(replaced(text, "\"times\": [", "\"more\": 1,\n \"times\": [")), "not as --lock wrote it"}}) {
    EXPECT_THAT(why(bad), HasSubstr(part)) << bad.substr(0, 100);
    EXPECT_EQ(why(bad).find('\n'), std::string::npos);
    EXPECT_THAT(why(bad), testing::StartsWith("hone.lock: "));
  }
  LockFile twice = sample();
  twice.configs.push_back(twice.configs[0]);
  EXPECT_THAT(why(to_text(twice)), HasSubstr("a layer is there twice"));
}

TEST(LockFile, RandomBytesAreRefusedOrReadNeverMore) {
  std::mt19937 random(7);
  const std::string text = to_text(sample());
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = text;
    for (int n = 1 + static_cast<int>(random() % 4); n > 0; --n) {
      const size_t at = random() % bytes.size();
      if (random() % 3 == 0)
        bytes.erase(at, random() % 20);
      else
        bytes[at] = static_cast<char>(random() % 256);
    }
    const auto lock = parse_lock(signed_again(bytes), "hone.lock");
    if (lock.ok()) {
      EXPECT_EQ(to_text(*lock), signed_again(bytes));
    }
  }
}

TEST(LockFile, FilesThatAreNoPlainOnesAreRefused) {
  const TempFolder folder;
  EXPECT_FALSE(read_lock(folder.path()).ok());
  EXPECT_FALSE(read_lock("/dev/zero").ok());
  EXPECT_FALSE(read_lock(folder / "none").ok());
  write_file(folder / "a.lock", to_text(sample()));
  EXPECT_TRUE(read_lock(folder / "a.lock").ok());
}

TEST(LockDiff, SaysWhatChangedLayerByLayer) {
  const LockFile a = sample();
  LockFile b = a;
  EXPECT_THAT(differences(a, b), IsEmpty());
  b.hone_version = "0.9.1";
  b.options = {"--optimize 3", "--bind batch=8"};
  b.configs[0].config = "tile=4", b.configs[0].record = sha256_hex("other"), b.configs[0].confidence = "confirmed";
  b.configs[1] = {"dense(m=1,n=8,k=8,dtype=f32,epilogue=none)", kTarget, "feed1234", "tile=1", "default", "default"};
  b.times.clear();
  b.artifact["m.so"] = sha256_hex("another");
  EXPECT_THAT(differences(a, b),
              ElementsAre("hone: 0.9.0 -> 0.9.1", "option --bind: batch=4 -> batch=8",
                          std::string("layer gone: ") + kDense + ": tile=1",
                          "layer dense(m=8,n=8,k=8,dtype=f32,epilogue=none): tile=2 -> tile=4; record " +
                              sha256_hex("r").substr(0, 12) + " -> " + sha256_hex("other").substr(0, 12) +
                              "; elsewhere -> confirmed",
                          "layer new: dense(m=1,n=8,k=8,dtype=f32,epilogue=none): tile=1",
                          testing::StartsWith("time of dense(m=128"), testing::StartsWith("artifact m.so: ")));
}

TEST(LockDiff, NamesTheTargetWhereABuildHasSeveral) {
  LockFile a = sample(), b = sample();
  b.configs[0].target = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=1";
  ASSERT_THAT(differences(a, b), testing::SizeIs(2));
  EXPECT_THAT(differences(a, b)[0], HasSubstr("-threads="));
}

TEST(RecordDigest, IsOfTheTrialAndWhatItClaims) {
  const std::unique_ptr<Store> store = memory_store();
  add(*store, {ok_trial(0, 0.002), confirmed_trial(1, 0.001, "tile=2")});
  const BestRow row = bests(*store)[0];
  const std::string digest = record_digest(row);
  EXPECT_TRUE(is_sha256_hex(digest));
  BestRow settled = row;
  settled.updated_at += 5, settled.device = "another name";
  EXPECT_EQ(record_digest(settled), digest);
  for (const auto& change : std::vector<std::function<void(BestRow&)>>{
           [](BestRow& r) { r.config = "tile=3"; }, [](BestRow& r) { r.seconds *= 2; },
           [](BestRow& r) { ++r.candidate; }, [](BestRow& r) { r.space = "0"; }, [](BestRow& r) { r.target = "x"; }}) {
    BestRow other = row;
    change(other);
    EXPECT_NE(record_digest(other), digest);
  }
}

}  // namespace
}  // namespace hone::db
