#include "tools/yard/cli/typed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"

namespace yard {
namespace {

// Blocks if the file is a pipe.
absl::StatusOr<std::string> ReadText(int fd, const std::string& path, std::size_t most) {
  std::string text;
  std::array<char, 16 * 1024> chunk;
  while (text.size() <= most) {
    const ssize_t got = read(fd, chunk.data(), std::min(chunk.size(), most + 1 - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, absl::StrCat("reading ", path));
    if (got == 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

absl::StatusOr<TypedFile> ReadTypedFile(const std::string& file,
                                        const std::string& working_directory, std::size_t most) {
  const bool is_stdin = file == "-";
  const auto path = std::filesystem::path(working_directory) / file;
  const runtime::UniqueFd opened(is_stdin ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int fd = is_stdin ? STDIN_FILENO : opened.get();
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("opening ", path.string()));
  auto text = ReadText(fd, path.string(), most);
  if (!text.ok()) return text.status();
  struct stat about = {};
  const bool has_place = !is_stdin && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  return TypedFile{.text = *std::move(text),
                   .name = is_stdin ? "stdin" : file,
                   .directory = has_place ? path.parent_path().string() : working_directory};
}

}  // namespace yard
