// hone.lock: the same bytes again, whatever the tophub knows by then, or one line that says why not.
#include "base/json.h"
#include "tests/e2e/sharing/workplace.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Lock : public Workplace {
 protected:
  // A record of the package that programs find beside themselves.
  Json shipped_row() const {
    std::ifstream in(std::string(HONE_SOURCE_DIR) + "/db/packages/x86_64-avx512.jsonl");
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("{\"trial\"") && line.find("\"dense(m=") != std::string::npos) return Json::parse(line);
    throw std::runtime_error("the package has no dense");
  }
  std::string build(const std::string& output, const std::string& more) const {
    return "tensorc --workload " + shell_quoted(row["workload"]) + " --target " + shell_quoted(row["target"]) + " -o " +
           output + " --emit obj " + more;
  }
  // A tophub in which another config is the best.
  void make_other_tophub() {
    expect_ok(run(build("d.o", "--config default --lock d.lock")));
    Json other = row;
    other["config"] = Json::parse(read("d.lock"))["configs"][0]["config"];
    ASSERT_NE(other["config"], row["config"]);
    other["trial"][0] = "99999999-2222-3333-4444-555555555555";
    other["confirmed"] = true;
    write("other.jsonl", "{\"hone_tophub\":1}\n" + other.dump() + "\n");
    expect_ok(run("tophub --db other.db import other.jsonl"));
  }
  // A lock whose checksum was made anew behind a change.
  void forge(const std::string& from, const std::string& to, const std::string& old, const std::string& now) const {
    std::string text = read(from);
    text.replace(text.find(old), old.size(), now);
    const std::string head = text.substr(0, text.find(",\n \"checksum\""));
    write(to, head + ",\n \"checksum\": \"" + sha256_hex(head) + "\"\n}\n");
  }

  const Json row = shipped_row();
};

TEST_F(Lock, BuildsTheSameBytesThoughTheTophubKnowsBetterNow) {
  make_other_tophub();
  for (const char* name : {"a", "b", "c"}) std::filesystem::create_directories(at(name));
  const Ran first = run(build("a/k.o", "--lock a/hone.lock"));
  expect_ok(first);
  EXPECT_THAT(first.output, HasSubstr("config: best (exact workload"));
  expect_ok(run(build("b/k.o", "--db other.db --lock b/hone.lock")));
  EXPECT_NE(read("a/k.o"), read("b/k.o")) << "the other tophub has another best";
  expect_ok(run(build("c/k.o", "--db other.db --locked a/hone.lock"), "bob"));
  EXPECT_EQ(read("a/k.o"), read("c/k.o"));
  EXPECT_EQ(read("a/k.h"), read("c/k.h"));
  const Ran diff = run("tophub diff a/hone.lock b/hone.lock");
  expect_ok(diff);
  EXPECT_THAT(diff.output, HasSubstr("layer " + row["workload"].get<std::string>() + ": "));
  EXPECT_THAT(diff.output, HasSubstr("; record "));
  EXPECT_THAT(diff.output, HasSubstr("artifact k.o: "));
  EXPECT_THAT(run("tophub diff a/hone.lock a/hone.lock").output, HasSubstr("the same: 1 layers"));
}

TEST_F(Lock, AMissIsOneLineAndWritesNothing) {
  expect_ok(run(build("k.o", "--lock hone.lock")));
  std::filesystem::remove(at("k.o"));
  expect_refused(run("tensorc --workload 'dense(m=3,n=5,k=7)' --target " + shell_quoted(row["target"]) +
                     " -o k.o --emit obj --locked hone.lock"),
                 "it has no config of dense(m=3,n=5,k=7");
  EXPECT_FALSE(std::filesystem::exists(at("k.o")));
}

