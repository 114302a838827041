#include "tools/yard/along/work_archive.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "runtime/archive/tar_writer.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "runtime/text/sha256.h"

namespace yard {
namespace {

constexpr std::size_t kMaxFiles = 500'000;
constexpr std::size_t kMaxPath = 4000;
constexpr std::size_t kNamed = 3;  // Number of files named in an error.

absl::Status Failed(const char* verb, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", verb, " ", runtime::Printable(path), ": ", strerror(errno)));
}

std::string Size(std::uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::optional<struct stat> Look(const std::string& path) {
  struct stat about = {};
  if (lstat(path.c_str(), &about) != 0) return std::nullopt;
  return about;
}

// Returns true if a link's target leaves the archive, as the reader (tar_reader.h) decides it: only
// the first components of a target may be "..", and at most up to the root.
bool LeadsOut(const std::string& path, const std::string& target) {
  if (target.empty() || target[0] == '/') return true;
  auto depth = std::count(path.begin(), path.end(), '/');
  bool has_name = false;
  for (const auto name : absl::StrSplit(target, '/')) {
    if (name.empty() || name == ".") continue;
    if (name != "..") {
      has_name = true;
    } else if (has_name || depth-- == 0) {
      return true;
    }
  }
  return false;
}

// An archive being written, STATE/work/.NAME; deleted unless Keep() is called.
class ArchiveFile {
 public:
  static absl::StatusOr<std::unique_ptr<ArchiveFile>> Make(const std::string& directory) {
    if (auto made = runtime::MakePrivateDirectory(directory); !made.ok()) return made;
    auto file = std::make_unique<ArchiveFile>(directory);
    file->fd_ = runtime::UniqueFd(
        open(file->path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file->fd_.valid()) return Failed("make", file->path_);
    return file;
  }
  explicit ArchiveFile(const std::string& directory)
      : directory_(directory), path_(absl::StrCat(directory, "/.", runtime::RandomHex128())) {}
  ~ArchiveFile() {
    if (!is_kept_) unlink(path_.c_str());
  }

  absl::Status Add(std::string_view bytes) {
    hash_.Add(bytes);
    bytes_ += bytes.size();
    if (auto written = runtime::WriteAll(fd_.get(), bytes); !written.ok()) {
      return absl::Status(written.code(),
                          absl::StrCat("cannot write ", path_, ": ", written.message()));
    }
    return absl::OkStatus();
  }
  // Renames the archive to its hash. An existing archive of that name has the same bytes; this one
  // has a newer time.
  absl::StatusOr<WorkArchive> Keep() {
    WorkArchive archive{.sha256 = hash_.Finish(), .bytes = bytes_};
    if (archive.bytes > kMaxWorkBytes) {
      return absl::FailedPreconditionError(absl::StrCat("the archive of the files has ",
                                                        Size(archive.bytes), " (at most ",
                                                        Size(kMaxWorkBytes), ")"));
    }
    const std::string path = absl::StrCat(directory_, "/", archive.sha256);
    if (rename(path_.c_str(), path.c_str()) != 0) return Failed("rename", path_);
    is_kept_ = true;
    return archive;
  }

 private:
  const std::string directory_, path_;
  runtime::UniqueFd fd_;
  runtime::Sha256 hash_;
  std::uint64_t bytes_ = 0;
  bool is_kept_ = false;
};

absl::Status AddFile(const std::string& root, const std::string& path, runtime::TarWriter* writer) {
  const std::string whole = absl::StrCat(root, "/", path);
  const runtime::UniqueFd fd(open(whole.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about = {};
  if (!fd.valid() || fstat(fd.get(), &about) != 0) return Failed("read", whole);
  if (!S_ISREG(about.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(runtime::Printable(path), " has changed while it was read; next: try again"));
  }
  return writer->AddFile(path, fd.get(), static_cast<std::uint64_t>(about.st_size),
                         (about.st_mode & 0100) != 0);
}

absl::Status AddLink(const std::string& root, const std::string& path, runtime::TarWriter* writer,
                     std::vector<std::string>* left_out) {
  std::error_code error;
  const std::string target =
      std::filesystem::read_symlink(absl::StrCat(root, "/", path), error).string();
  if (!error && !LeadsOut(path, target)) return writer->AddLink(path, target);
  left_out->push_back(path);
  return absl::OkStatus();
}

bool IsExcluded(const std::filesystem::path& path, const std::vector<std::string>& excluded) {
  return path.filename() == ".git" ||
         std::find(excluded.begin(), excluded.end(), path) != excluded.end();
}

}  // namespace

absl::StatusOr<WorkArchive> WriteWorkArchive(const std::string& root,
                                             const std::set<std::string>& paths,
                                             const std::string& state_directory) {
  if (auto sizes = CheckSizes(root, paths, kMaxWorkBytes); !sizes.ok()) return sizes;
  auto file = ArchiveFile::Make(state_directory + "/work");
  if (!file.ok()) return file.status();
  runtime::TarWriter writer([&file](std::string_view bytes) { return (*file)->Add(bytes); });
  std::vector<std::string> left_out;
  for (const std::string& path : paths) {
    const auto about = Look(absl::StrCat(root, "/", path));
    if (!about || path.size() > kMaxPath) continue;
    absl::Status added;
    if (S_ISREG(about->st_mode)) added = AddFile(root, path, &writer);
    if (S_ISLNK(about->st_mode)) added = AddLink(root, path, &writer, &left_out);
    if (!added.ok()) return added;
  }
  if (auto finished = writer.Finish(); !finished.ok()) return finished;
  auto archive = (*file)->Keep();
  if (archive.ok()) archive->links_left_out = std::move(left_out);
  return archive;
}

absl::StatusOr<std::set<std::string>> FilesBelow(const std::string& directory,
                                                 const std::vector<std::string>& excluded) {
  std::set<std::string> paths;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(directory, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (IsExcluded(entry->path(), excluded)) {
      if (entry->is_directory() && !entry->is_symlink()) entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_symlink() && entry->is_directory()) continue;
    paths.insert(entry->path().lexically_relative(directory));
    if (paths.size() > kMaxFiles) break;
  }
  if (!error) return paths;
  return absl::UnavailableError(
      absl::StrCat("cannot read ", runtime::Printable(directory), ": ", error.message()));
}

absl::Status CheckSizes(const std::string& root, const std::set<std::string>& paths,
                        std::uint64_t most) {
  if (paths.size() > kMaxFiles) {
    return absl::FailedPreconditionError(
        absl::StrCat("there are more than ", kMaxFiles, " files in ", runtime::Printable(root)));
  }
  std::vector<std::pair<std::uint64_t, const std::string*>> sizes;
  std::uint64_t all = 0;
  for (const std::string& path : paths) {
    const auto about = Look(absl::StrCat(root, "/", path));
    if (!about || !S_ISREG(about->st_mode)) continue;
    sizes.emplace_back(about->st_size, &path);
    all += static_cast<std::uint64_t>(about->st_size);
  }
  if (all <= most) return absl::OkStatus();
  const std::size_t named = std::min(kNamed, sizes.size());
  std::partial_sort(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(named), sizes.end(),
                    [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string largest;
  for (std::size_t i = 0; i < named; ++i) {
    absl::StrAppend(&largest, i == 0 ? "" : ", ", runtime::Printable(*sizes[i].second), " (",
                    Size(sizes[i].first), ")");
  }
  return absl::FailedPreconditionError(
      absl::StrCat(sizes.size(), " files in ", runtime::Printable(root), " have ", Size(all),
                   " (at most ", Size(most), "), the largest: ", largest));
}

}  // namespace yard
