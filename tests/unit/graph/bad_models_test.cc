// ONNX files that are wrong, odd, or would cost too much: one line each, in little time.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "compiler/graph/evaluate.h"
#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(BadModel, NoModel) {
  const ModelFolder f;
  EXPECT_THAT(f.refusal(std::string()), StartsWith("not an ONNX model: it has no graph"));
  EXPECT_THAT(f.refusal(std::string("hello")), StartsWith("not an ONNX file, or cut off"));
  onnx::Model only_graph;
  only_graph.mutable_graph();
  EXPECT_THAT(f.refusal(only_graph.SerializeAsString()), StartsWith("not an ONNX model: it has no opset"));
  EXPECT_THAT(refusal_of([&] { import_onnx(f.path("none.onnx"), test_operators()); }), HasSubstr("No such file"));
  EXPECT_THAT(refusal_of([&] { import_onnx("/", test_operators()); }), HasSubstr("it is a folder, not a plain file"));
  // The pipe has no writer.
  ASSERT_EQ(mkfifo(f.path("pipe.onnx").c_str(), 0600), 0);
  EXPECT_THAT(refusal_of([&] { import_onnx(f.path("pipe.onnx"), test_operators()); }), HasSubstr("not a plain file"));
}

TEST(BadModel, TruncatedAnywhere) {
  const ModelFolder f;
  TestModel m = relu();
  m.floats("c", {3}, {1, 2, 3}).node("Add", {"y", "c"}, {"z"}).output("z");
  const std::string bytes = m.model.SerializeAsString();
  size_t refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string what = f.refusal(bytes.substr(0, size));  // some cuts fall between two fields
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    refused += what != "accepted" ? 1 : 0;
  }
  EXPECT_GT(refused, bytes.size() * 9 / 10) << "of " << bytes.size();
}

TEST(BadModel, RandomAndMutatedBytes) {
  const ModelFolder f;
  TestModel m = relu();
  m.floats("c", {3}, {1, 2, 3}).node("Add", {"y", "c"}, {"z"}).output("z");
  m.numbers("shape", {2}, {3, 2}).node("Reshape", {"z", "shape"}, {"r"}).output("r");
  const std::string bytes = m.model.SerializeAsString();
  std::mt19937_64 rng(1);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string other = bytes;
    if (i % 10 == 0) {
      other.resize(rng() % 100);
      for (char& c : other) c = static_cast<char>(rng());
    } else {
      for (int n = 0; n < 1 + i % 4; ++n) other[rng() % other.size()] = static_cast<char>(rng());
    }
    refused += f.refusal(other) != "accepted" ? 1 : 0;  // no other exception
  }
  EXPECT_GT(refused, 300) << "the random ones, and some of the mutated";
  EXPECT_LT(refused, 3000) << "bytes of names and weights may be any";
}

TEST(BadModel, Cycles) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2}).node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Relu", {"b"}, {"c"}).output("c");
  EXPECT_EQ(f.refusal(m), "the graph has a cycle: 3 of its nodes wait for each other");
  TestModel own;
  own.input("x", {2}).node("Add", {"x", "a"}, {"a"}).output("a");
  EXPECT_EQ(f.refusal(own), "node 'Add_a' reads its own output 'a'");
}

TEST(BadModel, UnsortedNodesAreSorted) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2}).node("Neg", {"b"}, {"c"}).node("Relu", {"a"}, {"b"}).node("Abs", {"x"}, {"a"}).output("c");
  EXPECT_EQ(f.import(m).graph.nodes.size(), 3u);
}

