// A small model of TensorFlow Lite that says how its picture is normalized and what its scores stand for;
// tests/data/pets.tflite is its file, for tests that are not in C++.
#pragma once

#include <string>
#include <vector>

#include "tests/fakes/tflite_metadata.h"
#include "tests/fakes/tflite_model.h"

namespace hone {

/// `image`, f32[1, 8, 8, 3], is (pixels - 127.5) / 127.5; `scores`, f32[1, 3], of cat, dog and bird, are the red, the
/// green and the blue of the first pixel. Scores below 0.5 say nothing.
inline std::string pets_tflite() {
  TfliteModel m;
  std::vector<float> taps(576, 0);
  taps[0] = taps[192 + 1] = taps[384 + 2] = 1;
  m.input("image", {1, 8, 8, 3}).floats("taps", {3, 8, 8, 3}, taps).floats("none", {3}, {0, 0, 0});
  constexpr int32_t kConv = 3, kReshape = 22;
  m.op(kConv, {"image", "taps", "none"}, {"pixel"}, tables::CreateConvOptions(m.b, 1, 1, 1, 0));
  m.numbers("flat", {1, 3}).op(kReshape, {"pixel", "flat"}, {"scores"}).output("scores");
  TfliteNotes n;
  n.input("picture", "a pet", n.image(1), {n.normalization({127.5f}, {127.5f})}, n.range({-1}, {1}));
  n.output("which", "what it is", {n.threshold(0.5f)}, {n.file("labels.txt", kTfLabelsOfAxis)});
  m.note("TFLITE_METADATA", n.bytes());
  const std::string model = m.bytes();
  return model + zip_of({{"labels.txt", "cat\ndog\nbird\n"}}, model.size());
}

}  // namespace hone
