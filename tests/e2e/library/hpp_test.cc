// hone.hpp alone, as a C++ program has it.
#include <gtest/gtest.h>
#include <hone.hpp>

#include <fstream>

#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"

namespace {

constexpr DLDataType kFloat = {kDLFloat, 32, 1};

TEST(HoneHpp, TensorsHaveASizeOrAreRefused) {
  EXPECT_EQ(hone::Tensor(kFloat, {2, 3}).bytes(), 24u);
  EXPECT_EQ(hone::Tensor(kFloat, {}).bytes(), 4u);
  EXPECT_EQ(hone::Tensor(kFloat, {5, 0}).bytes(), 0u);
  EXPECT_THROW(hone::Tensor(kFloat, {-1, 3}), std::invalid_argument);
  EXPECT_THROW(hone::Tensor(kFloat, {INT64_MAX / 2 + 1, 4}), std::invalid_argument);
  EXPECT_THROW(hone::Tensor(kFloat, {INT64_MAX / 8}), std::exception);
  EXPECT_THROW(hone::Tensor({kDLInt, 4, 1}, {8}), std::invalid_argument);
}

TEST(HoneHpp, AModelThatIsNotThereIsAnError) {
  try {
    hone::Model("/nonexistent/model.so");
    FAIL();
  } catch (const hone::Error& e) {
    EXPECT_NE(e.code(), HONE_OK);
  }
}

TEST(HoneHpp, AListenerDefinesOperators) {
  const hone::TemporaryFolder folder;
  const std::string model = folder.path() + "/m.onnx", artifact = folder.path() + "/m.so";
  hone::TestModel m;
  m.input("x", {4}).node("Reverse", {"x"}, {"y"}).output("y");
  m.last->set_domain("my");
  std::ofstream(model, std::ios::binary) << m.model.SerializeAsString();
  hone::Listener listener;
  listener.define = [](const char* question) -> std::string {
    if (std::string(question).find("\"operators\"") != std::string::npos) return R"(["my::Reverse"])";
    return R"({"definition":"{\"inputs\":[[\"x\",\"f32\",[4],\"input\"]],\"outputs\":[1],\"stages\":[{\"axes\":)"
           R"([[\"i\",4]],\"name\":\"y\",\"reads\":[0],\"value\":[\"[]\",0,[\"-\",[\"s64\",3],\"i0\"]]}]}"})";
  };
  EXPECT_NE(hone::compile(model, artifact, {"--threads=1"}, listener).find("op(name=my__Reverse"), std::string::npos);
  listener.define = [](const char*) -> std::string { throw std::out_of_range("not today"); };
  EXPECT_THROW(hone::compile(model, artifact, {"--threads=1"}, listener), std::out_of_range);
}

}  // namespace
