#include "rpc/gate/http_auth.h"

#include <openssl/evp.h>
#include <strings.h>

#include <vector>

namespace hone::gate {
namespace {

constexpr size_t kMaxEncoded = 1024;

std::string decode_base64(std::string_view text) {
  if (text.empty() || text.size() > kMaxEncoded || text.size() % 4 != 0) return "";
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return "";
  size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

}  // namespace

std::string token_in_header(std::string_view authorization) {
  const size_t space = authorization.find(' ');
  if (space == std::string_view::npos) return "";
  const std::string scheme(authorization.substr(0, space));  // of any case, says HTTP
  const std::string_view rest = authorization.substr(space + 1);
  if (strcasecmp(scheme.c_str(), "bearer") == 0) return std::string(rest);
  if (strcasecmp(scheme.c_str(), "basic") != 0) return "";
  const std::string pair = decode_base64(rest);
  const size_t colon = pair.find(':');
  return colon == std::string::npos ? "" : pair.substr(colon + 1);
}

}  // namespace hone::gate
