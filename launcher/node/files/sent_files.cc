// Always true: an active transfer has exactly one of these: a thread that hashes, an unanswered
// part, or a posted end. All other transfers are in waiting_.

#include "launcher/node/files/sent_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/node/files/run_directory_files.h"
#include "launcher/node/files/way_back.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"
#include "runtime/timer.h"

namespace launcher {
namespace {

constexpr absl::Duration kToGiveUp = absl::Seconds(5);
// Number of tries to send a file that arrives with a wrong hash.
constexpr int kTries = 3;

std::uint64_t RandomNumber() {
  std::random_device device;
  return (std::uint64_t{device()} << 31 | device()) & 0x7fffffffffffffff;
}

struct Transfer {
  std::uint64_t number = 0;
  std::string attempt, run_directory, path;
  std::shared_ptr<const SentFiles::Known> known;
  SentFiles::Done done;
  bool is_active = false, is_hashed = false, is_over = false;
  FileList list;
  std::size_t next = 0;  // Index into the sequence of the directories, the files, and the end.
  runtime::UniqueFd file;
  std::uint64_t offset = 0;
  bool asks = true;  // It is unknown how much of the file the launcher has.
  int tries = 0;
  runtime::Timer timer = {};
  std::shared_ptr<std::atomic<bool>> gives_up = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<runtime::Thread> thread = nullptr;

  bool IsAtFile() const {
    return next >= list.directories.size() && next < list.directories.size() + list.files.size();
  }
  const FileList::File& File() const { return list.files[next - list.directories.size()]; }
  std::string PathNow() const {
    if (next < list.directories.size()) return list.directories[next];
    return IsAtFile() ? File().path : path;
  }
};

class RealSentFiles final : public SentFiles {
 public:
  explicit RealSentFiles(Options options) : options_(std::move(options)) {}
  ~RealSentFiles() override {
    way_->Close();
    for (auto& [number, transfer] : transfers_) {
      *transfer->gives_up = true;
    }
    for (auto& [number, transfer] : transfers_) {
      if (transfer->thread != nullptr) transfer->thread->Join(kToGiveUp);
    }
  }

  void Send(const std::string& attempt, const std::string& run_directory, const std::string& path,
            std::shared_ptr<const Known> known, Done done) override {
    for (auto& [number, other] : transfers_) {
      if (other->attempt != attempt || other->path != path || other->is_over) continue;
      other->done = std::move(done);
      return;
    }
    auto transfer = std::make_unique<Transfer>();
    transfer->number = RandomNumber();
    transfer->attempt = attempt;
    transfer->run_directory = run_directory;
    transfer->path = path;
    transfer->known = std::move(known);
    transfer->done = std::move(done);
    waiting_.push_back(transfer->number);
    transfers_[transfer->number] = std::move(transfer);
    StartNext();
  }

  void Cancel(const std::string& attempt) override {
    for (auto& [number, transfer] : transfers_) {
      if (transfer->attempt != attempt) continue;
      transfer->done = [](const absl::StatusOr<FileList>&) {};
      *transfer->gives_up = true;
      Finish(transfer.get(), absl::CancelledError("given up"));
    }
  }

  void OnConnected() override {
    for (auto& [number, transfer] : transfers_) {
      if (!transfer->is_hashed || transfer->is_over) continue;
      transfer->asks = true;
      SendPart(transfer.get());
    }
  }

  void OnAnswer(const FileAnswer& answer) override {
    const auto found = transfers_.find(answer.transfer);
    if (found == transfers_.end()) return;
    Transfer* const transfer = found->second.get();
    // (Ignores the second answer to a part that was sent twice.)
    if (transfer->attempt != answer.attempt || !transfer->is_hashed || transfer->is_over ||
        transfer->PathNow() != answer.path) {
      return;
    }
    using Kind = FileAnswer::Kind;
    switch (answer.kind) {
      case Kind::kHas:
        return OnHas(transfer, answer);
      case Kind::kLater:
        return AskAfter(transfer, options_.no_room_pause);
      case Kind::kGone:
        return Finish(transfer, absl::NotFoundError(absl::StrCat(transfer->path, " is gone")));
      case Kind::kAgain:
        Go(transfer, 0);
        return SendPart(transfer);
      case Kind::kFailed:
        return Finish(transfer, absl::FailedPreconditionError(answer.error));
    }
  }

 private:
  Transfer* Find(std::uint64_t number) {
    const auto found = transfers_.find(number);
    return found == transfers_.end() || found->second->is_over ? nullptr : found->second.get();
  }

  void StartNext() {
    while (active_ < kMaxActive && !waiting_.empty()) {
      Transfer* const transfer = Find(waiting_.front());
      waiting_.pop_front();
      if (transfer == nullptr) continue;
      ++active_;
      transfer->is_active = true;
      Hash(transfer);
    }
  }

