// Graph passes of a caller's, in C: what crosses the border, and what is wrong with some.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hone_compiler.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct OwnPass : testing::Test {
  using Write = std::function<void(const std::string& text, const std::vector<DLTensor>& made)>;
  const std::filesystem::path before = std::filesystem::current_path();
  const TemporaryFolder folder;
  std::string list = R"([{"name": "mine", "after": "import"}])";
  std::function<int32_t(const std::string& graph, const std::vector<DLTensor>& given, const Write& write)> pass;
  std::vector<int32_t> numbers;  // of the passes that ran
  std::string output;

  OwnPass() {
    setenv("HONE_DB", (folder.path() + "/hub.db").c_str(), 1);
    SmallModel().write(folder.path() + "/m.onnx");
    std::filesystem::current_path(folder.path());  // what shows a failure is written there
  }
  ~OwnPass() override { std::filesystem::current_path(before); }

  HoneGraphPasses get() {
    return {sizeof(HoneGraphPasses), this, list.c_str(),
            [](void* self, int32_t number, const char* graph, const DLTensor* given, int32_t count, void* to,
               void (*write)(void*, const char*, const DLTensor*, int32_t)) -> int32_t {
              auto& own = *static_cast<OwnPass*>(self);
              own.numbers.push_back(number);
              return own.pass(graph, {given, given + count}, [&](const std::string& text, const auto& made) {
                write(to, text.c_str(), made.data(), static_cast<int32_t>(made.size()));
              });
            }};
  }
  int32_t compile(std::vector<const char*> options = {"--threads=1"}, size_t call_size = sizeof(HoneCall)) {
    const HoneGraphPasses passes = get();
    HoneCall call{};
    call.size = call_size;
    call.passes = &passes;
    char* text = nullptr;
    const int32_t code = hone_compile((folder.path() + "/m.onnx").c_str(), (folder.path() + "/m.so").c_str(),
                                      options.data(), static_cast<int32_t>(options.size()), &call, &text);
    output = text ? text : "";
    hone_free_text(text);
    return code;
  }
  std::string refusal() {
    EXPECT_EQ(compile({"--threads=1", "--emit=graph"}), HONE_BAD_INPUT);
    EXPECT_THAT(hone_last_error(), Not(HasSubstr("\n")));
    return hone_last_error();
  }
  // The pass writes this.
  void writes(const std::string& text) {
    pass = [text](const std::string&, const auto&, const Write& write) {
      write(text, {});
      return HONE_OK;
    };
  }
};

// `from`, once, as `to`.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(OwnPass, RunsBetweenOthers) {
  list = R"([{"name": "a", "after": "fuse_epilogues"}, {"name": "b", "before": "fold_pads", "file": "b.py"}])";
  pass = [](const std::string& graph, const auto&, const Write& write) {
    write(graph, {});
    return HONE_OK;
  };
  ASSERT_EQ(compile(), HONE_OK) << hone_last_error();
  EXPECT_EQ(numbers, (std::vector<int32_t>{1, 0}));
  EXPECT_FALSE(Json::parse(output)["layers"].empty());
}

// A callback that is told of an older HoneCall has no passes.
TEST_F(OwnPass, OlderCallersHaveNone) {
  ASSERT_EQ(compile({"--threads=1"}, offsetof(HoneCall, passes)), HONE_OK) << hone_last_error();
  EXPECT_TRUE(numbers.empty());
}

TEST_F(OwnPass, BelongToModels) {
  const HoneGraphPasses passes = get();
  HoneCall call{};
  call.size = sizeof call;
  call.passes = &passes;
  EXPECT_EQ(hone_compile_operator("dense(m=2,n=3,k=4)", "d.so", nullptr, 0, &call, nullptr), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), StartsWith("graph passes: these belong to a model"));
  const char* const options[] = {"--workload=dense(m=2,n=3,k=4)", "--trials=1"};
  EXPECT_EQ(hone_tune(options, 2, &call, nullptr), HONE_BAD_INPUT);
  EXPECT_STREQ(hone_last_error(), "graph passes: these belong to --model");
}

