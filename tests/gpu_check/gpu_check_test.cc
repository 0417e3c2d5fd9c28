#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "compiler/build/build.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/gpu_check/machine.h"
#include "tests/gpu_check/models.h"
#include "tests/gpu_check/report.h"

namespace hone::gpu_check {
namespace {

using testing::HasSubstr;

Journal open_or_die(const std::string& path) {
  StatusOr<Journal> journal = Journal::open(path);
  EXPECT_TRUE(journal.ok()) << journal.status();
  return *std::move(journal);
}

std::vector<Step> c6() {
  std::vector<Step> steps;
  for (Step& s : plan(small_gpu("opencl"), 2, {"C6"}))
    if (!s.row.empty()) steps.push_back(std::move(s));
  return steps;
}

TEST(GpuCheckPlan, HasTheSuiteThenTheRowsAskedFor) {
  const Target target = small_gpu("opencl");
  const std::vector<Step> steps = plan(target, 2, {"C6", "M5"});
  std::set<std::string> names, rows;
  int models = 0;
  for (const Step& s : steps) {
    EXPECT_TRUE(names.insert(s.name).second) << s.name;
    if (s.kind == StepKind::kModel) {
      ++models;
      EXPECT_TRUE(rows.empty()) << "the model comes in front of the tables";
      continue;
    }
    if (s.kind != StepKind::kSuite) {
      rows.insert(s.row);
      continue;
    }
    EXPECT_TRUE(rows.empty()) << "the suite comes first";
    const Space space = make_space(s.workload, target);
    EXPECT_TRUE(space.valid(space.parse(s.config)));
  }
  EXPECT_EQ(rows, (std::set<std::string>{"C6", "M5"}));
  EXPECT_EQ(models, 1);
  EXPECT_EQ(names.size(), 2 * std::size(kGpuWorkloads) + 7);
}

TEST(GpuCheckPlan, HasTheOperatorsAskedForUnderTheSameNames) {
  const Target target = small_gpu("opencl");
  std::map<std::string, std::string> all;
  for (const Step& s : plan(target, 1, {"C6"})) all[s.name] = s.config;
  int found = 0;
  for (const Step& s : plan(target, 1, {"C6"}, {"softmax", "gru"})) {
    ASSERT_TRUE(all.contains(s.name)) << s.name;
    EXPECT_EQ(all[s.name], s.config);
    if (s.kind != StepKind::kSuite) continue;
    EXPECT_THAT(s.workload.operator_name(), testing::AnyOf("softmax", "gru"));
    ++found;
  }
  EXPECT_GE(found, 4);
}

TEST(GpuCheckPlan, ChecksTensorCoresWhereThereAreSome) {
  const auto units = [](const Target& target) {
    int n = 0;
    for (const Step& s : plan(target, 3, {"C6"}))
      if (s.kind == StepKind::kSuite && s.config.starts_with(tensor_core_algorithm(s.workload)) &&
          s.workload.attributes.text("dtype") != "f32")
        ++n;
    return n;
  };
  EXPECT_GE(units(Target::parse("cuda -arch=sm_80")), 3 * static_cast<int>(std::size(kTensorCoreWorkloads)));
  EXPECT_EQ(units(small_gpu("opencl")), 0);
  EXPECT_GT(units(Target::parse("cuda -arch=sm_75")), 0);
}

TEST(GpuCheckPlan, MeasuresProductsInHalfPrecision) {
  for (const Group& group : tables())
    for (const auto& [name, workload] : group.rows)
      EXPECT_EQ(workload.attributes.text("dtype"), group.peer == "cublas" ? "f16:f16:f32:f16" : "f32") << name;
}

TEST(GpuCheckJournal, KeepsTheLastOfEachStep) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/steps.jsonl";
  Journal journal = open_or_die(path);
  ASSERT_TRUE(journal.add("tune/C6", {{"trials", 10}}).ok());
  ASSERT_TRUE(journal.add("tune/C6", {{"trials", 20}}).ok());
  std::ofstream(path, std::ios::app) << "{\"step\":\"tune/C7\",\"tri";  // killed while it wrote
  Journal again = open_or_die(path);
  ASSERT_NE(again.find("tune/C6"), nullptr);
  EXPECT_EQ(again.find("tune/C6")->at("trials"), 20);
  EXPECT_EQ(again.find("tune/C7"), nullptr);
  ASSERT_TRUE(again.add("tune/C7", {{"trials", 5}}).ok());
  EXPECT_EQ(open_or_die(path).records().size(), 2u);
}

TEST(GpuCheckJournal, RefusesWhatItDidNotWrite) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/steps.jsonl") << "no json\n";
  EXPECT_THAT(Journal::open(folder.path() + "/steps.jsonl").status().message(), HasSubstr("steps.jsonl:1"));
}

