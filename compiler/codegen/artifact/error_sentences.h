// The sentences of NAME_error.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/artifact/description.h"

namespace hone {

/// The number of kinds of faults (second byte of a code), of a tensor or of none; each kind has a sentence.
inline constexpr int kTensorWrongs = 10;

struct ErrorSentences {
  std::vector<std::string> codes;  ///< of codes without more, from HONE_OK on; "" where there is none
  /// The sentences of HONE_BAD_ARGUMENTS: kTensorWrongs without a tensor, as many for each tensor in turn; then
  /// `of_weights` for further kinds, which never name a tensor.
  std::vector<std::string> wrongs;
  int of_weights = 0;
};
/// Each is one clean line (base/text.h).
ErrorSentences error_sentences(const ArtifactDescription& description);

}  // namespace hone
