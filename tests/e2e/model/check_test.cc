// `tensorc m.onnx --check` with compilers that are wrong on purpose.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "compiler/cli/tensorc_model.h"
#include "compiler/ops/definition.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

// The operators of Hone with another definition of one of them.
OperatorTable with_definition(const std::string& name, const std::function<Definition(const Workload&)>& define) {
  OperatorTable table;
  const OperatorTable standard = standard_operators();
  for (const auto& row : standard.rows()) {
    Operator changed = *row;
    if (row->name == name) changed.define = define;
    table.add(std::move(changed));
  }
  return table;
}

// Defines each workload as the one that it becomes when `from` in its text is `to`.
OperatorTable with_other_words(const std::string& name, const std::string& from, const std::string& to) {
  return with_definition(name, [=](const Workload& w) {
    std::string text = to_string(w);
    if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
    return define(Workload::parse(standard_operators(), text));
  });
}

struct CheckedModel : testing::Test {
  const TemporaryFolder folder;
  std::ostringstream out, err;

  std::string run(const OperatorTable& operators, const std::string& report = "",
                  const std::vector<std::string>& bind = {}, double seconds = 60) {
    const std::string file = folder.path() + "/small.onnx";
    SmallModel(bind.empty() ? SmallModel::kOfOne : SmallModel::kFree).write(file);
    TensorcOptions o;
    o.model = file;
    o.output = folder.path() + "/small.so";
    o.target = "llvm";
    o.config = "default";
    o.threads = {1};
    o.check = true;
    o.check_seconds = seconds;
    for (const std::string& text : bind) o.bind.push_back(bind_choice(text));
    if (!report.empty()) o.reports = {folder.path() + "/" + report};
    const Status s = run_tensorc_model(operators, o, out, err);
    return s.ok() ? "ok" : message_of(s);
  }
  OrderedJson data(const std::string& name) const {
    std::ifstream file(folder.path() + "/" + name);
    return OrderedJson::parse(file, nullptr, false);
  }
  // The machine's roof, which reports measure, is kept in the test's folder.
  void SetUp() override { setenv("XDG_CACHE_HOME", folder.path().c_str(), 1); }
};

TEST_F(CheckedModel, SaysWhatAgrees) {
  EXPECT_EQ(run(standard_operators()), "ok");
  EXPECT_THAT(err.str(),
              AllOf(HasSubstr("check: 7 layers, "), HasSubstr("check: 7 layers agree on adversarial inputs "),
                    HasSubstr("check: the whole agrees with the imported model (off by ")));
}

TEST_F(CheckedModel, SaysWhatThereWasNoTimeFor) {
  EXPECT_EQ(run(standard_operators(), "", {}, 0), "ok");
  EXPECT_THAT(
      err.str(),
      AllOf(HasSubstr("check: 7 layers, "),
            ContainsRegex("check: 0 layers agree on adversarial inputs \\(0 in all\\); no time for [0-9]+ more, nor "
                          "any for 7 layers \\(--check-seconds gives more\\)"),
            HasSubstr("check: the whole was not compared with the imported model: 0 % of what computing it takes "
                      "was done in 0 s (--check-seconds gives more)")));
}

// Kernels compute something else than their layers should.
TEST_F(CheckedModel, FindsALayerThatIsWrong) {
  EXPECT_THAT(run(with_other_words("conv2d", "epilogue=bias+relu", "epilogue=bias")),
              AllOf(HasSubstr("check: wrong result: layer 'c1 + r1', conv2d(n=1,ci=3,"),
                    ContainsRegex("output element [0-9]+ is 0, expected -")));
}

// Each layer is right, but the passes turned the model's Relu into something else.
TEST_F(CheckedModel, FindsAPassThatIsWrong) {
  EXPECT_THAT(run(with_other_words("elementwise", "(op=relu,", "(op=abs,")),
              AllOf(HasSubstr("check: wrong result: output 'classes' is not what the imported model computes: off by "),
                    HasSubstr("; the first layer that is off is 'c1 + r1', conv2d(n=1,ci=3,")));
}

// The results found until then are in the report.
TEST_F(CheckedModel, ReportsALayerThatIsWrong) {
  EXPECT_THAT(run(with_other_words("conv2d", "epilogue=bias+relu", "epilogue=bias"), "r.json"),
              HasSubstr("check: wrong result: layer 'c1 + r1'"));
  EXPECT_THAT(err.str(), HasSubstr("wrote " + folder.path() + "/r.json"));
  const OrderedJson v = data("r.json")["variants"][0];
  EXPECT_THAT(v["check"].get<std::string>(), testing::StartsWith("wrong result: layer 'c1 + r1', conv2d(n=1,ci=3,"));
  ASSERT_EQ(v["layers"].size(), 7u);
  EXPECT_EQ(v["layers"][0]["nodes"], "c1 + r1");
  EXPECT_GT(v["layers"][0]["error"].get<double>(), 1e-2);
  EXPECT_FALSE(v["layers"].back().contains("error")) << "it stops at the first that is wrong";
}

TEST_F(CheckedModel, ReportsAPassThatIsWrong) {
  EXPECT_THAT(run(with_other_words("elementwise", "(op=relu,", "(op=abs,"), "r.json"), HasSubstr("wrong result"));
  const OrderedJson v = data("r.json")["variants"][0];
  EXPECT_THAT(v["check"].get<std::string>(), HasSubstr("output 'classes' is not what the imported model computes"));
  for (const auto& layer : v["layers"]) EXPECT_LT(layer["error"], 1e-4) << layer;
}

TEST_F(CheckedModel, ReportsVariantsThatWereNotCheckedAsSuch) {
  EXPECT_THAT(run(with_other_words("conv2d", "epilogue=bias+relu", "epilogue=bias"), "r.json", {"batch=1|2"}),
              HasSubstr("batch=1: check: wrong result: layer"));
  const OrderedJson variants = data("r.json")["variants"];
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_THAT(variants[0]["check"].get<std::string>(), testing::StartsWith("wrong result: layer"));
  EXPECT_EQ(variants[1]["check"], "not done: another variant failed");
}

// The error of the command is the failure, whatever becomes of the report.
TEST_F(CheckedModel, AReportThatCannotBeWrittenIsSaidBesideWhatFailed) {
  std::filesystem::create_symlink("/dev/full", folder.path() + "/r.json");  // there is no room, as is found by writing
  EXPECT_THAT(run(with_other_words("conv2d", "epilogue=bias+relu", "epilogue=bias"), "r.json"),
              HasSubstr("check: wrong result: layer 'c1 + r1'"));
  EXPECT_THAT(err.str(), HasSubstr("r.json"));
}

TEST_F(CheckedModel, APassThatFailsIsNamedAndItsInputKept) {
  const OperatorTable operators = with_definition("conv2d", [](const Workload& w) {
    const std::string text = to_string(w);
    if (text.find("relu") != std::string::npos) throw InternalError("broken");
    return define(Workload::parse(standard_operators(), text));
  });
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::string said;
  try {
    said = run(operators);
  } catch (const InternalError& e) {
    said = e.what();
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(said, "broken (in pass 'fuse_epilogues')");
  EXPECT_THAT(err.str(), HasSubstr("./tensorc-fuse_epilogues.txt"));
  std::ifstream file(folder.path() + "/tensorc-fuse_epilogues.txt");
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(kept, AllOf(HasSubstr("--emit graph:after=fuse_epilogues"), HasSubstr("= conv2d(")));
}

}  // namespace
}  // namespace hone
