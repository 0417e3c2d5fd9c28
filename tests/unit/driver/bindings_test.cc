#include "compiler/driver/request/bindings.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/check.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::ElementsAre;
using Texts = std::vector<std::string>;

std::vector<ModelBinding> model_bindings(const Texts& bind, const Texts& shapes, size_t threads = 1,
                                         const Texts& data = {}) {
  ModelRequest r;
  for (const std::string& text : bind) r.bind.push_back(bind_choice(text));
  for (const std::string& text : shapes) r.shapes.push_back(shape_choice(text));
  for (const std::string& text : data) r.bind_data.push_back(bound_file(text));
  return bindings_of(r, threads);
}

std::string refusal(const Texts& bind, const Texts& shapes = {}, size_t threads = 1, const Texts& data = {}) {
  try {
    model_bindings(bind, shapes, threads, data);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

std::string refused_threads(const std::string& text) {
  try {
    thread_counts(text);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

TEST(ModelBindings, OneValueEachIsOneBindingWithoutAName) {
  const auto bindings = model_bindings({"batch=4", "sr=16000"}, {"x=1x3"});
  ASSERT_EQ(bindings.size(), 1u);
  EXPECT_EQ(bindings[0].name, "");
  EXPECT_EQ(bindings[0].options.bind.at("sr"), 16000);
  EXPECT_EQ(bindings[0].options.shapes.at("x"), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(model_bindings({}, {}).size(), 1u);
  EXPECT_EQ(model_bindings({"batch=4", "batch=5"}, {})[0].options.bind.at("batch"), 5) << "the last one counts";
}

TEST(ModelBindings, AreTheProductOfTheValuesAsTyped) {
  Texts names;
  for (const ModelBinding& b : model_bindings({"batch=4|1", "sequence=128", "past=0|7"}, {"x=2|2x3"})) {
    names.push_back(b.name);
    EXPECT_EQ(b.options.bind.at("sequence"), 128);
    EXPECT_THAT(b.name, testing::HasSubstr("batch=" + std::to_string(b.options.bind.at("batch"))));
    EXPECT_THAT(b.name, testing::EndsWith(b.options.shapes.at("x").size() == 1 ? "x=2" : "x=2x3"));
  }
  EXPECT_THAT(names, ElementsAre("batch=4, past=0, x=2", "batch=4, past=0, x=2x3", "batch=4, past=7, x=2",
                                 "batch=4, past=7, x=2x3", "batch=1, past=0, x=2", "batch=1, past=0, x=2x3",
                                 "batch=1, past=7, x=2", "batch=1, past=7, x=2x3"));
}

TEST(ModelBindings, BadTextsAreOneLine) {
  EXPECT_EQ(refusal({"batch=1|"}), "--bind batch=1|: a value is missing; several are written as 1|4");
  EXPECT_EQ(refusal({"batch=|1"}), "--bind batch=|1: a value is missing; several are written as 1|4");
  EXPECT_EQ(refusal({"batch=1||2"}), "--bind batch=1||2: a value is missing; several are written as 1|4");
  EXPECT_EQ(refusal({"batch=|"}), "--bind batch=|: a value is missing; several are written as 1|4");
  EXPECT_EQ(refusal({"batch=1|2|1"}), "--bind batch=1|2|1: 1 is there twice");
  EXPECT_EQ(refusal({}, {"x=1x3|1x3"}), "--shape x=1x3|1x3: 1x3 is there twice");
  EXPECT_EQ(refusal({"batch"}), "--bind batch: expected NAME=VALUE");
  EXPECT_EQ(refusal({"batch="}), "--bind batch=: expected NAME=VALUE");
  EXPECT_EQ(refusal({"=1|2"}), "--bind =1|2: expected NAME=VALUE");
  EXPECT_EQ(refusal({"batch=1|two"}), "--bind batch: 'two' is not a whole number from 0 to 2147483647");
  EXPECT_EQ(refusal({"batch=1|2", "batch=3"}), "--bind batch is given twice; several values are one flag's");
  EXPECT_EQ(refusal({"x=1|2"}, {"x=3"}), "") << "a symbol and an input may have one name";
}

TEST(ModelBindings, AreAtMostSoMany) {
  const std::string eight = "=1|2|3|4|5|6|7|8";
  EXPECT_EQ(model_bindings({"a" + eight, "b" + eight}, {}).size(), 64u);
  EXPECT_EQ(refusal({"a" + eight, "b" + eight}, {"c=1|2"}),
            "--bind, --shape and --threads: 8 x 8 x 2 = 128 variants; an artifact has at most 64");
  EXPECT_EQ(refusal({"a" + eight, "b" + eight}, {}, 3),
            "--bind, --shape and --threads: 8 x 8 x 3 = 192 variants; an artifact has at most 64");
  Texts many;
  for (int i = 0; i < 40; ++i) many.push_back(std::string(1, static_cast<char>('A' + i)) + eight);
  EXPECT_THAT(refusal(many), testing::HasSubstr(" variants; an artifact has at most 64"));
}

TEST(ModelWords, AreSaidAgainAsTheyWere) {
  for (const std::string text : {"batch=1|4", "total=past+1", "a=b=3"}) EXPECT_EQ(to_string(bind_choice(text)), text);
  for (const std::string text : {"x=1x3x48x192|1x3x48x320", "x=7"}) EXPECT_EQ(to_string(shape_choice(text)), text);
  EXPECT_EQ(to_string(bound_file("axes=a=b.npy")), "axes=a=b.npy");
  EXPECT_EQ(to_string(cache_option("past=21")), "past=21");
  for (const std::string bad : {"past", "past=0", "past=x"})
    EXPECT_THAT([&] { cache_option(bad); }, testing::ThrowsMessage<UserError>(testing::HasSubstr("--cache past")));
}

TEST(ThreadCounts, AreReadMostFirst) {
  EXPECT_THAT(thread_counts(""), ElementsAre());
  EXPECT_THAT(thread_counts("3"), ElementsAre(3));
  EXPECT_THAT(thread_counts("1|8|2"), ElementsAre(8, 2, 1));
  for (const std::string bad : {"0", "1|0", "x", "-1", "1025", "2.5"})
    EXPECT_THAT(refused_threads(bad), testing::HasSubstr("is not a whole number from 1 to 1024")) << bad;
  for (const std::string bad : {"|", "1|", "|1"})
    EXPECT_THAT(refused_threads(bad), testing::HasSubstr("a value is missing")) << bad;
  for (const std::string bad : {"2|2", "2|02"})
    EXPECT_THAT(refused_threads(bad), testing::HasSubstr("is there twice")) << bad;
}

TEST(VariantName, SaysWhatSetsItApart) {
  const ModelBinding one{"batch=4", {}}, none{};
  EXPECT_EQ(variant_name(one, 0), "batch=4");
  EXPECT_EQ(variant_name(one, 1), "batch=4, 1 thread");
  EXPECT_EQ(variant_name(none, 2), "2 threads");
  EXPECT_EQ(variant_name(none, 0), "");
}

TEST(ModelBindings, DataHoldForAllCombinations) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/axes=.npy";
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
  header.resize(128 - 10 - 1, ' ');
  std::ofstream(file, std::ios::binary) << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size() + 1) << '\0'
                                        << header << '\n'
                                        << std::string("\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16);
  const auto bindings = model_bindings({"batch=1|2"}, {}, 1, {"axes=" + file});
  ASSERT_EQ(bindings.size(), 2u);
  for (const ModelBinding& b : bindings) EXPECT_THAT(b.options.values.at("axes").numbers(), ElementsAre(0, 2));
  const auto refused = [](const Texts& data) { return refusal({}, {}, 1, data); };
  EXPECT_EQ(refused({"axes"}), "--bind-data axes: expected NAME=FILE");
  EXPECT_EQ(refused({"=" + file}), "--bind-data =" + file + ": expected NAME=FILE");
  EXPECT_EQ(refused({"axes=" + file, "axes=" + file}), "--bind-data axes is given twice");
  EXPECT_EQ(refused({"axes=" + folder.path() + "/none.npy"}), folder.path() + "/none.npy: No such file or directory");
}

}  // namespace
}  // namespace hone
