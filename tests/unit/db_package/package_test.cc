// A package from its author to its reader.
#include <thread>

#include "base/json.h"
#include "db/lookup.h"
#include "tests/unit/db_package/package_fixture.h"

namespace hone::db {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

using Package = Packages;

TEST_F(Package, ComesAsItWasPackedAndIsSeenByLookups) {
  const auto packed = pack_to("p");
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->statement.number, 1);
  const auto pulled = pull_from("p", fingerprint());
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->statement, packed->statement);
  EXPECT_TRUE(pulled->is_new_key);
  EXPECT_FALSE(pulled->was_there);
  HubOptions chain;
  chain.packages_dir.clear();
  chain.user_packages_dir = folder / "data/packages";
  const auto hub = TopHub::open(chain);
  ASSERT_TRUE(hub.ok()) << hub.status();
  LookupQuery query;
  query.workload = kDense, query.target = kTarget;
  const auto answer = (*hub)->best(query);
  ASSERT_TRUE(answer.ok() && answer->row) << answer.status();
  EXPECT_EQ(answer->row->config, "tile=2");
  EXPECT_THAT(answer->source, HasSubstr("/data/packages/"));
}

TEST_F(Package, SaysWhoStandsBehindIt) {
  TrialRow other = confirmed_trial(2, 0.0005, "tile=8");
  other.workload = "dense(m=1,n=768,k=768,dtype=f32,epilogue=none)";
  other.device = "lab/cpu", other.device_model = "Zen 5", other.hone_version = "0.2.0", other.disturbed = true;
  add(*store, {other});
  ASSERT_TRUE(store->choices().put(sample_choice()).ok());
  ASSERT_TRUE(store->priors().put(sample_prior()).ok());
  const auto packed = pack_to("p");
  ASSERT_TRUE(packed.ok()) << packed.status();
  const PackageSummary& s = packed->statement.summary;
  ASSERT_THAT(s.machines, SizeIs(2));
  EXPECT_EQ(s.machines[0].model, "Zen 5");
  EXPECT_EQ(s.versions[1].hone, "0.2.0");
  EXPECT_EQ(s.workloads, 2);
  EXPECT_EQ(s.trials, 2) << "of bests";
  EXPECT_EQ(s.confirmed, 2);
  EXPECT_EQ(s.disturbed, 1);
  EXPECT_EQ(s.priors, 1);
  EXPECT_THAT(to_string(s), HasSubstr("2 bests (2 confirmed, 1 disturbed) of 2 trials on Zen 5 (1 device), znver5"));
  EXPECT_EQ(packed->statement.packed_by, "tophub 0.9.0 (commit abc1234)");
}

TEST_F(Package, NumbersGrowWhereverItIsPut) {
  EXPECT_EQ(pack_to("p")->statement.number, 1);
  EXPECT_EQ(pack_to("p")->statement.number, 2);
  EXPECT_EQ(pack_to("elsewhere")->statement.number, 3);
  EXPECT_EQ(pack_to("p", 10)->statement.number, 10);
  EXPECT_EQ(pack_to("p")->statement.number, 11);
  expect_refused(pack_to("p", 11).status(), "the last package 'zen5' has 11");
}

TEST_F(Package, ALaterOneTakesThePlaceOfTheOneBefore) {
  ASSERT_TRUE(pack_to("p").ok());
  ASSERT_TRUE(pull_from("p", fingerprint()).ok());
  add(*store, {confirmed_trial(7, 0.0001, "tile=16")});
  ASSERT_TRUE(pack_to("p").ok());
  const auto pulled = pull_from("p");
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_FALSE(pulled->is_new_key);
  ASSERT_THAT(installed(), SizeIs(1));
  OpenOptions immutable;
  immutable.mode = OpenMode::kImmutable;
  EXPECT_EQ(bests(*open_store(installed()[0], immutable))[0].config, "tile=16");
  EXPECT_TRUE(pull_from("p")->was_there);
}

TEST_F(Package, PackingTheSameTwiceGivesTheSameRecordsBlob) {
  EXPECT_EQ(pack_to("a")->statement.records, pack_to("b")->statement.records);
}

TEST_F(Package, NothingToPackIsSaid) {
  store = memory_store();
  expect_refused(pack_to("p").status(), "has no records to pack");
  EXPECT_FALSE(std::filesystem::exists(place()));
}

