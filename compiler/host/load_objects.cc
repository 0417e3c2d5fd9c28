#include "compiler/host/load_objects.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "compiler/codegen/llvm/compile.h"

namespace hone {

Artifact load_objects(const std::vector<std::string>& objects, const std::string& name) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/hone-kernel-XXXXXX";
  const int fd = mkstemp(path.data());
  HONE_USER_CHECK(fd >= 0) << "cannot make a file in " << path << ": " << std::strerror(errno);
  close(fd);
  struct Remover {
    const std::string& path;
    ~Remover() { unlink(path.c_str()); }
  } remover{path};
  link_shared(objects, path);
  auto artifact = Artifact::load(path, name);
  HONE_USER_CHECK(artifact.ok()) << message_of(artifact.status());
  return std::move(*artifact);
}

}  // namespace hone
