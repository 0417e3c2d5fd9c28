// Images resized, and pixels that become channels or images.
#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

TfliteScales image_scales(int8_t type) {
  if (type != kTfSigned && type != kTfByte && type != kTfShort) return {};
  return scaled(0.05f, type == kTfShort ? 0 : type == kTfByte ? 131 : 3);
}

void add_resizes(TfliteCases* cases) {
  struct Resize {
    std::string what;
    bool aligns, halves;
  };
  const std::vector<Resize> ways = {
      {"from the corner", false, false}, {"corners", true, false}, {"centers", false, true}};
  for (const Resize& way : ways)
    for (const auto& [h, w] : {std::pair{8, 10}, {7, 3}, {2, 9}, {1, 1}})
      for (const int8_t type : {kTfFloat, kTfSigned, kTfByte, kTfShort}) {
        const std::string what =
            " " + type_name(type) + " " + way.what + " " + std::to_string(h) + "x" + std::to_string(w);
        if (type != kTfFloat && h != 8 && h != 7) continue;
        CaseModel m("RESIZE_BILINEAR" + what);
        m.given("x", {1, 4, 5, 2}, type, image_scales(type)).numbers("s", {h, w}).result("y", type, image_scales(type));
        m.op(23, {"x", "s"}, {"y"}, tables::CreateResizeBilinearOptions(m.b, way.aligns, way.halves));
        // The library has places in steps of 2^-10 of a pixel.
        cases->push_back(m.done({.steps = type == kTfShort ? 64 : 1, .terms = 4}));
        CaseModel n("RESIZE_NEAREST_NEIGHBOR" + what);
        n.given("x", {1, 4, 5, 2}, type, image_scales(type)).numbers("s", {h, w}).result("y", type, image_scales(type));
        n.op(97, {"x", "s"}, {"y"}, tables::CreateResizeNearestOptions(n.b, way.aligns, way.halves));
        cases->push_back(n.done());
      }
}

void add_blocks(TfliteCases* cases) {
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte}) {
    const TfliteScales s = image_scales(type);
    CaseModel depth("SPACE_TO_DEPTH " + type_name(type));
    depth.given("x", {2, 4, 6, 3}, type, s).result("y", type, s);
    depth.op(26, {"x"}, {"y"}, tables::CreateSpaceToDepthOptions(depth.b, 2));
    cases->push_back(depth.done());
    CaseModel space("DEPTH_TO_SPACE " + type_name(type));
    space.given("x", {2, 2, 3, 12}, type, s).result("y", type, s);
    space.op(5, {"x"}, {"y"}, tables::CreateDepthToSpaceOptions(space.b, 2));
    cases->push_back(space.done());
    CaseModel batch("SPACE_TO_BATCH_ND " + type_name(type));
    batch.given("x", {1, 3, 5, 2}, type, s).numbers("b", {2, 3});
    batch.data("p", {2, 2}, kTfInt, bytes_of_numbers<int32_t>({1, 0, 0, 1})).result("y", type, s);
    batch.op(38, {"x", "b", "p"}, {"y"});
    cases->push_back(batch.done());
    CaseModel back("BATCH_TO_SPACE_ND " + type_name(type));
    back.given("x", {6, 2, 2, 2}, type, s).numbers("b", {2, 3});
    back.data("p", {2, 2}, kTfInt, bytes_of_numbers<int32_t>({1, 0, 0, 1})).result("y", type, s);
    back.op(37, {"x", "b", "p"}, {"y"});
    cases->push_back(back.done());
  }
  {
    CaseModel m("SPACE_TO_BATCH_ND f32 three axes");
    m.given("x", {2, 4, 3}).numbers("b", {2});
    m.data("p", {1, 2}, kTfInt, bytes_of_numbers<int32_t>({0, 2})).result("y").op(38, {"x", "b", "p"}, {"y"});
    cases->push_back(m.done());
    CaseModel n("BATCH_TO_SPACE_ND f32 three axes");
    n.given("x", {4, 3, 2}).numbers("b", {2});
    n.data("p", {1, 2}, kTfInt, bytes_of_numbers<int32_t>({1, 0})).result("y").op(37, {"x", "b", "p"}, {"y"});
    cases->push_back(n.done());
  }
}

}  // namespace

void add_image_cases(TfliteCases* cases) {
  add_resizes(cases);
  add_blocks(cases);
}

}  // namespace hone