TEST(BadModel, NamesThatAreMissingOrDouble) {
  const ModelFolder f;
  TestModel missing;
  missing.input("x", {2}).node("Add", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(missing), "node 'Add_y' reads 'w', which nothing computes");
  TestModel no_output = relu();
  no_output.output("z");
  EXPECT_EQ(f.refusal(no_output), "nothing computes the output 'z'");
  TestModel twice = relu();
  twice.node("Abs", {"x"}, {"y"});
  EXPECT_EQ(f.refusal(twice), "two nodes compute 'y'");
  TestModel tensors = relu();
  tensors.floats("c", {1}, {1}).floats("c", {1}, {2});
  EXPECT_EQ(f.refusal(tensors), "two tensors are called 'c'");
  TestModel inputs = relu();
  inputs.input("x", {2, 3});
  EXPECT_EQ(f.refusal(inputs), "two inputs are called 'x'");
  TestModel shadowed = relu();
  shadowed.node("Abs", {"y"}, {"x"});
  EXPECT_NE(f.refusal(shadowed), "accepted");
  TestModel constant;
  constant.input("x", {2}).floats("c", {2}, {1, 2}).node("Relu", {"x"}, {"c"}).output("c");
  EXPECT_EQ(f.refusal(constant), "node 'Relu_c' computes 'c', which is there already");
}

