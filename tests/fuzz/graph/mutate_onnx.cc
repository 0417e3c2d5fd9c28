// Small models, and changes of single parts of them.
#include "tests/fakes/test_model.h"
#include "tests/fuzz/graph/target.h"

namespace hone::fuzz {
namespace {

template <class T>
auto* some(T* repeated, std::mt19937_64& rng) {
  return repeated->empty() ? nullptr
                           : repeated->Mutable(static_cast<int>(rng() % static_cast<uint64_t>(repeated->size())));
}

constexpr const char* kOperators[] = {"Relu",
                                      "Add",
                                      "Sub",
                                      "Mul",
                                      "Div",
                                      "Pow",
                                      "Where",
                                      "Cast",
                                      "Reshape",
                                      "Flatten",
                                      "Squeeze",
                                      "Unsqueeze",
                                      "Transpose",
                                      "Concat",
                                      "Slice",
                                      "Split",
                                      "Gather",
                                      "GatherND",
                                      "Expand",
                                      "Tile",
                                      "Pad",
                                      "Resize",
                                      "Upsample",
                                      "DepthToSpace",
                                      "Conv",
                                      "MaxPool",
                                      "AveragePool",
                                      "GlobalAveragePool",
                                      "BatchNormalization",
                                      "MatMul",
                                      "Gemm",
                                      "ReduceSum",
                                      "ReduceMean",
                                      "ReduceMax",
                                      "ReduceLogSumExp",
                                      "ArgMax",
                                      "Softmax",
                                      "LayerNormalization",
                                      "CumSum",
                                      "Clip",
                                      "Constant",
                                      "ConstantOfShape",
                                      "Shape",
                                      "Size",
                                      "Range",
                                      "Identity",
                                      "Dropout",
                                      "If",
                                      "Max",
                                      "Mean",
                                      "Equal",
                                      "Not",
                                      "Mod",
                                      "LeakyRelu",
                                      "SpaceToDepth",
                                      "InstanceNormalization"};
constexpr const char* kAttributes[] = {
    "axis",  "axes",     "perm",      "to",        "pads",     "strides",   "dilations",  "kernel_shape", "group",
    "alpha", "beta",     "transA",    "transB",    "keepdims", "starts",    "ends",       "mode",         "value",
    "split", "auto_pad", "ceil_mode", "blocksize", "scales",   "allowzero", "then_branch"};

std::string some_name(const onnx::Graph& g, std::mt19937_64& rng) {
  std::vector<std::string> names = {"", "x"};
  for (const onnx::Node& n : g.node()) names.insert(names.end(), n.output().begin(), n.output().end());
  for (const onnx::Tensor& t : g.initializer()) names.push_back(t.name());
  for (const onnx::ValueInfo& v : g.input()) names.push_back(v.name());
  return names[rng() % names.size()];
}

void mutate_tensor(onnx::Tensor* t, std::mt19937_64& rng) {
  switch (rng() % 6) {
    case 0: t->set_data_type(static_cast<int>(rng() % 18)); break;
    case 1: t->add_dims(odd_number(rng)); break;
    case 2:
      if (t->dims_size() > 0)
        t->set_dims(static_cast<int>(rng() % static_cast<uint64_t>(t->dims_size())), odd_number(rng));
      break;
    case 3: t->clear_dims(); break;
    case 4:
      if (t->int64_data_size() > 0)
        t->set_int64_data(static_cast<int>(rng() % static_cast<uint64_t>(t->int64_data_size())), odd_number(rng));
      break;
    default: t->set_data_location(static_cast<int>(rng() % 2)); break;
  }
}

void mutate_attribute(onnx::Attribute* a, std::mt19937_64& rng) {
  switch (rng() % 6) {
    case 0: a->set_i(odd_number(rng)); break;
    case 1: a->add_ints(odd_number(rng)); break;
    case 2:
      if (a->ints_size() > 0)
        a->set_ints(static_cast<int>(rng() % static_cast<uint64_t>(a->ints_size())), odd_number(rng));
      break;
    case 3: a->set_f(rng() % 4 == 0 ? static_cast<float>(odd_number(rng)) : 0.5f); break;
    case 4: a->set_name(kAttributes[rng() % std::size(kAttributes)]); break;
    default: mutate_tensor(a->mutable_t(), rng); break;
  }
}

void mutate_node(onnx::Graph* g, onnx::Node* n, std::mt19937_64& rng) {
  switch (rng() % 8) {
    case 0:
    case 1: n->set_op_type(kOperators[rng() % std::size(kOperators)]); break;
    case 2:
      if (n->input_size() > 0)
        n->set_input(static_cast<int>(rng() % static_cast<uint64_t>(n->input_size())), some_name(*g, rng));
      break;
    case 3: n->add_input(some_name(*g, rng)); break;
    case 4: n->add_output("o" + std::to_string(rng() % 100)); break;
    case 5:
      if (n->input_size() > 0) n->mutable_input()->RemoveLast();
      break;
    case 6: {
      onnx::Attribute* a = n->add_attribute();
      a->set_name(kAttributes[rng() % std::size(kAttributes)]);
      mutate_attribute(a, rng);
      break;
    }
    default:
      if (onnx::Attribute* a = some(n->mutable_attribute(), rng)) mutate_attribute(a, rng);
      break;
  }
}

}  // namespace

std::vector<std::string> onnx_seeds() {
  std::vector<std::string> out;
  const auto keep = [&](const TestModel& m) { out.push_back(m.model.SerializeAsString()); };
  const auto attribute = [](TestModel* m, const char* name, const std::vector<int64_t>& ints) {
    onnx::Attribute* a = m->last->add_attribute();
    a->set_name(name);
    if (ints.size() == 1) a->set_i(ints[0]);
    for (const int64_t i : ints) a->add_ints(i);
  };
  {
    TestModel m;
    m.input("x", {1, 3, 6, 6}).floats("w", {2, 3, 1, 1}, {1, 2, 3, 4, 5, 6}).floats("b", {2}, {1, 2});
    m.floats("four", {2}, {1, 2}).numbers("shape", {2}, {0, -1});
    m.node("Conv", {"x", "w", "b"}, {"c"});
    attribute(&m, "pads", {1, 1, 1, 1});
    m.node("BatchNormalization", {"c", "b", "b", "b", "four"}, {"n"}).node("Relu", {"n"}, {"r"});
    m.node("MaxPool", {"r"}, {"p"});
    attribute(&m, "kernel_shape", {2, 2});
    m.node("GlobalAveragePool", {"p"}, {"g"}).node("Reshape", {"g", "shape"}, {"f"}).node("Softmax", {"f"}, {"y"});
    keep(m.output("y"));
  }
  {
    TestModel m;
    m.input("x", {2, 4})
        .floats("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
        .numbers("axes", {1}, {1})
        .numbers("i", {2}, {0, 1});
    m.node("MatMul", {"x", "w"}, {"m"}).node("Gemm", {"x", "w", "m"}, {"g"}).node("Shape", {"g"}, {"s"});
    m.node("ConstantOfShape", {"s"}, {"z"}).node("Add", {"g", "z"}, {"a"}).node("ReduceSum", {"a", "axes"}, {"t"});
    m.node("Gather", {"a", "i"}, {"h"}).node("Concat", {"h", "t"}, {"y"});
    attribute(&m, "axis", {1});
    keep(m.output("y").output("t"));
  }
  {
    TestModel m(10);
    m.input("x", {2, 6}).numbers("b", {1}, {1}).numbers("e", {1}, {5}).numbers("a", {1}, {1}).numbers("s", {1}, {2});
    m.node("Slice", {"x", "b", "e", "a", "s"}, {"y"}).node("Transpose", {"y"}, {"t"}).node("Split", {"x"}, {"u", "v"});
    attribute(&m, "axis", {1});
    m.node("Where", {"c", "u", "v"}, {"w"}).node("Greater", {"u", "v"}, {"c"});
    keep(m.output("t").output("w"));
  }
  {
    TestModel m(18);
    m.tensor("c", {}, kBool)->set_raw_data(std::string(1, 1));
    m.input("x", {2, 3}).numbers("pads", {4}, {0, 1, 0, -1}).floats("scales", {2}, {2, 1.5f}).numbers("r", {2}, {2, 1});
    m.node("If", {"c"}, {"y"});
    for (const char* name : {"then_branch", "else_branch"}) {
      onnx::Attribute* a = m.last->add_attribute();
      a->set_name(name);
      add_node(a->mutable_g()->mutable_node(), "Neg", {"x"}, {"out"});
      a->mutable_g()->add_output()->set_name("out");
    }
    m.node("Pad", {"y", "pads"}, {"p"}).node("Resize", {"p", "", "scales"}, {"q"}).node("Tile", {"q", "r"}, {"t"});
    keep(m.output("t"));
  }
  return out;
}

std::string mutate_onnx(const std::string& bytes, std::mt19937_64& rng) {
  onnx::Model m;
  if (rng() % 16 == 0 || !m.ParseFromString(bytes)) return mutate_bytes(bytes, rng);
  onnx::Graph* g = m.mutable_graph();
  switch (rng() % 8) {
    case 0:
      if (onnx::Tensor* t = some(g->mutable_initializer(), rng)) mutate_tensor(t, rng);
      break;
    case 1:
      if (onnx::ValueInfo* v = some(g->mutable_input(), rng)) {
        onnx::TensorTypeInfo* info = v->mutable_type()->mutable_tensor_type();
        if (onnx::Dimension* d = some(info->mutable_shape()->mutable_dim(), rng)) d->set_dim_value(odd_number(rng));
        if (rng() % 4 == 0) info->set_elem_type(static_cast<int>(rng() % 18));
        if (rng() % 8 == 0) info->mutable_shape()->add_dim()->set_dim_value(odd_number(rng));
      }
      break;
    case 2:
      if (onnx::Node* n = some(g->mutable_node(), rng)) {
        onnx::Node copy = *n;
        if (copy.output_size() > 0) copy.set_output(0, "o" + std::to_string(rng() % 100));
        *g->add_node() = copy;
        if (copy.output_size() > 0) g->add_output()->set_name(copy.output(0));
      }
      break;
    case 3:
      if (rng() % 4 == 0 && m.opset_import_size() > 0)
        m.mutable_opset_import(0)->set_version(static_cast<int64_t>(rng() % 24));
      break;
    default:
      if (onnx::Node* n = some(g->mutable_node(), rng)) mutate_node(g, n, rng);
      break;
  }
  return m.SerializeAsString();
}

}  // namespace hone::fuzz
