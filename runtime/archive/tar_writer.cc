#include "runtime/archive/tar_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace runtime {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kMostName = 100, kMostPrefix = 155;
constexpr std::size_t kPiece = 256 << 10;
// Constant; some programs reject earlier times.
constexpr std::uint64_t kTime = 315532800;  // 1980-01-01.

void PutOctal(char* field, std::size_t size, std::uint64_t value) {
  for (std::size_t i = size - 1; i-- > 0; value >>= 3) {
    field[i] = static_cast<char>('0' + (value & 7));
  }
}

// Formats "LENGTH KEY=VALUE\n", where LENGTH includes its own digits.
std::string PaxRecord(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (absl::StrCat(length).size() + rest != length) ++length;
  return absl::StrCat(length, " ", Absl(key), "=", Absl(value), "\n");
}

// Splits `path` into the two fields of ustar; returns false if it is too long for them.
bool Split(const std::string& path, std::string* prefix, std::string* name) {
  if (path.size() <= kMostName) {
    *name = path;
    return true;
  }
  const std::size_t slash = path.find('/', path.size() - kMostName - 1);
  if (slash == path.npos || slash > kMostPrefix || slash == 0) return false;
  *prefix = path.substr(0, slash);
  *name = path.substr(slash + 1);
  return !name->empty();
}

std::string Block(const std::string& prefix, const std::string& name, char type, std::uint64_t size,
                  unsigned mode, const std::string& target) {
  std::string block(kBlock, '\0');
  char* const b = block.data();
  std::memcpy(b, name.data(), std::min(name.size(), kMostName));
  PutOctal(b + 100, 8, mode);
  PutOctal(b + 108, 8, 0);
  PutOctal(b + 116, 8, 0);
  PutOctal(b + 124, 12, size);
  PutOctal(b + 136, 12, kTime);
  std::memset(b + 148, ' ', 8);
  b[156] = type;
  std::memcpy(b + 157, target.data(), std::min(target.size(), kMostName));
  std::memcpy(b + 257, "ustar\00000", 8);
  PutOctal(b + 329, 8, 0);
  PutOctal(b + 337, 8, 0);
  std::memcpy(b + 345, prefix.data(), std::min(prefix.size(), kMostPrefix));
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  PutOctal(b + 148, 7, sum);
  b[155] = ' ';
  return block;
}

}  // namespace

absl::Status TarWriter::Pad(std::uint64_t size) {
  const std::size_t over = size % kBlock;
  return over == 0 ? absl::OkStatus() : sink_(std::string(kBlock - over, '\0'));
}

absl::Status TarWriter::AddHeader(const std::string& path, char type, std::uint64_t size,
                                  unsigned mode, const std::string& target) {
  std::string prefix, name, records;
  if (!Split(path, &prefix, &name)) {
    records += PaxRecord("path", path);
    name = path.substr(path.size() - kMostName);
  }
  if (target.size() > kMostName) records += PaxRecord("linkpath", target);
  if (!records.empty()) {
    if (auto written = sink_(Block("", "pax", 'x', records.size(), 0644, "")); !written.ok()) {
      return written;
    }
    if (auto written = sink_(records); !written.ok()) return written;
    if (auto written = Pad(records.size()); !written.ok()) return written;
  }
  return sink_(Block(prefix, name, type, size, mode, target));
}

absl::Status TarWriter::AddDirectory(const std::string& path) {
  return AddHeader(path + "/", '5', 0, 0755, "");
}

absl::Status TarWriter::AddLink(const std::string& path, const std::string& target) {
  return AddHeader(path, '2', 0, 0777, target);
}

absl::Status TarWriter::AddFile(const std::string& path, int fd, std::uint64_t size,
                                bool is_executable) {
  if (auto written = AddHeader(path, '0', size, is_executable ? 0755 : 0644, ""); !written.ok()) {
    return written;
  }
  std::string piece(std::min<std::uint64_t>(size, kPiece), '\0');
  for (std::uint64_t left = size; left > 0;) {
    const ssize_t got = read(fd, piece.data(), std::min<std::uint64_t>(left, piece.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::UnavailableError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
    }
    if (got == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " has become shorter while it was read; next: try again"));
    }
    if (auto written = sink_(std::string_view(piece.data(), static_cast<std::size_t>(got)));
        !written.ok()) {
      return written;
    }
    left -= static_cast<std::uint64_t>(got);
  }
  return Pad(size);
}

absl::Status TarWriter::Finish() { return sink_(std::string(2 * kBlock, '\0')); }

}  // namespace runtime
