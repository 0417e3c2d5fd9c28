// Keys at the doors of a database: which are let in, which survive although this version does not build them, and that
// the texts of today are canonical.
#include "base/key.h"

#include <filesystem>
#include <sstream>

#include "base/json.h"
#include "db/check.h"
#include "db/cli/listing.h"
#include "db/exchange.h"
#include "db/lookup.h"
#include "db/plausible.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kKernel[] = "extern \"C\" __global__ void dense(const float* a) {\n\t// 100% \"mine\"\n}\n";
constexpr char kNorm[] = "y[i, j] = x[i, j] * rsqrt(mean(x[i, k] * x[i, k]))";

TrialRow later(TrialRow t, int64_t seq, const std::string& workload, const std::string& space,
               const std::string& config) {
  t.seq = seq, t.workload = workload, t.space = space, t.config = config;
  t.created_at += seq;
  return t;
}

// All parts of the grammar that this version does not build, all of them faster than the ones that it does.
std::unique_ptr<Store> store_of_a_later_version() {
  auto store = memory_store();
  const std::string text = "text(" + key_hash(kKernel) + ")";
  const TrialRow t = confirmed_trial(0, 0.25, "tile=2");
  EXPECT_TRUE(store->trials().put_session({t.session, "", kTarget, "", "xgb", 7, 1000, 2000, "done"}).ok());
  add(*store,
      {confirmed_trial(0, 0.5, "tile=1"),
       later(t, 1, "dense(m=1..512,n=768,k=768,dtype=f32,epilogue=none)", t.space, t.config),
       later(t, 2, "dense(m=128,n=768,k=768,dtype=bf16:bf16:f32:f32,epilogue=none,math=bf16x3)", t.space, "a=4x16"),
       later(t, 3, "op(name=my_norm,def=" + key_hash(kNorm) + ",rows=1..4096,cols=768)", t.space, t.config),
       later(t, 4, kDense, "text", text), later(t, 5, kDense, "vendor", "vendor(cublas,12.4.5,algorithm=21)")});
  EXPECT_TRUE(*store->definitions().put({key_hash(kKernel), "kernel", kKernel}));
  EXPECT_TRUE(*store->definitions().put({key_hash(kNorm), "operator", kNorm}));
  ChoiceRow choice = sample_choice(text, "tile=1");
  choice.target = kTarget;
  EXPECT_TRUE(*store->choices().put(choice));
  return store;
}

std::string exported_in_keys(Store& store, bool best_only = false) {
  std::ostringstream out;
  EXPECT_TRUE(export_records(store, out, best_only).ok());
  return out.str();
}

TEST(Keys, RowsOfALaterVersionSurviveExportImportAndMerge) {
  const auto store = store_of_a_later_version();
  for (const bool best_only : {false, true}) {
    const std::string text = exported_in_keys(*store, best_only);
    EXPECT_THAT(text, testing::StartsWith("{\"hone_tophub\":5}\n"));
    std::istringstream in(text);
    auto copy = memory_store();
    const auto count = import_records(*copy, in, "later.jsonl");
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(count->trials, 6);
    EXPECT_EQ(count->definitions, 2);
    EXPECT_EQ(exported_in_keys(*copy, best_only), text);
    auto merged = memory_store();
    EXPECT_EQ(merge_records(*merged, *copy)->definitions, 2);
    EXPECT_EQ(merge_records(*merged, *copy)->definitions, 0);
    EXPECT_EQ(exported_in_keys(*merged, best_only), text);
    EXPECT_EQ(bests(*merged), bests(*store));
    EXPECT_EQ(bests(*merged).size(), 6u) << "each stands beside the template's best, not in its place";
    EXPECT_THAT(*check_store(*merged), IsEmpty());
    EXPECT_EQ(merged->definitions().find(key_hash(kKernel), "kernel").value()->text, kKernel);
  }
}