TEST(BadModel, Dims) {
  const ModelFolder f;
  const auto with_tensor = [&](const std::vector<int64_t>& dims) {
    TestModel m = relu();
    m.floats("c", dims, {1, 2});
    return f.refusal(m);
  };
  EXPECT_THAT(with_tensor({-2}), StartsWith("tensor 'c': "));
  EXPECT_THAT(with_tensor({kHuge}), StartsWith("tensor 'c': "));
  EXPECT_THAT(with_tensor({INT64_MIN, 2}), StartsWith("tensor 'c': "));
  EXPECT_THAT(with_tensor({int64_t{1} << 32, int64_t{1} << 32}), StartsWith("tensor 'c': "));
  EXPECT_EQ(with_tensor({0, kHuge}), "tensor 'c': f32[0, 9223372036854775807] takes 0 bytes; the file has 8");
  const auto with_input = [&](const std::vector<TestDim>& dims) {
    TestModel m;
    m.input("x", dims).node("Relu", {"x"}, {"y"}).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(with_input({1, kHuge}), "input 'x' has an extent of 9223372036854775807");
  EXPECT_THAT(with_input({int64_t{1} << 31, int64_t{1} << 31}), HasSubstr("more than 2^48 elements"));
  EXPECT_EQ(with_input({1, -5}), "dimension 1 of 'x' is not known; give it: --shape x=1xN");
  EXPECT_EQ(with_input({1, -1, 3, -1}),
            "dimension 1 of 'x', dimension 3 of 'x' are not known; give them: --shape x=1xN1x3xN3");
  EXPECT_THAT(with_input({1, 2, 3, 4, 5, 6, 7, 8, 9}), HasSubstr("at most 8"));
}

TEST(BadModel, DataOfAnotherSize) {
  const ModelFolder f;
  TestModel none = relu();
  none.tensor("c", {2});
  EXPECT_EQ(f.refusal(none), "tensor 'c': f32[2] has no data: the model was stripped of its weights");
  TestModel few = relu();
  few.floats("c", {3}, {1, 2});
  EXPECT_EQ(f.refusal(few), "tensor 'c': f32[3] takes 12 bytes; the file has 8");
  TestModel many = relu();
  many.tensor("c", {1})->set_raw_data("12345678");
  EXPECT_EQ(f.refusal(many), "tensor 'c': f32[1] takes 4 bytes; the file has 8");
  TestModel half = relu();
  half.tensor("c", {1})->set_raw_data("123");
  EXPECT_EQ(f.refusal(half), "tensor 'c': f32[1] takes 4 bytes; the file has 3");
  TestModel text = relu();
  text.tensor("c", {1}, 8)->set_raw_data("123");
  EXPECT_EQ(f.refusal(text), "tensor 'c': its elements are string, which is not supported");
  TestModel unknown = relu();
  unknown.tensor("c", {1}, 99)->set_raw_data("123");
  EXPECT_EQ(f.refusal(unknown), "tensor 'c': its elements are ONNX's type 99, which is not supported");
  TestModel wrong_field = relu();
  wrong_field.tensor("c", {1}, kInt64)->add_float_data(1);
  EXPECT_THAT(f.refusal(wrong_field), HasSubstr("has no data"));
}

TEST(BadModel, BoolsAreZeroOrOne) {
  const ModelFolder f;
  TestModel m;
  m.tensor("c", {3}, kBool)->set_raw_data(std::string("\x00\x05\x01", 3));
  m.input("x", {3}).input("z", {3}).node("Where", {"c", "x", "z"}, {"y"}).output("y");
  const TensorData ones({f32, {3}}, floats_of({1, 1, 1})), twos({f32, {3}}, floats_of({2, 2, 2}));
  EXPECT_THAT(outputs_of(f.import(m), {ones, twos}), ElementsAre(2, 1, 1));
}

TestModel with_external(const std::string& location, const std::string& offset = "", const std::string& length = "") {
  TestModel m;
  m.external("c", {2}, location, offset, length);
  m.input("x", {2}).node("Add", {"x", "c"}, {"y"}).output("y");
  return m;
}

TEST(ExternalData, MustLieBelowTheModel) {
  const ModelFolder f;
  f.write("w.bin", floats_of({1, 2}));
  std::filesystem::create_directory(f.path("sub"));
  f.write("sub/w.bin", floats_of({3, 4}));
  std::filesystem::create_symlink(f.path("w.bin"), f.path("link"));
  std::filesystem::create_directory_symlink(f.path("sub"), f.path("sublink"));
  const TensorData zeros({f32, {2}}, floats_of({0, 0}));
  EXPECT_THAT(outputs_of(f.import(with_external("w.bin")), {zeros}), ElementsAre(1, 2));
  EXPECT_THAT(outputs_of(f.import(with_external("sub/w.bin")), {zeros}), ElementsAre(3, 4));
  EXPECT_THAT(outputs_of(f.import(with_external("./sub/./w.bin")), {zeros}), ElementsAre(3, 4));
  for (const char* out : {"../w.bin", "sub/../w.bin", "/etc/passwd", "", ".."})
    EXPECT_THAT(f.refusal(with_external(out)), HasSubstr("must lie below the model's folder")) << out;
  EXPECT_THAT(f.refusal(with_external(std::string("w.bin\0x", 7))), HasSubstr("external data 'w.bin"));
  for (const char* link : {"link", "sublink/w.bin", "none.bin", "sub/w.bin/w.bin"})
    EXPECT_THAT(f.refusal(with_external(link)), HasSubstr("cannot be opened")) << link;
  EXPECT_THAT(f.refusal(with_external("sub")), HasSubstr("is not a plain file"));
  EXPECT_THAT(f.refusal(with_external("sub/")), testing::Not("accepted"));
}

TEST(ExternalData, SizesMustFit) {
  const ModelFolder f;
  f.write("w.bin", "x" + floats_of({1, 2}) + "end");
  f.write("empty.bin", "");
  const TensorData zeros({f32, {2}}, floats_of({0, 0}));
  EXPECT_THAT(outputs_of(f.import(with_external("w.bin", "1")), {zeros}), ElementsAre(1, 2));  // not aligned
  EXPECT_THAT(outputs_of(f.import(with_external("w.bin", "1", "8")), {zeros}), ElementsAre(1, 2));
  for (const char* offset : {"5", "12", "13", "9223372036854775807"})
    EXPECT_THAT(f.refusal(with_external("w.bin", offset)), HasSubstr("'w.bin' has 12")) << offset;
  for (const char* offset : {"-1", "x", "1x", "9223372036854775808", "99999999999999999999999"})
    EXPECT_THAT(f.refusal(with_external("w.bin", offset)), HasSubstr("is not a size")) << offset;
  for (const char* length : {"4", "16", "9223372036854775807"})
    EXPECT_THAT(f.refusal(with_external("w.bin", "0", length)), HasSubstr("it takes 8 bytes")) << length;
  EXPECT_THAT(f.refusal(with_external("empty.bin")), HasSubstr("'empty.bin' has 0"));
}

TEST(BadModel, TypesBetweenNodes) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2}).input("n", {2}, kInt64).node("Add", {"x", "n"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("Add (opset 13): "));
  TestModel shapes;
  shapes.input("x", {2}).input("z", {3}).node("Add", {"x", "z"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(shapes), HasSubstr("do not broadcast"));
  TestModel product;
  product.input("x", {2, 3}).input("z", {2, 3}).node("MatMul", {"x", "z"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(product), HasSubstr("f32[2, 3] times f32[2, 3]"));
  TestModel type;
  type.input("x", {2}, 8).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(type), "input 'x': its elements are string, which is not supported");
}

// AttributeProto.AttributeType's numbers; a file that says none is read as it was always.
TEST(BadModel, TypesOfAttributes) {
  const ModelFolder f;
  const auto read = [&](int32_t type) {
    TestModel m;
    m.input("x", {2, 3}).node("Softmax", {"x"}, {"y"}).number("axis", 1).output("y");
    m.last->mutable_attribute(0)->set_type(type);
    return f.refusal(m);
  };
  EXPECT_EQ(read(0), "accepted");
  EXPECT_EQ(read(2), "accepted");
  EXPECT_THAT(read(7), HasSubstr("its attribute axis is of type INTS, not INT"));
  EXPECT_THAT(read(99), HasSubstr("its attribute axis is of type 99, not INT"));
  EXPECT_THAT(read(-1), HasSubstr("its attribute axis is of type -1, not INT"));
}

TEST(BadModel, TooFewInputsAndOutputs) {
  const ModelFolder f;
  for (const char* op : {"Add",
                         "Conv",
                         "MatMul",
                         "Gemm",
                         "Concat",
                         "Reshape",
                         "Transpose",
                         "Slice",
                         "Where",
                         "Relu",
                         "Softmax",
                         "MaxPool",
                         "BatchNormalization",
                         "Gather",
                         "Cast",
                         "ReduceSum",
                         "Resize",
                         "Split",
                         "If",
                         "LayerNormalization",
                         "Clip",
                         "Pad",
                         "Expand",
                         "Tile",
                         "Unsqueeze",
                         "Constant"}) {
    TestModel none;
    none.input("x", {2}).node(op, {}, {"y"}).output("y");
    EXPECT_NE(f.refusal(none), "accepted") << op;
    TestModel left_out;
    left_out.input("x", {2}).node(op, {"", "", ""}, {"y"}).output("y");
    EXPECT_NE(f.refusal(left_out), "accepted") << op;
    TestModel no_output = relu();
    no_output.node(op, {"x", "x", "x"}, {});
    f.refusal(no_output);
    TestModel many = relu();
    many.node(op, {"x"}, {"a", "b", "c", "d", "e", "f"});
    many.output("f");
    const bool may_be_empty = std::string_view(op) == "Split";
    EXPECT_EQ(f.refusal(many) == "accepted", may_be_empty) << op;
    TestModel scalar;
    scalar.input("x", {}).node(op, {"x"}, {"y"}).output("y");
    f.refusal(scalar);
    TestModel empty;
    empty.input("x", {2, 0, 3}).node(op, {"x", "x", "x"}, {"y"}).output("y");
    f.refusal(empty);
  }
}

TEST(BadModel, OperandsOfAnotherSize) {
  const ModelFolder f;
  TestModel bias;
  bias.input("x", {1, 2, 3, 3}).floats("w", {1, 2, 1, 1}, {1, 2}).floats("b", {3}, {1, 2, 3});
  bias.node("Conv", {"x", "w", "b"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(bias), HasSubstr("f32[3] where there must be 1 elements"));
  TestModel order;
  order.input("x", {2, 3}).node("Transpose", {"x"}, {"y"}).output("y");
  order.ints("perm", {});
  EXPECT_THAT(f.refusal(order), HasSubstr("perm [] of f32[2, 3]"));
  TestModel pads;
  pads.input("x", {2}).numbers("p", {2}, {INT64_MIN, 0}).node("Pad", {"x", "p"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(pads), HasSubstr("a pad of -9223372036854775808"));
  TestModel scalar_bias;
  scalar_bias.input("x", {2, 2}).floats("w", {2, 1}, {1, 2}).floats("b", {}, {3}).node("Gemm", {"x", "w", "b"}, {"y"});
  scalar_bias.output("y");
  const TensorData x({f32, {2, 2}}, floats_of({1, 1, 2, 2}));
  EXPECT_THAT(outputs_of(f.import(scalar_bias), {x}), ElementsAre(6, 9));
}

// If(condition) of branches that compute `out` from outside.
onnx::Graph branch_of(const std::string& op) {
  onnx::Graph g;
  add_node(g.mutable_node(), op, {"x"}, {"out"});
  g.add_output()->set_name("out");
  return g;
}
void add_branches(onnx::Node* n, const onnx::Graph& yes, const onnx::Graph& no) {
  for (const bool is_then : {true, false}) {
    onnx::Attribute* a = n->add_attribute();
    a->set_name(is_then ? "then_branch" : "else_branch");
    *a->mutable_g() = is_then ? yes : no;
  }
}

TEST(If, IsTheBranchThatItTakes) {
  const ModelFolder f;
  for (const bool condition : {true, false}) {
    TestModel m;
    m.tensor("c", {}, kBool)->set_raw_data(std::string(1, condition ? 1 : 0));
    m.input("x", {2}).node("If", {"c"}, {"y"}).output("y");
    add_branches(m.last, branch_of("Neg"), branch_of("Abs"));
    const TensorData x({f32, {2}}, floats_of({3, -4}));
    const std::vector<double> out = outputs_of(f.import(m), {x});
    EXPECT_EQ(out, condition ? std::vector<double>({-3, 4}) : std::vector<double>({3, 4}));
  }
}

TEST(If, RefusesWhatIsNoCondition) {
  const ModelFolder f;
  TestModel several, number;
  several.input("c", {2}, kBool).input("x", {2}).node("If", {"c"}, {"y"}).output("y");
  add_branches(several.last, branch_of("Neg"), branch_of("Abs"));
  EXPECT_THAT(f.refusal(several), HasSubstr("its condition is bool[2]"));
  number.input("c", {1}).input("x", {2}).node("If", {"c"}, {"y"}).output("y");
  add_branches(number.last, branch_of("Neg"), branch_of("Abs"));
  EXPECT_THAT(f.refusal(number), HasSubstr("its condition is f32[1]"));
  TestModel empty;
  empty.input("x", {2}).numbers("c", {0}, {}).node("If", {"c"}, {"y"}).output("y");
  add_branches(empty.last, branch_of("Neg"), branch_of("Abs"));
  EXPECT_THAT(f.refusal(empty), HasSubstr("If (opset 13): "));
  TestModel outputs;
  outputs.tensor("c", {}, kBool)->set_raw_data(std::string(1, 1));
  outputs.input("x", {2}).node("If", {"c"}, {"y", "z"}).output("y");
  add_branches(outputs.last, branch_of("Neg"), branch_of("Abs"));
  EXPECT_THAT(f.refusal(outputs), HasSubstr("its branch has other outputs"));
}

TestModel nested(int deep) {
  TestModel m;
  m.tensor("c", {}, kBool)->set_raw_data(std::string(1, 1));
  m.input("x", {2});
  onnx::Graph inner = branch_of("Neg");
  for (int i = 1; i < deep; ++i) {
    onnx::Graph outer;
    onnx::Node* n = add_node(outer.mutable_node(), "If", {"c"}, {"out"});
    add_branches(n, inner, branch_of("Abs"));
    outer.add_output()->set_name("out");
    inner = std::move(outer);
  }
  m.node("If", {"c"}, {"y"}).output("y");
  add_branches(m.last, inner, branch_of("Abs"));
  return m;
}

TEST(If, NestsAsDeepAsFilesMay) {
  const ModelFolder f;
  EXPECT_EQ(f.refusal(nested(30)), "accepted");
  EXPECT_THAT(f.refusal(nested(60)), HasSubstr("nested deeper than 100"));
}

onnx::Function* add_function(TestModel* m, const std::string& name) {
  onnx::Function* fn = m->model.add_functions();
  fn->set_name(name);
  fn->set_domain("local");
  fn->add_input("a");
  fn->add_output("b");
  onnx::OperatorSet* set = fn->add_opset_import();
  set->set_version(13);
  return fn;
}
void add_call(TestModel* m, const std::string& function) {
  m->node(function, {"x"}, {"y"});
  m->last->set_domain("local");
  m->output("y");
}

TEST(Function, IsItsBody) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2});
  onnx::Function* fn = add_function(&m, "twice");
  add_node(fn->mutable_node(), "Add", {"a", "a"}, {"b"});
  add_call(&m, "twice");
  const TensorData x({f32, {2}}, floats_of({3, -4}));
  EXPECT_THAT(outputs_of(f.import(m), {x}), ElementsAre(6, -8));
}