TEST(GpuCheckMachine, IsWhatTheKernelModuleSays) {
  const TemporaryFolder folder;
  EXPECT_EQ(machine_text("cuda -arch=sm_90", folder.path()), "cuda -arch=sm_90");
  std::filesystem::create_directories(folder.path() + "/gpus/0000:01:00.0");
  std::ofstream(folder.path() + "/gpus/0000:01:00.0/information")
      << "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 60\n";
  EXPECT_EQ(machine_text("cuda -arch=sm_90", folder.path()), "NVIDIA H100 80GB HBM3");
  std::ofstream(folder.path() + "/version")
      << "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Sat Nov 1\nGCC version:  gcc 12.2.0\n";
  EXPECT_EQ(machine_text("cuda -arch=sm_90", folder.path()), "NVIDIA H100 80GB HBM3, driver 580.159.03");
  EXPECT_EQ(machine_text("opencl -sms=4", folder.path()), "opencl -sms=4");
  std::filesystem::create_directories(folder.path() + "/gpus/0000:02:00.0");
  std::ofstream(folder.path() + "/gpus/0000:02:00.0/information") << "Model: NVIDIA L4\n";
  EXPECT_EQ(machine_text("cuda", folder.path()), "NVIDIA H100 80GB HBM3 or NVIDIA L4, driver 580.159.03");
}

TEST(GpuCheckReport, SaysWhatWasMeasured) {
  const TemporaryFolder folder;
  Journal journal = open_or_die(folder.path() + "/steps.jsonl");
  ASSERT_TRUE(journal
                  .add("device", {{"target", "cuda -arch=sm_90 -sms=132"},
                                  {"version", "1"},
                                  {"machine", "a GPU, driver 580.1"},
                                  {"date", "2026-11-30"},
                                  {"commit", "abc1234"},
                                  {"command", "gpu-check --output x"}})
                  .ok());
  ASSERT_TRUE(journal
                  .add("tune/C6", {{"finished", true},
                                   {"ok", true},
                                   {"trials", 500},
                                   {"by_status", {{"ok", 490}, {"build_failed", 8}, {"device_lost", 2}}},
                                   {"trials_per_second", 12.5}})
                  .ok());
  ASSERT_TRUE(journal.add("peer/C6", {{"finished", true}, {"ok", true}, {"time_ms", 0.03}}).ok());
  ASSERT_TRUE(
      journal
          .add("bench/C6",
               {{"finished", true}, {"ok", true}, {"tuned_ms", 0.02}, {"default_ms", 0.2}, {"config", "algorithm=1"}})
          .ok());
  ASSERT_TRUE(journal.add("model/small", {{"finished", true}, {"ok", true}, {"time_ms", 0.25}}).ok());
  const OrderedJson report = report_json(journal, c6());
  EXPECT_TRUE(report["complete"]);
  EXPECT_EQ(report["machine"], "a GPU, driver 580.1");
  EXPECT_EQ(report["command"], "gpu-check --output x");
  EXPECT_DOUBLE_EQ(report["session"]["failed_share"], 8 / 500.0);  // a device that is lost is not the candidate's doing
  EXPECT_DOUBLE_EQ(report["session"]["c6_trials_per_second"], 12.5);
  ASSERT_EQ(report["tables"].size(), 1u);
  EXPECT_DOUBLE_EQ(report["tables"][0]["rows"][0]["peer_over_ours"], 1.5);
  EXPECT_NEAR(report["tables"][0]["mean"].get<double>(), 1.5, 1e-12);
  const std::string text = report_markdown(report);
  EXPECT_THAT(text,
              HasSubstr("Hone 1 (commit abc1234) on `cuda -arch=sm_90 -sms=132`, a GPU, driver 580.1, 2026-11-30."));
  EXPECT_THAT(text, HasSubstr("| C6 | 500 | 0.200 | 0.0200 |"));
  EXPECT_THAT(text, HasSubstr("as one artifact: right, 0.250 ms"));
  EXPECT_THAT(text, HasSubstr("1.6% of them failed"));
  EXPECT_THAT(text, testing::Not(HasSubstr("Not complete")));
}