TEST(Keys, ExportOfTheBestLeavesOutDefinitionsThatNoneNames) {
  auto store = memory_store();
  add(*store, {ok_trial(0, 0.5)});
  ASSERT_TRUE(*store->definitions().put({key_hash(kNorm), "operator", kNorm}));
  EXPECT_THAT(exported_in_keys(*store), HasSubstr(key_hash(kNorm)));
  EXPECT_THAT(exported_in_keys(*store, /*best_only=*/true), testing::StartsWith("{\"hone_tophub\":1}\n"));
}

TEST(Keys, RowsOfALaterVersionAreListedByTheirKind) {
  const std::string text = listing(bests(*store_of_a_later_version()), nullptr, 0);
  for (const char* shown :
       {"dense(m=1..512,", ",math=bf16x3)", "op(name=my_norm,def=", "  text  ", "  cublas 12.4.5  "})
    EXPECT_THAT(text, HasSubstr(shown));
}

TEST(Keys, LookupsPassOverWhatIsNoTemplates) {
  TempFolder folder;
  HubOptions options;
  options.packages_dir = folder / "none";
  options.db_file = folder / "t.db";
  const auto later = store_of_a_later_version();
  ASSERT_TRUE(merge_records(*open_store(options.db_file), *later).ok());
  const auto hub = TopHub::open(options).value();
  LookupQuery query;
  query.workload = kDense, query.target = kTarget;
  for (const bool in_model : {false, true}) {
    query.in_model = in_model;
    const LookupAnswer answer = hub->best(query).value();
    ASSERT_TRUE(answer.row);
    EXPECT_EQ(answer.row->config, "tile=1");
    EXPECT_FALSE(answer.is_choice);
  }
}

TEST(Keys, WhatIsNoKeyIsNotLetIn) {
  const auto refusal = [](auto&& spoil) {
    TrialRow t = ok_trial(0, 0.5);
    spoil(t);
    return message_of(check_foreign(t));
  };
  EXPECT_EQ(refusal([](TrialRow&) {}), "");
  EXPECT_THAT(refusal([](TrialRow& t) { t.workload = "dense"; }), HasSubstr("not of the form task(attribute=value"));
  EXPECT_EQ(refusal([](TrialRow& t) { t.workload = "dense(m=1, n=2)"; }),
            "workload 'dense(m=1, n=2)' is written 'dense(m=1,n=2)'");
  EXPECT_EQ(refusal([](TrialRow& t) { t.workload = "dense(m=8..8)"; }),
            "workload 'dense(m=8..8)' is written 'dense(m=8)'");
  EXPECT_THAT(refusal([](TrialRow& t) { t.target = "llvm  -threads=2"; }), HasSubstr("is written 'llvm -threads=2'"));
  EXPECT_THAT(refusal([](TrialRow& t) { t.target = "llvm threads"; }), HasSubstr("not of the form -flag=value"));
  EXPECT_THAT(refusal([](TrialRow& t) { t.config = "tile="; }), HasSubstr("knob 'tile' has no value"));
  EXPECT_THAT(refusal([](TrialRow& t) { t.space = "a space"; }), HasSubstr("none of a fingerprint"));
  EXPECT_EQ(refusal([](TrialRow& t) { t.config = "vendor(cublas,12.4.5)"; }),
            "config 'vendor(cublas,12.4.5)' in space 'feed1234': text(...) stands in the space text, vendor(...) in "
            "vendor, and nothing else does");
  EXPECT_THAT(refusal([](TrialRow& t) { t.space = "text"; }), HasSubstr("config 'tile=1' in space 'text'"));
  SessionRow session{"s", "dense(m)", "llvm", "", "xgb", 7, 1000, 2000, "done"};
  EXPECT_THAT(message_of(check_foreign(session)), HasSubstr("attribute 'm' has no value"));
  ChoiceRow choice = sample_choice();
  choice.config = "text(0123)";
  EXPECT_THAT(message_of(check_foreign(choice)), HasSubstr("a hash is 32 lower-case hexadecimal digits"));
  ForeignRow record = sample_foreign();
  record.workload = "dense(m=1..)";
  EXPECT_THAT(message_of(check_foreign(record)), HasSubstr("a range is LEAST..MOST"));
}

