// Operators that move elements: shapes, joins, borders, repeats, positions.
#include <algorithm>

#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

using Shape = std::vector<int32_t>;

const std::vector<int8_t> kMostTypes = {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte, kTfShort, kTfBool};

bool has_scales(int8_t type) { return type == kTfSigned || type == kTfByte || type == kTfShort; }
TfliteScales scales_of(int8_t type) {
  if (!has_scales(type)) return {};
  return scaled(0.05f, type == kTfShort ? 0 : type == kTfByte ? 131 : 3);
}

std::vector<int8_t> without(std::vector<int8_t> types, std::initializer_list<int8_t> left_out) {
  for (const int8_t type : left_out) types.erase(std::remove(types.begin(), types.end(), type), types.end());
  return types;
}

// A case for each type of an operator that has one input `x` and other tensors of the file, which `add` makes.
template <class Add>
void for_types(TfliteCases* cases, const std::string& name, const std::vector<int8_t>& types, const Shape& x,
               const Add& add) {
  for (const int8_t type : types) {
    CaseModel m(name.substr(0, name.find(' ')) + " " + type_name(type) +
                (name.find(' ') == std::string::npos ? "" : name.substr(name.find(' '))));
    m.given("x", x, type, scales_of(type)).result("y", type, scales_of(type));
    add(&m);
    cases->push_back(m.done());
  }
}

void add_shapes(TfliteCases* cases) {
  for_types(cases, "RESHAPE", kMostTypes, {2, 3, 4}, [](CaseModel* m) {
    m->numbers("s", {4, -1}).op(22, {"x", "s"}, {"y"});
  });
  for_types(cases, "RESHAPE of an option", {kTfFloat}, {2, 3, 4}, [](CaseModel* m) {
    const std::vector<int32_t> shape{3, -1, 2};
    m->op(22, {"x"}, {"y"}, tables::CreateReshapeOptionsDirect(m->b, &shape));
  });
  for_types(cases, "SQUEEZE", {kTfFloat, kTfInt, kTfSigned}, {1, 3, 1, 2},
            [](CaseModel* m) { m->op(43, {"x"}, {"y"}, tables::CreateSqueezeOptionsDirect(m->b)); });
  for_types(cases, "SQUEEZE of a negative axis", {kTfFloat}, {1, 3, 1, 2}, [](CaseModel* m) {
    const std::vector<int32_t> axes{-2};
    m->op(43, {"x"}, {"y"}, tables::CreateSqueezeOptionsDirect(m->b, &axes));
  });
  for (const int32_t axis : {0, -1, 1})
    for_types(cases, "EXPAND_DIMS axis " + std::to_string(axis), {kTfFloat, kTfSigned, kTfLong}, {2, 3},
              [&](CaseModel* m) {
                m->number("a", axis).op(70, {"x", "a"}, {"y"});
              });
  const std::vector<std::pair<Shape, std::vector<int32_t>>> turns = {{{3, 4}, {1, 0}},
                                                                     {{2, 3, 5}, {2, 0, 1}},
                                                                     {{2, 3, 5}, {0, 2, 1}},
                                                                     {{1, 3, 4, 2}, {0, 3, 1, 2}},
                                                                     {{2, 1, 3, 2, 2}, {4, 2, 0, 1, 3}},
                                                                     {{2, 1, 3, 2, 1, 2}, {5, 3, 2, 0, 1, 4}}};
  for (const auto& [shape, perm] : turns) {
    std::string text;
    for (const int32_t p : perm) text += std::to_string(p);
    for_types(cases, "TRANSPOSE " + text,
              shape.size() == 3 ? without(kMostTypes, {}) : std::vector<int8_t>{kTfFloat, kTfSigned}, shape,
              [&, &perm = perm](CaseModel* m) {
                m->numbers("p", perm).op(39, {"x", "p"}, {"y"});
              });
  }
}

void add_joins(TfliteCases* cases) {
  for (const int8_t type : kMostTypes)
    for (const int32_t axis : {0, 1, -1}) {
      CaseModel m("CONCATENATION " + type_name(type) + " axis " + std::to_string(axis));
      Shape a{2, 3, 2}, b = a;
      b[static_cast<size_t>(axis < 0 ? axis + 3 : axis)] = 4;
      m.given("a", a, type, scales_of(type)).given("b", b, type, scales_of(type)).result("y", type, scales_of(type));
      m.op(2, {"a", "b", "a"}, {"y"}, tables::CreateConcatenationOptions(m.b, axis));
      cases->push_back(m.done());
    }
  {  // Scales of their own.
    CaseModel m("CONCATENATION u8 of other scales");
    m.given("a", {2, 9}, kTfByte, scaled(0.05f, 120)).given("b", {2, 7}, kTfByte, scaled(0.031f, 97));
    m.result("y", kTfByte, scaled(0.06f, 128)).op(2, {"a", "b"}, {"y"}, tables::CreateConcatenationOptions(m.b, 1));
    cases->push_back(m.done({.steps = 1}));
  }
  for (const int8_t type : without(kMostTypes, {kTfBool}))
    for (const int32_t axis : {0, -1}) {
      CaseModel m("PACK " + type_name(type) + " axis " + std::to_string(axis));
      m.given("a", {2, 3}, type, scales_of(type)).given("b", {2, 3}, type, scales_of(type));
      m.result("y", type, scales_of(type)).op(83, {"a", "b", "a"}, {"y"}, tables::CreatePackOptions(m.b, 3, axis));
      cases->push_back(m.done());
    }
}

