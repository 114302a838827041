#include "trainer/checkpoint/file_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace trainer {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kMaxName = 4096;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

class Walk {
 public:
  Walk(std::string root, const std::function<absl::Status(const TreeFile&)>& visit,
       const std::function<absl::Status(int)>& leave)
      : root_(std::move(root)), visit_(visit), leave_(leave) {}

  absl::Status Enter(int parent, const std::string& path, const std::string& name, int depth) {
    const int link = name.empty() ? 0 : O_NOFOLLOW;
    const runtime::UniqueFd directory(
        openat(parent, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | link));
    if (!directory.valid()) return Error("opening", name);
    if (depth > kMaxTreeDepth) {
      return absl::OutOfRangeError(absl::StrCat(root_, "/", name, " lies deeper than ",
                                                kMaxTreeDepth, " directories: keep it flatter"));
    }
    auto entries = Entries(directory.get(), name);
    if (!entries.ok()) return entries.status();
    for (const std::string& entry : *entries) {
      const std::string below = name.empty() ? entry : absl::StrCat(name, "/", entry);
      if (auto status = Visit(directory.get(), entry, below, depth); !status.ok()) return status;
    }
    return leave_ ? leave_(directory.get()) : absl::OkStatus();
  }

 private:
  absl::StatusOr<std::vector<std::string>> Entries(int fd, const std::string& name) {
    runtime::UniqueFd again(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDirectory> directory(again.valid() ? fdopendir(again.get())
                                                                       : nullptr);
    if (directory == nullptr) return Error("reading", name);
    again.release();  // The stream owns it now.
    std::vector<std::string> entries;
    errno = 0;
    while (const dirent* const entry = readdir(directory.get())) {
      const std::string_view text = entry->d_name;
      if (text == "." || text == "..") continue;
      if (++entries_ > kMaxTreeEntries) {
        return absl::OutOfRangeError(absl::StrCat(root_, " holds more than ", kMaxTreeEntries,
                                                  " files: pack them into one"));
      }
      entries.emplace_back(text);
    }
    if (errno != 0) return Error("reading", name);
    std::sort(entries.begin(), entries.end());
    return entries;
  }

  absl::Status Visit(int parent, const std::string& entry, const std::string& name, int depth) {
    if (auto status = CheckTreeName(name); !status.ok()) return status;
    struct stat about {};
    if (fstatat(parent, entry.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
      return Error("examining", name);
    }
    if (S_ISDIR(about.st_mode)) return Enter(parent, entry, name, depth + 1);
    if (!S_ISREG(about.st_mode)) return Unfit(name, S_ISLNK(about.st_mode));
    const runtime::UniqueFd file(
        openat(parent, entry.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid() || fstat(file.get(), &about) != 0) return Error("opening", name);
    if (!S_ISREG(about.st_mode)) return Unfit(name, false);
    const auto size = static_cast<std::uint64_t>(about.st_size);
    const auto allocated = std::min(size, static_cast<std::uint64_t>(about.st_blocks) * 512);
    bytes_ += allocated;
    if (bytes_ > kMaxTreeBytes) {
      return absl::OutOfRangeError(absl::StrCat(root_, " holds more than 1 TiB"));
    }
    return visit_({name, size, file.get(), allocated});
  }

  absl::Status Unfit(const std::string& name, bool is_link) const {
    return absl::InvalidArgumentError(
        absl::StrCat(root_, "/", name, is_link ? " is a symbolic link" : " is no regular file",
                     ": only files and directories can be kept"));
  }
  absl::Status Error(const char* doing, const std::string& name) const {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat(doing, " ", root_, name.empty() ? "" : "/", name));
  }

  const std::string root_;
  const std::function<absl::Status(const TreeFile&)>& visit_;
  const std::function<absl::Status(int)>& leave_;
  std::size_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

absl::Status WalkTree(const std::string& root,
                      const std::function<absl::Status(const TreeFile&)>& visit,
                      const std::function<absl::Status(int directory)>& leave) {
  return Walk(root, visit, leave).Enter(AT_FDCWD, root, "", 0);
}

absl::Status ReadPieces(const TreeFile& file,
                        const std::function<absl::Status(std::string_view piece)>& take,
                        const std::function<absl::Status(std::uint64_t zeros)>& skip) {
  std::string buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, file.size + 1)), 0);
  std::uint64_t at = 0;
  std::uint64_t data_end = skip ? 0 : UINT64_MAX;  // End of the part known to have no holes.
  for (;;) {
    if (at >= data_end && at < file.size) {
      const off_t data = lseek(file.fd, static_cast<off_t>(at), SEEK_DATA);
      const bool is_hole_to_the_end = data < 0 && errno == ENXIO;
      const std::uint64_t next = is_hole_to_the_end ? file.size
                                 : data < 0         ? at
                                                    : static_cast<std::uint64_t>(data);
      if (next > at) {
        const std::uint64_t zeros = std::min(next, file.size) - at;
        if (auto status = skip(zeros); !status.ok()) return status;
        at += zeros;
      }
      const off_t hole = data < 0 ? -1 : lseek(file.fd, data, SEEK_HOLE);
      data_end = hole < 0 ? UINT64_MAX : static_cast<std::uint64_t>(hole);
    }
    const std::uint64_t most = data_end > at ? data_end - at : buffer.size();
    const ssize_t got = pread(file.fd, buffer.data(), std::min<std::uint64_t>(buffer.size(), most),
                              static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, absl::StrCat("reading ", file.name));
    at += static_cast<std::uint64_t>(got);
    if (got == 0 && at == file.size) return absl::OkStatus();
    if (got == 0 || at > file.size) {
      return absl::FailedPreconditionError(
          absl::StrCat(file.name, " changes while it is read: finish writing it first"));
    }
    const auto size = static_cast<std::size_t>(got);
    if (auto status = take(std::string_view(buffer).substr(0, size)); !status.ok()) return status;
  }
}

