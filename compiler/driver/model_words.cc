#include "compiler/driver/model_words.h"

#include <utility>

namespace hone {

std::string words_of_models_alone(const ModelWords& w) {
  std::string out;
  for (const auto& [flag, is_given] :
       {std::pair("--bind", !w.bind.empty()), std::pair("--shape", !w.shapes.empty()),
        std::pair("--bind-data", !w.bind_data.empty()), std::pair("--input", !w.formats.empty()),
        std::pair("--model-batch", w.model_batch != 1), std::pair("--cache", !w.cache.empty()),
        std::pair("--accumulate", !w.accumulate.empty())})
    if (is_given) out += (out.empty() ? "" : ", ") + std::string(flag);
  return out;
}

}  // namespace hone