void add_borders(TfliteCases* cases) {
  const auto pads = [](CaseModel* m, const std::vector<int32_t>& numbers, int8_t type = kTfInt) {
    const auto rank = static_cast<int32_t>(numbers.size() / 2);
    if (type == kTfLong)
      m->data("p", {rank, 2}, kTfLong, bytes_of_numbers(std::vector<int64_t>(numbers.begin(), numbers.end())));
    else
      m->data("p", {rank, 2}, kTfInt, bytes_of_numbers(numbers));
  };
  for_types(cases, "PAD", without(kMostTypes, {kTfBool}), {1, 3, 2, 2}, [&](CaseModel* m) {
    pads(m, {0, 0, 1, 2, 0, 3, 0, 0});
    m->op(34, {"x", "p"}, {"y"});
  });
  for_types(cases, "PAD channels", {kTfFloat, kTfSigned}, {1, 2, 2, 3}, [&](CaseModel* m) {
    pads(m, {0, 0, 0, 0, 0, 0, 2, 1}, kTfLong);
    m->op(34, {"x", "p"}, {"y"});
  });
  for_types(cases, "PAD five axes", {kTfFloat}, {2, 1, 3, 2, 2}, [&](CaseModel* m) {
    pads(m, {1, 0, 0, 1, 1, 2, 0, 3, 0, 0});
    m->op(34, {"x", "p"}, {"y"});
  });
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte}) {
    CaseModel m("PADV2 " + type_name(type));
    m.given("x", {2, 3}, type, scales_of(type)).stored("v", {1}, type, scales_of(type), {3, 9});
    pads(&m, {1, 0, 0, 2});
    m.result("y", type, scales_of(type)).op(60, {"x", "p", "v"}, {"y"});
    cases->push_back(m.done());
  }
  for (const int8_t mode : {0, 1})
    for_types(cases, std::string("MIRROR_PAD ") + (mode ? "symmetric" : "reflect"),
              {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte}, {3, 4, 2}, [&](CaseModel* m) {
                pads(m, {2, 1, 0, 3, 1, 1});
                m->op(100, {"x", "p"}, {"y"}, tables::CreateMirrorPadOptions(m->b, mode));
              });
  for_types(cases, "TILE", without(kMostTypes, {kTfShort}), {2, 3}, [](CaseModel* m) {
    m->numbers("r", {2, 3}).op(69, {"x", "r"}, {"y"});
  });
  for_types(cases, "BROADCAST_TO", kMostTypes, {3, 1}, [](CaseModel* m) {
    m->operator_versions[130] = 2;
    m->numbers("s", {2, 3, 4}).op(130, {"x", "s"}, {"y"});
  });
}

void add_positions(TfliteCases* cases) {
  for (const int8_t type : kMostTypes)
    for (const auto& [axis, batch] : {std::pair{0, 0}, {1, 0}, {-1, 0}, {1, 1}, {2, 1}}) {
      CaseModel m("GATHER " + type_name(type) + " axis " + std::to_string(axis) + " batch " + std::to_string(batch));
      m.given("x", {2, 5, 3}, type, scales_of(type));
      m.given("i", batch ? Shape{2, 2} : Shape{4}, kTfInt, {}, {0, axis == 0 ? 1.0 : 2.0});
      m.result("y", type, scales_of(type));
      m.op(36, {"x", "i"}, {"y"}, tables::CreateGatherOptions(m.b, axis, batch));
      cases->push_back(m.done());
    }
  {
    CaseModel m("GATHER f32 of i64, two axes");
    m.given("x", {4, 3}).given("i", {2, 3}, kTfLong, {}, {0, 3}).result("y");
    m.op(36, {"x", "i"}, {"y"}, tables::CreateGatherOptions(m.b, 0, 0));
    cases->push_back(m.done());
  }
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte, kTfShort})
    for (const int32_t depth : {1, 2, 3}) {
      CaseModel m("GATHER_ND " + type_name(type) + " depth " + std::to_string(depth));
      m.given("x", {2, 3, 4}, type, scales_of(type)).given("i", {3, 2, depth}, kTfInt, {}, {0, 1});
      m.result("y", type, scales_of(type)).op(107, {"x", "i"}, {"y"});
      cases->push_back(m.done());
    }
  {
    CaseModel m("EMBEDDING_LOOKUP f32");
    m.given("i", {4}, kTfInt, {}, {0, 4}).stored("t", {5, 2, 3}).result("y").op(7, {"i", "t"}, {"y"});
    cases->push_back(m.done());
    CaseModel q("EMBEDDING_LOOKUP hybrid");
    q.given("i", {4}, kTfInt, {}, {0, 4}).stored("t", {5, 6}, kTfSigned, scaled(0.02f)).result("y");
    q.op(7, {"i", "t"}, {"y"});
    cases->push_back(q.done());
  }
}

}  // namespace

void add_movement_cases(TfliteCases* cases) {
  add_shapes(cases);
  add_joins(cases);
  add_borders(cases);
  add_positions(cases);
}

}  // namespace hone
