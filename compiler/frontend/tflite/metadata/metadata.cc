#include "compiler/frontend/tflite/metadata/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "compiler/frontend/tflite/metadata/zip.h"
#include "compiler/frontend/tflite/metadata_generated.h"

namespace hone::tflite {
namespace {

constexpr size_t kMostOfWord = 200, kMostOfNote = 4000;  // bytes of names and labels; of descriptions
constexpr size_t kMostLabelBytes = 4 << 20, kMostLabels = 1 << 16;
constexpr size_t kMostChannels = 1 << 12;
constexpr size_t kMostUnits = 64, kMostFilesOfTensor = 64;
constexpr size_t kMostLeftOut = 8;
constexpr int kDeepestNotes = 16, kMostNoteTables = 1 << 16;

// The public schema's numbers.
constexpr int kRgb = 1, kGray = 2;
constexpr int kLabelsOfAxis = 2, kLabelsOfValues = 3;

using flatbuffers::uoffset_t;

std::string note_text(const flatbuffers::String* s, size_t most = kMostOfNote) {
  return s ? short_line(s->string_view(), most) : "";
}

// The element at `i`; null behind the end, and where there is no vector.
template <class T>
const T* element(const flatbuffers::Vector<flatbuffers::Offset<T>>* list, size_t i) {
  return list && i < list->size() ? list->Get(static_cast<uoffset_t>(i)) : nullptr;
}
template <class T>
size_t count_of(const T* list) {
  return list ? list->size() : 0;
}

class NoteReader {
 public:
  NoteReader(const ModelFile& file, const Graph& graph, const metadata::Model& notes)
      : file_(file), graph_(graph), notes_(notes) {}

  ModelMetadata read(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    out_.name = note_text(notes_.name(), kMostOfWord);
    out_.description = note_text(notes_.description());
    out_.version = note_text(notes_.version(), kMostOfWord);
    out_.author = note_text(notes_.author(), kMostOfWord);
    out_.license = note_text(notes_.license());
    if (const metadata::SubGraph* g = element(notes_.subgraphs(), 0)) {
      read_ports("input", g->inputs(), inputs, graph_.inputs, &out_.inputs);
      read_ports("output", g->outputs(), outputs, graph_.outputs, &out_.outputs);
    }
    return std::move(out_);
  }

 private:
  using Tensors = flatbuffers::Vector<flatbuffers::Offset<metadata::Tensor>>;

  void leave_out(const std::string& what, const std::string& why) {
    if (out_.left_out.size() < kMostLeftOut) out_.left_out.push_back(what + ": " + why);
  }

  void read_ports(const char* kind, const Tensors* notes, const std::vector<std::string>& names,
                  const std::vector<Port>& ports, std::map<std::string, TensorMetadata>* out) {
    if (count_of(notes) == 0) return;
    if (count_of(notes) != names.size())
      return leave_out(fmt::format("{}s", kind),
                       fmt::format("the notes are of {}, the model has {}", count_of(notes), names.size()));
    for (size_t i = 0; i < names.size(); ++i) {
      const auto port = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == names[i]; });
      if (port == ports.end()) continue;  // an input that became a constant
      const TensorMetadata made =
          of_tensor(*element(notes, i), port->type.shape, fmt::format("{} '{}'", kind, names[i]));
      if (made != TensorMetadata()) out->emplace(names[i], made);
    }
  }

  TensorMetadata of_tensor(const metadata::Tensor& t, const Extents& shape, const std::string& what) {
    TensorMetadata m;
    m.name = note_text(t.name(), kMostOfWord);
    m.description = note_text(t.description());
    if (t.content()) read_content(*t.content(), &m);
    if (count_of(t.units()) > kMostUnits) leave_out(what, fmt::format("steps behind the first {}", kMostUnits));
    for (size_t i = 0; i < std::min(count_of(t.units()), kMostUnits); ++i) read_unit(*element(t.units(), i), what, &m);
    if (t.stats()) {
      read_numbers(t.stats()->min(), what + ": its least values", &m.min);
      read_numbers(t.stats()->max(), what + ": its largest values", &m.max);
    }
    read_labels(t, shape, what, &m.labels);
    return m;
  }

