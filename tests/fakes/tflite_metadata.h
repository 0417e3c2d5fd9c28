// Metadata of TensorFlow Lite's files, made by hand: the notes, and archives behind the model.
#pragma once

#include <zlib.h>

#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/tflite/metadata_generated.h"

namespace hone {

namespace notes = tflite::metadata;

/// The public schema's numbers of files' kinds.
enum TfliteFileKind : int8_t { kTfLabelsOfAxis = 2, kTfLabelsOfValues = 3, kTfVocabulary = 5 };

/// The buffer TFLITE_METADATA of a model.
class TfliteNotes {
 public:
  flatbuffers::FlatBufferBuilder b;  ///< for parts of tensors

  using Units = std::vector<flatbuffers::Offset<notes::Unit>>;
  using Files = std::vector<flatbuffers::Offset<notes::AssociatedFile>>;

  flatbuffers::Offset<notes::Content> image(int8_t colors) {
    return notes::CreateContent(b, notes::Kind::Image, notes::CreateImage(b, colors).Union());
  }
  flatbuffers::Offset<notes::Unit> normalization(const std::vector<float>& mean, const std::vector<float>& std) {
    return notes::CreateUnit(b, notes::Options::Normalization,
                             notes::CreateNormalizationDirect(b, &mean, &std).Union());
  }
  flatbuffers::Offset<notes::Unit> threshold(float least) {
    return notes::CreateUnit(b, notes::Options::Threshold, notes::CreateThreshold(b, least).Union());
  }
  flatbuffers::Offset<notes::Stats> range(const std::vector<float>& min, const std::vector<float>& max) {
    return notes::CreateStatsDirect(b, &max, &min);
  }
  flatbuffers::Offset<notes::AssociatedFile> file(const std::string& name, int8_t kind) {
    return notes::CreateAssociatedFileDirect(b, name.c_str(), kind);
  }
  TfliteNotes& input(const char* name, const char* description, flatbuffers::Offset<notes::Content> content = 0,
                     const Units& units = {}, flatbuffers::Offset<notes::Stats> range = 0, const Files& files = {}) {
    inputs_.push_back(notes::CreateTensorDirect(b, name, description, content, &units, range, &files));
    return *this;
  }
  TfliteNotes& output(const char* name, const char* description, const Units& units = {}, const Files& files = {}) {
    outputs_.push_back(notes::CreateTensorDirect(b, name, description, 0, &units, 0, &files));
    return *this;
  }
  /// The bytes; it is of no use afterwards.
  std::string bytes() {
    const std::vector<flatbuffers::Offset<notes::SubGraph>> graphs{notes::CreateSubGraphDirect(b, &inputs_, &outputs_)};
    notes::FinishModelBuffer(
        b, notes::CreateModelDirect(b, "a net", "tells cats from dogs", "v3", &graphs, "somebody", "Apache-2.0"));
    return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
  }

 private:
  std::vector<flatbuffers::Offset<notes::Tensor>> inputs_, outputs_;
};

/// A file of an archive, as it says it is.
struct ZipEntry {
  std::string name, content;
  bool is_deflated = false;
  int64_t more_size = 0;  ///< by how much the size that the archive says is larger than it is
  uint16_t flags = 0;
};

/// An archive that begins behind `begin` bytes of a file.
inline std::string zip_of(const std::vector<ZipEntry>& entries, size_t begin) {
  std::string out, list;
  const auto number = [](std::string& to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> 8 * i & 0xff);
  };
  for (const ZipEntry& e : entries) {
    std::string packed = e.content;
    if (e.is_deflated) {
      z_stream stream = {};
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
      packed.resize(deflateBound(&stream, e.content.size()));
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(e.content.data()));
      stream.avail_in = static_cast<uInt>(e.content.size());
      stream.next_out = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream, Z_FINISH);
      packed.resize(stream.total_out);
      deflateEnd(&stream);
    }
    std::string fields;  // that both headers have
    number(fields, e.flags, 2), number(fields, e.is_deflated ? 8 : 0, 2), number(fields, 0, 4);
    number(fields, crc32(0, reinterpret_cast<const Bytef*>(e.content.data()), static_cast<uInt>(e.content.size())), 4);
    number(fields, packed.size(), 4), number(fields, e.content.size() + static_cast<uint64_t>(e.more_size), 4);
    number(fields, e.name.size(), 2), number(fields, 0, 2);
    list += "PK\1\2", number(list, 20, 2), number(list, 20, 2), list += fields;
    number(list, 0, 10), number(list, begin + out.size(), 4), list += e.name;
    out += "PK\3\4", number(out, 20, 2), out += fields + e.name + packed;
  }
  const size_t at = begin + out.size();
  out += list + "PK\5\6";
  number(out, 0, 4), number(out, entries.size(), 2), number(out, entries.size(), 2);
  number(out, list.size(), 4), number(out, at, 4), number(out, 0, 2);
  return out;
}

}  // namespace hone
