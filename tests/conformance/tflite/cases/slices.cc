// Parts of tensors.
#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

using Shape = std::vector<int32_t>;

const std::vector<int8_t> kSliceTypes = {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte, kTfShort, kTfBool};

TfliteScales slice_scales(int8_t type) {
  if (type != kTfSigned && type != kTfByte && type != kTfShort) return {};
  return scaled(0.05f, type == kTfShort ? 0 : type == kTfByte ? 131 : 3);
}

void add_slices(TfliteCases* cases) {
  for (const int8_t type : kSliceTypes) {
    CaseModel m("SLICE " + type_name(type));
    m.given("x", {3, 4, 5}, type, slice_scales(type)).numbers("b", {1, 0, 2}).numbers("s", {2, -1, 2});
    m.result("y", type, slice_scales(type)).op(65, {"x", "b", "s"}, {"y"});
    cases->push_back(m.done());
  }
  {
    CaseModel m("SLICE f32 five axes, i64");
    m.given("x", {2, 3, 2, 3, 2});
    m.data("b", {5}, kTfLong, bytes_of_numbers<int64_t>({0, 1, 0, 1, 0}));
    m.data("s", {5}, kTfLong, bytes_of_numbers<int64_t>({2, 2, 1, -1, 2})).result("y").op(65, {"x", "b", "s"}, {"y"});
    cases->push_back(m.done());
  }
  struct Strided {
    std::string what;
    Shape x;
    std::vector<int32_t> begin, end, step;
    int begin_mask = 0, end_mask = 0, ellipsis = 0, new_axis = 0, shrink = 0;
    bool offset = false;
  };
  const std::vector<Strided> all = {
      {"plain", {5, 4}, {1, 0}, {4, 3}, {1, 1}},
      {"steps", {7, 5}, {0, 4}, {7, 0}, {3, -2}},
      {"negative places", {6, 5}, {-4, -1}, {-1, -5}, {2, -1}},
      {"masks", {6, 5}, {2, 9}, {1, 3}, {1, 1}, 2, 1},
      {"back to front", {6, 3}, {0, 0}, {0, 0}, {-1, 1}, 3, 3},
      {"shrinks", {3, 4, 5}, {1, 0, -2}, {2, 4, 5}, {1, 1, 1}, 0, 0, 0, 0, 5},
      {"ellipsis", {3, 4, 5}, {0, 1}, {0, 3}, {1, 1}, 0, 0, 1},
      {"new axes", {3, 4}, {0, 1, 0}, {0, 3, 4}, {1, 1, 1}, 0, 0, 0, 1},
      {"new axis behind an ellipsis", {3, 4}, {0, 0}, {0, 0}, {1, 1}, 0, 0, 1, 2},
      {"too far", {4, 5}, {-9, 2}, {9, 99}, {1, 2}},
      {"fewer entries than axes", {4, 3, 2}, {1}, {3}, {1}},
      {"ends are distances", {6, 7}, {1, -5}, {3, 2}, {1, 1}, 0, 0, 0, 0, 0, true},
  };
  for (const Strided& s : all)
    for (const int8_t type : kSliceTypes) {
      if (type != kTfFloat && s.what != "plain" && s.what != "shrinks") continue;
      CaseModel m("STRIDED_SLICE " + type_name(type) + " " + s.what);
      m.given("x", s.x, type, slice_scales(type)).numbers("b", s.begin).numbers("e", s.end).numbers("s", s.step);
      m.result("y", type, slice_scales(type));
      m.op(
          45, {"x", "b", "e", "s"}, {"y"},
          tables::CreateStridedSliceOptions(m.b, s.begin_mask, s.end_mask, s.ellipsis, s.new_axis, s.shrink, s.offset));
      cases->push_back(m.done());
    }
}

void add_splits(TfliteCases* cases) {
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte, kTfShort}) {
    for (const int32_t axis : {0, -1}) {
      if (type == kTfLong) continue;
      CaseModel m("SPLIT " + type_name(type) + " axis " + std::to_string(axis));
      m.number("a", axis).given("x", {4, 3, 6}, type, slice_scales(type));
      m.result("y", type, slice_scales(type)).result("z", type, slice_scales(type));
      m.op(49, {"a", "x"}, {"y", "z"}, tables::CreateSplitOptions(m.b, 2));
      cases->push_back(m.done());
    }
    CaseModel m("SPLIT_V " + type_name(type));
    m.given("x", {2, 7}, type, slice_scales(type)).numbers("s", {2, -1, 1}).number("a", -1);
    for (const char* name : {"p", "q", "r"}) m.result(name, type, slice_scales(type));
    constexpr int kSplitV = 79;
    m.op_with(102, {"x", "s", "a"}, {"p", "q", "r"}, kSplitV, {}, {{0, 3}});
    cases->push_back(m.done());
    for (const int32_t axis : {1, -3}) {
      if (type == kTfLong) continue;
      CaseModel u("UNPACK " + type_name(type) + " axis " + std::to_string(axis));
      u.given("x", {3, 3, 2}, type, slice_scales(type));
      for (const char* name : {"p", "q", "r"}) u.result(name, type, slice_scales(type));
      u.op(88, {"x"}, {"p", "q", "r"}, tables::CreateUnpackOptions(u.b, 3, axis));
      cases->push_back(u.done());
    }
  }
  for (const int8_t type : kSliceTypes) {
    for (const int32_t axis : {0, 1, 2}) {
      CaseModel m("REVERSE_V2 " + type_name(type) + " axis " + std::to_string(axis));
      m.given("x", {2, 3, 4}, type, slice_scales(type)).numbers("a", {axis});
      m.result("y", type, slice_scales(type)).op(105, {"x", "a"}, {"y"});
      cases->push_back(m.done());
    }
    if (type == kTfBool || type == kTfSigned) continue;
    for (const auto& [time, batch] : {std::pair{1, 0}, {0, 2}}) {
      CaseModel m("REVERSE_SEQUENCE " + type_name(type) + " axis " + std::to_string(time));
      m.given("x", {4, 5, 3}, type, slice_scales(type));
      m.given("n", {batch == 0 ? 4 : 3}, kTfInt, {}, {1, 4}).result("y", type, slice_scales(type));
      m.op(112, {"x", "n"}, {"y"}, tables::CreateReverseSequenceOptions(m.b, time, batch));
      cases->push_back(m.done());
    }
  }
}

}  // namespace

void add_slice_cases(TfliteCases* cases) {
  add_slices(cases);
  add_splits(cases);
}

}  // namespace hone
