// Models of one to three random nodes out of all operators: inputs that are left out, of any type, rank and extent,
// known or not or as many as a call finds out, and any attributes. Each is imported, or refused in lines that name the
// fault and the operator. HONE_FUZZ_COUNT makes more of them an operator, from HONE_FUZZ_FIRST on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/check.h"
#include "compiler/frontend/onnx/import_file.h"
#include "compiler/frontend/onnx/node/bodies.h"
#include "compiler/frontend/onnx/node/node.h"
#include "tests/fakes/test_model.h"
#include "tests/fakes/workloads.h"
#include "tests/fuzz/graph/target.h"

namespace hone::fuzz {
namespace {

using Rng = std::mt19937_64;

constexpr size_t kMostOfALine = 1000;
constexpr int kTypes[] = {kFloat, kFloat, kFloat,    10 /*f16*/, 11 /*f64*/, 16 /*bf16*/,
                          kInt64, kInt64, 6 /*i32*/, 2 /*u8*/,   3 /*i8*/,   kBool};
// Attributes by the type that operators expect of them.
constexpr const char* kInts[] = {"K",
                                 "N",
                                 "allowzero",
                                 "align_corners",
                                 "axis",
                                 "batch_axis",
                                 "batch_dims",
                                 "bits",
                                 "block_size",
                                 "blocksize",
                                 "ceil_mode",
                                 "center_point_box",
                                 "count_include_pad",
                                 "do_rotary",
                                 "dtype",
                                 "exclusive",
                                 "fmod",
                                 "group",
                                 "hidden_size",
                                 "input_forget",
                                 "interleaved",
                                 "inverse",
                                 "is_causal",
                                 "k",
                                 "keepdims",
                                 "kv_num_heads",
                                 "largest",
                                 "layout",
                                 "linear_before_reset",
                                 "local_window_size",
                                 "noop_with_empty_axes",
                                 "num_groups",
                                 "num_heads",
                                 "num_scan_inputs",
                                 "onesided",
                                 "output_height",
                                 "p",
                                 "q_num_heads",
                                 "reverse",
                                 "rotary_embedding_dim",
                                 "rotary_interleaved",
                                 "size",
                                 "sorted",
                                 "start",
                                 "storage_order",
                                 "time_axis",
                                 "to",
                                 "transA",
                                 "transB",
                                 "unidirectional",
                                 "upper",
                                 "qk_matmul_output_mode"};
constexpr const char* kLists[] = {
    "axes",        "perm",         "pads",          "strides",         "dilations",    "kernel_shape",
    "starts",      "ends",         "split",         "output_padding",  "output_shape", "qkv_hidden_sizes",
    "pool_int64s", "ngram_counts", "ngram_indexes", "scan_input_axes", "value_ints"};
constexpr const char* kReals[] = {"alpha", "beta",    "bias",          "clip",          "epsilon",
                                  "scale", "softcap", "spatial_scale", "cubic_coeff_a", "value_float"};
constexpr std::pair<const char*, const char*> kTexts[] = {
    {"mode", "nearest"},        {"mode", "linear"},
    {"mode", "reflect"},        {"mode", "TF"},
    {"auto_pad", "SAME_UPPER"}, {"direction", "bidirectional"},
    {"equation", "ij,jk->ik"},  {"equation", "bij->b"},
    {"reduction", "add"},       {"reduction", "mean"},
    {"padding_mode", "border"}, {"activation", "Relu"},
    {"approximate", "tanh"},    {"coordinate_transformation_mode", "align_corners"},
    {"equation", "..."}};

template <class T, size_t kCount>
const T& any(const T (&all)[kCount], Rng& rng) {
  return all[rng() % kCount];
}

std::vector<int64_t> any_shape(Rng& rng) {
  static constexpr int64_t kExtents[] = {1, 2, 3, 4, 2, 4, 8, 1, 0};
  // Images, sequences and matrices more often than others.
  if (rng() % 3 == 0) return {1, 4, 4, 4};
  if (rng() % 4 == 0) return {2, 3, 4};
  std::vector<int64_t> shape(rng() % 6);
  for (int64_t& extent : shape) extent = any(kExtents, rng);
  return shape;
}

// Whole numbers that may be a shape, axes, places or pads.
std::vector<int64_t> any_numbers(Rng& rng) {
  std::vector<int64_t> out(rng() % 9);
  for (int64_t& n : out) n = rng() % 8 ? static_cast<int64_t>(rng() % 5) - 1 : odd_number(rng);
  return out;
}

class RandomModel {
 public:
  explicit RandomModel(Rng& rng) : rng_(rng), m_(static_cast<int64_t>(rng() % 4 ? 13 + rng() % 11 : 6 + rng() % 18)) {
    // Most operators take tensors of one type that are of one shape.
    const std::vector<int64_t> shape = any_shape(rng);
    const int type = any(kTypes, rng);
    for (int i = 0; i < 4; ++i) {
      const bool is_odd = rng() % 4 == 0;
      const std::vector<int64_t> own = is_odd ? any_shape(rng) : shape;
      m_.input(named("x"), {own.begin(), own.end()}, is_odd ? any(kTypes, rng) : type);
    }
    for (int i = 0; i < 3; ++i) {
      const std::vector<int64_t> numbers = any_numbers(rng);
      const bool is_scalar = numbers.size() == 1 && rng() % 2;
      const std::vector<int64_t> dims = is_scalar ? std::vector<int64_t>{} : std::vector{std::ssize(numbers)};
      m_.numbers(named("n"), {dims.begin(), dims.end()}, numbers);
    }
    onnx::Tensor* known = m_.tensor(named("c"), shape, type);
    if (known->data_type() == kFloat)
      for (int64_t i = 0; i < count_of(shape); ++i) known->add_float_data(static_cast<float>(i % 7) - 3);
    else
      known->set_raw_data(std::string(static_cast<size_t>(count_of(shape)) * bytes_of_type(type), '\1'));
    add_found_out();
  }

