// Formats of models: how a file's is found, and a reader of a format of its own, made of tools that readers share.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "compiler/frontend/lowering/input_binding.h"
#include "compiler/frontend/lowering/lowering.h"
#include "compiler/frontend/model_reader.h"
#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::ElementsAre;

// A line: "CHAIN 1", then a function of one input, `x`, of some rows of three numbers: "CHAIN 1 relu".
constexpr std::string_view kMagic = "CHAIN 1 ";

bool knows_chain(std::string_view, std::string_view begin) { return begin.starts_with(kMagic); }

ImportedModel read_chain(const std::string& path, const OperatorTable& operators, const ImportOptions& options) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  GraphBuilder builder(operators, "chain");
  frontend::Lowering lowering(builder, options.most_work);
  const frontend::DeclaredInput x{
      "x", {f32}, std::vector<frontend::DeclaredDimension>{{std::nullopt, "rows"}, {3, ""}}};
  ImportedModel out;
  const auto inputs = frontend::bind_inputs({x}, options, "", lowering, &out.notes);
  const frontend::Operand y = lowering.pointwise(text.str().substr(kMagic.size()), {inputs.at("x")});
  builder.output("y", y.id, y.type);
  out.graph = builder.take();
  return for_images(std::move(out), path, operators, options.batch);
}

std::vector<std::string> names_of_chain(const std::string&) { return {"x"}; }
std::vector<std::string> files_of_chain(const std::string& path) { return {path, path + ".data"}; }

std::vector<ModelFormat> with_chain() {
  std::vector<ModelFormat> formats = {{"chain", &knows_chain, &read_chain, nullptr, &names_of_chain, &files_of_chain}};
  formats.insert(formats.end(), model_formats().begin(), model_formats().end());
  return formats;
}

TEST(ModelFormats, AreKnownByHowFilesBegin) {
  const std::vector<ModelFormat> formats = with_chain();
  ModelFolder f;
  // Its name says nothing.
  f.write("chain.onnx", "CHAIN 1 relu");
  f.write("model.onnx", relu().model.SerializeAsString());
  f.write("empty", "");
  EXPECT_EQ(format_of(f.path("chain.onnx"), formats).name, "chain");
  EXPECT_EQ(format_of(f.path("model.onnx"), formats).name, "ONNX");
  EXPECT_EQ(format_of(f.path("empty"), formats).name, "ONNX");
  EXPECT_EQ(format_of(f.path("none"), formats).name, "ONNX");
  EXPECT_EQ(format_of(f.path("chain.onnx")).name, "ONNX") << "a format that is not in the table";
}

TEST(ModelFormats, AreReadByTheirReaders) {
  const std::vector<ModelFormat> formats = with_chain();
  ModelFolder f;
  f.write("m", "CHAIN 1 relu");
  const ImportedModel m = import_model(f.path("m"), test_operators(), {.bind = {{"rows", 2}}}, formats);
  verify(m.graph);
  const std::vector<float> x = {-1, 2, -3, 4, -5, 6};
  EXPECT_THAT(outputs_of(m, {TensorData({f32, {2, 3}}, floats_of(x))}), ElementsAre(0, 2, 0, 4, 0, 6));
  EXPECT_THAT(model_input_names(f.path("m"), formats), ElementsAre("x"));
  EXPECT_THAT(model_files(f.path("m"), formats), ElementsAre(f.path("m"), f.path("m.data")));
}

TEST(ModelFormats, ShareWhatOptionsSayOfInputs) {
  const std::vector<ModelFormat> formats = with_chain();
  ModelFolder f;
  f.write("m", "CHAIN 1 relu");
  const auto read = [&](const ImportOptions& options) {
    return import_model(f.path("m"), test_operators(), options, formats);
  };
  EXPECT_THAT(read({}).notes, ElementsAre("rows = 1"));
  EXPECT_EQ(read({.shapes = {{"x", {5, 3}}}}).graph.inputs[0].type, (TensorType{f32, {5, 3}}));
  EXPECT_EQ(refusal_of([&] {
              read({.bind = {{"columns", 2}}});
            }),
            "--bind columns: no input has a dimension of that name, nor is one called so; there are x [rows, 3]");
  EXPECT_EQ(refusal_of([&] { read({.shapes = {{"x", {5, 4}}}}); }), "--shape x: dimension 1 is 3 in the model");
}

TEST(ModelFormats, WithoutCachesThatGrowAreRefusedWithThem) {
  const std::vector<ModelFormat> formats = with_chain();
  ModelFolder f;
  f.write("m", "CHAIN 1 relu");
  EXPECT_EQ(refusal_of([&] {
              import_growing_model(f.path("m"), test_operators(), {}, {"past", 4}, formats);
            }),
            f.path("m") + ": --cache past: models of chain have no caches that grow");
}

}  // namespace
}  // namespace hone
