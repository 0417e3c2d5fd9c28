// Files of TensorFlow Lite: models of what its reader looks at, and words of them changed.
#include <cstring>

#include "compiler/frontend/tflite/import.h"
#include "tests/fakes/tflite_model.h"
#include "tests/fuzz/graph/imported_file.h"
#include "tests/fuzz/graph/target.h"

namespace hone::fuzz {
namespace {

std::string images() {
  TfliteModel m;
  m.input("x", {1, 4, 4, 2}).floats("w", {2, 3, 3, 2}, std::vector<float>(36, 0.5f)).floats("b", {2}, {1, -1});
  m.floats("d", {1, 2, 2, 2}, std::vector<float>(8, 0.25f)).numbers("size", {3, 5}).numbers("axes", {1, 2});
  m.data("pads", {4, 2}, kTfInt, bytes_of_numbers<int32_t>({0, 0, 1, 0, 0, 1, 0, 2})).numbers("block", {2, 2});
  m.data("crops", {2, 2}, kTfInt, bytes_of_numbers<int32_t>({0, 0, 1, 1})).numbers("out", {1, 8, 8, 2});
  m.op(3, {"x", "w", "b"}, {"c"}, tables::CreateConvOptions(m.b, 0, 2, 1, 3, 1, 1));
  m.op(4, {"c", "d"}, {"e"}, tables::CreateDepthwiseConvOptions(m.b, 1, 1, 1, 1, 1));
  m.op(34, {"e", "pads"}, {"f"}).op(23, {"f", "size"}, {"g"}, tables::CreateResizeBilinearOptions(m.b, false, true));
  m.op(17, {"g"}, {"h"}, tables::CreatePoolOptions(m.b, 0, 2, 2, 2, 2)).op(40, {"h", "axes"}, {"i"});
  m.op(67, {"out", "w", "x"}, {"t"}, tables::CreateTransposeConvOptions(m.b, 0, 2, 2));
  m.op(38, {"t", "block", "crops"}, {"s"}).op(5, {"x"}, {"u"}, tables::CreateDepthToSpaceOptions(m.b, 1));
  m.op(100, {"u", "pads"}, {"v"}, tables::CreateMirrorPadOptions(m.b, 1)).output("i").output("s").output("v");
  return m.bytes();
}

std::string rows() {
  TfliteModel m;
  m.input("x", {2, 6}).floats("w", {3, 6}, std::vector<float>(18, 0.5f)).numbers("s", {3, 2}).numbers("p", {1, 0});
  m.numbers("b", {0, 1}).numbers("e", {0, 3}).numbers("k", {1, -1}).numbers("at", {1, 0}).number("axis", 1);
  m.op(9, {"x", "w"}, {"a"}, tables::CreateFullyConnectedOptions(m.b, 1)).op(22, {"a", "s"}, {"c"});
  m.op(39, {"c", "p"}, {"d"})
      .op(45, {"d", "b", "e", "k"}, {"f"}, tables::CreateStridedSliceOptions(m.b, 1, 2, 0, 0, 1));
  m.op(25, {"d"}, {"g"}, tables::CreateSoftmaxOptions(m.b, 1))
      .op(36, {"g", "at"}, {"h"}, tables::CreateGatherOptions(m.b, 0));
  m.op(128, {"h", "axis"}, {"i"}, tables::CreateCumsumOptions(m.b, true, false));
  m.op(49, {"axis", "x"}, {"l", "r"}, tables::CreateSplitOptions(m.b, 2));
  m.op(2, {"l", "r"}, {"j"}, tables::CreateConcatenationOptions(m.b, 0)).output("f").output("i").output("j");
  return m.bytes();
}

std::string whole_numbers() {
  TfliteModel m;
  const auto sparsity = m.three_of_two_rows();
  m.input("x", {2, 3}, kTfSigned, {{0.5f}, {3}}).data("w", {2, 3}, kTfSigned, "abcdef", {{0.1f, 0.2f}, {0, 0}, 0});
  m.data("b", {2}, kTfInt, bytes_of_numbers<int32_t>({100, -5}), {{0.05f, 0.1f}, {0, 0}, 0});
  m.tensor("y", {2, 2}, kTfSigned, {{0.7f}, {-1}}).op(9, {"x", "w", "b"}, {"y"});
  m.data("s", {2, 3}, kTfFloat, bytes_of_numbers<float>({1, 2, 3}), {}, sparsity).op(124, {"s"}, {"d"});
  m.op(6, {"x"}, {"f"}).op(0, {"f", "d"}, {"g"}, tables::CreateAddOptions(m.b, 1));
  m.tensor("q", {2, 3}, kTfByte, {{0.25f}, {128}}).op(114, {"g"}, {"q"}).output("y").output("q");
  return m.bytes();
}

}  // namespace

void run_tflite(std::string_view bytes) { run_imported(bytes, &import_tflite); }

std::vector<std::string> tflite_seeds() { return {images(), rows(), whole_numbers()}; }

// Tables are words of four bytes: offsets, numbers, sizes.
std::string mutate_tflite(const std::string& bytes, std::mt19937_64& rng) {
  constexpr size_t kWord = sizeof(int32_t);
  if (bytes.size() < 2 * kWord || rng() % 4 == 0) return mutate_bytes(bytes, rng);
  std::string out = bytes;
  const size_t at = rng() % (out.size() / kWord) * kWord;
  int32_t word = 0;
  std::memcpy(&word, out.data() + at, kWord);
  const auto old = static_cast<uint32_t>(word);
  word = rng() % 2 ? static_cast<int32_t>(odd_number(rng))
                   : static_cast<int32_t>(old + static_cast<uint32_t>(rng() % 17) - 8);
  std::memcpy(out.data() + at, &word, kWord);
  return out;
}

}  // namespace hone::fuzz