TEST(Function, MayNotCallItself) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2});
  onnx::Function* fn = add_function(&m, "again");
  add_node(fn->mutable_node(), "again", {"a"}, {"b"})->set_domain("local");
  add_call(&m, "again");
  EXPECT_THAT(f.refusal(m), HasSubstr("functions call each other more than 16 deep"));
  // Each calls the next one twice: 2^16 calls, and no more.
  TestModel many;
  many.input("x", {2});
  for (int i = 0; i < 20; ++i) {
    onnx::Function* next = add_function(&many, "f" + std::to_string(i));
    add_node(next->mutable_node(), "f" + std::to_string(i + 1), {"a"}, {"c"})->set_domain("local");
    add_node(next->mutable_node(), "f" + std::to_string(i + 1), {"c"}, {"b"})->set_domain("local");
  }
  add_call(&many, "f0");
  EXPECT_THAT(f.refusal(many), HasSubstr("functions call each other more than 16 deep"));
}

TEST(Function, AFailureLeavesTheOpsetsAsTheyWere) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2});
  onnx::Function* fn = add_function(&m, "bad");
  fn->mutable_opset_import(0)->set_version(7);
  add_node(fn->mutable_node(), "Add", {"a", "none"}, {"b"});
  add_call(&m, "bad");
  m.node("Unknown", {"x"}, {"z"});
  EXPECT_THAT(f.refusal(m), HasSubstr("Unknown (opset 13)"));
}

