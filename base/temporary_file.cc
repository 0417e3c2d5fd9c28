#include "base/temporary_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/check.h"

namespace hone {

TemporaryFile::TemporaryFile(std::string_view name) {
  const char* folder = std::getenv("TMPDIR");
  path_ = (folder && *folder ? folder : "/tmp") + ("/" + std::string(name)) + "-XXXXXX";
  const int fd = mkstemp(path_.data());
  HONE_USER_CHECK(fd >= 0) << "cannot make a file like " << path_ << ": " << std::strerror(errno);
  close(fd);
}

TemporaryFile::~TemporaryFile() { unlink(path_.c_str()); }

}  // namespace hone
