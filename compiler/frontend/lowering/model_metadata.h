// What a model's file says of itself and of its inputs and outputs, beside what it computes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hone {

/// Words for each place along an axis of a tensor, or for the values of its elements.
struct Labels {
  std::vector<std::string> words;   ///< one line each
  std::optional<size_t> axis = {};  ///< as long as `words`; none: an element n means words[n]
  bool operator==(const Labels&) const = default;
};

/// Of an input or an output; what is empty the file does not say.
struct TensorMetadata {
  std::string name, description;
  std::string content;                ///< image, audio, boxes, features
  std::string colors;                 ///< of an image: rgb, gray
  std::vector<double> mean, std;      ///< of the values x that the file's author has: the model's are (x - mean) / std
  std::vector<double> min, max;       ///< of the model's values, one or one for each channel
  std::optional<double> least_score;  ///< scores below it say nothing
  Labels labels;
  bool operator==(const TensorMetadata&) const = default;
};

struct ModelMetadata {
  std::string name, description, version, author, license;
  std::map<std::string, TensorMetadata> inputs, outputs;  ///< by the names that callers have for them
  std::vector<std::string> left_out;                      ///< parts that are damaged or too large, one line each
  bool operator==(const ModelMetadata&) const = default;
};

}  // namespace hone
