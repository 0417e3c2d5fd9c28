// The notes in files of TensorFlow Lite: read where it is sound, left out and said where it is not; a model
// is never refused for it.
#include <cstdlib>
#include <random>

#include "tests/fakes/tflite_pets.h"
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A picture of 2 x 2 pixels, three scores.
TfliteModel picture_model() {
  TfliteModel m;
  m.input("image", {1, 2, 2, 3}).numbers("flat", {1, 12}).op(22, {"image", "flat"}, {"row"});
  m.floats("w", {3, 12}, some_numbers(36, 1)).floats("b", {3}, {1, 2, 3});
  m.op(9, {"row", "w", "b"}, {"scores"}, tables::CreateFullyConnectedOptions(m.b)).output("scores");
  return m;
}

const std::vector<ZipEntry> kLabels = {{"other.txt", "nothing"}, {"labels.txt", "cat\ndog\r\na \x1b bird\n", true}};

// Its bytes with these notes and this archive behind them.
std::string file_with(const std::string& notes, const std::vector<ZipEntry>& files) {
  TfliteModel m = picture_model();
  if (!notes.empty()) m.note("min_runtime_version", "1.14.0").note("TFLITE_METADATA", notes);
  const std::string model = m.bytes();
  return files.empty() ? model : model + zip_of(files, model.size());
}

ModelMetadata metadata_in(const std::string& bytes) {
  const TfliteFolder f;
  f.write(bytes);
  return import_tflite(f.path(), test_operators()).metadata;
}

std::string whole_notes() {
  TfliteNotes n;
  n.input("picture", "a pet", n.image(1), {n.normalization({127.5f, 0, 1}, {128})}, n.range({-1}, {1}));
  n.output("probability", "how sure", {n.threshold(0.25f)}, {n.file("labels.txt", kTfLabelsOfAxis)});
  return n.bytes();
}

TEST(TfliteMetadata, SaysWhatTheFileSays) {
  const ModelMetadata m = metadata_in(file_with(whole_notes(), kLabels));
  EXPECT_THAT(m.left_out, IsEmpty());
  EXPECT_EQ(m.name, "a net");
  EXPECT_EQ(m.description, "tells cats from dogs");
  EXPECT_EQ(m.version, "v3");
  EXPECT_EQ(m.author, "somebody");
  EXPECT_EQ(m.license, "Apache-2.0");
  TensorMetadata image;
  image.name = "picture", image.description = "a pet", image.content = "image", image.colors = "rgb";
  image.mean = {127.5, 0, 1}, image.std = {128}, image.min = {-1}, image.max = {1};
  EXPECT_THAT(m.inputs, ElementsAre(testing::Pair("image", image)));
  TensorMetadata scores;
  scores.name = "probability", scores.description = "how sure", scores.least_score = 0.25;
  scores.labels = {{"cat", "dog", "a   bird"}, 1};
  EXPECT_THAT(m.outputs, ElementsAre(testing::Pair("scores", scores)));
}

TEST(TfliteMetadata, IsNothingWhereTheFileHasNone) {
  EXPECT_EQ(metadata_in(file_with("", {})), ModelMetadata());
  EXPECT_EQ(metadata_in(file_with("", kLabels)), ModelMetadata()) << "files that nothing speaks of";
}

TEST(TfliteMetadata, HasTheNamesOfASignature) {
  TfliteModel m = picture_model();
  m.signature({{"pixels", "image"}}, {{"classes", "scores"}}).note("TFLITE_METADATA", whole_notes());
  const std::string bytes = m.bytes();
  const ModelMetadata read = metadata_in(bytes + zip_of(kLabels, bytes.size()));
  EXPECT_EQ(read.inputs.at("pixels").mean.size(), 3u);
  EXPECT_EQ(read.outputs.at("classes").labels.words.size(), 3u);
}

// The offsets of an archive may count from where it begins, or from the begin of the file.
TEST(TfliteMetadata, ReadsArchivesOfBothKinds) {
  TfliteModel m = picture_model();
  m.note("TFLITE_METADATA", whole_notes());
  const std::string bytes = m.bytes();
  EXPECT_EQ(metadata_in(bytes + zip_of(kLabels, 0)).outputs.at("scores").labels.words.size(), 3u);
}

