// Operators of TensorFlow Lite against what its own library gives: tests/data/tflite/answers.txt, made by
// library/tensorflow_lite_test.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

#include "base/check.h"
#include "compiler/frontend/tflite/node/bodies.h"
#include "compiler/frontend/tflite/node/operator_names.h"
#include "tests/conformance/tflite/computed.h"

namespace hone {
namespace {

// Operators that no case has, and why.
const std::map<int32_t, std::string> kNotCompared = {{31, "CALL: the library has no kernel of it"}};

const char* const kMakeThem = "make the answers again: tests/conformance/tflite/library/tensorflow_lite_test.py --keep";

struct TfliteAnswers : testing::Test {
  static const TfliteCases& cases() {
    static const TfliteCases all = all_tflite_cases();
    return all;
  }
  static const std::map<std::string, TfliteAnswer>& answers() {
    static const std::map<std::string, TfliteAnswer> all = [] {
      std::map<std::string, TfliteAnswer> out;
      for (TfliteAnswer& a : kept_answers()) out.emplace(a.name, std::move(a));
      return out;
    }();
    return all;
  }
  static const ReadCases& read() {
    static const ReadCases all = read_cases(cases());
    return all;
  }
  static void expect_no_faults(const ReadCases& some, const std::vector<ComputedCase>& computed) {
    for (const std::string& fault : faults_of(some, computed)) ADD_FAILURE() << fault;
    std::cout << some.cases.size() << " cases\n";
  }
};

TEST_F(TfliteAnswers, AreOfTheseCases) {
  std::set<std::string> names;
  for (const TfliteCase& c : cases()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name << ": two cases";
    const auto found = answers().find(c.name);
    if (found == answers().end())
      ADD_FAILURE() << c.name << ": it has no answer; " << kMakeThem;
    else if (found->second.case_hash != hash_of(c))
      ADD_FAILURE() << c.name << ": it has changed since; " << kMakeThem;
  }
  for (const auto& [name, answer] : answers()) EXPECT_TRUE(names.contains(name)) << name << ": no case; " << kMakeThem;
}

TEST_F(TfliteAnswers, ComeFromEveryOperatorThatIsRead) {
  std::set<int32_t> compared;
  for (const TfliteCase& c : cases())
    for (const auto* code : *tables::GetModel(c.model.data())->codes()) compared.insert(tflite::number_of(*code));
  std::set<int32_t> read;
  for (const auto& [number, converter] : tflite::converters().own) read.insert(number);
  for (const auto& [number, converter] : tflite::body_converters()) read.insert(number);
  for (const int32_t number : read)
    EXPECT_NE(compared.contains(number), kNotCompared.contains(number)) << tflite::operator_name(number);
  std::cout << read.size() - kNotCompared.size() << " operators\n";
}

TEST_F(TfliteAnswers, AreTheInterpretersAnswers) {
  for (const std::string& refusal : read().refusals) ADD_FAILURE() << refusal;
  expect_no_faults(read(), interpreted(read()));
}

// All of them have the label slow.
TEST_F(TfliteAnswers, AreTheAnswersOfAFourthOfTheArtifacts) {
  const ReadCases some = every(4, read());
  expect_no_faults(some, run_as_artifacts(some));
}

// The comparison finds what is wrong.
TEST_F(TfliteAnswers, DifferWhereAnElementDoes) {
  const AnswerTensor one{kTfFloat, {2}, bytes_of_numbers<float>({1, 2})};
  EXPECT_EQ(difference_of(one, one, {}), "");
  EXPECT_NE(difference_of({kTfFloat, {2}, bytes_of_numbers<float>({1, 2.00001f})}, one, {}), "");
  EXPECT_EQ(difference_of({kTfFloat, {2}, bytes_of_numbers<float>({1, 2.00001f})}, one, {.absolute = 1e-4}), "");
  EXPECT_NE(difference_of({kTfFloat, {1, 2}, one.bytes}, one, {}), "");
  const AnswerTensor bytes{kTfSigned, {2}, "\1\2"};
  EXPECT_NE(difference_of({kTfSigned, {2}, "\1\3"}, bytes, {}), "");
  EXPECT_EQ(difference_of({kTfSigned, {2}, "\1\3"}, bytes, {.steps = 1}), "");
  EXPECT_NE(difference_of({kTfByte, {2}, "\1\2"}, bytes, {}), "");
  const AnswerTensor zeros{kTfSigned, {9}, std::string(9, '\0')}, ones{kTfSigned, {9}, std::string(9, '\1')};
  EXPECT_EQ(difference_of(ones, zeros, {.steps = 1}), "9 of 9 elements are a step apart");
}

TEST_F(TfliteAnswers, AreKeptAsText) {
  const std::vector<TfliteAnswer> one{
      {"A [2] and b",
       "0123",
       "",
       {{{kTfFloat, {1, 2}, bytes_of_numbers<float>({1, -2.5f})}, {kTfBool, {}, "\1"}}, {{kTfLong, {0}, ""}}}}};
  const std::string text = text_of_answers(one);
  const std::vector<TfliteAnswer> read = answers_of_text(text);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].case_hash, "0123");
  EXPECT_EQ(read[0].calls, one[0].calls);
  EXPECT_EQ(text_of_answers(read), text);
}

}  // namespace
}  // namespace hone
