// Operators of TensorFlow Lite by their numbers.
#pragma once

#include <string>

#include "compiler/frontend/tflite/file/model_file.h"

namespace hone::tflite {

/// The number of operators that a file itself names.
inline constexpr int32_t kCustom = 32;

/// Newer files have the number in a field of its own, which older ones do not know.
int32_t number_of(const file::OperatorCode& code);
/// `CONV_2D`; `operator 300` of one that is not known here.
std::string operator_name(int32_t number);
/// The same, or what a file calls an operator of its own: `custom Convolution2DTransposeBias`.
std::string name_of(const file::OperatorCode& code);

}  // namespace hone::tflite
