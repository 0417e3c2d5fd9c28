#include "compiler/codegen/artifact/error_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {
namespace {

constexpr int kWrongs = HONE_WRONG_WEIGHTS + 1;
static_assert(kTensorWrongs == HONE_WRONG_ALIGNMENT + 1);

// As DLPack's users write it: `float32`.
std::string words(DType t) {
  if (t.is_bool()) return "uint8";
  const std::string_view kind = t.code == TypeCode::kBFloat ? "bfloat"
                                : t.is_float()              ? "float"
                                : t.code == TypeCode::kInt  ? "int"
                                                            : "uint";
  return fmt::format("{}{}", kind, t.bits);
}

class Sentences {
 public:
  explicit Sentences(const ArtifactDescription& description) : d_(description) {}

  ErrorSentences all() const {
    ErrorSentences out{{"ok", "an access out of bounds was caught; outputs are incomplete", "",
                        "the runtime could not run the iterations", "the GPU did not run it; its runtime knows why",
                        "the model has no result for these inputs: an If takes a branch that its "
                        "shapes do not allow, or that is not supported"},
                       {},
                       d_.has_weights_file ? kWrongs - kTensorWrongs : 0};
    // First the sentences without a tensor; kinds that never name a tensor stand at the end.
    for (int what = 0; what < kTensorWrongs; ++what) out.wrongs.push_back(sentence(what));
    for (size_t i = 0; i < params().size(); ++i)
      for (int what = 0; what < kTensorWrongs; ++what) out.wrongs.push_back(sentence(what, i));
    for (int what = 0; what < out.of_weights; ++what) out.wrongs.push_back(sentence(kTensorWrongs + what));
    return out;
  }

 private:
  using Parameter = ArtifactDescription::Parameter;
  using Variant = ArtifactDescription::Variant;

  const std::vector<Parameter>& params() const { return d_.variants[0].params; }

  // The largest workspace of all variants, in bytes.
  int64_t most_workspace() const {
    int64_t most = 0;
    for (const Variant& v : d_.variants) most = std::max(most, v.run_workspace_bytes);
    return most;
  }

  // The distinct shapes that tensor number `i` has in the variants: `[1, 128]`.
  std::vector<std::string> shapes_of(size_t i) const {
    std::vector<std::string> shapes;
    for (const Variant& v : d_.variants) {
      std::string shape = fmt::format("[{}]", fmt::join(v.params[i].plain.shape, ", "));
      if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(std::move(shape));
    }
    return shapes;
  }

  std::string sentence(int what) const {
    std::vector<std::string> names;
    for (const Parameter& p : params()) names.push_back(p.name);
    switch (what) {
      case HONE_WRONG_RUNTIME:
        return fmt::format("{}: the runtime is {}of a version that it does not know", d_.name,
                           d_.has_gpu ? "missing, has no GPU that runs plain tensors, or is " : "");
      case HONE_WRONG_COUNT:
        return fmt::format("{} takes {} tensors: {}", d_.name, params().size(), fmt::join(names, ", "));
      case HONE_WRONG_WORKSPACE:
        return fmt::format("{}: the workspace is {}not aligned to 64 bytes; it takes {} bytes", d_.name,
                           most_workspace() > 0 ? "null or " : "", most_workspace());
      case HONE_NO_WEIGHTS:
        return fmt::format("{}: its weights are in a file of their own; call {}_weights(path) first", d_.name, d_.name);
      case HONE_WEIGHTS_UNREADABLE: return fmt::format("{}: the file of its weights cannot be read", d_.name);
      case HONE_WRONG_WEIGHTS: return fmt::format("{}: this is not the file of its weights, or not all of it", d_.name);
      default: return d_.name + ": its arguments are wrong";
    }
  }

  // About tensor number `i`.
  std::string sentence(int what, size_t i) const {
    const Parameter& p = params()[i];
    const std::string tensor = fmt::format("{}: {} '{}'", d_.name, name_of(p.role), p.name);
    if (p.cache) return sentence_of_cache(what, i, tensor);
    const std::vector<std::string> shapes = shapes_of(i);
    const std::string type = fmt::format("{} {}", words(p.plain.dtype), fmt::join(shapes, ", "));
    switch (what) {
      case HONE_WRONG_DATA: return fmt::format("{} is missing or has no data", tensor);
      case HONE_WRONG_DEVICE: return fmt::format("{} is not on the CPU", tensor);
      case HONE_WRONG_DTYPE: return fmt::format("{} is of another type than {}", tensor, type);
      case HONE_WRONG_SHAPE:
        if (shapes.size() == 1) return fmt::format("{} has another shape than {}", tensor, type);
        return fmt::format("{} has a shape that no variant has{}; there are {}", tensor,
                           i == 0 ? "" : " beside those of the tensors before it", type);
      case HONE_WRONG_STRIDES: return fmt::format("{} is not row-major without gaps, {}", tensor, type);
      case HONE_WRONG_ALIGNMENT:
        return fmt::format("{} is not aligned to its elements, {} bytes", tensor, p.plain.dtype.bytes());
      default: return fmt::format("{} is wrong", tensor);
    }
  }

  std::string sentence_of_cache(int what, size_t i, const std::string& tensor) const {
    const Parameter& p = params()[i];
    const ArtifactDescription::Parameter::Cache& c = *p.cache;
    const bool is_output = p.role == ParamRole::kOutput;
    std::vector<std::string> extents, strides;
    int64_t stride = 1;
    for (size_t d = p.plain.shape.size(); d-- > 0;) {
      const std::string rows = is_output ? c.symbol + " + 1" : c.symbol;
      extents.insert(extents.begin(), d == c.axis ? rows : std::to_string(p.plain.shape[d]));
      strides.insert(strides.begin(), std::to_string(stride));
      stride *= d == c.axis ? c.room : p.plain.shape[d];
    }
    switch (what) {
      case HONE_WRONG_DATA:
        if (!is_output) return fmt::format("{} is missing or has no data", tensor);
        return fmt::format("{} is missing, has no data, or lies elsewhere than '{}', whose rows it has with one more",
                           tensor, params()[c.input].name);
      case HONE_WRONG_DEVICE:
        if (!d_.has_gpu) return fmt::format("{} is not on the CPU", tensor);
        return fmt::format("{} is neither on the CPU nor on the GPU{}", tensor,
                           is_output ? fmt::format(", or not where '{}' is", params()[c.input].name) : "");
      case HONE_WRONG_DTYPE: return fmt::format("{} is of another type than {}", tensor, words(p.plain.dtype));
      case HONE_WRONG_SHAPE:
        return fmt::format("{} has another shape than {} [{}] with {} from 0 to {}{}", tensor, words(p.plain.dtype),
                           fmt::join(extents, ", "), c.symbol, c.room - 1,
                           i == c.counted_by ? "" : fmt::format(", as '{}' has it", params()[c.counted_by].name));
      case HONE_WRONG_STRIDES:
        return fmt::format("{} has other strides than {}, those of a buffer of {} rows", tensor,
                           fmt::join(strides, ", "), c.room);
      case HONE_WRONG_ALIGNMENT:
        return fmt::format("{} is not aligned to its elements, {} bytes", tensor, p.plain.dtype.bytes());
      default: return fmt::format("{} is wrong", tensor);
    }
  }

  const ArtifactDescription& d_;
};

}  // namespace

ErrorSentences error_sentences(const ArtifactDescription& description) {
  ErrorSentences out = Sentences(description).all();
  // Who prints them need not know that tensors have the names that a model gives them.
  for (std::string& text : out.wrongs) text = clean_line(text);
  return out;
}

}  // namespace hone
