// No program writes over a file that it reads in the same run, by whatever name, nor two outputs into one file: it says
// so before anything is written.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/e2e/fleet/programs.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/test_model.h"

namespace hone::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A file that a command reads, and the command, in which OUT is to be written and STEM is OUT without its extension.
struct Case {
  std::string input, extension;
  Words words;
};

class Overwritten : public Workplace {
 protected:
  Overwritten() {
    SmallModel().write(file("m.onnx"));
    fs::create_directories(path("in/one"));
    write_sample("in/input_0.pb");
    write_sample("in/one/input_0.pb");
    write_external_model();
    write("ranges.json", "{\"hone_ranges\": 1, \"values\": {}}");
    write("flags.toml", "threads = 1\n");
    write("token", "0123456789abcdef0123456789abcdef\n");
    write("tasks", "dense(m=8,n=8,k=8)\n");
    write("none.jsonl", "{\"hone_tophub\":1}\n");
    for (const std::string& db : {file("given.db"), file("hub.db")})  // the other is the user's
      EXPECT_EQ(run({"tophub", "import", file("none.jsonl"), "--db", db}).code, 0);
    EXPECT_EQ(run({"tensorc", file("m.onnx"), "-o", path("first.so"), "--report", file("report.json")}).code, 0);
  }

  // A path that the test looks after.
  std::string file(const std::string& name) {
    if (std::find(files_.begin(), files_.end(), path(name)) == files_.end()) files_.push_back(path(name));
    return path(name);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(file(name)) << text; }
  void write_sample(const std::string& name) {
    onnx::Tensor t;
    for (const int d : {1, 3, 20, 20}) t.add_dims(d);
    t.set_data_type(1);
    t.set_raw_data(std::string(1200 * sizeof(float), '\0'));
    std::ofstream out(file(name), std::ios::binary);
    t.SerializeToOstream(&out);
  }
  // w is in a file of its own, and v, of a node's attribute, in another.
  void write_external_model() {
    write("w.bin", std::string(16, '\0'));
    write("v.bin", std::string(16, '\0'));
    TestModel model;
    model.input("x", {4}).output("z");
    model.external("w", {4}, "w.bin");
    model.node("Constant", {}, {"v"});
    onnx::Attribute* value = model.last->add_attribute();
    value->set_name("value");
    value->set_type(4);
    *value->mutable_t() = *model.external("v0", {4}, "v.bin");
    model.graph()->mutable_initializer()->RemoveLast();
    model.node("Add", {"x", "w"}, {"y"}).node("Add", {"y", "v"}, {"z"});
    std::ofstream out(file("external.onnx"), std::ios::binary);
    model.model.SerializeToOstream(&out);
  }

  std::vector<std::string> contents() const {
    std::vector<std::string> out;
    for (const std::string& f : files_) out.push_back(read_file(f));
    return out;
  }
  static void replace(std::string* word, const std::string& from, const std::string& to) {
    if (const size_t at = word->find(from); at != std::string::npos) word->replace(at, from.size(), to);
  }
  void expect_refused_for(Words words, const std::string& out, const std::string& why) {
    for (std::string& word : words) {
      replace(&word, "OUT", out);
      replace(&word, "STEM", fs::path(out).replace_extension().string());
    }
    const Output ran = run(words);
    const std::string command = fmt::format("{}", fmt::join(words, " "));
    EXPECT_EQ(ran.code, 2) << command << "\n" << ran.err;
    EXPECT_EQ(ran.out, "") << command;
    const std::string line = ran.err.substr(ran.err.rfind('\n', ran.err.size() - 2) + 1);
    EXPECT_THAT(line, testing::StartsWith(words[0] + ": ")) << command;
    EXPECT_THAT(line, HasSubstr(why)) << command;
  }
  // By its own name, through a link, and by a hard link; nothing is written.
  void expect_kept(const Case& c) {
    const std::vector<std::string> before = contents();
    const std::string link = path("link" + c.extension), hard = path("hard" + c.extension);
    fs::create_symlink(path(c.input), link);
    fs::create_hard_link(path(c.input), hard);
    for (const std::string& out : {path(c.input), link, hard})
      if (fs::path(out).extension() == c.extension) expect_refused_for(c.words, out, "which is read; name another");
    EXPECT_TRUE(fs::is_symlink(link)) << c.input;
    EXPECT_TRUE(fs::equivalent(path(c.input), hard)) << c.input;
    EXPECT_TRUE(contents() == before) << c.input;
    fs::remove(link);
    fs::remove(hard);
  }

 private:
  std::vector<std::string> files_;
};

