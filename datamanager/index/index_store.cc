#include "datamanager/index/index_store.h"

// A file that is being written is in neither entries_ nor bytes_, although room was made for it.
// The disk usage may therefore exceed the budget by the files that threads are writing at the
// moment.

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"

namespace datamanager {
namespace {

using runtime::Absl;
using runtime::MutexLock;

constexpr std::string_view kSuffix = ".idx";

}  // namespace

absl::StatusOr<std::unique_ptr<IndexStore>> IndexStore::Open(Options options) {
  absl::Status made = runtime::MakePrivateDirectory(options.directory);
  if (!made.ok()) return made;
  std::unique_ptr<IndexStore> store(new IndexStore(std::move(options)));
  if (absl::Status status = store->List(); !status.ok()) return status;
  return store;
}

absl::Status IndexStore::List() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(options_.directory.c_str()),
                                                      &closedir);
  if (directory == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("opening ", options_.directory));
  }
  MutexLock lock(mutex_);
  while (const dirent* const entry = readdir(directory.get())) {
    const std::string name = entry->d_name;
    // The name is "0123456789abcdef.idx", or has ".RANDOM.tmp" after that if its writer was killed.
    if (name.find(kSuffix) != IndexFileName("").size() - kSuffix.size()) continue;
    struct stat about {};
    const bool whole = absl::EndsWith(name, Absl(kSuffix));
    if (!whole || lstat(PathOf(name).c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
      unlink(PathOf(name).c_str());
      continue;
    }
    Add(name, {absl::ToUnixMicros(absl::TimeFromTimespec(about.st_mtim)),
               static_cast<std::uint64_t>(about.st_size)});
  }
  MakeRoom(0, std::numeric_limits<std::int64_t>::max());
  return absl::OkStatus();
}

absl::StatusOr<IndexReader> IndexStore::Read(std::string_view run_directory, IndexPart part) const {
  const std::string name = IndexFileName(run_directory);
  {
    MutexLock lock(mutex_);
    if (entries_.find(name) == entries_.end()) {
      return absl::NotFoundError(absl::StrCat("no index of ", Absl(run_directory)));
    }
  }
  return ReadIndex(PathOf(name), run_directory, part);
}

absl::Status IndexStore::Write(std::string_view run_directory, std::int64_t update_us,
                               IndexWriter writer) {
  const std::string name = IndexFileName(run_directory);
  const std::string path = PathOf(name);
  {
    MutexLock lock(mutex_);
    if (const auto it = entries_.find(name); it != entries_.end()) Erase(it);
    if (!MakeRoom(writer.bytes(), update_us)) {
      ++dropped_;
      unlink(path.c_str());
      return absl::ResourceExhaustedError(absl::StrCat("no room for an index of ", writer.bytes(),
                                                       " bytes of ", Absl(run_directory),
                                                       " beside those of newer runs"));
    }
  }
  const absl::StatusOr<std::string> index = std::move(writer).Finish();
  absl::Status status = index.status();
  if (status.ok()) status = runtime::WriteFileAtomically(path, *index, 0600);
  if (!status.ok()) {
    unlink(path.c_str());
    return status;
  }
  const timespec time = absl::ToTimespec(absl::FromUnixMicros(update_us));
  const timespec times[] = {time, time};
  (void)utimensat(AT_FDCWD, path.c_str(), times, 0);
  MutexLock lock(mutex_);
  Add(name, {update_us, index->size()});
  return absl::OkStatus();
}

void IndexStore::Remove(std::string_view run_directory) {
  MutexLock lock(mutex_);
  const auto it = entries_.find(IndexFileName(run_directory));
  if (it == entries_.end()) return;
  unlink(PathOf(it->first).c_str());
  Erase(it);
}

void IndexStore::KeepOnly(const std::set<std::string>& run_directories) {
  std::set<std::string> names;
  for (const std::string& directory : run_directories) names.insert(IndexFileName(directory));
  MutexLock lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto entry = it++;
    if (names.count(entry->first) > 0) continue;
    unlink(PathOf(entry->first).c_str());
    Erase(entry);
  }
}

IndexStore::Stats IndexStore::GetStats() const {
  MutexLock lock(mutex_);
  return {.files = entries_.size(), .bytes = bytes_, .dropped = dropped_};
}

std::string IndexStore::PathOf(std::string_view name) const {
  return absl::StrCat(options_.directory, "/", Absl(name));
}

void IndexStore::Add(const std::string& name, const Entry& entry) {
  if (const auto it = entries_.find(name); it != entries_.end()) Erase(it);
  entries_[name] = entry;
  by_age_.emplace(entry.update_us, name);
  bytes_ += entry.bytes;
}

void IndexStore::Erase(Entries::iterator it) {
  by_age_.erase({it->second.update_us, it->first});
  bytes_ -= it->second.bytes;
  entries_.erase(it);
}

bool IndexStore::MakeRoom(std::uint64_t bytes, std::int64_t newest) {
  if (bytes > options_.byte_budget) return false;
  const std::uint64_t most = options_.byte_budget - bytes;
  std::uint64_t left = bytes_;
  for (auto it = by_age_.begin(); left > most; ++it) {
    if (it == by_age_.end() || it->first >= newest) return false;
    left -= entries_[it->second].bytes;
  }
  while (bytes_ > most) {
    const auto oldest = entries_.find(by_age_.begin()->second);
    unlink(PathOf(oldest->first).c_str());
    Erase(oldest);
    ++dropped_;
  }
  return true;
}

}  // namespace datamanager
