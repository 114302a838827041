#include "trainer/testing/platter.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"

namespace trainer {
namespace {

// A killed store copies its WAL on its own thread, which may sync at any moment.
runtime::Mutex mutex;
Platter* followed ABSL_GUARDED_BY(mutex) = nullptr;

std::string PathOf(int fd) {
  char path[4096];
  const ssize_t size = readlink(absl::StrCat("/proc/self/fd/", fd).c_str(), path, sizeof(path));
  return {path, size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace

Platter::Platter(const std::string& root) : root_(root) {
  const runtime::MutexLock lock(mutex);
  ForEach([this](int fd) { Note(fd); });
  struct stat about {};
  stat(root.c_str(), &about);
  root_inode_ = about.st_ino;
  followed = this;
}

Platter::~Platter() {
  const runtime::MutexLock lock(mutex);
  followed = nullptr;
  for (auto& [inode, content] : synced_) close(content.keeps_inode);
}

void Platter::ForEach(const std::function<void(int fd)>& visit) const {
  std::vector<std::string> paths = {root_};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
    paths.push_back(entry.path());
  }
  for (const std::string& path : paths) {
    const runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (fd.valid()) visit(fd.get());
  }
}

void Platter::Synced(int fd) {
  std::function<void()> on_sync;
  {
    const runtime::MutexLock lock(mutex);
    if (followed == nullptr) return;
    const std::string path = PathOf(fd);
    if (path != followed->root_ && !absl::StartsWith(path, followed->root_ + "/")) return;
    followed->Note(fd);
    ++followed->syncs_;
    on_sync = followed->on_sync_;
  }
  if (on_sync) on_sync();
}

void Platter::OnSync(std::function<void()> synced) {
  const runtime::MutexLock lock(mutex);
  on_sync_ = std::move(synced);
}

int Platter::syncs() const {
  const runtime::MutexLock lock(mutex);
  return syncs_;
}

Platter::Content Platter::Read(int fd) {
  Content content;
  const std::string path = absl::StrCat("/proc/self/fd/", fd);
  struct stat about {};
  fstat(fd, &about);
  content.is_directory = S_ISDIR(about.st_mode);
  if (!content.is_directory) {
    content.bytes = runtime::ReadFile(path, std::size_t{1} << 30).value_or("");
    return content;
  }
  DIR* const directory = opendir(path.c_str());
  while (const dirent* const entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    // Whether an entry is a directory follows from its own content, when it is written.
    content.entries[name] = entry->d_ino;
  }
  closedir(directory);
  return content;
}

void Platter::Note(int fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return;
  Content content = Read(fd);
  Content& known = synced_[about.st_ino];
  content.keeps_inode = known.keeps_inode >= 0 ? known.keeps_inode : fcntl(fd, F_DUPFD_CLOEXEC, 3);
  known = std::move(content);
}

void Platter::Recover(const std::string& target, const WrittenBack& written_back) {
  Disk disk;
  {
    const runtime::MutexLock lock(mutex);
    disk.synced = synced_;
    ForEach([&disk](int fd) {
      struct stat about {};
      if (fstat(fd, &about) == 0) disk.now[about.st_ino] = Read(fd);
    });
  }
  // (This syncs the files that it writes.)
  Write(disk, root_inode_, true, "", target, written_back);
}

void Platter::Write(const Disk& disk, Inode inode, bool is_directory, const std::string& below,
                    const std::string& target, const WrittenBack& written_back) {
  const auto synced = disk.synced.find(inode);
  const auto now = disk.now.find(inode);
  const bool is_now = now != disk.now.end() && written_back(below, is_directory);
  const Content none;
  const Content& content = is_now                        ? now->second
                           : synced != disk.synced.end() ? synced->second
                                                         : none;
  const std::string path = target + below;
  if (!is_directory) {
    (void)runtime::WriteFileAtomically(path, content.bytes, 0644);
    return;
  }
  std::filesystem::create_directories(path);
  for (const auto& [name, child] : content.entries) {
    const auto known = disk.synced.find(child);
    const auto there = disk.now.find(child);
    const bool is_tree = (known != disk.synced.end() && known->second.is_directory) ||
                         (there != disk.now.end() && there->second.is_directory);
    Write(disk, child, is_tree, absl::StrCat(below, "/", name), target, written_back);
  }
}

}  // namespace trainer

// Replace the C library's functions for every library of this process.
extern "C" int fsync(int fd) {
  const int result = static_cast<int>(syscall(SYS_fsync, fd));
  if (result == 0) trainer::Platter::Synced(fd);
  return result;
}
extern "C" int fdatasync(int fd) {
  const int result = static_cast<int>(syscall(SYS_fdatasync, fd));
  if (result == 0) trainer::Platter::Synced(fd);
  return result;
}
