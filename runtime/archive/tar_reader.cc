// Always true: a path is opened one name at a time, starting at the directory, and no step follows
// a symbolic link. A link's target may ascend only with its first names, and at most to the
// directory. A link may therefore point through other links, and still stays inside the directory.

#include "runtime/archive/tar_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/string_view.h"

namespace runtime {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kMostRecords = 64 << 10;  // Limit of one entry's pax records, in bytes.
constexpr std::size_t kMostPath = 4000;
constexpr std::size_t kMostDepth = 200;
constexpr std::size_t kPiece = 256 << 10;

using Header = std::array<char, kBlock>;

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the archive ", Absl(what)));
}
absl::Status Spoilt(std::string_view what) {
  return absl::DataLossError(absl::StrCat("the archive ", Absl(what)));
}
absl::Status Failed(std::string_view verb, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", Absl(verb), " ", path, ": ", strerror(errno)));
}

std::string Text(const Header& header, std::size_t at, std::size_t size) {
  const char* const begin = header.data() + at;
  return std::string(begin, strnlen(begin, size));
}

std::optional<std::uint64_t> Octal(const Header& header, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  std::size_t i = at;
  const std::size_t end = at + size;
  while (i < end && header[i] == ' ') ++i;
  for (; i < end && header[i] != ' ' && header[i] != '\0'; ++i) {
    if (header[i] < '0' || header[i] > '7') return std::nullopt;
    value = value << 3 | static_cast<std::uint64_t>(header[i] - '0');
  }
  return value;
}

bool HasRightSum(const Header& header) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return Octal(header, 148, 8) == sum;
}

// Splits a relative path into its names; returns an error if the path is not relative or ascends.
absl::Status SplitPath(const std::string& path, std::vector<std::string>* names) {
  if (path.empty() || path.size() > kMostPath || path.find('\0') != path.npos) {
    return Wrong("has a path that is empty or too long");
  }
  if (path[0] == '/') return Wrong(absl::StrCat("has an absolute path: ", path));
  for (const auto name : absl::StrSplit(path, '/')) {
    if (name.empty() || name == ".") continue;
    if (name == "..") return Wrong(absl::StrCat("has a path that leads upwards: ", path));
    names->emplace_back(name);
  }
  if (names->size() > kMostDepth) return Wrong(absl::StrCat("has too deep a path: ", path));
  return absl::OkStatus();
}

absl::Status CheckTarget(const std::string& path, std::size_t depth, const std::string& target) {
  if (target.empty() || target.size() > kMostPath || target.find('\0') != target.npos) {
    return Wrong(absl::StrCat("has a link without a target, or with too long a one: ", path));
  }
  if (target[0] == '/') return Wrong(absl::StrCat("has a link to an absolute path: ", path));
  bool has_name = false;
  for (const auto name : absl::StrSplit(target, '/')) {
    if (name.empty() || name == ".") continue;
    if (name != "..") {
      has_name = true;
    } else if (has_name || depth-- == 0) {
      return Wrong(absl::StrCat("has a link that leads out of it: ", path));
    }
  }
  return absl::OkStatus();
}

class Unpacker {
 public:
  Unpacker(int fd, const std::string& directory, const TarLimits& limits,
           const std::atomic<bool>* gives_up)
      : fd_(fd), directory_(directory), limits_(limits), gives_up_(gives_up) {}
  absl::Status Run();

 private:
  // Fields that the pax records before an entry override.
  struct Said {
    std::optional<std::string> path, target;
    std::optional<std::uint64_t> size;
  };
  absl::Status Read(char* bytes, std::size_t count);
  absl::Status Skip(std::uint64_t count);
  absl::Status ReadRecords(std::uint64_t size, Said* said);
  absl::Status Unpack(const Header& header, const Said& said);
  absl::Status UnpackFile(int parent, const std::string& name, const std::string& path,
                          std::uint64_t size, bool is_executable);
  // Opens the directory of these names and creates it if it is missing.
  absl::StatusOr<UniqueFd> Open(const std::vector<std::string>& names, const std::string& path);

  const int fd_;
  const std::string directory_;
  const TarLimits limits_;
  const std::atomic<bool>* const gives_up_;
  std::uint64_t bytes_ = 0;
  std::size_t entries_ = 0;
};

absl::Status Unpacker::Read(char* bytes, std::size_t count) {
  if (gives_up_ != nullptr && *gives_up_) return absl::CancelledError("unpacking was given up");
  while (count > 0) {
    const ssize_t got = read(fd_, bytes, count);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", "the archive");
    if (got == 0) return Spoilt("is cut off");
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
  return absl::OkStatus();
}

absl::Status Unpacker::Skip(std::uint64_t count) {
  std::array<char, kBlock> rest;
  while (count > 0) {
    const std::size_t piece = std::min<std::uint64_t>(count, rest.size());
    if (auto got = Read(rest.data(), piece); !got.ok()) return got;
    count -= piece;
  }
  return absl::OkStatus();
}

std::uint64_t Padding(std::uint64_t size) { return (kBlock - size % kBlock) % kBlock; }

absl::Status Unpacker::ReadRecords(std::uint64_t size, Said* said) {
  if (size > kMostRecords) return Wrong("has too long pax records");
  std::string text(size, '\0');
  if (auto got = Read(text.data(), size); !got.ok()) return got;
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t length = 0, at = 0;
    for (; at < rest.size() && at < 8 && rest[at] >= '0' && rest[at] <= '9'; ++at) {
      length = 10 * length + static_cast<std::size_t>(rest[at] - '0');
    }
    if (at == 0 || length <= at + 1 || length > rest.size() || rest[at] != ' ' ||
        rest[length - 1] != '\n') {
      return Spoilt("has a pax record that cannot be read");
    }
    const std::string_view record = rest.substr(at + 1, length - at - 2);
    rest.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == record.npos) return Spoilt("has a pax record without a value");
    const std::string_view key = record.substr(0, equals);
    std::string value(record.substr(equals + 1));
    if (key == "path") said->path = std::move(value);
    if (key == "linkpath") said->target = std::move(value);
    // (A file that needs this record exceeds our limits anyway.)
    if (key == "size") return Wrong("has a file that is too large");
  }
  return Skip(Padding(size));
}

