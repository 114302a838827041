// Always true: only the thread, which runs while parts are waiting, uses the Writer. A file counts
// as complete only after its bytes were hashed here.

#include "launcher/node/files/received_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/node/files/hashed_file.h"
#include "launcher/node/files/run_directory_files.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/text/sha256.h"

namespace launcher {
namespace {

constexpr absl::Duration kToGiveUp = absl::Seconds(5);
constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kMaxTransfers = 16;  // Maximum number of directories that are being received.
constexpr std::string_view kCheckpoint = "checkpoint_";
constexpr std::string_view kTemporary = "checkpoint_tmp";
constexpr std::size_t kTemporaryDigits = 6;
// Files of the trainer in a checkpoint that is being written.
constexpr std::string_view kTrainersFiles[] = {".is_checkpoint", ".temp_marker", ".metadata.json",
                                               ".manifest.json"};

// Files of the trainer in a run directory, and suffixes of the names of others.
constexpr std::string_view kTrainersRunFiles[] = {
    "params.json",  "provenance.json", "uncommitted.diff", "annotations.json",
    "outcome.json", "result.json",     "progress.csv",     "error.txt"};
constexpr std::string_view kOutputEnds[] = {".stdout", ".stderr"};
constexpr char kPart[] = ".yard-part-";
constexpr std::size_t kMaxGrowing = 10'000;  // Maximum number of files that only grow.

bool IsTrainers(std::string_view path) {
  if (path.starts_with(kCheckpoint) || path.starts_with(".yard")) return true;
  if (path.find('/') != path.npos) return false;
  const auto ends = [path](std::string_view end) { return path.ends_with(end); };
  return std::find(std::begin(kTrainersRunFiles), std::end(kTrainersRunFiles), path) !=
             std::end(kTrainersRunFiles) ||
         std::any_of(std::begin(kOutputEnds), std::end(kOutputEnds), ends);
}

std::string_view FirstName(std::string_view path) { return path.substr(0, path.find('/')); }

bool IsTemporaryName(std::string_view name) {
  if (!name.starts_with(kTemporary)) return false;
  name.remove_prefix(kTemporary.size());
  return name.size() == kTemporaryDigits && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Writes the parts; used only by the thread.
class Writer {
 public:
  Writer(std::string run_directory, const std::atomic<bool>& gives_up)
      : run_directory_(std::move(run_directory)), gives_up_(gives_up) {}

  FileAnswer Take(const FilePart& part) {
    answer_ = {.attempt = part.attempt, .transfer = part.transfer, .path = part.path};
    using Kind = FilePart::Kind;
    if (part.kind == Kind::kWhole || part.kind == Kind::kAppend) {
      if (IsTrainers(part.path)) return Fail("the yard has a file of that name itself");
      return part.kind == Kind::kWhole ? TakeWhole(part) : TakeAppend(part);
    }
    const std::string_view first = FirstName(part.path);
    if (first.starts_with(kCheckpoint) && !IsTemporaryName(first)) {
      return Fail(absl::StrCat(part.path, " is in a checkpoint that was committed"));
    }
    if (first.starts_with(kCheckpoint)) {
      const runtime::UniqueFd root =
          OpenInRun(run_directory_, std::string(first), O_PATH | O_DIRECTORY);
      if (!root.valid() && errno == ENOENT) return As(FileAnswer::Kind::kGone);
      if (!root.valid()) return Fail(absl::StrCat("cannot open ", part.path, ": ", Why()));
    }
    if (part.kind == FilePart::Kind::kTree) return TakePart(part);
    if (part.kind == FilePart::Kind::kDirectory) return TakeDirectory(part);
    return TakeEnd(part);
  }

 private:
  struct File {
    std::string path, sha256;
    std::uint64_t size = 0;
    std::uint64_t written = 0;
    runtime::UniqueFd fd;
    runtime::Sha256 hash;
  };

  static std::string Why() { return std::strerror(errno); }
  FileAnswer As(FileAnswer::Kind kind) {
    answer_.kind = kind;
    return answer_;
  }
  FileAnswer Fail(std::string why) {
    answer_.error = std::move(why);
    return As(FileAnswer::Kind::kFailed);
  }
  // Returns the answer after a system call has failed.
  FileAnswer FailAt(const char* verb, const std::string& path) {
    if (errno == ENOSPC || errno == EDQUOT) return As(FileAnswer::Kind::kLater);
    return Fail(absl::StrCat("cannot ", verb, " ", run_directory_, "/", path, ": ", Why()));
  }
  FileAnswer Has(std::uint64_t offset, bool is_whole) {
    answer_.offset = offset;
    answer_.is_whole = is_whole;
    return As(FileAnswer::Kind::kHas);
  }
  static std::string TooMany(const FilePart& part) {
    return absl::StrCat("there are more than ", kMaxTreeFiles, " files and directories, up to ",
                        part.path);
  }
  // Records that the path belongs to its directory. Returns false if there are too many.
  bool Know(const FilePart& part) {
    if (!known_.contains(part.transfer) && known_.size() >= kMaxTransfers) {
      known_.erase(known_.begin());
    }
    std::set<std::string>& paths = known_[part.transfer];
    paths.insert(part.path);
    return paths.size() <= kMaxTreeFiles;
  }

  // Creates the directory at `path` and its parents, with the permissions of the run directory.
  bool MakeDirectory(std::string_view path) {
    struct stat about = {};
    if (stat(run_directory_.c_str(), &about) != 0) return false;
    const mode_t mode = about.st_mode & 0777;
    for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
      const std::string below(path.substr(0, end));
      const std::size_t name = below.rfind('/');
      const runtime::UniqueFd parent =
          name == below.npos
              ? runtime::UniqueFd(open(run_directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
              : OpenInRun(run_directory_, below.substr(0, name), O_RDONLY | O_DIRECTORY);
      if (!parent.valid()) return false;
      const std::string last = name == below.npos ? below : below.substr(name + 1);
      if (mkdirat(parent.get(), last.c_str(), 0700) == 0) {
        if (fchmodat(parent.get(), last.c_str(), mode, 0) != 0) return false;
      } else if (errno != EEXIST) {
        return false;
      }
      if (end == path.npos) break;
    }
    return OpenInRun(run_directory_, std::string(path), O_PATH | O_DIRECTORY).valid();
  }

  bool MakeParent(const std::string& path) {
    const std::size_t end = path.rfind('/');
    return end == path.npos || MakeDirectory(path.substr(0, end));
  }

  FileAnswer TakeDirectory(const FilePart& part) {
    if (!MakeDirectory(part.path)) return FailAt("make the directory", part.path);
    if (!Know(part)) return Fail(TooMany(part));
    return Has(0, /*is_whole=*/true);
  }

  FileAnswer TakePart(const FilePart& part) {
    if (part.path.find('/') == part.path.npos) {
      return Fail(absl::StrCat(part.path, " is in no directory of the run"));
    }
    FileAnswer answer = TakeBytes(part);
    if (answer.is_whole && !Know(part)) return Fail(TooMany(part));
    return answer;
  }

  FileAnswer TakeBytes(const FilePart& part) {
    const bool is_open = file_ && file_->path == part.path && file_->sha256 == part.sha256 &&
                         file_->size == part.size;
    if (!is_open) {
      if (auto failed = Open(part)) return *failed;
    }
    File& file = *file_;
    if (file.written == part.offset && !part.bytes.empty()) {
      if (!Append(file, part.bytes)) return FailAt("write", part.path);
    }
    if (file.written < file.size) return Has(file.written, /*is_whole=*/false);
    return Finish(part);
  }

  FileAnswer Finish(const FilePart& part) {
    File file = *std::exchange(file_, std::nullopt);
    if (file.hash.Finish() == part.sha256) return Has(part.size, /*is_whole=*/true);
    // The file was changed while it was read, or an older file was here.
    if (ftruncate(file.fd.get(), 0) != 0) return FailAt("empty", part.path);
    return Has(0, /*is_whole=*/false);
  }

  // Opens the file and hashes its present content. Returns an answer on failure.
  std::optional<FileAnswer> Open(const FilePart& part) {
    file_.reset();
    if (!MakeParent(part.path)) return FailAt("make the directory of", part.path);
    File file{.path = part.path, .sha256 = part.sha256, .size = part.size};
    file.fd = OpenInRun(run_directory_, part.path, O_RDWR | O_CREAT | O_NONBLOCK);
    struct stat about = {}, run = {};
    if (!file.fd.valid() || fstat(file.fd.get(), &about) != 0 ||
        stat(run_directory_.c_str(), &run) != 0) {
      return FailAt("open", part.path);
    }
    if (!S_ISREG(about.st_mode)) return Fail(absl::StrCat(part.path, " is no file here"));
    (void)fchmod(file.fd.get(), run.st_mode & 0666);
    if (static_cast<std::uint64_t>(about.st_size) > part.size) {
      if (ftruncate(file.fd.get(), 0) != 0) return FailAt("empty", part.path);
      about.st_size = 0;
    }
    file_ = std::move(file);
    if (about.st_size > 0) return HashWhatIsThere();
    // (The node sends a part with bytes after the `like` file turned out to be different.)
    return part.like.empty() || !part.bytes.empty() ? std::nullopt : CopyFrom(part);
  }

  std::optional<FileAnswer> HashWhatIsThere() {
    std::string piece(kPiece, '\0');
    for (;;) {
      if (gives_up_) return As(FileAnswer::Kind::kLater);
      const ssize_t got = read(file_->fd.get(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FailAt("read", std::exchange(file_, std::nullopt)->path);
      if (got == 0) return std::nullopt;
      file_->hash.Add(std::string_view(piece.data(), static_cast<std::size_t>(got)));
      file_->written += static_cast<std::uint64_t>(got);
    }
  }

  // Copies a file that may have the same content; its hash shows whether it has.
  std::optional<FileAnswer> CopyFrom(const FilePart& part) {
    const runtime::UniqueFd like = OpenInRun(run_directory_, part.like, O_RDONLY | O_NONBLOCK);
    struct stat about = {};
    if (!like.valid() || fstat(like.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
        static_cast<std::uint64_t>(about.st_size) != part.size) {
      return std::nullopt;
    }
    std::string piece(kPiece, '\0');
    for (;;) {
      if (gives_up_) return As(FileAnswer::Kind::kLater);
      const ssize_t got = read(like.get(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      const std::uint64_t room = part.size - file_->written;
      const auto taken = std::min<std::uint64_t>(static_cast<std::uint64_t>(got), room);
      if (!Append(*file_, std::string_view(piece).substr(0, taken))) {
        return FailAt("write", part.path);
      }
      if (file_->written == part.size) return std::nullopt;
    }
  }

  static bool Append(File& file, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written =
          pwrite(file.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(file.written));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      file.hash.Add(bytes.substr(0, static_cast<std::size_t>(written)));
      file.written += static_cast<std::uint64_t>(written);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  // --- Files outside of checkpoints.

  FileAnswer TakeWhole(const FilePart& part) {
    if (part.bytes.empty() && HasItAlready(part)) return Has(part.size, /*is_whole=*/true);
    FilePart written = part;
    written.path = absl::StrCat(kPart, part.attempt, "-", part.sha256.substr(0, 16));
    FileAnswer answer = TakeBytes(written);
    if (!answer.is_whole) return answer;
    if (!MakeParent(part.path)) return FailAt("make the directory of", part.path);
    const runtime::UniqueFd run(open(run_directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::size_t name = part.path.rfind('/');
    const runtime::UniqueFd parent =
        name == part.path.npos
            ? runtime::UniqueFd(dup(run.get()))
            : OpenInRun(run_directory_, part.path.substr(0, name), O_RDONLY | O_DIRECTORY);
    const std::string last = part.path.substr(name + 1);
    if (!run.valid() || !parent.valid() ||
        renameat(run.get(), written.path.c_str(), parent.get(), last.c_str()) != 0) {
      return FailAt("make", part.path);
    }
    return answer;
  }

  bool HasItAlready(const FilePart& part) {
    const runtime::UniqueFd file = OpenInRun(run_directory_, part.path, O_RDONLY | O_NONBLOCK);
    struct stat about = {};
    if (!file.valid() || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
        static_cast<std::uint64_t>(about.st_size) != part.size) {
      return false;
    }
    return HashOfFirst(file.get(), part.size) == part.sha256;
  }

  // Hashes the first `size` bytes; empty if the file has fewer.
  std::string HashOfFirst(int fd, std::uint64_t size) {
    auto hashed = HashFile(fd, gives_up_, size);
    return hashed.ok() && hashed->size == size ? std::move(hashed->sha256) : "";
  }

  FileAnswer TakeAppend(const FilePart& part) {
    const bool makes = part.offset == 0 && !part.bytes.empty();
    if (makes && !MakeParent(part.path)) return FailAt("make the directory of", part.path);
    const runtime::UniqueFd fd =
        OpenInRun(run_directory_, part.path, O_RDWR | O_NONBLOCK | (makes ? O_CREAT : 0));
    if (!fd.valid() && errno == ENOENT) return Has(0, /*is_whole=*/false);
    struct stat about = {}, run = {};
    if (!fd.valid() || fstat(fd.get(), &about) != 0 || stat(run_directory_.c_str(), &run) != 0) {
      return FailAt("open", part.path);
    }
    if (!S_ISREG(about.st_mode)) return Fail("it is no file here");
    auto there = static_cast<std::uint64_t>(about.st_size);
    if (there == 0) {
      (void)fchmod(fd.get(), run.st_mode & 0666);
    } else if (!growing_.contains(part.path)) {
      if (part.sha256.empty() || part.offset != there) return Has(there, /*is_whole=*/false);
      if (HashOfFirst(fd.get(), there) != part.sha256) {
        return Fail("another file of that name is there already");
      }
    }
    if (growing_.size() >= kMaxGrowing && !growing_.contains(part.path)) {
      return Fail(absl::StrCat("more than ", kMaxGrowing, " files grow"));
    }
    if (part.offset != there || part.bytes.empty()) return Has(there, /*is_whole=*/false);
    growing_.insert(part.path);
    std::string_view rest = part.bytes;
    while (!rest.empty()) {
      const ssize_t written = pwrite(fd.get(), rest.data(), rest.size(), static_cast<off_t>(there));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return FailAt("write", part.path);
      there += static_cast<std::uint64_t>(written);
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    return Has(there, /*is_whole=*/true);
  }

  FileAnswer TakeEnd(const FilePart& part) {
    file_.reset();
    const auto known = known_.find(part.transfer);
    if (known == known_.end() || known->second.size() != part.count) {
      return As(FileAnswer::Kind::kAgain);
    }
    if (const auto failed = RemoveOthers(part.path, known->second)) return *failed;
    known_.erase(known);
    return Has(0, /*is_whole=*/true);
  }

  // Removes files that an earlier try of the node has left or that the program has removed since.
  std::optional<FileAnswer> RemoveOthers(const std::string& directory,
                                         const std::set<std::string>& known) {
    if (!OpenInRun(run_directory_, directory, O_PATH | O_DIRECTORY).valid()) {
      return FailAt("open", directory);
    }
    std::vector<std::filesystem::path> others;
    std::error_code error;
    const std::string root = absl::StrCat(run_directory_, "/", directory);
    for (std::filesystem::recursive_directory_iterator entry(root, error), end;
         !error && entry != end; entry.increment(error)) {
      const std::string path = entry->path().string().substr(run_directory_.size() + 1);
      const bool is_trainers =
          entry.depth() == 0 && IsTemporaryName(directory) &&
          std::find(std::begin(kTrainersFiles), std::end(kTrainersFiles),
                    std::string(entry->path().filename())) != std::end(kTrainersFiles);
      if (known.contains(path) || is_trainers) continue;
      others.push_back(entry->path());
      entry.disable_recursion_pending();
    }
    for (const std::filesystem::path& path : others) {
      if (!error) std::filesystem::remove_all(path, error);
    }
    if (!error) return std::nullopt;
    return Fail(absl::StrCat("cannot clear ", root, ": ", error.message()));
  }

  const std::string run_directory_;
  const std::atomic<bool>& gives_up_;
  FileAnswer answer_;
  std::optional<File> file_;       // The file that is being written.
  std::set<std::string> growing_;  // Files whose bytes are known to be the beginning of the node's.
  // The received paths, by transfer.
  std::map<std::uint64_t, std::set<std::string>> known_;
};

}  // namespace

struct ReceivedFiles::Shared {
  explicit Shared(std::string run_directory) : writer(std::move(run_directory), gives_up) {}
  // Returns the next part to write; nullopt if the thread is to end.
  std::optional<FilePart> Next();

  std::atomic<bool> gives_up = false;
  Writer writer;  // Used only by the thread.
  runtime::Mutex mutex;
  std::deque<FilePart> waiting ABSL_GUARDED_BY(mutex);
  bool is_running ABSL_GUARDED_BY(mutex) = false;
};

std::optional<FilePart> ReceivedFiles::Shared::Next() {
  runtime::MutexLock lock(mutex);
  if (waiting.empty()) {
    is_running = false;
    return std::nullopt;
  }
  FilePart part = std::move(waiting.front());
  waiting.pop_front();
  return part;
}

ReceivedFiles::ReceivedFiles(Options options)
    : options_(std::move(options)), shared_(std::make_shared<Shared>(options_.run_directory)) {}

ReceivedFiles::~ReceivedFiles() {
  way_->Close();
  shared_->gives_up = true;
  {
    runtime::MutexLock lock(shared_->mutex);
    shared_->waiting.clear();
  }
  if (thread_ != nullptr) thread_->Join(kToGiveUp);
  RemoveParts();
}

void ReceivedFiles::Take(FilePart part) {
  runtime::MutexLock lock(shared_->mutex);
  if (shared_->waiting.size() >= kMaxWaiting) return;
  shared_->waiting.push_back(std::move(part));
  if (std::exchange(shared_->is_running, true)) return;
  thread_ = std::make_unique<runtime::Thread>(
      "received", [shared = shared_, way = way_, answer = options_.answer] {
        while (const auto next = shared->Next()) {
          way->Post([answer, said = shared->writer.Take(*next)] { answer(said); });
        }
      });
}

void ReceivedFiles::RemoveParts() const {
  const std::string begin = absl::StrCat(kPart, options_.attempt, "-");
  std::error_code error;
  for (std::filesystem::directory_iterator entry(options_.run_directory, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with(begin)) (void)unlink(entry->path().c_str());
  }
}

}  // namespace launcher