absl::StatusOr<std::string> DirectoryBelow(const std::string& root, const std::string& path) {
  std::error_code error;
  const std::string real_root = std::filesystem::canonical(root, error);
  std::string below = path;
  for (const std::string& prefix : {root, real_root}) {
    if (!prefix.empty() && absl::StartsWith(path, prefix + "/")) {
      below = path.substr(prefix.size());
      below.erase(0, below.find_first_not_of('/'));
      break;
    }
  }
  while (!below.empty() && below.back() == '/') below.pop_back();
  if (auto status = CheckTreeName(below); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Quote(path.substr(0, 200)), " is no directory inside ", root));
  }
  const std::vector<std::string> segments = absl::StrSplit(below, '/');
  runtime::UniqueFd at(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = 0; at.valid() && i < segments.size(); ++i) {
    at = runtime::UniqueFd(
        openat(at.get(), segments[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  const std::string whole = absl::StrCat(root, "/", below);
  if (at.valid()) return whole;
  if (errno == ENOTDIR || errno == ELOOP) {
    return absl::InvalidArgumentError(absl::StrCat(
        whole, " is no directory, or is reached through a symbolic link: name the directory"));
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("opening ", whole));
}

absl::Status CheckTreeName(std::string_view name) {
  std::string_view problem;
  if (name.empty() || name.size() > kMaxName) problem = "it must have 1 to 4096 bytes";
  if (name.find('\0') != name.npos) problem = "it holds a NUL byte";
  if (runtime::ValidUtf8(name) != name) problem = "it must be UTF-8";
  int depth = 0;
  for (std::size_t begin = 0; begin <= name.size() && problem.empty(); ++depth) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view segment = name.substr(begin, end - begin);
    if (segment.empty() || segment == "." || segment == "..") {
      problem = "it must stay below its directory";
    }
    begin = end + 1;
  }
  if (problem.empty() && depth > kMaxTreeDepth + 1) problem = "it lies too deep";
  if (problem.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a file cannot be called ",
                                                 runtime::Quote(name.substr(0, 200)), ": ",
                                                 runtime::Absl(problem)));
}

}  // namespace trainer
