// ONNX's own test data (Debian's libonnx-testdata): every model whose operators are known gives the outputs that it
// should.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "base/check.h"
#include "compiler/frontend/onnx/import.h"
#include "compiler/frontend/onnx/tensor_file.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/extents.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// How many of the models passed when this was written; more is better.
constexpr int kLeastPassing = 986;

const fs::path kData = "/usr/share/libonnx-testdata/data";

std::vector<TensorData> tensors_in(const fs::path& folder, const std::string& kind) {
  std::vector<TensorData> out;
  for (int i = 0; fs::exists(folder / (kind + "_" + std::to_string(i) + ".pb")); ++i)
    out.push_back(read_tensor_file(folder / (kind + "_" + std::to_string(i) + ".pb")));
  return out;
}

// ONNX's own tolerances; empty: equal.
std::string difference(const TensorData& got, const TensorData& wanted) {
  if (got.type() != wanted.type()) return to_string(got.type()) + " instead of " + to_string(wanted.type());
  const std::vector<double> a = got.values(), b = wanted.values();
  const double relative = got.type().dtype.is_narrow_float() ? 1e-2 : 1e-3;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= 1e-5 + relative * std::abs(b[i])))
      return "element " + std::to_string(i) + ": " + std::to_string(a[i]) + " instead of " + std::to_string(b[i]);
  }
  return "";
}

// The data has bf16 as u16.
TensorData as_bf16(const TensorData& t, const TensorType& wanted) {
  if (t.type().dtype != u16 || wanted.dtype != bf16 || t.type().shape != wanted.shape) return t;
  return {wanted, std::string(t.bytes().begin(), t.bytes().end())};
}

// Until release 1.21 ONNX's data had caps of scores behind masks, and modes 1 and 2 of qk_matmul_output the other way
// round; the definition was corrected as runtimes have it. Their functions, written out, are tests of their own.
bool is_of_older_scores(const std::string& name) {
  return name.starts_with("test_attention_") && !name.ends_with("_expanded") &&
         (name.find("qk_matmul_bias") != std::string::npos || name.find("qk_matmul_softcap") != std::string::npos);
}

// Their data were computed with an output size that was not rounded down to a whole number; runtimes round it, and so
// does Hone.
bool is_computed_otherwise(const std::string& name) {
  return name == "test_resize_downsample_scales_cubic_align_corners" ||
         name == "test_resize_downsample_scales_linear_align_corners" || is_of_older_scores(name);
}

struct Outcome {
  enum { kPassed, kUnsupported, kWrong } kind = kPassed;
  std::string why;
};

// Imports with the inputs of small whole numbers and bools known, which then are no inputs.
Outcome import_with_known(const fs::path& path, const OperatorTable& operators, std::vector<TensorData>* inputs,
                          OnnxModel* model) {
  const std::vector<std::string> names = onnx_input_names(path);
  if (names.size() != inputs->size()) return {Outcome::kUnsupported, "another number of inputs"};
  // The last inputs are what says how; floats among them are scales or fill values, matrices of whole numbers places.
  enum { kNumbers, kFloatsToo, kMatricesToo };
  for (const int known : {kNumbers, kFloatsToo, kMatricesToo}) {
    OnnxOptions options;
    std::vector<TensorData> rest;
    for (size_t i = 0; i < names.size(); ++i) {
      const TensorType& t = (*inputs)[i].type();
      const bool may_be_known = i > 0 || names.size() == 1 || t.dtype == i64;
      const bool is_small = t.shape.size() <= 1 || (known == kMatricesToo && i > 0 && t.dtype == i64);
      if (may_be_known && is_small && (known != kNumbers || !t.dtype.is_float()))
        options.values.emplace(names[i], (*inputs)[i]);
      else
        rest.push_back((*inputs)[i]);
    }
    try {
      *model = import_onnx(path, operators, options);
      *inputs = rest;
      return {};
    } catch (const UserError& e) {
      if (known == kMatricesToo) return {Outcome::kUnsupported, e.what()};
    }
  }
  return {};
}

Outcome outcome_of(const fs::path& folder, const OperatorTable& operators) {
  std::vector<std::pair<std::vector<TensorData>, std::vector<TensorData>>> cases;
  OnnxModel model;
  try {
    for (int i = 0; fs::exists(folder / ("test_data_set_" + std::to_string(i))); ++i) {
      const fs::path data = folder / ("test_data_set_" + std::to_string(i));
      cases.emplace_back(tensors_in(data, "input"), tensors_in(data, "output"));
    }
    model = import_onnx(folder / "model.onnx", operators);
  } catch (const UserError& e) {
    // Shapes, axes and bounds are inputs of some models: known ones, for the first case.
    if (cases.empty() || std::string(e.what()).find("must be known") == std::string::npos)
      return {Outcome::kUnsupported, e.what()};
    cases.resize(1);
    const Outcome with_known = import_with_known(folder / "model.onnx", operators, &cases[0].first, &model);
    if (with_known.kind != Outcome::kPassed) return with_known;
  }
  verify(model.graph);
  for (auto& [inputs, outputs] : cases) {
    std::vector<TensorData> got;
    for (size_t i = 0; i < std::min(inputs.size(), model.graph.inputs.size()); ++i)
      inputs[i] = as_bf16(inputs[i], model.graph.inputs[i].type);
    for (size_t o = 0; o < std::min(outputs.size(), model.graph.outputs.size()); ++o)
      outputs[o] = as_bf16(outputs[o], model.graph.outputs[o].type);
    // One test has an input of another shape than its model.
    if (inputs.size() == model.graph.inputs.size() && !inputs.empty() &&
        inputs.back().type().shape != model.graph.inputs.back().type.shape)
      return {Outcome::kUnsupported, "an input is of another shape than the model's"};
    try {
      got = cut_to_extents(model.graph, interpret(model.graph, inputs, &evaluate));
    } catch (const UserError& e) {
      return {Outcome::kWrong, e.what()};
    }
    if (got.size() != outputs.size()) return {Outcome::kWrong, "another number of outputs"};
    for (size_t o = 0; o < got.size(); ++o)
      if (const std::string d = difference(got[o], outputs[o]); !d.empty())
        return {Outcome::kWrong, "output " + std::to_string(o) + ": " + d};
  }
  return {};
}

TEST(Conformance, WhatIsSupportedIsRight) {
  if (!fs::exists(kData)) GTEST_SKIP() << "libonnx-testdata is not installed";
  const OperatorTable operators = standard_operators();
  std::vector<fs::path> folders;
  for (const char* group : {"node", "simple", "pytorch-converted", "pytorch-operator"})
    for (const auto& entry : fs::directory_iterator(kData / group))
      if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  const char* only = std::getenv("HONE_CONFORMANCE");
  const bool talks = std::getenv("HONE_CONFORMANCE_LIST") != nullptr;
  int passed = 0;
  std::map<std::string, int> reasons;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename();
    if (is_computed_otherwise(name)) continue;
    if (only && name.find(only) == std::string::npos) continue;
    Outcome o;
    try {
      o = outcome_of(folder, operators);
    } catch (const std::exception& e) {
      o = {Outcome::kWrong, e.what()};
    }
    if (o.kind == Outcome::kPassed) ++passed;
    if (o.kind == Outcome::kWrong) ADD_FAILURE() << name << ": " << o.why;
    if (talks && o.kind == Outcome::kUnsupported) std::cout << name << ": " << o.why << "\n";
  }
  std::cout << passed << " of " << folders.size() << " models pass\n";
  if (!only) {
    EXPECT_GE(passed, kLeastPassing);
  }
}

}  // namespace
}  // namespace hone