TEST(BadModel, UnknownOperatorsAreListedAtOnce) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2});
  for (int i = 0; i < 5; ++i) m.node("Mystery", {"x"}, {"m" + std::to_string(i)});
  m.node("Other", {"m0"}, {"o"}).node("Relu", {"o"}, {"r"}).node("Relu", {"x"}, {"y"}).output("r");
  m.node("Gelu", {"x"}, {"g"});
  m.last->set_domain("com.example");
  EXPECT_EQ(f.refusal(m),
            "it has nodes that are not supported:\n"
            "  Mystery (opset 13): the operator is not known; 5 nodes: Mystery_m0, Mystery_m1, Mystery_m2, …\n"
            "  Other (opset 13): the operator is not known; 1 node: Other_o\n"
            "  com.example.Gelu (opset 1): the operator is not known: --operators FILE may define "
            "com.example::Gelu; 1 node: Gelu_g");
}

TEST(BadModel, Opsets) {
  const ModelFolder f;
  for (const int64_t opset : {int64_t{5}, int64_t{26}, int64_t{0}, int64_t{-1}, kHuge}) {
    TestModel m(opset);
    m.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
    EXPECT_EQ(f.refusal(m), "it is of opset " + std::to_string(opset) + "; supported are 6 to 25");
  }
  for (const int64_t opset : {6, 25}) {
    TestModel m(opset);
    m.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
    EXPECT_EQ(f.refusal(m), "accepted");
  }
}

long peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// A million take some 20 seconds and 2 GB: HONE_MANY_NODES.
TEST(BadModel, ManyNodes) {
  const ModelFolder f;
  const int count = std::getenv("HONE_MANY_NODES") ? std::atoi(std::getenv("HONE_MANY_NODES")) : 100000;
  TestModel m;
  m.input("x", {2});
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    const std::string next = "v" + std::to_string(i);
    m.node("Relu", {last}, {next});
    m.last->clear_name();
    last = next;
  }
  m.output(last);
  const std::string bytes = m.model.SerializeAsString();
  const long before = peak_megabytes();
  EXPECT_EQ(f.import(bytes).graph.nodes.size(), static_cast<size_t>(count));
  EXPECT_LT(peak_megabytes() - before, 100 + count / 250);
}

TEST(BadModel, ConstantsOutOfNothing) {
  const ModelFolder f;
  // Many gigabytes, if each were written out.
  TestModel m;
  m.input("x", {1}).numbers("shape", {2}, {1 << 14, 1 << 14});
  std::string last = "x";
  for (int i = 0; i < 30; ++i) {
    const std::string c = "c" + std::to_string(i), next = "v" + std::to_string(i);
    m.node("ConstantOfShape", {"shape"}, {c});
    onnx::Attribute* value = m.last->add_attribute();
    value->set_name("value");
    value->mutable_t()->set_data_type(kFloat);
    value->mutable_t()->add_dims(1);
    value->mutable_t()->add_float_data(static_cast<float>(i));
    m.node("Add", {last, c}, {next});
    last = next;
  }
  m.output(last);
  const long before = peak_megabytes();
  EXPECT_EQ(f.refusal(m), "accepted");
  EXPECT_LT(peak_megabytes() - before, 1000);
  TestModel huge;
  huge.input("x", {1}).numbers("a", {}, {0}).numbers("b", {}, {kHuge}).numbers("c", {}, {1});
  huge.node("Range", {"a", "b", "c"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(huge), HasSubstr("is too large"));
}

TEST(BadModel, WorkOnConstantsIsBounded) {
  const ModelFolder f;
  // 2^36 operations, in a file of 32 MB: they are left to the model.
  TestModel m;
  const int64_t n = 2048;
  const std::string bytes(static_cast<size_t>(n * n) * sizeof(float), '\0');
  m.tensor("a", {n, n})->set_raw_data(bytes);
  m.input("x", {1}).node("MatMul", {"a", "a"}, {"p"});
  for (int i = 0; i < 3; ++i) {
    m.node("MatMul", {"p", "a"}, {"q" + std::to_string(i)});
    m.node("Add", {"x", "q" + std::to_string(i)}, {"r" + std::to_string(i)}).output("r" + std::to_string(i));
  }
  EXPECT_GE(f.import(m).graph.nodes.size(), 7u);
}

// Whatever stands around them: operands without axes.
TEST(Products, OfNumbersWithoutAxesAreRefused) {
  const ModelFolder f;
  struct Product {
    const char *domain, *op;
    std::vector<std::string> inputs;
  };
  const std::vector<Product> products = {{"", "MatMul", {"x", "x"}},
                                         {"", "MatMulInteger", {"a", "a"}},
                                         {"", "QLinearMatMul", {"a", "s", "z", "a", "s", "z", "s", "z"}},
                                         {"com.microsoft", "DynamicQuantizeMatMul", {"x", "a", "s", "z"}},
                                         {"com.microsoft", "MatMulIntegerToFloat", {"a", "a", "s", "s"}},
                                         {"com.microsoft", "QGemm", {"a", "s", "z", "a", "s", "z", "", "s", "z"}},
                                         {"com.microsoft", "FusedMatMul", {"x", "x"}},
                                         {"com.microsoft", "FusedGemm", {"x", "x"}},
                                         {"com.microsoft", "MultiHeadAttention", {"x", "x", "x"}},
                                         {"com.microsoft", "Attention", {"x", "x", "x"}},
                                         {"com.microsoft", "GroupQueryAttention", {"x", "x", "x", "", "", "n", "n"}}};
  for (const Product& p : products) {
    SCOPED_TRACE(p.op);
    TestModel m;
    m.input("a", {}, 2).input("x", {}).input("n", {}, 6).floats("s", {}, {1}).tensor("z", {}, 2)->add_int32_data(0);
    m.node(p.op, p.inputs, {"y"}).number("num_heads", 1).number("kv_num_heads", 1).output("y");
    m.last->set_domain(p.domain);
    EXPECT_THAT(f.refusal(m), HasSubstr(p.op));
  }
}

TEST(Products, OfVectorsOfWholeNumbersAreAsThoseOfFloats) {
  const ModelFolder f;
  TestModel m;
  m.input("a", {3}, 2).input("b", {3, 2}, 2).node("MatMulInteger", {"a", "b"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(f.import(m), {TensorData({u8, {3}}, "\1\2\3"), TensorData({u8, {3, 2}}, "\1\2\3\4\5\6")}),
              testing::ElementsAre(22, 28));
}

}  // namespace
}  // namespace hone
