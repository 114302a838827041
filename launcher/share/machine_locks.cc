#include "launcher/share/machine_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "runtime/text/printable.h"

// Always true:
// - claims_ contains exactly the members whose first byte this process has locked, each by its own
//   file description. Closing the description releases the claim.
// - Only regular files with a single link are locked, read or written, and no link is followed,
//   because the whole group of the directory can write to it.
// - A note is at most kMaxNote bytes, whatever the size of its file.

namespace launcher {
namespace {

using runtime::UniqueFd;

constexpr char kGpu[] = "gpu";
constexpr char kSharedFile[] = "shared";
constexpr std::size_t kMaxShared = 64 * 1024;
constexpr std::size_t kMaxNote = 4096;
constexpr std::size_t kMaxWord = 64;
// Tries to create or lock a file that others create and remove at the same time.
constexpr int kTries = 3;

// The bytes of a lock file.
constexpr off_t kLauncher = 0;
constexpr off_t kTree = 1;

struct flock Bytes(short type, off_t first, off_t count) {
  struct flock bytes = {};
  bytes.l_type = type;
  bytes.l_whence = SEEK_SET;
  bytes.l_start = first;
  bytes.l_len = count;
  return bytes;
}

bool Lock(int fd, short type, off_t first, off_t count) {
  struct flock bytes = Bytes(type, first, count);
  return fcntl(fd, F_OFD_SETLK, &bytes) == 0;
}

bool IsHeld(int fd) {
  struct flock bytes = Bytes(F_WRLCK, kLauncher, 2);
  return fcntl(fd, F_OFD_GETLK, &bytes) != 0 || bytes.l_type != F_UNLCK;
}

// Returns a file name: letters, digits, '.', '_' and '-' are kept, other bytes become %XX.
std::string FileName(std::string_view resource, std::string_view member) {
  std::string name = absl::StrCat(absl::string_view(resource.data(), resource.size()), ".");
  for (const char c : member) {
    const bool stays =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
    if (stays) {
      name += c;
    } else {
      absl::StrAppendFormat(&name, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return name + ".lock";
}

absl::Status NotALock(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(
      path, " is not a plain file with one name: its owner, or root, is to remove it"));
}

std::string Clip(std::string text) {
  if (text.size() <= kMaxWord) return text;
  std::size_t end = kMaxWord;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string ReadStart(int fd, std::size_t limit) {
  std::string text(limit, '\0');
  ssize_t got;
  do {
    got = pread(fd, text.data(), text.size(), 0);
  } while (got < 0 && errno == EINTR);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

std::string OwnName() {
  passwd entry = {}, *found = nullptr;
  char buffer[16384];
  const bool is_known =
      getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr;
  return is_known ? found->pw_name : absl::StrCat("user ", getuid());
}

// Returns " since 21:04", or " since 2026-03-01 21:04" if that was another day in local time; empty
// for an impossible time.
std::string SinceWords(std::int64_t since_us, absl::Time now) {
  const absl::Time since = absl::FromUnixMicros(since_us);
  if (since_us <= 0 || since > now) return "";
  const absl::TimeZone zone = absl::LocalTimeZone();
  const bool today = absl::FormatTime("%F", since, zone) == absl::FormatTime("%F", now, zone);
  return absl::StrCat(" since ", absl::FormatTime(today ? "%H:%M" : "%F %H:%M", since, zone));
}

}  // namespace

// The note in the file of a member, which describes its holder.
struct MachineLocks::Note {
  std::string user, yard, trial, job, job_id;
  std::int64_t since_us = 0;

  std::string Encode() const {
    const nlohmann::json note = {{"user", user}, {"yard", yard},     {"trial", trial},
                                 {"job", job},   {"job_id", job_id}, {"since_us", since_us}};
    return note.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  static std::optional<Note> Decode(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return std::nullopt;
    const auto word = [&](const char* name) -> std::string {
      const auto found = json.find(name);
      return found != json.end() && found->is_string() ? found->get<std::string>() : "";
    };
    Note note{.user = word("user"),
              .yard = word("yard"),
              .trial = word("trial"),
              .job = word("job"),
              .job_id = word("job_id")};
    const auto since = json.find("since_us");
    if (since != json.end() && since->is_number_integer()) {
      note.since_us = since->get<std::int64_t>();
    }
    if (note.user.empty()) return std::nullopt;
    return note;
  }
};

std::unique_ptr<MachineLocks> MachineLocks::Open(Options options) {
  UniqueFd directory(open(options.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int error = directory.valid() ? 0 : errno;
  if (error == ENOENT) return nullptr;
  std::unique_ptr<MachineLocks> locks(
      new MachineLocks(std::move(options), std::move(directory), error));
  LOG_IF(WARNING, !locks->problem().empty()) << runtime::Printable(locks->problem());
  return locks;
}

MachineLocks::MachineLocks(Options options, UniqueFd directory, int error)
    : options_(std::move(options)), directory_(std::move(directory)), user_(OwnName()) {
  opened_ = options_.clock->Monotonic();
  shared_.insert(kGpu);
  if (!directory_.valid()) {
    problem_ = absl::StrCat("cannot open ", options_.directory, ": ", strerror(error));
  } else if (faccessat(directory_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    problem_ = absl::StrCat("cannot write to ", options_.directory, ": ", strerror(errno));
  } else {
    ReadShared();
    return;
  }
  absl::StrAppend(&problem_,
                  ": ask an administrator to let you in (usually by the group yard-machine), "
                  "then sign in again and restart the yard");
  is_closed_ = true;
}

bool MachineLocks::Claim(const std::string& resource, const std::string& member,
                         const std::string& job) {
  return Claimed(resource, member, job).ok();
}

bool MachineLocks::Reclaim(const std::string& resource, const std::string& member,
                           const std::string& job, bool only_if_noted) {
  const auto file = FileOf(resource, member);
  if (!file.ok()) return false;
  auto fd = OpenFile(*file);
  if (!fd.ok()) return false;
  if (only_if_noted) {
    const auto note = Note::Decode(ReadStart(fd->get(), kMaxNote));
    if (!note || note->yard != options_.yard || note->job_id != job) return false;
  }
  if (!Lock(fd->get(), F_WRLCK, kLauncher, 1)) return false;
  claims_[{resource, member}] = *std::move(fd);
  return true;
}

void MachineLocks::Release(const std::string& resource, const std::string& member) {
  const auto claim = claims_.extract({resource, member});
  // The note is kept as long as processes still use the member.
  if (claim.empty()) return;
  struct flock tree = Bytes(F_WRLCK, kTree, 1);
  const bool is_free =
      fcntl(claim.mapped().get(), F_OFD_GETLK, &tree) == 0 && tree.l_type == F_UNLCK;
  if (is_free && ftruncate(claim.mapped().get(), 0) != 0) return;
}

std::string MachineLocks::WhyNot(const std::string& resource, const std::string& member) {
  const std::string what = absl::StrCat(resource, " ", member);
  const auto file = FileOf(resource, member);
  if (!file.ok()) return absl::StrCat(what, ": ", file.status().message());
  if (claims_.contains({resource, member})) return "";
  const auto fd = OpenFile(*file);
  if (!fd.ok()) return absl::StrCat(what, ": ", fd.status().message());
  if (!IsHeld(fd->get())) return "";
  const auto note = Note::Decode(ReadStart(fd->get(), kMaxNote));
  if (!note) return absl::StrCat(what, " is held by another yard");
  return absl::StrCat(what, " is held by ", HolderWords(*note),
                      SinceWords(note->since_us, options_.clock->Now()));
}

absl::StatusOr<UniqueFd> MachineLocks::ForTree(const std::string& resource,
                                               const std::string& member, const std::string& job) {
  if (auto claimed = Claimed(resource, member, job); !claimed.ok()) {
    const std::string why = WhyNot(resource, member);
    return why.empty() ? claimed : absl::FailedPreconditionError(why);
  }
  const auto file = FileOf(resource, member);
  if (!file.ok()) return file.status();
  auto fd = OpenFile(*file);
  if (!fd.ok()) return fd.status();
  // A read lock, since tasks of one job may share a member.
  if (!Lock(fd->get(), F_RDLCK, kTree, 1)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot lock ", resource, " ", member, ": ", strerror(errno)));
  }
  return fd;
}

absl::Status MachineLocks::Claimed(const std::string& resource, const std::string& member,
                                   const std::string& job) {
  if (claims_.contains({resource, member})) return absl::OkStatus();
  const auto file = FileOf(resource, member);
  if (!file.ok()) return file.status();
  for (int i = 0; i < kTries; ++i) {
    auto fd = OpenFile(*file);
    if (!fd.ok()) return fd.status();
    // (A lock of the second byte shows that no process of another job still uses the member.)
    if (!Lock(fd->get(), F_WRLCK, kLauncher, 2)) return absl::FailedPreconditionError("held");
    Lock(fd->get(), F_UNLCK, kTree, 1);
    if (!IsStillNamed(fd->get(), *file)) continue;
    WriteNote(fd->get(), job);
    claims_[{resource, member}] = *std::move(fd);
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat(options_.directory, "/", *file, " is replaced again and again"));
}

// Returns the name of a member's file.
absl::StatusOr<std::string> MachineLocks::FileOf(const std::string& resource,
                                                 const std::string& member) {
  if (is_closed_) return absl::PermissionDeniedError(problem_);
  if (resource != kGpu || !options_.gpu_uuid || gives_up_on_uuids_) {
    return FileName(resource, member);
  }
  const auto known = uuids_.find(member);
  if (known != uuids_.end()) return FileName(resource, known->second);
  if (const auto uuid = options_.gpu_uuid(member)) {
    return FileName(resource, uuids_[member] = uuid->empty() ? member : *uuid);
  }
  if (options_.clock->Monotonic() - opened_ < options_.driver_patience) {
    return absl::UnavailableError("the driver has not said yet which GPU it is");
  }
  LOG(WARNING) << "the driver does not say which GPUs there are: their locks have the names by "
                  "which this launcher knows them, not their uuids";
  gives_up_on_uuids_ = true;
  return FileName(resource, member);
}

absl::StatusOr<UniqueFd> MachineLocks::OpenFile(const std::string& file) const {
  const std::string path = options_.directory + "/" + file;
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  for (int i = 0; i < kTries; ++i) {
    // (Open without O_CREAT first: in a directory of several users the kernel may refuse to open
    // another user's file with it.)
    UniqueFd fd(openat(directory_.get(), file.c_str(), kFlags));
    if (!fd.valid() && errno == ENOENT) {
      fd = UniqueFd(openat(directory_.get(), file.c_str(), kFlags | O_CREAT | O_EXCL, 0660));
      if (!fd.valid() && errno == EEXIST) continue;
      if (fd.valid()) (void)fchmod(fd.get(), 0660);  // (Overrides our umask.)
    }
    if (!fd.valid()) {
      if (errno == ELOOP || errno == EISDIR || errno == ENXIO) return NotALock(path);
      return absl::PermissionDeniedError(absl::StrCat("cannot open ", path, ": ", strerror(errno)));
    }
    struct stat about = {};
    if (fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink > 1) {
      return NotALock(path);
    }
    return fd;
  }
  return absl::UnavailableError(absl::StrCat(path, " is made and removed again and again"));
}

bool MachineLocks::IsStillNamed(int fd, const std::string& file) const {
  struct stat open = {}, named = {};
  return fstat(fd, &open) == 0 &&
         fstatat(directory_.get(), file.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

// Writes the note of a claim. Errors are ignored, since only messages use the note.
void MachineLocks::WriteNote(int fd, const std::string& job) const {
  Note note{.user = user_,
            .yard = options_.yard,
            .job_id = job,
            .since_us = absl::ToUnixMicros(options_.clock->Now())};
  if (names_) {
    const Names names = names_(job);
    note.trial = Clip(names.trial);
    note.job = Clip(names.job);
  }
  const std::string text = note.Encode();
  if (ftruncate(fd, 0) != 0 || text.size() > kMaxNote) return;
  (void)!pwrite(fd, text.data(), text.size(), 0);
}

std::string MachineLocks::HolderWords(const Note& note) const {
  const auto word = [](const std::string& text) { return Clip(runtime::Printable(text)); };
  const std::string thing =
      note.trial.empty() ? absl::StrCat("job ", word(note.job.empty() ? note.job_id : note.job))
                         : absl::StrCat("trial ", word(note.trial));
  if (note.user != user_) return absl::StrCat(word(note.user), "'s ", thing);
  return absl::StrCat(
      "your ", thing,
      note.yard == options_.yard ? "" : absl::StrCat(" (of the yard in ", word(note.yard), ")"));
}

void MachineLocks::ReadShared() {
  const std::string path = options_.directory + "/" + kSharedFile;
  const UniqueFd fd(openat(directory_.get(), kSharedFile,
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return;
  struct stat about = {}, folder = {};
  const bool counts = fd.valid() && fstat(fd.get(), &about) == 0 &&
                      fstat(directory_.get(), &folder) == 0 && S_ISREG(about.st_mode) &&
                      (about.st_uid == 0 || about.st_uid == folder.st_uid) &&
                      (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!counts) {
    problem_ = absl::StrCat(path, " does not count: it must be a plain file that root or the ",
                            "directory's owner has, and that nobody else can write");
    return;
  }
  const std::string text = ReadStart(fd.get(), kMaxShared);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view words = line.substr(0, line.find('#'));
    for (const absl::string_view word :
         absl::StrSplit(words, absl::ByAnyChar(" \t\r,"), absl::SkipEmpty())) {
      shared_.insert(std::string(word));
    }
  }
}

}  // namespace launcher
