#include "launcher/node/files/start_checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/node/files/run_directory_files.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/sha256.h"

namespace launcher {
namespace {

constexpr absl::Duration kToGiveUp = absl::Seconds(5);
constexpr absl::Duration kAskAgain = absl::Seconds(30);
constexpr std::size_t kPiece = 256 << 10;
constexpr int kTries = 2;  // Number of requests for a file that arrives with a wrong hash.

absl::Status Failed(const char* verb, const std::string& path) {
  return absl::UnavailableError(absl::StrCat("cannot ", verb, " ", path, ": ", strerror(errno)));
}

// Copies one file into the run directory. DataLoss if it has another hash or does not exist.
absl::Status Copy(const std::string& from, const std::string& run_directory,
                  const FileList::File& file, const std::atomic<bool>& gives_up) {
  const runtime::UniqueFd source(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  // (It was evicted from the cache and will be transferred again.)
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

}  // namespace

StartCheckpoint::StartCheckpoint(Options options) : options_(std::move(options)) { AskForList(); }

StartCheckpoint::~StartCheckpoint() {
  options_.cache->Leave(options_.attempt);
  *gives_up_ = true;
  way_->Close();
  if (thread_ != nullptr) thread_->Join(kToGiveUp);
}

void StartCheckpoint::OnConnected() {
  if (timer_.is_set()) AskForList();
}

void StartCheckpoint::OnList(const FileListAnswer& answer) {
  if (!timer_.is_set() || answer.checkpoint != options_.checkpoint) return;
  timer_.Cancel();
  if (answer.sha256.empty()) return FinishSoon(absl::FailedPreconditionError(answer.error));
  list_file_ = {.path = "", .size = answer.bytes, .sha256 = answer.sha256};
  Get(list_file_, [this](const std::string& path) { ReadList(path); });
}

void StartCheckpoint::AskForList() {
  timer_.Start(options_.loop, kAskAgain, [this] { AskForList(); });
  options_.ask({.attempt = options_.attempt, .checkpoint = options_.checkpoint});
}

void StartCheckpoint::Get(const FileList::File& file,
                          std::function<void(const std::string&)> then) {
  ++tries_;
  options_.cache->Get(options_.attempt, file.sha256, file.size,
                      [this, then = std::move(then)](const absl::StatusOr<std::string>& path) {
                        if (!path.ok()) return FinishSoon(path.status());
                        then(*path);
                      });
}

void StartCheckpoint::OnThread(std::function<absl::Status()> body,
                               void (StartCheckpoint::*then)(const absl::Status&)) {
  thread_ =
      std::make_unique<runtime::Thread>("start", [this, then, way = way_, body = std::move(body)] {
        absl::Status status = body();
        way->Post([this, then, status = std::move(status)] { (this->*then)(status); });
      });
}

void StartCheckpoint::ReadList(const std::string& path) {
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
      &StartCheckpoint::OnListRead);
}

void StartCheckpoint::OnListRead(const absl::Status& status) {
  if (absl::IsDataLoss(status) && tries_ < kTries) {
    options_.cache->Remove(list_file_.sha256);
    return Get(list_file_, [this](const std::string& path) { ReadList(path); });
  }
  if (!status.ok()) return FinishSoon(status);
  tries_ = 0;
  GetNext();
}

void StartCheckpoint::GetNext() {
  if (next_ == list_->files.size()) return FinishSoon(absl::OkStatus());
  Get(list_->files[next_], [this](const std::string& path) {
    OnThread([path, gives_up = gives_up_, run = options_.run_directory,
              file = list_->files[next_]] { return Copy(path, run, file, *gives_up); },
             &StartCheckpoint::OnCopied);
  });
}

void StartCheckpoint::OnCopied(const absl::Status& status) {
  if (absl::IsDataLoss(status) && tries_ < kTries) {
    options_.cache->Remove(list_->files[next_].sha256);
    return GetNext();
  }
  if (!status.ok()) return FinishSoon(status);
  tries_ = 0;
  ++next_;
  GetNext();
}

void StartCheckpoint::FinishSoon(absl::Status status) {
  // (A copy of `done`, since the callback may destroy this object.)
  way_->Post([done = options_.done, status = std::move(status)] { done(status); });
}

}  // namespace launcher
