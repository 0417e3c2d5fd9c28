#include "compiler/build/plain_layer.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "compiler/ops/operators.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {

std::optional<Workload> without_preprocessing(const Workload& w) {
  if (!is<ops::Conv2d>(w)) return std::nullopt;
  constexpr int64_t kMostChannels = 4;  // of a picture; of more, blocks of channels are no picture's
  const LayoutChoice& layout = layout_of(w);
  const int64_t channels = conv_shape(w).ci;
  const bool is_interleaved = layout.in_block > 1 && layout.in_block == channels,
             converts = w.attributes.text("dtype").ends_with(":f32:f32:f32");
  if (channels > kMostChannels || !(is_interleaved || converts)) return std::nullopt;
  const std::pair<std::string, std::string> changes[] = {
      {"layout", is_interleaved ? fmt::format("NCHW1c:{}c", layout.out_block) : w.attributes.text("layout")},
      {"dtype", "f32"},
      {"prologue", "none"}};
  try {
    return Workload::changed(w, changes);
  } catch (const UserError&) {  // a layout that there is of pictures alone
    return std::nullopt;
  }
}

}  // namespace hone
