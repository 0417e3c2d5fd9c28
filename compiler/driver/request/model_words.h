// The words of command lines for a model's request. Each is split here and nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/lowering/import_options.h"
#include "compiler/ir/extents.h"

namespace hone {

/// The value bound to a named dimension, or to all elements of an integer input: a number, or a sum of dimensions and
/// numbers, `past+1`.
struct BindValue {
  int64_t number = 0;
  std::string sum;  ///< empty: it is the number
  bool operator==(const BindValue&) const = default;
};
/// The values of `batch=1|4|16`: a variant of each is built.
struct BindChoice {
  std::string name;
  std::vector<BindValue> values;  ///< at least one
};

/// The values of `x=1x3x48x192|1x3x48x320`.
struct ShapeChoice {
  std::string input;
  std::vector<Extents> values;  ///< at least one
};

/// An input that becomes a constant: `axes=axes.npy`.
struct BoundFile {
  std::string input, path;
};

/// A definition in the place of nodes of the model's own: `ai.onnx::Softmax=my::softmax`, `encoder/*=my::block`.
struct ReplacedNode {
  std::string pattern, op;
};

/// These read words as --bind, --shape, --bind-data, --replace, --cache and --threads have them. UserError, one line
/// that begins with the flag, for other texts and for a value that is there twice.
BindChoice bind_choice(const std::string& text);
ShapeChoice shape_choice(const std::string& text);
BoundFile bound_file(const std::string& text);
ReplacedNode replaced_node(const std::string& text);
CacheOption cache_option(const std::string& text);
/// `2` or `1|2`: the most first; none of an empty text.
std::vector<int> thread_counts(const std::string& text);

/// The same as words: `batch=1|4`, `x=1x3x48x192`, `axes=axes.npy`, `past=1023`, `1|2`.
std::string to_string(const BindValue& value);
std::string to_string(const BindChoice& choice);
std::string to_string(const ShapeChoice& choice);
std::string to_string(const BoundFile& file);
std::string to_string(const ReplacedNode& replaced);
std::string to_string(const CacheOption& cache);
std::string shape_text(const Extents& shape);
std::string threads_text(const std::vector<int>& threads);

}  // namespace hone