  void add(const std::string& key) {
    const size_t colon = key.find(':');
    std::vector<std::string> inputs, outputs;
    for (size_t n = rng_() % 7; n > 0; --n) inputs.push_back(rng_() % 6 ? any_name() : "");
    for (size_t n = rng_() % 3 ? 1 : 1 + rng_() % 3; n > 0; --n)
      outputs.push_back("y" + std::to_string(names_.size() + n));
    m_.node(key.substr(colon + 1), inputs, outputs);
    m_.last->set_domain(key.substr(0, colon));
    for (size_t n = rng_() % 2 ? 0 : rng_() % 5; n > 0; --n) add_attribute();
    if (key == ":If" || key == ":Loop" || key == ":Scan") add_bodies();
    for (const std::string& name : outputs) m_.output(name), names_.push_back(name);
  }

  onnx::Model& model() { return m_.model; }

 private:
  std::string named(const char* letter) { return names_.emplace_back(letter + std::to_string(names_.size())); }
  const std::string& any_name() { return names_[rng_() % names_.size()]; }
  static int64_t count_of(const std::vector<int64_t>& shape) {
    int64_t n = 1;
    for (const int64_t extent : shape) n *= extent;
    return n;
  }
  static size_t bytes_of_type(int type) { return static_cast<size_t>(onnx::dtype_of(type, "").bytes()); }

  // Tensors whose size only a call finds out, and numbers that it finds out.
  void add_found_out() {
    const std::string places = named("places"), counts = named("counts");
    m_.node("NonZero", {"x0"}, {places}).node("Shape", {places}, {counts});
  }

