// Text that crosses the wire: protobuf's strings must be UTF-8, and ours are one line.
#include "base/text.h"
#include "rpc/wire/messages/convert_fields.h"

namespace hone::wire {

bool detail::has_controls(std::string_view text) { return hone::has_controls(text); }

std::string clean_line(std::string_view text, size_t most) { return hone::clean_line(text, most); }

}  // namespace hone::wire
