#include "compiler/frontend/model_reader.h"

#include <algorithm>

#include "base/check.h"
#include "base/plain_file.h"
#include "compiler/frontend/onnx/file/external_files.h"
#include "compiler/frontend/onnx/import.h"
#include "compiler/frontend/onnx/import_growing.h"
#include "compiler/frontend/tflite/import.h"

namespace hone {
namespace {

// The first bytes; none of a file that cannot be read.
std::string begin_of(const std::string& path) {
  const StatusOr<PlainFile> file = PlainFile::open(path);
  if (!file.ok()) return "";
  return file->next(kMostOfBegin).value_or("");
}

}  // namespace

std::span<const ModelFormat> model_formats() {
  static constexpr ModelFormat kFormats[] = {
      {"TensorFlow Lite", &knows_tflite, &import_tflite, nullptr, &tflite_input_names, &tflite_files},
      // ONNX's files begin with any field of a message.
      {"ONNX", nullptr, &import_onnx, &import_growing_onnx, &onnx_input_names, &onnx_files},
  };
  return kFormats;
}

const ModelFormat& format_of(const std::string& path, std::span<const ModelFormat> formats) {
  const std::span<const ModelFormat> known = formats.first(formats.size() - 1);
  if (known.empty()) return formats.back();
  const std::string begin = begin_of(path);
  const auto format =
      std::find_if(known.begin(), known.end(), [&](const ModelFormat& f) { return f.knows(path, begin); });
  return format == known.end() ? formats.back() : *format;
}

ImportedModel import_model(const std::string& path, const OperatorTable& operators, const ImportOptions& options,
                           std::span<const ModelFormat> formats) {
  return format_of(path, formats).read(path, operators, options);
}

GrowingModel import_growing_model(const std::string& path, const OperatorTable& operators, const ImportOptions& options,
                                  const CacheOption& cache, std::span<const ModelFormat> formats) {
  const ModelFormat& format = format_of(path, formats);
  HONE_USER_CHECK(format.read_growing) << path << ": --cache " << cache.symbol << ": models of " << format.name
                                       << " have no caches that grow";
  return format.read_growing(path, operators, options, cache);
}

std::vector<std::string> model_input_names(const std::string& path, std::span<const ModelFormat> formats) {
  return format_of(path, formats).input_names(path);
}

std::vector<std::string> model_files(const std::string& path, std::span<const ModelFormat> formats) {
  return format_of(path, formats).files(path);
}

}  // namespace hone