  static void read_content(const metadata::Content& c, TensorMetadata* m) {
    if (c.kind_as_Features()) m->content = "features";
    if (c.kind_as_Boxes()) m->content = "boxes";
    if (c.kind_as_Audio()) m->content = "audio";
    if (const metadata::Image* image = c.kind_as_Image()) {
      m->content = "image";
      m->colors = image->color_space() == kRgb ? "rgb" : image->color_space() == kGray ? "gray" : "";
    }
  }

  void read_unit(const metadata::Unit& unit, const std::string& what, TensorMetadata* m) {
    if (const metadata::Normalization* n = unit.options_as_Normalization()) {
      std::vector<double> mean, std;
      const bool is_whole =
          read_numbers(n->mean(), what + ": its mean", &mean) && read_numbers(n->std(), what + ": its std", &std);
      if (std::find(std.begin(), std.end(), 0) != std.end())
        leave_out(what + ": its mean and std", "a std of 0");
      else if (is_whole)  // one without the other would be half of the truth
        m->mean = std::move(mean), m->std = std::move(std);
    }
    if (const metadata::Threshold* threshold = unit.options_as_Threshold()) {
      if (std::isfinite(threshold->least()))
        m->least_score = threshold->least();
      else
        leave_out(what + ": its least score", "it is not finite");
    }
  }

  // Whether they are as they should be, which none are, too.
  bool read_numbers(const flatbuffers::Vector<float>* numbers, const std::string& what, std::vector<double>* out) {
    if (count_of(numbers) > kMostChannels) {
      leave_out(what, fmt::format("more than {} numbers", kMostChannels));
      return false;
    }
    for (size_t i = 0; i < count_of(numbers); ++i) out->push_back(numbers->Get(static_cast<uoffset_t>(i)));
    const bool are_finite = std::all_of(out->begin(), out->end(), [](double v) { return std::isfinite(v); });
    if (!are_finite) leave_out(what, "a number that is not finite"), out->clear();
    return are_finite;
  }

  // The first file with labels counts: further ones are in other languages.
  void read_labels(const metadata::Tensor& t, const Extents& shape, const std::string& what, Labels* labels) {
    for (size_t i = 0; i < std::min(count_of(t.files()), kMostFilesOfTensor); ++i) {
      const metadata::AssociatedFile& f = *element(t.files(), i);
      if (f.type() != kLabelsOfAxis && f.type() != kLabelsOfValues) continue;
      const std::string name = f.name() ? f.name()->str() : "";
      try {
        *labels = {words_of(name), std::nullopt};
        if (f.type() == kLabelsOfAxis) labels->axis = axis_of(labels->words.size(), shape);
      } catch (const UserError& e) {
        *labels = {};
        leave_out(fmt::format("{}: its labels, {}", what, short_line(name, kMostOfWord)), e.what());
      }
      return;
    }
  }

  std::vector<std::string> words_of(const std::string& name) {
    if (!zip_) zip_.emplace(file_.bytes());
    const std::string text = zip_->read(name, kMostLabelBytes);
    std::vector<std::string> words;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::string_view line = std::string_view(text).substr(begin, end - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      HONE_USER_CHECK(words.size() < kMostLabels) << "more than " << kMostLabels << " lines";
      words.push_back(short_line(line, kMostOfWord));
      begin = end + 1;
    }
    return words;
  }

  // The last axis that is as long.
  static size_t axis_of(size_t count, const Extents& shape) {
    for (size_t axis = shape.size(); axis-- > 0;)
      if (shape[axis] == static_cast<int64_t>(count)) return axis;
    throw UserError(fmt::format("{} lines, and no axis of {} places", count, count));
  }

  const ModelFile& file_;
  const Graph& graph_;
  const metadata::Model& notes_;
  std::optional<Zip> zip_;
  ModelMetadata out_;
};

}  // namespace

ModelMetadata metadata_of(const ModelFile& file, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const Graph& graph) {
  ModelMetadata nothing;
  try {
    // A copy, since a vector of bytes may begin anywhere in a file.
    const std::string bytes(file.note("TFLITE_METADATA"));
    if (bytes.empty()) return nothing;
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), kDeepestNotes,
                                   kMostNoteTables);
    HONE_USER_CHECK(bytes.size() >= 8 && metadata::VerifyModelBuffer(verifier))
        << "it is none of the public schema, or damaged";
    return NoteReader(file, graph, *metadata::GetModel(bytes.data())).read(inputs, outputs);
  } catch (const UserError& e) {
    nothing.left_out.push_back(e.what());
    return nothing;
  }
}

}  // namespace hone::tflite
