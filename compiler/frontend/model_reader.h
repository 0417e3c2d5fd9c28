// Models' files of any format that Hone reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontend/lowering/import_options.h"
#include "compiler/frontend/lowering/imported_model.h"
#include "compiler/ops/operator.h"

namespace hone {

/// A format and who reads it. The functions throw UserError, lines that begin with the path, for a file that is not of
/// the format or not supported.
struct ModelFormat {
  std::string_view name;  ///< `ONNX`
  /// Whether a file is of this format, by its path and the first kMostOfBegin bytes of it (all, where it has fewer).
  /// Null: the format of all files that no other format knows.
  bool (*knows)(std::string_view path, std::string_view begin);
  ImportedModel (*read)(const std::string& path, const OperatorTable& operators, const ImportOptions& options);
  /// A decoder whose caches grow in place. Null: the format has none.
  GrowingModel (*read_growing)(const std::string& path, const OperatorTable& operators, const ImportOptions& options,
                               const CacheOption& cache);
  /// Names of the inputs that a caller gives, in order.
  std::vector<std::string> (*input_names)(const std::string& path);
  /// The path, and those of files that the model has its data in, each once, whether they are there or not.
  std::vector<std::string> (*files)(const std::string& path);
};

/// How much of a file its format is known by.
inline constexpr int64_t kMostOfBegin = 64;

/// All formats; the last one is that which `knows` nothing.
std::span<const ModelFormat> model_formats();
/// The first of `formats` that knows the file, else the last: of a file that cannot be read, too, which its reader
/// says.
const ModelFormat& format_of(const std::string& path, std::span<const ModelFormat> formats = model_formats());

/// Each calls the reader of the file's format. UserError for growing caches when the format does not have them.
ImportedModel import_model(const std::string& path, const OperatorTable& operators, const ImportOptions& options,
                           std::span<const ModelFormat> formats = model_formats());
GrowingModel import_growing_model(const std::string& path, const OperatorTable& operators, const ImportOptions& options,
                                  const CacheOption& cache, std::span<const ModelFormat> formats = model_formats());
std::vector<std::string> model_input_names(const std::string& path,
                                           std::span<const ModelFormat> formats = model_formats());
std::vector<std::string> model_files(const std::string& path, std::span<const ModelFormat> formats = model_formats());

}  // namespace hone
