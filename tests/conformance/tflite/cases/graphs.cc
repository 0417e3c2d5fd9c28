// Control flow, variables, and outputs as long as a call finds out.
#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

// Two branches: x + 1 and x * 3.
void add_branches(CaseModel* m) {
  for (const int32_t code : {0, 18}) {
    m->next_graph().input("x", {2, 3}).floats("k", {}, {code == 0 ? 1.0f : 3.0f}).tensor("y", {2, 3});
    if (code == 0)
      m->op(0, {"x", "k"}, {"y"}, tables::CreateAddOptions(m->b));
    else
      m->op(18, {"x", "k"}, {"y"}, tables::CreateMulOptions(m->b));
    m->output("y");
  }
}

void add_control_flow(TfliteCases* cases) {
  for (const bool condition : {false, true}) {
    CaseModel m(std::string("IF ") + (condition ? "true" : "false"));
    m.given_bytes("c", {1}, kTfBool, std::string(1, condition ? '\1' : '\0')).given("x", {2, 3});
    m.result("y", kTfFloat, {}, {2, 3}).op(118, {"c", "x"}, {"y"}, tables::CreateIfOptions(m.b, 1, 2));
    add_branches(&m);
    cases->push_back(m.done());
    CaseModel known(std::string("IF known, ") + (condition ? "true" : "false"));
    known.data("c", {1}, kTfBool, std::string(1, condition ? '\1' : '\0')).given("x", {2, 3});
    known.result("y", kTfFloat, {}, {2, 3}).op(118, {"c", "x"}, {"y"}, tables::CreateIfOptions(known.b, 1, 2));
    add_branches(&known);
    cases->push_back(known.done());
  }
  {
    CaseModel m("WHILE");
    m.given("x", {2, 3}).data("i", {1}, kTfInt, bytes_of_numbers<int32_t>({0})).tensor("n", {1}, kTfInt);
    m.result("y", kTfFloat, {}, {2, 3}).op(119, {"i", "x"}, {"n", "y"}, tables::CreateWhileOptions(m.b, 1, 2));
    m.next_graph().input("i", {1}, kTfInt).input("x", {2, 3}).numbers("k", {3}).tensor("t", {1}, kTfBool);
    m.op(58, {"i", "k"}, {"t"}).output("t");
    m.next_graph().input("i", {1}, kTfInt).input("x", {2, 3}).numbers("one", {1}).floats("f", {}, {1.5f});
    m.tensor("j", {1}, kTfInt).tensor("y", {2, 3});
    m.op(0, {"i", "one"}, {"j"}, tables::CreateAddOptions(m.b))
        .op(18, {"x", "f"}, {"y"}, tables::CreateMulOptions(m.b));
    m.output("j").output("y");
    cases->push_back(m.done());
  }
  {  // A sum over all calls.
    CaseModel m("ASSIGN_VARIABLE, READ_VARIABLE, VAR_HANDLE, CALL_ONCE", 3);
    m.given("x", {2, 3}).tensor("v", {}, kTfResource).tensor("old", {2, 3}).result("y", kTfFloat, {}, {2, 3});
    m.op(129, {}, {}, tables::CreateCallOnceOptions(m.b, 1));
    m.op(142, {}, {"v"}, tables::CreateVariableOptionsDirect(m.b, "", "sum")).op(143, {"v"}, {"old"});
    m.op(0, {"old", "x"}, {"y"}, tables::CreateAddOptions(m.b)).op(144, {"v", "y"}, {});
    m.next_graph().tensor("v", {}, kTfResource).floats("zero", {2, 3}, std::vector<float>(6, 0.0f));
    m.op(142, {}, {"v"}, tables::CreateVariableOptionsDirect(m.b, "", "sum")).op(144, {"v", "zero"}, {});
    cases->push_back(m.done());
  }
}

void add_lengths(TfliteCases* cases) {
  for (const std::vector<int32_t>& shape : {std::vector<int32_t>{11}, {3, 5}, {2, 3, 4}})
    for (const int8_t type : {kTfBool, kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte}) {
      if (type != kTfBool && shape.size() != 2) continue;
      CaseModel m("WHERE " + type_name(type) + " rank " + std::to_string(shape.size()));
      m.given("c", shape, type, {}, type == kTfFloat ? DrawnFrom{-1, 1.5, 1} : DrawnFrom{0, 2}).result("y", kTfLong);
      m.op(109, {"c"}, {"y"});
      cases->push_back(m.done());
    }
  constexpr int kUniqueKind = 80;
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte, kTfShort})
    for (const int8_t positions : {kTfInt, kTfLong}) {
      if (positions == kTfLong && type != kTfFloat) continue;
      CaseModel m("UNIQUE " + type_name(type) + ", places " + type_name(positions));
      m.given("x", {13}, type, {}, type == kTfFloat ? DrawnFrom{-2, 2, 0.5} : DrawnFrom{1, 6}).result("y", type);
      m.result("i", positions).op_with(103, {"x"}, {"y", "i"}, kUniqueKind, {{0, positions}});
      cases->push_back(m.done());
    }
  for (const int8_t type : {kTfFloat, kTfInt}) {
    CaseModel m("SEGMENT_SUM " + type_name(type) + " of a call's segments");
    m.given("x", {5, 3}, type)
        .given_bytes("s", {5}, kTfInt, bytes_of_numbers<int32_t>({0, 1, 1, 1, 2}))
        .result("y", type);
    m.op(125, {"x", "s"}, {"y"});
    cases->push_back(m.done({.terms = 3}));
  }
}

}  // namespace

void add_graph_cases(TfliteCases* cases) {
  add_control_flow(cases);
  add_lengths(cases);
}

}  // namespace hone
