// A model file's notes on the model, its inputs and its outputs, beside what it computes.
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

/// Notes on an input or an output; the file says nothing of members that are empty.
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
