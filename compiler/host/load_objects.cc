#include "compiler/host/load_objects.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/temporary_file.h"
#include "compiler/codegen/llvm/link/link.h"

namespace hone {
namespace {

Artifact load(const TemporaryFile& file, const std::string& name) {
  auto artifact = Artifact::load(file.path(), name);
  HONE_USER_CHECK(artifact.ok()) << message_of(artifact.status());
  return std::move(*artifact);
}

}  // namespace

Artifact load_objects(const std::vector<std::string>& objects, const std::string& name, std::string* linked,
                      size_t most_bytes) {
  const TemporaryFile file("hone-kernel");
  link_shared(objects, file.path());
  if (const auto bytes = std::filesystem::file_size(file.path()); linked && bytes <= most_bytes) {
    linked->resize(bytes);
    std::ifstream in(file.path(), std::ios::binary);
    if (!in.read(linked->data(), static_cast<std::streamsize>(bytes))) linked->clear();
  }
  return load(file, name);
}

Artifact load_bytes(std::string_view shared_object, const std::string& name) {
  const TemporaryFile file("hone-kernel");
  std::ofstream out(file.path(), std::ios::binary);
  out.write(shared_object.data(), static_cast<std::streamsize>(shared_object.size()));
  out.close();
  HONE_USER_CHECK(out.good()) << "cannot write " << file.path() << ": " << std::strerror(errno);
  return load(file, name);
}

}  // namespace hone
