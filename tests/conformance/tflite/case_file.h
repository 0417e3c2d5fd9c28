// Files between these tests and the program that runs TensorFlow Lite, and the answers that are kept. In all of the
// former, numbers are of 32 bits, the lowest byte first, and a text is its size and its bytes.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/tflite/case.h"

namespace hone {

/// A number of cases; of each its name, its model, a number of calls; of each of these a number of inputs, and their
/// bytes.
std::string cases_as_bytes(const TfliteCases& cases);

struct AnswerTensor {
  int8_t type = 0;  ///< TensorFlow Lite's number
  std::vector<int32_t> shape;
  std::string bytes;
  bool operator==(const AnswerTensor&) const = default;
};
/// The answer of TensorFlow Lite for a case.
struct TfliteAnswer {
  std::string name, case_hash;
  std::string error;                             ///< empty: it has answers
  std::vector<std::vector<AnswerTensor>> calls;  ///< the outputs of each
};

/// A hash of the model and its inputs: when it changes, answers are no longer of this case.
std::string hash_of(const TfliteCase& c);

/// Reads `tensorflow_lite`'s output: a number of cases; of each its name, an error, and without one a number of calls;
/// of each of these a number of outputs; of each of these its type, its rank, its extents, and its bytes. Hashes are
/// those of `cases`, which have the same order.
std::vector<TfliteAnswer> results_of_bytes(const std::string& bytes, const TfliteCases& cases);

/// Answers as text, a line each: `NAME: HASH`, and the calls, divided by `;`, each with its outputs
/// ` TYPE[EXTENTS]=BYTES`, of base 64.
std::string text_of_answers(const std::vector<TfliteAnswer>& answers);
/// InternalError for another text.
std::vector<TfliteAnswer> answers_of_text(const std::string& text);

/// Nothing where `got` is `wanted` within the bound, and few whole numbers are a step apart; else the first element
/// that is not, or how many.
std::string difference_of(const AnswerTensor& got, const AnswerTensor& wanted, const AnswerBound& bound);

/// The file with the answers that are kept.
std::string path_of_answers();
std::vector<TfliteAnswer> kept_answers();

}  // namespace hone
