#include "base/atomic_file.h"

#include "base/file_set.h"

namespace hone {

Status write_atomically(const std::string& path, const std::function<Status(std::ostream&)>& write) {
  FileSet file;
  HONE_RETURN_IF_ERROR(file.add(path, write));
  return file.commit();
}

Status write_atomically(const std::string& path, const std::string& text) {
  return write_atomically(path, {std::string_view(text)});
}

Status write_atomically(const std::string& path, std::initializer_list<std::string_view> parts) {
  FileSet file;
  HONE_RETURN_IF_ERROR(file.add(path, parts));
  return file.commit();
}

}  // namespace hone