TEST(TfliteMetadata, LabelsOfValuesNeedNoAxis) {
  TfliteNotes n;
  n.input("x", "").output("class", "", {}, {n.file("v", kTfVocabulary), n.file("labels.txt", kTfLabelsOfValues)});
  const ModelMetadata m = metadata_in(file_with(n.bytes(), {{"labels.txt", "a\nb"}}));
  EXPECT_EQ(m.outputs.at("scores").labels, (Labels{{"a", "b"}, std::nullopt}));
  EXPECT_THAT(m.left_out, IsEmpty());
}

// The message on labels that cannot be read; the rest of the notes stays.
std::string left_out_of(const std::vector<ZipEntry>& files) {
  const ModelMetadata m = metadata_in(file_with(whole_notes(), files));
  EXPECT_EQ(m.inputs.at("image").content, "image");
  EXPECT_EQ(m.outputs.at("scores").labels, Labels());
  EXPECT_EQ(m.outputs.at("scores").least_score, 0.25);
  if (m.left_out.size() != 1) return "nothing";
  const std::string begin = "output 'scores': its labels, labels.txt: ";
  EXPECT_EQ(m.left_out[0].substr(0, begin.size()), begin);
  return m.left_out[0].substr(std::min(begin.size(), m.left_out[0].size()));
}

TEST(TfliteMetadata, LabelsThatCannotBeReadAreSaid) {
  const std::string good = "cat\ndog\nbird\n";
  EXPECT_EQ(left_out_of({}), "there is no such file behind the model");
  EXPECT_EQ(left_out_of({{"label.txt", good}}), "there is no such file behind the model");
  EXPECT_EQ(left_out_of({{"labels.txt", "cat\ndog\n"}}), "2 lines, and no axis of 2 places");
  EXPECT_EQ(left_out_of({{"labels.txt", ""}}), "0 lines, and no axis of 0 places");
  EXPECT_EQ(left_out_of({{"labels.txt", good, true, -1}}), "it is damaged, or larger than the archive says");
  EXPECT_EQ(left_out_of({{"labels.txt", good, true, 1}}), "it is damaged, or larger than the archive says");
  EXPECT_EQ(left_out_of({{"labels.txt", good, false, 1}}), "it is damaged");
  EXPECT_EQ(left_out_of({{"labels.txt", good, true, 0, 1}}), "it is encrypted, which is not supported");
  EXPECT_THAT(left_out_of({{"labels.txt", std::string(65537, '\n')}}), HasSubstr("more than 65536 lines"));
}

TEST(TfliteMetadata, ABombStaysPacked) {
  const std::string zeros(size_t{16} << 20, '\0');
  EXPECT_EQ(left_out_of({{"labels.txt", zeros, true}}), "it has 16777216 bytes; 4194304 are the most");
  // One that says it is small is not unpacked further than it says.
  EXPECT_EQ(left_out_of({{"labels.txt", zeros, true, 1000 - static_cast<int64_t>(zeros.size())}}),
            "it is damaged, or larger than the archive says");
}

TEST(TfliteMetadata, NotesThatAreNoneAreLeftOut) {
  for (const std::string& notes : {std::string("hello"), std::string(100, '\0'), std::string(100, '\xff'),
                                   whole_notes().substr(0, whole_notes().size() / 2)})
    EXPECT_THAT(metadata_in(file_with(notes, kLabels)).left_out,
                ElementsAre("it is none of the public schema, or damaged"));
  TfliteModel m = picture_model();
  m.note_at("TFLITE_METADATA", 99);
  EXPECT_THAT(metadata_in(m.bytes()).left_out, ElementsAre(HasSubstr("TFLITE_METADATA: its buffer is 99; there are")));
  TfliteModel outside = picture_model();
  outside.note_at("TFLITE_METADATA", outside.buffer_at(uint64_t{1} << 40, 8));
  EXPECT_THAT(metadata_in(outside.bytes()).left_out, ElementsAre(HasSubstr("lie outside of the file")));
}

TEST(TfliteMetadata, NotesOfOtherTensorsAreLeftOut) {
  TfliteNotes n;
  n.input("a", "").input("b", "").output("c", "");
  const ModelMetadata m = metadata_in(file_with(n.bytes(), {}));
  EXPECT_THAT(m.left_out, ElementsAre("inputs: the notes are of 2, the model has 1"));
  EXPECT_EQ(m.outputs.at("scores").name, "c");
}