TEST(Keys, ADefinitionIsWhatItsHashSays) {
  const auto refusal = [](const DefinitionRow& d) { return message_of(validate(d)); };
  const std::string hash = key_hash(kNorm);
  EXPECT_EQ(refusal({hash, "operator", kNorm}), "");
  EXPECT_EQ(refusal({key_hash("x"), "operator", kNorm}), "definition " + key_hash("x") + ": its text has another hash");
  EXPECT_THAT(refusal({hash, "an operator", kNorm}), HasSubstr("its kind is not a word"));
  EXPECT_THAT(refusal({hash, "operator", ""}), HasSubstr("its text is empty"));
  for (const std::string text : {"a\x1b[2J", "a\xff"})
    EXPECT_THAT(refusal({key_hash(text), "operator", text}), HasSubstr("not UTF-8, or holds control characters"));
  const std::string large(kMostDefinitionBytes + 1, 'a');
  EXPECT_THAT(refusal({key_hash(large), "operator", large}), HasSubstr("at most 1048576 are allowed"));
  std::istringstream in("{\"hone_tophub\":5}\n{\"definition\":[\"" + hash + "\",\"operator\"],\"text\":\"y = x\"}\n");
  auto store = memory_store();
  EXPECT_THAT(message_of(import_records(*store, in, "f.jsonl").status()),
              testing::AllOf(HasSubstr("f.jsonl line 2"), HasSubstr("its text has another hash")));
}

TEST(Keys, CheckNamesWhatIsNoKey) {
  auto store = memory_store();
  TrialRow t = ok_trial(0, 0.5);
  t.workload = "dense(m=1..)";
  add(*store, {t});
  EXPECT_THAT(*check_store(*store), testing::ElementsAre(HasSubstr("not a key: m=1..: a range is LEAST..MOST")));
}

void expect_canonical(const std::string& workload) {
  const auto key = parse_workload_key(workload);
  ASSERT_TRUE(key.ok()) << workload << ": " << key.status();
  EXPECT_EQ(to_string(*key), workload);
}

TEST(Keys, AllOfThePackagesAreCanonical) {
  size_t rows = 0, choices = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HONE_SOURCE_DIR "/db/packages")) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const Json row = line.starts_with("{\"prior\"") ? Json::object() : Json::parse(line);
      if (row.contains("choice")) {
        ++choices;
        expect_canonical(row["choice"][0]);
        for (const char* field : {"config", "instead_of"})
          EXPECT_EQ(to_string(*parse_config_key(row[field].get<std::string>())), row[field]);
      }
      if (!row.contains("trial")) continue;
      ++rows;
      expect_canonical(row["workload"]);
      EXPECT_EQ(to_string(*parse_target_key(row["target"].get<std::string>())), row["target"]);
      EXPECT_EQ(to_string(*parse_config_key(row["config"].get<std::string>())), row["config"]);
      EXPECT_EQ(*parse_space_key(row["space"].get<std::string>()), SpaceKind::kTemplate);
    }
  }
  EXPECT_GT(rows, 1000u);
  EXPECT_GT(choices, 100u);
}

// Rows of tests/golden/programs: text as given, canonical text, space, hash of programs, default config.
TEST(Keys, AllOfTheGoldenProgramsAreCanonical) {
  size_t programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HONE_SOURCE_DIR "/tests/golden/programs")) {
    if (entry.path().extension() != ".txt" || entry.path().filename() == "CMakeLists.txt") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string given, canonical, space, hash, config;
      words >> given >> canonical >> space >> hash >> config;
      ++programs;
      EXPECT_TRUE(parse_workload_key(given).ok()) << given;
      expect_canonical(canonical);
      EXPECT_EQ(to_string(*parse_config_key(config)), config);
    }
  }
  EXPECT_GT(programs, 100u);
}

}  // namespace
}  // namespace hone::db