  void add_attribute() {
    switch (rng_() % 6) {
      case 0:
      case 1: m_.number(any(kInts, rng_), rng_() % 4 ? static_cast<int64_t>(rng_() % 5) : odd_number(rng_)); break;
      case 2:
      case 3: m_.ints(any(kLists, rng_), any_numbers(rng_)); break;
      case 4: m_.real(any(kReals, rng_), rng_() % 2 ? 0.5f : static_cast<float>(odd_number(rng_))); break;
      default: {
        const auto& [name, text] = any(kTexts, rng_);
        m_.text(name, text);
      }
    }
  }

  void add_bodies() {
    for (const char* name : {"then_branch", "else_branch", "body"}) {
      onnx::Graph* body = m_.body(name);
      for (size_t n = rng_() % 4; n > 0; --n) body->add_input()->set_name("b" + std::to_string(n));
      add_node(body->mutable_node(), "Identity", {body->input_size() > 0 ? "b1" : any_name()}, {"inner"});
      for (size_t n = rng_() % 4; n > 0; --n)
        body->add_output()->set_name(rng_() % 2 || body->input_size() == 0 ? "inner" : "b1");
    }
  }

  Rng& rng_;
  TestModel m_;
  std::vector<std::string> names_;
};

std::vector<std::string> all_operators() {
  std::vector<std::string> out;
  for (const auto& [key, row] : onnx::converters()) out.push_back(key);
  for (const auto& [name, row] : onnx::body_converters()) out.push_back(":" + std::string(name));
  std::sort(out.begin(), out.end());
  return out;
}

// The fault in its import; empty: none. `*is_taken`: whether the importer accepts it.
std::string fault_of(const onnx::Model& model, bool* is_taken) {
  constexpr double kMostWork = 1 << 16;
  onnx::ModelFile file;
  file.model = model;
  try {
    verify(onnx::import_file(file, "m.onnx", test_operators(), {.most_work = kMostWork}).graph);
    *is_taken = true;
    return "";
  } catch (const UserError& e) {
    std::istringstream lines(e.what());
    std::string line;
    std::getline(lines, line);
    if (!line.starts_with("m.onnx: ") || line.size() > kMostOfALine) return "refused with: " + line;
    const bool is_list = line == "m.onnx: it has nodes that are not supported:";
    for (size_t n = 0; std::getline(lines, line); ++n)
      if (!is_list || line.size() > kMostOfALine || !line.starts_with("  ")) return "refused with: " + line;
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

// Its nodes, for a person who looks for a fault.
std::string text_of(const onnx::Model& model) {
  std::string out;
  for (const onnx::Node& n : model.graph().node()) {
    out += n.op_type() + "(";
    for (const std::string& name : n.input()) out += "'" + name + "' ";
    out += ")";
    for (const onnx::Attribute& a : n.attribute()) out += " " + a.name();
    out += "\n";
  }
  return out;
}

uint64_t setting_in_random_nodes(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

TEST(RandomNodes, AreImportedOrRefusedInLines) {
  const std::vector<std::string> operators = all_operators();
  ASSERT_GT(operators.size(), 150u);
  const uint64_t first = setting_in_random_nodes("HONE_FUZZ_FIRST", 0),
                 count = setting_in_random_nodes("HONE_FUZZ_COUNT", 20);
  size_t imported = 0;
  for (size_t o = 0; o < operators.size(); ++o) {
    uint64_t taken = 0;
    for (uint64_t seed = first; seed < first + count; ++seed) {
      Rng rng(seed * operators.size() + o);
      RandomModel model(rng);
      model.add(operators[o]);
      for (size_t more = rng() % 2 ? 0 : rng() % 3; more > 0; --more) model.add(operators[rng() % operators.size()]);
      bool is_taken = false;
      const std::string fault = fault_of(model.model(), &is_taken);
      taken += is_taken;
      ASSERT_EQ(fault, "") << operators[o] << ", seed " << seed << "\n" << text_of(model.model());
    }
    imported += taken > 0;
  }
  // The models are not all refused for the same reason.
  if (count >= 20) {
    EXPECT_GT(imported, operators.size() / 3);
  }
}

}  // namespace
}  // namespace hone::fuzz