TEST_F(Lock, AChangeIsOneLineAndWritesNothing) {
  expect_ok(run(build("k.o", "--lock hone.lock")));
  std::filesystem::remove(at("k.o"));
  expect_refused(run(build("k.o", "--locked hone.lock --denormals keep")), "option --denormals: zero -> keep");
  expect_refused(run(build("other.o", "--locked hone.lock")), "option -o: k -> other");
  expect_refused(run(build("k.o", "--locked hone.lock --config default")), "with --locked, hone.lock says which");
  expect_refused(run(build("k.o", "--locked hone.lock --lock b.lock")), "give one of them");
  expect_refused(run("tensorc --workload 'dense(m=3,n=5,k=7)' -o k.o --emit obj --locked hone.lock"), "target: ");
  forge("hone.lock", "old.lock", "\"hone\": \"", "\"hone\": \"0.");
  expect_refused(run(build("k.o", "--locked old.lock")), "hone: 0.");
  const std::string space = Json::parse(read("hone.lock"))["configs"][0]["space"];
  forge("hone.lock", "space.lock", space, std::string(32, '0'));
  expect_refused(run(build("k.o", "--locked space.lock")), "is of space 000000000000, and this Hone's is");
  const std::string config = Json::parse(read("hone.lock"))["configs"][0]["config"];
  forge("hone.lock", "config.lock", config, "tile_oc=1");
  expect_refused(run(build("k.o", "--locked config.lock")), "is none of the space: tile_oc=1");
  const std::string digest = Json::parse(read("hone.lock"))["artifact"]["k.o"];
  forge("hone.lock", "artifact.lock", digest, sha256_hex("another"));
  const Ran another = run(build("k.o", "--locked artifact.lock"));
  EXPECT_EQ(another.code, 2);
  EXPECT_THAT(another.output, HasSubstr("k.o became another, of the same configs"));
  write("cut.lock", read("hone.lock").substr(0, 500));
  expect_refused(run(build("k.o", "--locked cut.lock")), "cut.lock: it is no lock file");
  expect_refused(run(build("k.o", "--locked none.lock")), "none.lock: No such file");
  EXPECT_FALSE(std::filesystem::exists(at("k.o")));
}

TEST_F(Lock, BelongsToArtifacts) {
  expect_refused(run("tensorc --workload 'dense(m=3,n=5,k=7)' --lock a.lock"), "belong to what is written");
  expect_refused(run(build("k.ll", "--emit llvm --lock a.lock")), "--emit");
  EXPECT_FALSE(std::filesystem::exists(at("a.lock")));
  expect_ok(run(build("k.o", "--lock a.lock")));
  expect_refused(run(build("a.lock", "--locked a.lock")), "a.lock");
}

TEST_F(Lock, ModelsAreBuiltAgainInAnotherFolderAndForAnotherMachine) {
  std::filesystem::copy(std::string(HONE_SOURCE_DIR) + "/tests/data/pets.tflite", at("pets.tflite"));
  const std::string arm = " --target 'llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=4' --emit obj";
  for (const std::string& options : {std::string(" --threads '1|2'"), arm}) {
    for (const char* name : {"a", "b"}) std::filesystem::create_directories(at(name));
    const std::string output = options == arm ? "m.o" : "m.so";
    expect_ok(run("tensorc pets.tflite -o a/" + output + options + " --lock a/hone.lock"));
    expect_ok(run("tensorc pets.tflite -o b/" + output + options + " --locked a/hone.lock", "bob"));
    for (const auto& entry : std::filesystem::directory_iterator(at("a")))
      if (entry.path().extension() != ".lock") {
        EXPECT_EQ(read("a/" + entry.path().filename().string()), read("b/" + entry.path().filename().string()));
      }
    expect_refused(run("tensorc pets.tflite -o b/" + output + options + " -O1 --locked a/hone.lock"),
                   "option --optimize: 3 -> 1");
    for (const char* name : {"a", "b"}) std::filesystem::remove_all(at(name));
  }
  expect_ok(run("tensorc pets.tflite -o m.so --lock hone.lock"));
  write("pets.tflite", read("pets.tflite") + "x");
  expect_refused(run("tensorc pets.tflite -o m.so --locked hone.lock"), "input model: ");
}

}  // namespace
}  // namespace hone