absl::StatusOr<UniqueFd> Unpacker::Open(const std::vector<std::string>& names,
                                        const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd at(open(directory_.c_str(), kFlags));
  if (!at.valid()) return Failed("open", directory_);
  for (const std::string& name : names) {
    if (mkdirat(at.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
      return Failed("make the directory of", path);
    }
    UniqueFd next(openat(at.get(), name.c_str(), kFlags));
    if (!next.valid() && (errno == ELOOP || errno == ENOTDIR)) {
      return Wrong(absl::StrCat("has a path that leads through a link or a file: ", path));
    }
    if (!next.valid()) return Failed("open the directory of", path);
    at = std::move(next);
  }
  return at;
}

absl::Status Unpacker::UnpackFile(int parent, const std::string& name, const std::string& path,
                                  std::uint64_t size, bool is_executable) {
  const UniqueFd file(openat(parent, name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             is_executable ? 0755 : 0644));
  if (!file.valid() && errno == EEXIST) return Wrong(absl::StrCat("has ", path, " twice"));
  if (!file.valid()) return Failed("make", path);
  std::string piece(std::min<std::uint64_t>(size, kPiece), '\0');
  for (std::uint64_t left = size; left > 0;) {
    const std::size_t count = std::min<std::uint64_t>(left, piece.size());
    if (auto got = Read(piece.data(), count); !got.ok()) return got;
    if (auto written = WriteAll(file.get(), std::string_view(piece.data(), count)); !written.ok()) {
      return absl::Status(written.code(), absl::StrCat(path, ": ", written.message()));
    }
    left -= count;
  }
  return Skip(Padding(size));
}

absl::Status Unpacker::Unpack(const Header& header, const Said& said) {
  const std::string prefix = Text(header, 345, 155), name = Text(header, 0, 100);
  const std::string path = said.path        ? *said.path
                           : prefix.empty() ? name
                                            : absl::StrCat(prefix, "/", name);
  const char type = header[156];
  const auto size = Octal(header, 124, 12), mode = Octal(header, 100, 8);
  if (!size || !mode) return Spoilt(absl::StrCat("has a header that cannot be read: ", path));
  std::vector<std::string> names;
  if (auto split = SplitPath(path, &names); !split.ok()) return split;
  if (type == '5') {
    if (*size != 0) return Wrong(absl::StrCat("has a directory with content: ", path));
    return Open(names, path).status();
  }
  if (names.empty()) return Wrong(absl::StrCat("has a file without a name: ", path));
  const std::string last = std::move(names.back());
  names.pop_back();
  const auto parent = Open(names, path);
  if (!parent.ok()) return parent.status();
  if (type == '2') {
    if (*size != 0) return Wrong(absl::StrCat("has a link with content: ", path));
    const std::string target = said.target ? *said.target : Text(header, 157, 100);
    if (auto checked = CheckTarget(path, names.size(), target); !checked.ok()) return checked;
    if (symlinkat(target.c_str(), parent->get(), last.c_str()) == 0) return absl::OkStatus();
    return errno == EEXIST ? Wrong(absl::StrCat("has ", path, " twice")) : Failed("make", path);
  }
  if (type != '0' && type != '\0') {
    return Wrong(absl::StrCat("has neither a file nor a directory nor a link: ", path));
  }
  if (*size > limits_.bytes - bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the archive has files of more than ", limits_.bytes, " bytes"));
  }
  bytes_ += *size;
  return UnpackFile(parent->get(), last, path, *size, (*mode & 0100) != 0);
}

absl::Status Unpacker::Run() {
  Said said;
  for (;;) {
    Header header;
    if (auto got = Read(header.data(), kBlock); !got.ok()) return got;
    if (std::all_of(header.begin(), header.end(), [](char c) { return c == '\0'; })) {
      return absl::OkStatus();
    }
    if (!HasRightSum(header)) return Spoilt("has a header whose sum is wrong");
    if (++entries_ > limits_.entries) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the archive has more than ", limits_.entries, " entries"));
    }
    if (header[156] == 'x' || header[156] == 'g') {
      const auto size = Octal(header, 124, 12);
      if (!size) return Spoilt("has a header that cannot be read");
      Said ignored;
      if (auto read = ReadRecords(*size, header[156] == 'x' ? &said : &ignored); !read.ok()) {
        return read;
      }
      continue;
    }
    if (auto unpacked = Unpack(header, std::exchange(said, {})); !unpacked.ok()) return unpacked;
  }
}

}  // namespace

absl::Status UnpackTar(int fd, const std::string& directory, const TarLimits& limits,
                       const std::atomic<bool>* gives_up) {
  return Unpacker(fd, directory, limits, gives_up).Run();
}

}  // namespace runtime