TEST_F(Overwritten, WhatTensorcReadsForAModel) {
  const std::string m = path("m.onnx"), external = path("external.onnx");
  const Words quantize = {"tensorc", m, "-o", path("q.so"), "--quantize", "int8", "--calibrate"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<Case> cases = {
      {"m.onnx", ".onnx", {"tensorc", m, "-o", "OUT"}},
      {"m.onnx", ".h", {"tensorc", m, "-o", "STEM.so"}},
      {"m.onnx", ".h", {"tensorc", m, "-o", "STEM.c", "--emit", "c"}},
      {"m.onnx", ".onnx", {"tensorc", m, "-o", path("n.so"), "--weights", "OUT"}},
      {"m.onnx", ".json", {"tensorc", m, "-o", path("n.so"), "--report", "OUT"}},
      {"m.onnx", ".html", {"tensorc", m, "-o", path("n.so"), "--report", "OUT"}},
      {"m.onnx", ".onnx", with(quantize, {path("in/one"), "--ranges", "OUT"})},
      {"external.onnx", ".onnx", {"tensorc", external, "-o", "OUT"}},
      {"w.bin", ".bin", {"tensorc", external, "-o", "OUT"}},
      {"v.bin", ".bin", {"tensorc", external, "-o", path("n.so"), "--weights", "OUT"}},
      {"given.db", ".db", {"tensorc", m, "--db", path("given.db"), "-o", "OUT"}},
      {"hub.db", ".db", {"tensorc", m, "-o", "OUT"}},
      {"in/input_0.pb", ".pb", {"tensorc", m, "--inputs", path("in"), "-o", "OUT"}},
      {"in/one/input_0.pb", ".pb", with(quantize, {path("in"), "--ranges", "OUT"})},
      {"ranges.json", ".json", with(quantize, {path("ranges.json"), "--ranges", "OUT"})},
      {"report.json", ".json", {"tensorc", m, "-o", path("n.so"), "--compare", path("report.json"), "--report", "OUT"}},
      {"flags.toml", ".toml", {"tensorc", m, "--flags-file", path("flags.toml"), "-o", "OUT"}},
  };
  for (const Case& c : cases) expect_kept(c);
  EXPECT_FALSE(fs::exists(path("n.so")) || fs::exists(path("n.h")) || fs::exists(path("q.so")));
}

TEST_F(Overwritten, WhatTensorcReadsForAnOperator) {
  const Words dense = {"tensorc", "--task", "dense", "--args", "m=8,n=8,k=8", "--threads", "1"};
  for (const Words& more : std::vector<Words>{{"--emit", "asm", "-o", "OUT"},
                                              {"--emit", "so", "-o", "OUT"},
                                              {"--emit", "obj", "-o", "OUT"},
                                              {"--emit", "c", "-o", "OUT"}}) {
    Words words = dense;
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--db", path("given.db")});
    expect_kept({"given.db", ".db", words});
  }
  Words words = dense;
  words.insert(words.end(), {"--emit", "so", "-o", "STEM.so", "--flags-file", path("flags.toml")});
  expect_kept({"flags.toml", ".h", words});
}

TEST_F(Overwritten, WhatTheTunerReads) {
  const Words task = {"tuner", "--task", "dense", "--args", "m=8,n=8,k=8"};
  const auto with = [&](const Words& more) {
    Words words = task;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<Case> cases = {
      {"m.onnx", ".onnx", {"tuner", "--model", path("m.onnx"), "--plot", "OUT"}},
      {"w.bin", ".bin", {"tuner", "--model", path("external.onnx"), "--plot", "OUT"}},
      {"ranges.json",
       ".json",
       {"tuner", "--model", path("m.onnx"), "--quantize", "int8", "--ranges", path("ranges.json"), "--plot", "OUT"}},
      {"tasks", "", {"tuner", "--tasks", path("tasks"), "--plot", "OUT"}},
      {"tasks", "", {"tuner", "--tasks", path("tasks"), "--db", "OUT"}},
      {"flags.toml", ".toml", with({"--flags-file", path("flags.toml"), "--plot", "OUT"})},
      {"token", "", with({"--tracker", "127.0.0.1:1", "--token-file", path("token"), "--plot", "OUT"})},
  };
  for (const Case& c : cases) expect_kept(c);
}

TEST_F(Overwritten, TwoOutputsThatAreOne) {
  const std::string m = path("m.onnx"), why = "which is written, too; name another";
  const std::vector<std::string> before = contents();
  fs::create_symlink(path("hub.db"), path("link.svg"));
  for (const Words& words : std::vector<Words>{
           {"tensorc", m, "-o", path("x.h")},
           {"tensorc", "--task", "dense", "--args", "m=8,n=8,k=8", "--emit", "c", "-o", path("x.h")},
           {"tensorc", m, "-o", path("x.so"), "--weights", path("in/../x.h")},
           {"tensorc", m, "-o", path("x.so"), "--report", path("x.json"), "--report", path("in/../x.json")},
           {"tensorc", m, "-o", path("x.o"), "--emit", "obj", "--report", path("x.json"), "--weights", path("x.json")},
           {"tensorc", m, "-o", path("x.so"), "--report", path("x.json"), "--quantize", "int8", "--calibrate",
            path("in/one"), "--ranges", path("x.json")},
           {"tuner", "--task", "dense", "--db", path("hub.db"), "--plot", path("hub.db")},
           {"tuner", "--task", "dense", "--db", path("hub.db"), "--plot", path("hub.db-wal")},
           {"tuner", "--task", "dense", "--db", path("hub.db"), "--plot", path("link.svg")},
       })
    expect_refused_for(words, "", why);
  EXPECT_TRUE(contents() == before);
  for (const char* made : {"x.so", "x.h", "x.json", "x.o"}) EXPECT_FALSE(fs::exists(path(made))) << made;
}

TEST_F(Overwritten, TheSameCommandMayBeGivenAgain) {
  for (int i = 0; i < 2; ++i) {
    const Output built = run({"tensorc", path("m.onnx"), "--inputs", path("in"), "-o", path("in/m.so"), "--report",
                              path("in/r.json"), "--threads", "1"});
    EXPECT_EQ(built.code, 0) << built.err;
    EXPECT_EQ(run({"tophub", "export", path("again.jsonl"), "--db", path("hub.db")}).code, 0);
  }
}

}  // namespace
}  // namespace hone::e2e
