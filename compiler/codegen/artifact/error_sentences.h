// What NAME_error says.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/artifact/description.h"

namespace hone {

/// What a code says beyond its first byte, of a tensor and of none: for each of these kinds there is a sentence.
inline constexpr int kTensorWrongs = 10;

struct ErrorSentences {
  std::vector<std::string> codes;  ///< of codes without more, from HONE_OK on; "" where there is none
  /// Of HONE_BAD_ARGUMENTS: kTensorWrongs for no tensor, as many for each tensor in turn; then `of_weights` that are
  /// only said of none, whose kinds follow the others.
  std::vector<std::string> wrongs;
  int of_weights = 0;
};
/// Each is one clean line (base/text.h).
ErrorSentences error_sentences(const ArtifactDescription& description);

}  // namespace hone