TEST_F(OwnPass, ConstantsLieBesideTheTextBothWays) {
  pass = [](const std::string& graph, const std::vector<DLTensor>& given, const Write& write) {
    EXPECT_THAT(graph, HasSubstr("= constant f32[16, 3, 3, 3] given 0\n"));
    EXPECT_THAT(graph, Not(HasSubstr("hash")));
    EXPECT_EQ(given[0].ndim, 4);
    EXPECT_EQ(given[0].shape[0], 16);
    EXPECT_EQ(given[0].dtype.code, kDLFloat);
    std::vector<float> halves(16 * 27, 0.5F);
    std::vector<int64_t> shape = {16, 3, 3, 3};
    DLTensor made{};
    made.data = halves.data();
    made.device = {kDLCPU, 0};
    made.ndim = 4;
    made.dtype = {kDLFloat, 32, 1};
    made.shape = shape.data();
    write(with(graph, "given 0\n", "given " + std::to_string(given.size()) + "\n"), {made});
    std::memset(halves.data(), 0, halves.size() * sizeof(float));  // it was copied
    return HONE_OK;
  };
  ASSERT_EQ(compile({"--threads=1", "--emit=graph:after=mine"}), HONE_OK) << hone_last_error();
  const std::string changed = output;
  pass = [](const std::string& graph, const auto&, const Write& write) {
    write(graph, {});
    return HONE_OK;
  };
  ASSERT_EQ(compile({"--threads=1", "--emit=graph:after=mine"}), HONE_OK) << hone_last_error();
  EXPECT_NE(changed, output) << "the hashes of the weights";
}

TEST_F(OwnPass, WrongTextsNameThePassAndTheLine) {
  writes("graph g\n%y = nothing(a=1)\n");
  EXPECT_THAT(refusal(), AllOf(StartsWith("graph pass 'mine': 2:6: "), HasSubstr("`%y = nothing(a=1)`")));
  writes("");
  EXPECT_EQ(refusal(), "graph pass 'mine': it wrote no graph");
  writes("nonsense");
  EXPECT_THAT(refusal(), StartsWith("graph pass 'mine': 1:1: "));
  writes("graph g\n%c = constant f32[4] given 900\n");
  EXPECT_THAT(refusal(), HasSubstr("there is no constant 900"));
  writes("graph g\n");
  EXPECT_EQ(refusal(), "graph pass 'mine': the graph has 0 inputs, not 1");
  pass = [](const auto&, const auto&, const Write&) { return HONE_OK; };
  EXPECT_EQ(refusal(), "graph pass 'mine': it wrote no graph");
}

TEST_F(OwnPass, GraphsThatAreWrongAreRefused) {
  const auto edits = [&](const std::string& from, const std::string& to) {
    pass = [=](const std::string& graph, const auto&, const Write& write) {
      write(with(graph, from, to), {});
      return HONE_OK;
    };
    return refusal();
  };
  EXPECT_THAT(edits("output \"classes\"", "output \"kinds\""),
              AllOf(StartsWith("graph pass 'mine': output 0 is 'kinds'"), HasSubstr("not 'classes'")));
  EXPECT_THAT(edits("co=16", "co=17"), StartsWith("graph pass 'mine': "));
  EXPECT_THAT(edits("%r1 = ", "%r2 = "), HasSubstr("%r1 is not there yet: values are computed before they are read"));
}

TEST_F(OwnPass, ItsOwnRefusalIsTheCalls) {
  pass = [](const auto&, const auto&, const Write& write) {
    write("the model has no\nsuch layer", {});
    return HONE_INTERNAL;
  };
  EXPECT_THAT(refusal(), AllOf(StartsWith("graph pass 'mine': the model has no"), HasSubstr("such layer")));
  pass = [](const auto&, const auto&, const Write&) { return HONE_INTERNAL; };
  EXPECT_EQ(refusal(), "graph pass 'mine': it failed");
  pass = [](const auto&, const auto&, const Write&) { return HONE_STOPPED; };
  EXPECT_EQ(compile(), HONE_STOPPED);
  EXPECT_STREQ(hone_last_error(), "a graph pass stopped it; nothing was written");
}

