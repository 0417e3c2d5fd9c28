// Files of TensorFlow Lite: models of what its reader looks at, and words of them changed.
#include <flatbuffers/flexbuffers.h>

#include <cstring>

#include "compiler/frontend/tflite/import.h"
#include "tests/fakes/tflite_metadata.h"
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

// Subgraphs, variables and a signature.
std::string graphs() {
  TfliteModel m;
  m.input("c", {}, kTfBool).input("x", {2}).number("zero", 0).tensor("h", {}, kTfResource).tensor("i", {}, kTfInt);
  m.op(129, {}, {}, tables::CreateCallOnceOptions(m.b, 5));
  m.op(142, {}, {"h"}, tables::CreateVariableOptionsDirect(m.b, "", "v")).op(143, {"h"}, {"w"});
  m.op(118, {"c", "x"}, {"y"}, tables::CreateIfOptions(m.b, 1, 2));
  m.op(119, {"zero", "y"}, {"i", "z"}, tables::CreateWhileOptions(m.b, 3, 4));
  m.op(31, {"z"}, {"t"}, tables::CreateCallOptions(m.b, 2)).op(0, {"t", "w"}, {"u"}).op(144, {"h", "u"}, {});
  m.output("u").output("i").signature({{"input", "x"}}, {{"output", "u"}});
  m.next_graph().input("a", {2}).op(19, {"a"}, {"b"}).output("b");
  m.next_graph().input("a", {2}).op(59, {"a"}, {"b"}).output("b");
  m.next_graph().input("i", {}, kTfInt).input("x", {2}).number("n", 3).tensor("c", {}, kTfBool);
  m.op(58, {"i", "n"}, {"c"}).output("c");
  m.next_graph().input("i", {}, kTfInt).input("x", {2}).number("one", 1).tensor("j", {}, kTfInt);
  m.op(0, {"i", "one"}, {"j"}).op(59, {"x"}, {"y"}).output("j").output("y");
  m.next_graph().tensor("h", {}, kTfResource).floats("first", {2}, {5, 6});
  m.op(142, {}, {"h"}, tables::CreateVariableOptionsDirect(m.b, "", "v")).op(144, {"h", "first"}, {});
  return m.bytes();
}

// Operators that write at positions, and layers with states.
std::string writers() {
  TfliteModel m;
  m.input("x", {3, 2}).input("at", {3, 1}, kTfInt).numbers("s", {4, 2}).numbers("ids", {0, 0, 2}).number("n", 3);
  m.op(122, {"at", "x", "s"}, {"a"}).op(125, {"x", "ids"}, {"b"}).op(155, {"x", "ids", "n"}, {"c"});
  m.floats("block", {1, 1}, {9}).numbers("begin", {1, 9}).op(151, {"x", "block", "begin"}, {"d"});
  m.numbers("lengths", {3, 2}).op(112, {"x", "lengths"}, {"e"}, tables::CreateReverseSequenceOptions(m.b, 0, 1));
  m.op(113, {"x"}, {"f"}).op(36, {"x", "at"}, {"g"}, tables::CreateGatherOptions(m.b, 1, 1));
  m.floats("w", {2, 2}, {1, 2, 3, 4}).floats("z", {2}, {1, 2}).input("q", {1, 3, 2});
  for (const char* state : {"h", "k"}) m.tensor(state, {1, 2}, kTfFloat, {}, 0, {}, 0, true);
  m.op(44, {"q", "w", "w", "w", "w", "w", "w", "w", "w", "", "", "", "z", "z", "z", "z", "", "", "h", "k"}, {"l"},
       tables::CreateSequenceLstmOptions(m.b, 4, 10));
  m.tensor("o", {1, 2}, kTfFloat, {}, 0, {}, 0, true).input("r", {1, 2});
  m.op(24, {"r", "w", "w", "z", "o"}, {"p"}, tables::CreateRnnOptions(m.b, 4));
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "l", "p"}) m.output(name);
  return m.bytes();
}

std::string boxes() {
  TfliteModel m;
  flexbuffers::Builder o;
  o.Map([&] {
    for (const char* name : {"max_detections", "max_classes_per_detection", "num_classes"}) o.Int(name, 2);
    for (const char* name : {"y_scale", "x_scale", "h_scale", "w_scale"}) o.Float(name, 10);
    o.Float("nms_score_threshold", 0.1f);
    o.Float("nms_iou_threshold", 0.5f);
  });
  o.Finish();
  m.input("b", {1, 3, 4}).input("s", {1, 3, 2}).floats("a", {3, 4}, std::vector<float>(12, 0.5f));
  m.custom("TFLite_Detection_PostProcess", {"b", "s", "a"}, {"c", "d", "e", "f"}, o.GetBuffer());
  const std::string params = bytes_of_numbers<int32_t>({1, 2, 2, 2, 2, 0});
  m.input("x", {1, 4, 4, 2}).custom("MaxPoolingWithArgmax2D", {"x"}, {"g", "h"}, {params.begin(), params.end()});
  m.custom("MaxUnpooling2D", {"g", "h"}, {"i"}, {params.begin(), params.end()});
  m.input("v", {1, 2, 2, 2, 1}).floats("k", {2, 1, 2, 1, 1}, {1, 2, 3, 4});
  m.op(132, {"v", "k"}, {"j"}, tables::CreateConv3DOptions(m.b, 0, 1, 1, 1));
  for (const char* name : {"c", "f", "i", "j"}) m.output(name);
  return m.bytes();
}

// A file's notes on itself, and an archive behind it.
std::string notes_and_labels() {
  TfliteModel m;
  m.input("x", {1, 2, 2, 3})
      .numbers("s", {1, 12})
      .op(22, {"x", "s"}, {"y"})
      .output("y")
      .op(14, {"y"}, {"z"})
      .output("z");
  TfliteNotes n;
  n.input("a", "b", n.image(1), {n.normalization({1, 2, 3}, {4}), n.threshold(1)}, n.range({-1}, {1}));
  n.output("c", "", {n.threshold(0.5f)}, {n.file("v", kTfLabelsOfValues)});
  n.output("d", "e", {}, {n.file("w", kTfVocabulary), n.file("l", kTfLabelsOfAxis)});
  m.note("min_runtime_version", "1.5.0").note("TFLITE_METADATA", n.bytes());
  const std::string bytes = m.bytes();
  return bytes + zip_of({{"v", "a\nb\n"}, {"l", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12", true}}, bytes.size());
}

}  // namespace

void run_tflite(std::string_view bytes) { run_imported(bytes, &import_tflite); }

std::vector<std::string> tflite_seeds() {
  return {images(), rows(), whole_numbers(), graphs(), writers(), boxes(), notes_and_labels()};
}

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
