#include "compiler/host/load_objects.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "compiler/codegen/llvm/link/link.h"

namespace hone {
namespace {

// A new file, gone with this object.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder && *folder ? folder : "/tmp") + "/hone-kernel-XXXXXX";
    const int fd = mkstemp(path_.data());
    HONE_USER_CHECK(fd >= 0) << "cannot make a file in " << path_ << ": " << std::strerror(errno);
    close(fd);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  Artifact load(const std::string& name) const {
    auto artifact = Artifact::load(path_, name);
    HONE_USER_CHECK(artifact.ok()) << message_of(artifact.status());
    return std::move(*artifact);
  }

 private:
  std::string path_;
};

}  // namespace

Artifact load_objects(const std::vector<std::string>& objects, const std::string& name, std::string* linked,
                      size_t most_bytes) {
  const TemporaryFile file;
  link_shared(objects, file.path());
  if (const auto bytes = std::filesystem::file_size(file.path()); linked && bytes <= most_bytes) {
    linked->resize(bytes);
    std::ifstream in(file.path(), std::ios::binary);
    if (!in.read(linked->data(), static_cast<std::streamsize>(bytes))) linked->clear();
  }
  return file.load(name);
}

Artifact load_bytes(std::string_view shared_object, const std::string& name) {
  const TemporaryFile file;
  std::ofstream out(file.path(), std::ios::binary);
  out.write(shared_object.data(), static_cast<std::streamsize>(shared_object.size()));
  out.close();
  HONE_USER_CHECK(out.good()) << "cannot write " << file.path() << ": " << std::strerror(errno);
  return file.load(name);
}

}  // namespace hone