  void Hash(Transfer* transfer) {
    transfer->thread = std::make_unique<runtime::Thread>(
        "hash", [this, number = transfer->number, run = transfer->run_directory,
                 path = transfer->path, gives_up = transfer->gives_up, way = way_] {
          auto list = ReadTree(run, path, *gives_up);
          way->Post([this, number, list = std::move(list)]() mutable {
            Transfer* const still = Find(number);
            if (still == nullptr) return;
            if (!list.ok()) return Finish(still, list.status());
            still->list = *std::move(list);
            still->is_hashed = true;
            Go(still, 0);
            SendPart(still);
          });
        });
  }

  void Go(Transfer* transfer, std::size_t next) {
    transfer->next = next;
    transfer->file.reset();
    transfer->offset = 0;
    transfer->tries = 0;
    transfer->asks = true;
  }

  void AskAfter(Transfer* transfer, absl::Duration pause) {
    transfer->timer.Start(options_.loop, pause, [this, number = transfer->number] {
      Transfer* const still = Find(number);
      if (still == nullptr) return;
      still->asks = true;
      SendPart(still);
    });
  }

  // Sends the next part, or asks how much the launcher has.
  void SendPart(Transfer* transfer) {
    FilePart part{
        .attempt = transfer->attempt, .transfer = transfer->number, .path = transfer->PathNow()};
    const std::size_t directories = transfer->list.directories.size();
    if (transfer->next < directories) {
      part.kind = FilePart::Kind::kDirectory;
    } else if (!transfer->IsAtFile()) {
      part.kind = FilePart::Kind::kEnd;
      part.count = directories + transfer->list.files.size();
    } else if (auto read = FillIn(transfer, &part); !read.ok()) {
      return Finish(transfer, read);
    }
    AskAfter(transfer, options_.ask_again);
    options_.send(part);
  }

  absl::Status FillIn(Transfer* transfer, FilePart* part) const {
    const FileList::File& file = transfer->File();
    part->size = file.size;
    part->sha256 = file.sha256;
    if (transfer->known != nullptr) {
      const auto known = transfer->known->find(file.sha256);
      if (known != transfer->known->end()) part->like = known->second;
    }
    // A file that fits into one part is sent without asking how much the launcher has.
    const bool is_small = part->like.empty() && file.size <= kMaxFilePiece;
    if (transfer->asks && !is_small) return absl::OkStatus();
    part->offset = transfer->asks ? 0 : transfer->offset;
    if (!transfer->file.valid()) {
      transfer->file = OpenInRun(transfer->run_directory, file.path, O_RDONLY | O_NONBLOCK);
    }
    const std::uint64_t left = file.size - part->offset;
    part->bytes.resize(std::min<std::uint64_t>(left, kMaxFilePiece));
    const ssize_t got = transfer->file.valid()
                            ? pread(transfer->file.get(), part->bytes.data(), part->bytes.size(),
                                    static_cast<off_t>(part->offset))
                            : -1;
    if (got < 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot read ", file.path, ": ", std::strerror(errno)));
    }
    part->bytes.resize(static_cast<std::size_t>(got));
    return got == 0 && left > 0 ? Changed(file.path) : absl::OkStatus();
  }

  static absl::Status Changed(const std::string& path) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        " was changed while it was copied; next: write nothing there until the answer has "
        "come"));
  }

  void OnHas(Transfer* transfer, const FileAnswer& answer) {
    if (answer.is_whole &&
        transfer->next == transfer->list.directories.size() + transfer->list.files.size()) {
      return Finish(transfer, transfer->list);
    }
    if (answer.is_whole) {
      Go(transfer, transfer->next + 1);
      return SendPart(transfer);
    }
    if (!transfer->IsAtFile() || answer.offset >= transfer->File().size) return;
    const bool has_asked = std::exchange(transfer->asks, false);
    if (!has_asked && answer.offset == 0 && ++transfer->tries >= kTries) {
      return Finish(transfer, Changed(transfer->File().path));
    }
    transfer->offset = answer.offset;
    SendPart(transfer);
  }

  // Ends a transfer, and posts the call of its `done`.
  void Finish(Transfer* transfer, absl::StatusOr<FileList> result) {
    if (std::exchange(transfer->is_over, true)) return;
    transfer->timer.Cancel();
    way_->Post([this, number = transfer->number, result = std::move(result)]() mutable {
      auto ended = transfers_.extract(number);
      if (ended.empty()) return;
      if (ended.mapped()->is_active) --active_;
      StartNext();
      ended.mapped()->done(std::move(result));
    });
  }

  const Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  std::map<std::uint64_t, std::unique_ptr<Transfer>> transfers_;
  std::deque<std::uint64_t> waiting_;
  std::size_t active_ = 0;
};

}  // namespace

std::unique_ptr<SentFiles> SentFiles::Create(Options options) {
  return std::make_unique<RealSentFiles>(std::move(options));
}

}  // namespace launcher