TEST_F(Package, ANameIsNoPath) {
  PackOptions o;
  o.key_file = folder / "key";
  for (const std::string& name :
       std::vector<std::string>{"", "..", "../x", "/etc", "a/b", "a b", ".a", "-a", "a\n", std::string(65, 'a')}) {
    o.name = name;
    expect_refused(pack(*store, *package_folder(place()), o, hooks).status(), "is no name of a package");
  }
}

TEST_F(Package, AFolderOfSomethingElseIsNotFilled) {
  std::filesystem::create_directories(place());
  write_file(place() + "/thesis.txt", "x");
  expect_refused(pack_to("p").status(), "not empty");
  EXPECT_FALSE(std::filesystem::exists(place() + "/blobs"));
}

TEST_F(Package, BlobsOfOlderOnesGoButNotThoseOfTheLast) {
  for (int i = 0; i < 4; ++i) {
    add(*store, {confirmed_trial(10 + i, 0.0005 / (i + 1), "tile=" + std::to_string(i))});
    ASSERT_TRUE(pack_to("p").ok());
  }
  size_t blobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place() + "/blobs/sha256")) blobs += entry.exists();
  EXPECT_EQ(blobs, 8u) << "four of each";
}

TEST_F(Package, IsCopiedAsItIs) {
  ASSERT_TRUE(pack_to("p").ok());
  const auto copied = copy_package(*package_folder(place()), *package_folder(place("q")));
  ASSERT_TRUE(copied.ok()) << copied.status();
  const auto pulled = pull_from("q", fingerprint());
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->statement, *copied);
}

TEST_F(Package, VerifyChecksAllAndInstallsNothing) {
  ASSERT_TRUE(pack_to("p").ok());
  const auto verified = verify_package(*package_folder(place()), options(), hooks);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_FALSE(verified->is_pinned);
  expect_nothing_installed();
  EXPECT_TRUE(verify_package(*package_folder(place()), options(fingerprint()), hooks)->is_pinned);
  expect_refused(verify_package(*package_folder(place()), options(fingerprint("other")), hooks).status(),
                 "not by " + fingerprint("other"));
}

TEST_F(Package, VerifyOfTheInstalledFindsWhatWasChanged) {
  ASSERT_TRUE(pack_to("p").ok());
  const auto pulled = pull_from("p", fingerprint());
  ASSERT_TRUE(pulled.ok());
  const auto check = [&] { return verify_installed(options().paths, hooks).value(); };
  ASSERT_THAT(check(), SizeIs(1));
  EXPECT_TRUE(check()[0].status.ok()) << check()[0].status;
  EXPECT_EQ(check()[0].source, place());
  std::string bytes = read_file(pulled->folder + "/records.db");
  bytes[bytes.size() / 2] ^= 1;
  write_file(pulled->folder + "/records.db", bytes);
  EXPECT_THAT(message_of(check()[0].status), HasSubstr("records.db was changed"));
  write_file(pulled->folder + "/package.json", "{}");
  EXPECT_THAT(message_of(check()[0].status), HasSubstr("package.json is damaged"));
}

TEST_F(Package, TwoPullsAtOnceInstallItOnce) {
  ASSERT_TRUE(pack_to("p").ok());
  std::vector<Status> ends(4);
  std::vector<std::thread> threads;
  for (Status& end : ends) threads.emplace_back([&] { end = pull_from("p", fingerprint()).status(); });
  for (std::thread& t : threads) t.join();
  for (const Status& end : ends) EXPECT_TRUE(end.ok()) << end;
  EXPECT_THAT(installed(), SizeIs(1));
  EXPECT_TRUE(verify_installed(options().paths, hooks).value()[0].status.ok());
}

TEST_F(Package, FoldersThatAreNoPackagesArePassedOver) {
  const std::string packages = folder / "data/packages";
  for (const char* name : {"0123456789abcdef.1", "0123456789abcdef.12", "0123456789abcdef.x", "..", "a.1", ".new"}) {
    std::filesystem::create_directories(packages + "/" + name);
    write_file(packages + "/" + name + "/records.db", "");
  }
  EXPECT_THAT(installed(), testing::ElementsAre(packages + "/0123456789abcdef.12/records.db"));
}

}  // namespace
}  // namespace hone::db
