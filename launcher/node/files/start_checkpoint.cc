#include "launcher/node/files/start_checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/node/files/run_tree.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/text/sha256.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

constexpr absl::Duration kToGiveUp = absl::Seconds(5);
constexpr absl::Duration kAskAgain = absl::Seconds(30);
constexpr std::size_t kPiece = 256 << 10;
constexpr int kTries = 2;  // A file that comes with another hash is asked for so often.

struct Shared {
  explicit Shared(runtime::EventLoop* of) : loop(of) {}
  std::atomic<bool> gives_up = false;
  runtime::Mutex mutex;
  runtime::EventLoop* loop ABSL_GUARDED_BY(mutex);  // Null: nobody waits any more.
};

absl::Status Failed(const char* verb, const std::string& path) {
  return absl::UnavailableError(absl::StrCat("cannot ", verb, " ", path, ": ", strerror(errno)));
}

// DataLoss: it has another hash, or is not there.
absl::Status Copy(const std::string& from, const std::string& run_directory,
                  const FileList::File& file, const std::atomic<bool>& gives_up) {
  const runtime::UniqueFd source(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  // (Another file has taken its place in the cache: it comes again.)
  if (!source.valid()) return absl::DataLossError(absl::StrCat("cannot open ", from));
  const std::string path = absl::StrCat(run_directory, "/", file.path);
  const runtime::UniqueFd target =
      OpenInRun(run_directory, file.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!target.valid()) return Failed("make", path);
  runtime::Sha256 hash;
  std::string piece(kPiece, '\0');
  for (;;) {
    if (gives_up) return absl::CancelledError("given up");
    const ssize_t got = read(source.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", from);
    if (got == 0) break;
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    hash.Add(bytes);
    if (auto written = runtime::WriteAll(target.get(), bytes); !written.ok()) {
      return absl::Status(written.code(),
                          absl::StrCat("cannot write ", path, ": ", written.message()));
    }
  }
  if (hash.Finish() == file.sha256) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, " has come with another hash"));
}

absl::Status MakeDirectories(const std::string& run_directory, const FileList& list) {
  for (const std::string& path : list.directories) {
    auto made = runtime::MakeDirectories(absl::StrCat(run_directory, "/", path), 0700);
    if (!made.ok()) return made;
  }
  return absl::OkStatus();
}

class Checkpoint final : public StartCheckpoint {
 public:
  explicit Checkpoint(Options options) : options_(std::move(options)) { AskForList(); }
  ~Checkpoint() override {
    *alive_ = false;
    options_.loop->Cancel(timer_);
    options_.cache->Leave(options_.attempt);
    shared_->gives_up = true;
    {
      runtime::MutexLock lock(shared_->mutex);
      shared_->loop = nullptr;
    }
    if (thread_ != nullptr) thread_->Join(kToGiveUp);
  }

  void OnConnected() override {
    if (timer_ != 0) AskForList();
  }

  void OnList(const FileListAnswer& answer) override {
    if (timer_ == 0 || answer.checkpoint != options_.checkpoint) return;
    options_.loop->Cancel(std::exchange(timer_, 0));
    if (answer.sha256.empty()) return FinishSoon(absl::FailedPreconditionError(answer.error));
    list_file_ = {.path = "", .size = answer.bytes, .sha256 = answer.sha256};
    Get(list_file_, [this](const std::string& path) { ReadList(path); });
  }

 private:
  void AskForList() {
    options_.loop->Cancel(timer_);
    timer_ = options_.loop->RunAfter(kAskAgain, [this] { AskForList(); });
    options_.ask({.attempt = options_.attempt, .checkpoint = options_.checkpoint});
  }

  void Get(const FileList::File& file, std::function<void(const std::string&)> then) {
    ++tries_;
    options_.cache->Get(options_.attempt, file.sha256, file.size,
                        [this, then = std::move(then)](const absl::StatusOr<std::string>& path) {
                          if (!path.ok()) return FinishSoon(path.status());
                          then(*path);
                        });
  }

  void OnThread(std::function<absl::Status()> body, void (Checkpoint::*then)(const absl::Status&)) {
    thread_ = std::make_unique<runtime::Thread>(
        "start", [this, then, shared = shared_, alive = alive_, body = std::move(body)] {
          absl::Status status = body();
          runtime::MutexLock lock(shared->mutex);
          if (shared->loop == nullptr) return;
          shared->loop->Post([this, then, alive, status = std::move(status)] {
            if (*alive) (this->*then)(status);
          });
        });
  }

  void ReadList(const std::string& path) {
    OnThread(
        [path, run = options_.run_directory, expected = list_file_.sha256, list = list_] {
          const auto bytes = runtime::ReadFile(path, kMaxFileList);
          if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
          if (runtime::Sha256Hex(*bytes) != expected) {
            return absl::DataLossError("the list of its files has come with another hash");
          }
          auto decoded = FileList::Decode(*bytes);
          if (!decoded) return absl::InvalidArgumentError("the list of its files is none");
          *list = *std::move(decoded);
          return MakeDirectories(run, *list);
        },
        &Checkpoint::OnListRead);
  }

  void OnListRead(const absl::Status& status) {
    if (absl::IsDataLoss(status) && tries_ < kTries) {
      options_.cache->Remove(list_file_.sha256);
      return Get(list_file_, [this](const std::string& path) { ReadList(path); });
    }
    if (!status.ok()) return FinishSoon(status);
    tries_ = 0;
    GetNext();
  }

  void GetNext() {
    if (next_ == list_->files.size()) return FinishSoon(absl::OkStatus());
    Get(list_->files[next_], [this](const std::string& path) {
      OnThread([path, shared = shared_, run = options_.run_directory,
                file = list_->files[next_]] { return Copy(path, run, file, shared->gives_up); },
               &Checkpoint::OnCopied);
    });
  }

  void OnCopied(const absl::Status& status) {
    if (absl::IsDataLoss(status) && tries_ < kTries) {
      options_.cache->Remove(list_->files[next_].sha256);
      return GetNext();
    }
    if (!status.ok()) return FinishSoon(status);
    tries_ = 0;
    ++next_;
    GetNext();
  }

  void FinishSoon(absl::Status status) {
    // (A copy of `done`, which may destroy this.)
    options_.loop->Post([alive = alive_, done = options_.done, status = std::move(status)] {
      if (*alive) done(status);
    });
  }

  const Options options_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>(options_.loop);
  std::unique_ptr<runtime::Thread> thread_;
  runtime::EventLoop::TimerId timer_ = 0;  // While the list is asked for.
  FileList::File list_file_;
  const std::shared_ptr<FileList> list_ = std::make_shared<FileList>();
  std::size_t next_ = 0;
  int tries_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<StartCheckpoint> StartCheckpoint::Create(Options options) {
  return std::make_unique<Checkpoint>(std::move(options));
}

}  // namespace launcher
