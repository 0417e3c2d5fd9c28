#include "deploy/launcher/elf_versions.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace hone::launcher {
namespace {

/// A file in memory. Offsets in it are the file's claims: at() looks whether there is anything.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      void* const map = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (map != MAP_FAILED) bytes_ = {static_cast<const char*>(map), static_cast<size_t>(info.st_size)};
    }
    if (fd >= 0) close(fd);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }

  template <typename T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T out;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }
  /// Up to the zero byte, which must be there.
  std::optional<std::string_view> text_at(uint64_t offset) const {
    if (offset >= bytes_.size()) return std::nullopt;
    const std::string_view rest = bytes_.substr(offset);
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(0, end);
  }

 private:
  std::string_view bytes_;
};

bool is_for(const Elf64_Ehdr& header, uint16_t machine) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == machine;
}

/// The parts of the dynamic section that lead to the versions.
struct Dynamic {
  uint64_t strings = 0, definitions = 0, count = 0;  // addresses, and how many
};

class Segments {
 public:
  Segments(const MappedFile& file, const Elf64_Ehdr& header) : file_(file), header_(header) {}

  std::optional<Elf64_Phdr> find(uint32_t type, uint64_t address = 0) const {
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      const auto segment = file_.at<Elf64_Phdr>(header_.e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
      if (!segment) return std::nullopt;
      if (segment->p_type != type) continue;
      if (type != PT_LOAD || (address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz))
        return segment;
    }
    return std::nullopt;
  }

  /// Where in the file an address of memory comes from.
  std::optional<uint64_t> offset_of(uint64_t address) const {
    const auto segment = find(PT_LOAD, address);
    if (!segment) return std::nullopt;
    return segment->p_offset + (address - segment->p_vaddr);
  }

  Dynamic dynamic() const {
    Dynamic out;
    const auto section = find(PT_DYNAMIC);
    if (!section) return out;
    for (uint64_t done = 0; done < section->p_filesz; done += sizeof(Elf64_Dyn)) {
      const auto entry = file_.at<Elf64_Dyn>(section->p_offset + done);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_STRTAB) out.strings = entry->d_un.d_ptr;
      if (entry->d_tag == DT_VERDEF) out.definitions = entry->d_un.d_ptr;
      if (entry->d_tag == DT_VERDEFNUM) out.count = entry->d_un.d_val;
    }
    return out;
  }

 private:
  const MappedFile& file_;
  const Elf64_Ehdr& header_;
};

/// `2.36`, `3.4.30`. Other names that begin like a version are none: GLIBC_PRIVATE, GLIBC_ABI_DT_RELR, GLIBCXX_DEBUG.
std::optional<Version> parse_version(std::string_view text) {
  Version out{};
  const char *next = text.data(), *const end = text.data() + text.size();
  for (size_t part = 0; part < out.size(); ++part) {
    const auto [stop, error] = std::from_chars(next, end, out[part]);
    if (error != std::errc()) return std::nullopt;
    if (stop == end) return part == 0 ? std::nullopt : std::optional(out);
    if (*stop != '.') return std::nullopt;
    next = stop + 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Version> newest_version(const std::string& path, uint16_t machine, std::string_view prefix) {
  const MappedFile file(path);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || !is_for(*header, machine)) return std::nullopt;
  const Segments segments(file, *header);
  const Dynamic dynamic = segments.dynamic();
  const auto strings = segments.offset_of(dynamic.strings);
  auto next = segments.offset_of(dynamic.definitions);
  if (!strings || !next) return std::nullopt;

  std::optional<Version> newest;
  for (uint64_t i = 0; i < dynamic.count; ++i) {
    const auto definition = file.at<Elf64_Verdef>(*next);
    if (!definition) return std::nullopt;
    const auto auxiliary = file.at<Elf64_Verdaux>(*next + definition->vd_aux);
    const auto name = auxiliary ? file.text_at(*strings + auxiliary->vda_name) : std::nullopt;
    if (!name) return std::nullopt;
    if (name->starts_with(prefix))
      if (const auto version = parse_version(name->substr(prefix.size()))) newest = std::max(newest, version);
    if (definition->vd_next == 0) break;
    *next += definition->vd_next;
  }
  return newest;
}

}  // namespace hone::launcher