TEST_F(OwnPass, WrongTensorsAndListsAreOneLine) {
  for (const DLDataType type :
       {DLDataType{kDLFloat, 8, 1}, DLDataType{kDLFloat, 32, 4}, DLDataType{kDLOpaqueHandle, 64, 1}}) {
    pass = [=](const std::string& graph, const std::vector<DLTensor>& given, const Write& write) {
      DLTensor made = given[0];
      made.dtype = type;
      write(graph, {made});
      return HONE_OK;
    };
    EXPECT_EQ(refusal(), "graph pass 'mine': made tensor 0 is no row-major tensor of numbers in memory");
  }
  const auto refused = [&](const std::string& text) {
    list = text;
    return refusal();
  };
  EXPECT_THAT(refused("nonsense"), StartsWith("the list of graph passes is none: "));
  EXPECT_THAT(refused(R"([{"after": "import"}])"), StartsWith("the list of graph passes is none: "));
  EXPECT_EQ(refused(R"([{"name": "a"}])"), "graph pass 'a': it runs after a pass, or before one");
  EXPECT_EQ(refused(R"([{"name": "a", "after": "b", "before": "c"}])"),
            "graph pass 'a': it runs after a pass, or before one");
  EXPECT_THAT(refused(R"([{"name": "a", "after": "b"}])"),
              StartsWith("graph pass 'a': there is no pass 'b' to run after"));
}

// The answer; a text where it is refused.
Json node_of(const std::string& question) {
  char* text = nullptr;
  if (hone_graph_node(question.c_str(), &text) != HONE_OK) return hone_last_error();
  Json out = Json::parse(text);
  hone_free_text(text);
  return out;
}

TEST(GraphNode, SaysWhatItComputes) {
  const Json inputs = Json::parse(R"([["f32",[1,4]],["f32",[3,4]]])");
  const Json told = node_of(Json{{"op", "dense"}, {"attributes", {{"epilogue", "relu"}}}, {"inputs", inputs}}.dump());
  EXPECT_EQ(told["workload"], "dense(m=1,n=3,k=4,dtype=f32,epilogue=relu)");
  EXPECT_EQ(told["inputs"], inputs);
  EXPECT_EQ(told["outputs"].dump(), R"([["f32",[1,3]]])");
  EXPECT_EQ(told["op"], "dense");
}

TEST(GraphNode, OfAChangedWorkload) {
  const Json change = {{"epilogue", "bias"}, {"n", "5"}};
  const Json told = node_of(Json{{"workload", "dense(m=1,n=3,k=4)"}, {"change", change}}.dump());
  EXPECT_EQ(told["workload"], "dense(m=1,n=5,k=4,dtype=f32,epilogue=bias)");
  EXPECT_EQ(told["inputs"].dump(), R"([["f32",[1,4]],["f32",[5,4]],["f32",[5]]])");
}

TEST(GraphNode, WrongQuestionsAreOneLine) {
  const auto with_inputs = [](const char* op, const char* inputs) {
    return Json{{"op", op}, {"inputs", Json::parse(inputs)}}.dump();
  };
  const std::vector<std::string> questions = {"",
                                              "{}",
                                              "[]",
                                              "3",
                                              Json{{"op", 3}}.dump(),
                                              Json{{"op", "dense"}}.dump(),
                                              with_inputs("nothing", "[]"),
                                              with_inputs("dense", R"([["f32",[1,-4]],["f32",[3,4]]])"),
                                              with_inputs("dense", R"([["x32",[1,4]],["f32",[3,4]]])"),
                                              with_inputs("dense", R"([["f32",[]],["f32",[]]])"),
                                              Json{{"workload", "dense(m=1)"}, {"change", {{"x", "1"}}}}.dump()};
  for (const std::string& wrong : questions) {
    const Json refused = node_of(wrong);
    ASSERT_TRUE(refused.is_string()) << wrong << refused;
    EXPECT_THAT(refused.get<std::string>(), AllOf(Not(HasSubstr("\n")), Not(HasSubstr("internal")))) << wrong;
  }
  EXPECT_EQ(hone_graph_node(nullptr, nullptr), HONE_BAD_INPUT);
}

}  // namespace
}  // namespace hone