TEST(GpuCheckReport, SaysWhatWasNotMeasured) {
  const TemporaryFolder folder;
  Journal journal = open_or_die(folder.path() + "/steps.jsonl");
  ASSERT_TRUE(journal.add("peer/C6", {{"finished", true}, {"ok", true}}).ok());
  ASSERT_TRUE(journal.add("bench/C6", {{"finished", true}, {"ok", false}, {"error", "check: wrong result"}}).ok());
  std::vector<Step> steps = c6();
  steps.push_back({"suite/0/0", StepKind::kSuite, "", steps[0].workload, "algorithm=0"});
  ASSERT_TRUE(journal.add("model/small", {{"finished", true}, {"ok", false}, {"error", "check: layer 3"}}).ok());
  ASSERT_TRUE(journal.add("suite/0/0", {{"finished", true}, {"ok", false}, {"error", "element 3"}}).ok());
  const OrderedJson report = report_json(journal, steps);
  EXPECT_FALSE(report["complete"]);
  EXPECT_TRUE(report["tables"][0]["mean"].is_null());
  EXPECT_EQ(report["suite"]["wrong"].size(), 1u);
  const std::string text = report_markdown(report);
  EXPECT_THAT(text, HasSubstr("1 wrong"));
  EXPECT_THAT(text, HasSubstr("as one artifact: check: layer 3"));
  EXPECT_THAT(text, HasSubstr("| C6 | not measured | not measured | not measured | not measured | not measured | not "
                              "measured | check: wrong result |"));
  EXPECT_THAT(text, HasSubstr("Not complete"));
}

TEST(GpuCheckModels, AreTheFilesOfFoldersByName) {
  const TemporaryFolder folder;
  for (const char* name : {"b.onnx", "a.tflite", "b.toml", "notes.txt"})
    std::ofstream(folder.path() + "/" + name) << "x";
  const auto found = find_models({folder.path(), folder.path() + "/b.onnx"});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(words_of((*found)[0]), std::vector<std::string>{folder.path() + "/a.tflite"});
  EXPECT_EQ(words_of((*found)[1]),
            (std::vector<std::string>{folder.path() + "/b.onnx", "--flags-file", folder.path() + "/b.toml"}));
  std::filesystem::create_directories(folder.path() + "/empty");
  for (const std::string path : {"/empty", "/notes.txt", "/none.onnx"})
    EXPECT_THAT(find_models({folder.path() + path}).status().message(), HasSubstr(path + ": n"));
  std::ofstream(folder.path() + "/empty/a.onnx") << "x";
  EXPECT_THAT(find_models({folder.path(), folder.path() + "/empty"}).status().message(), HasSubstr("have one name"));
  EXPECT_TRUE(find_models({})->empty());
}