TEST(TfliteMetadata, NumbersThatNobodyCanUseAreLeftOut) {
  const auto left_out = [](const std::vector<float>& mean, const std::vector<float>& std, float least) {
    TfliteNotes n;
    n.input("x", "", 0, {n.normalization(mean, std)}).output("y", "", {n.threshold(least)});
    const ModelMetadata m = metadata_in(file_with(n.bytes(), {}));
    EXPECT_THAT(m.inputs.at("image").mean, IsEmpty());
    EXPECT_THAT(m.inputs.at("image").std, IsEmpty());
    return m.left_out;
  };
  const float none = std::numeric_limits<float>::quiet_NaN(), endless = std::numeric_limits<float>::infinity();
  EXPECT_THAT(left_out({1}, {0}, 1), ElementsAre("input 'image': its mean and std: a std of 0"));
  EXPECT_THAT(left_out({none}, {1}, 1), ElementsAre("input 'image': its mean: a number that is not finite"));
  EXPECT_THAT(left_out({1}, {endless}, 1), ElementsAre("input 'image': its std: a number that is not finite"));
  EXPECT_THAT(left_out(std::vector<float>(5000, 1), {1}, 1),
              ElementsAre("input 'image': its mean: more than 4096 numbers"));
  EXPECT_THAT(left_out({1}, {0}, none), ElementsAre(HasSubstr("a std of 0"), HasSubstr("least score: it is not")));
}

// Texts of a file come to terminals and to JSON.
TEST(TfliteMetadata, TextsAreShortCleanLines) {
  TfliteNotes n;
  const std::string description = "\x1b[2J\xff" + std::string(10000, 'x');
  n.input(description.c_str(), description.c_str()).output("y", "");
  const TensorMetadata m = metadata_in(file_with(n.bytes(), {})).inputs.at("image");
  EXPECT_EQ(m.name.substr(0, 6), " [2J?x");
  constexpr size_t kMore = 3;  // of "…"
  EXPECT_LE(m.name.size(), 200u + kMore);
  EXPECT_EQ(m.description.size(), 4000u + kMore);
}

// Whatever the bytes of notes and archive are: the model is read.
TEST(TfliteMetadata, MutatedBytesAreNoReasonToRefuse) {
  const std::string bytes = file_with(whole_notes(), kLabels);
  const size_t notes = bytes.find("M001"), archive = bytes.find("PK\3\4");
  ASSERT_NE(notes, std::string::npos);
  ASSERT_NE(archive, std::string::npos);
  const TfliteFolder f;
  std::mt19937_64 rng(1);
  int whole = 0, damaged = 0;
  for (int i = 0; i < 600; ++i) {
    std::string other = bytes;
    const size_t begin = i % 2 ? archive : notes - 4, size = i % 2 ? bytes.size() - archive : whole_notes().size();
    for (int n = 0; n < 1 + i % 4; ++n) {
      char& at = other[begin + rng() % size];
      at = static_cast<char>(i % 3 ? static_cast<int>(rng()) : at + (rng() % 2 ? 1 : -1));
    }
    f.write(other);
    const ModelMetadata m = import_tflite(f.path(), test_operators()).metadata;
    for (const std::string& line : m.left_out) EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    ++(m.left_out.empty() ? whole : damaged);
  }
  EXPECT_GT(whole, 30) << "bytes of texts and numbers may be any";
  EXPECT_GT(damaged, 100);
}

// Cut off in the archive: the list is at its end.
TEST(TfliteMetadata, ArchivesThatAreCutOff) {
  const std::string bytes = file_with(whole_notes(), kLabels);
  for (size_t size = bytes.find("PK\3\4"); size < bytes.size(); ++size)
    EXPECT_EQ(metadata_in(bytes.substr(0, size)).left_out.size(), 1u) << size;
}

// HONE_WRITE_DATA=tests/data build/bin/unit_tflite --gtest_filter='*SampleFile*' writes it.
TEST(TfliteMetadata, TheSampleFileIsUpToDate) {
  const char* const folder = std::getenv("HONE_WRITE_DATA");
  const std::string path = std::string(folder ? folder : HONE_SOURCE_DIR "/tests/data") + "/pets.tflite";
  if (folder) std::ofstream(path, std::ios::binary) << pets_tflite();
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(file), {}) == pets_tflite()) << path;
}

}  // namespace
}  // namespace hone::tflite
