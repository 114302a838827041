#include "launcher/node/files/work_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

constexpr char kPart[] = ".part";
// The launcher answers at once; a request may be lost with a connection.
constexpr absl::Duration kAskAgain = absl::Seconds(30);

absl::Status Failed(const char* verb, const std::string& path) {
  return absl::UnavailableError(absl::StrCat("cannot ", verb, " ", path, ": ", strerror(errno)));
}

}  // namespace

WorkCache::~WorkCache() { way_->Close(); }

void WorkCache::Get(const std::string& attempt, const std::string& work, std::uint64_t bytes,
                    Done done) {
  if (const auto found = coming_.find(work); found != coming_.end()) {
    found->second.waiting[attempt] = std::move(done);
    return;
  }
  Coming& coming = coming_[work];
  coming.bytes = bytes;
  coming.waiting[attempt] = std::move(done);
  // The modification time records the last use.
  const bool is_here = utimensat(AT_FDCWD, Path(work).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
  const absl::Status opened = is_here ? absl::OkStatus() : Open(work, &coming);
  way_->Post([this, work, is_here, opened] {
    if (!coming_.contains(work)) return;
    if (is_here || !opened.ok()) return Finish(work, opened);
    Ask(work);
  });
}

absl::Status WorkCache::Open(const std::string& work, Coming* coming) const {
  if (auto made = runtime::MakePrivateDirectory(options_.directory); !made.ok()) return made;
  const std::string path = Path(work) + kPart;
  coming->file =
      runtime::UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat about = {};
  if (!coming->file.valid() || fstat(coming->file.get(), &about) != 0) return Failed("open", path);
  coming->got = static_cast<std::uint64_t>(about.st_size);
  if (coming->got <= coming->bytes) return absl::OkStatus();
  coming->got = 0;
  return ftruncate(coming->file.get(), 0) == 0 ? absl::OkStatus() : Failed("empty", path);
}

void WorkCache::Leave(const std::string& attempt) {
  for (auto at = coming_.begin(); at != coming_.end();) {
    const bool was_first =
        !at->second.waiting.empty() && at->second.waiting.begin()->first == attempt;
    at->second.waiting.erase(attempt);
    if (at->second.waiting.empty()) {
      at = coming_.erase(at);  // The partial file is kept for the next attempt.
      continue;
    }
    // The launcher may no longer answer requests in the name of the attempt that left.
    if (was_first) Ask(at->first);
    ++at;
  }
}

void WorkCache::Add(const std::string& path, const std::string& work) {
  if (coming_.contains(work) || !runtime::MakePrivateDirectory(options_.directory).ok()) return;
  if (link(path.c_str(), Path(work).c_str()) == 0) RemoveOldest(work);
}

void WorkCache::Remove(const std::string& work) { unlink(Path(work).c_str()); }

void WorkCache::OnConnected() {
  for (const auto& [work, coming] : coming_) Ask(work);
}

void WorkCache::Ask(const std::string& work) {
  Coming& coming = coming_.at(work);
  coming.timer.Start(options_.loop, kAskAgain, [this, work] { Ask(work); });
  options_.ask({.attempt = coming.waiting.begin()->first, .work = work, .offset = coming.got});
}

void WorkCache::OnPiece(const NodeOrder& piece) {
  const auto found = coming_.find(piece.work);
  // (Ignores the second answer to a request that was sent twice.)
  if (found == coming_.end() || !found->second.file.valid() || found->second.got != piece.offset) {
    return;
  }
  Coming& coming = found->second;
  if (const absl::Status taken = Take(piece, &coming); !taken.ok()) {
    return Finish(piece.work, taken);
  }
  if (coming.got < coming.bytes) return Ask(piece.work);
  Finish(piece.work, Keep(piece.work));
}

absl::Status WorkCache::Take(const NodeOrder& piece, Coming* coming) const {
  if (!piece.line.empty()) return absl::FailedPreconditionError(piece.line);
  const std::string path = Path(piece.work) + kPart;
  const std::uint64_t left = coming->bytes - coming->got;
  if ((piece.bytes.empty() && left > 0) ||
      piece.bytes.size() > std::min<std::uint64_t>(left, kMaxWorkPiece)) {
    (void)unlink(path.c_str());
    return absl::FailedPreconditionError(
        "the archive with the attempt's files has another length than the launcher has said");
  }
  for (std::size_t done = 0; done < piece.bytes.size();) {
    const ssize_t written = pwrite(coming->file.get(), piece.bytes.data() + done,
                                   piece.bytes.size() - done, static_cast<off_t>(coming->got));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write", path);
    done += static_cast<std::size_t>(written);
    coming->got += static_cast<std::uint64_t>(written);
  }
  return absl::OkStatus();
}

absl::Status WorkCache::Keep(const std::string& work) {
  const std::string part = Path(work) + kPart;
  if (rename(part.c_str(), Path(work).c_str()) != 0) return Failed("rename", part);
  RemoveOldest(work);
  return absl::OkStatus();
}

void WorkCache::Finish(const std::string& work, const absl::Status& status) {
  auto coming = coming_.extract(work);
  coming.mapped().timer.Cancel();
  for (const auto& [attempt, done] : coming.mapped().waiting) {
    if (status.ok()) {
      done(Path(work));
    } else {
      done(status);
    }
  }
}

void WorkCache::RemoveOldest(const std::string& newest) {
  struct Kept {
    std::filesystem::file_time_type time;
    std::uint64_t bytes;
    std::filesystem::path path;
  };
  std::vector<Kept> all;
  std::uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(options_.directory, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const Kept kept{.time = entry->last_write_time(gone),
                    .bytes = entry->file_size(gone),
                    .path = entry->path()};
    if (gone) continue;
    bytes += kept.bytes;
    // (A file that is being transferred is in use, whatever its modification time.)
    const std::string name = entry->path().filename();
    if (name != newest && !coming_.contains(name.substr(0, name.find('.')))) all.push_back(kept);
  }
  std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) { return a.time < b.time; });
  for (const Kept& kept : all) {
    if (bytes <= options_.max_bytes) return;
    if (std::filesystem::remove(kept.path, error)) bytes -= kept.bytes;
  }
}

}  // namespace launcher