TEST(GpuCheckModels, ShareTheirLayers) {
  EXPECT_EQ(joined_tasks({"dense(m=1,n=8,k=16)  2\nsoftmax(shape=1x8)  1\n", "", "dense(m=1,n=8,k=16)  1.5\n"}),
            "dense(m=1,n=8,k=16)  3.5\nsoftmax(shape=1x8)  1\n");
  EXPECT_EQ(joined_tasks({}), "");
}

TEST(GpuCheckModels, AreTunedTogetherAndTimedInEachWay) {
  const ModelFile a{"a", "a.onnx", ""}, b{"b", "b.onnx", ""};
  std::vector<std::string> names;
  for (const Step& s : model_plan({a, b}, {b})) names.push_back(s.name);
  EXPECT_EQ(names, (std::vector<std::string>{"layers/a", "layers/b", "tune/layers", "time/b", "torch/b/eager_f32",
                                             "torch/b/graphs_f32", "torch/b/autotune_f32", "torch/b/eager_tf32",
                                             "torch/b/graphs_tf32", "torch/b/autotune_tf32"}));
  EXPECT_TRUE(model_plan({}, {}).empty());
}

TEST(GpuCheckModels, AreReportedBesidePyTorch) {
  const TemporaryFolder folder;
  Journal journal = open_or_die(folder.path() + "/steps.jsonl");
  const ModelFile a{"a", "a.onnx", ""}, b{"b", "b.onnx", ""};
  const std::vector<Step> steps = model_plan({a, b}, {a, b});
  const auto add = [&](const std::string& step, Json record) {
    record["finished"] = true;
    ASSERT_TRUE(journal.add(step, record).ok());
  };
  add("layers/a", {{"ok", true}, {"tasks", "dense(m=1,n=8,k=16)  1\n"}});
  add("layers/b", {{"ok", false}, {"error", "no model"}});
  add("tune/layers", {{"ok", true},
                      {"operators", 1},
                      {"trials", 64},
                      {"by_status", {{"ok", 64}}},
                      {"total", {{"time_ms", 0.1}, {"default_time_ms", 0.3}}}});
  add("time/a", {{"ok", true}, {"tuned_ms", 0.2}, {"default_ms", 0.4}});
  add("time/b", {{"ok", false}, {"error", "no model"}});
  for (const TorchWay& way : torch_ways()) {
    add("torch/a/" + way.name(), {{"ok", true}, {"time_ms", way.precision == "tf32" ? 0.1 : 0.5}});
    add("torch/b/" + way.name(), {{"ok", true}, {"missing", "torch is not installed"}});
  }
  add("torch/a/graphs_f32", {{"ok", true}, {"time_ms", 0.3}});
  const OrderedJson report = report_json(journal, steps);
  EXPECT_TRUE(report["complete"]);
  EXPECT_EQ(report["layers"]["errors"][0], "layers/b: no model");
  EXPECT_DOUBLE_EQ(report["models"][0]["torch_over_ours"], 1.5) << "the best of f32";
  EXPECT_TRUE(report["models"][1]["torch_over_ours"].is_null());
  const std::string text = report_markdown(report);
  EXPECT_THAT(text, HasSubstr("2 models, 1 operators: 64 trials; the sum of their layers' times: 0.300 ms by default, "
                              "0.100 ms tuned.\n\n- layers/b: no model\n"));
  EXPECT_THAT(text, HasSubstr("PyTorch was not timed: torch is not installed.\n"));
  EXPECT_THAT(text, HasSubstr("| a | 0.400 | 0.200 | 0.500 | 0.300 | 0.500 | 0.100 | 0.100 | 0.100 | 1.50 |\n"));
  EXPECT_THAT(text, HasSubstr("- time/b: no model\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("Suite:"))) << "nothing of what was not asked for";
}

}  // namespace
}  // namespace hone::gpu_check
