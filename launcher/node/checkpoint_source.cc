#include "launcher/node/checkpoint_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/node/run_tree.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/text/sha256.h"
#include "runtime/text/string_view.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

constexpr absl::Duration kToGiveUp = absl::Seconds(5);

// The thread leaves its result here, as long as anybody waits for it.
struct Shared {
  explicit Shared(runtime::EventLoop* of) : loop(of) {}
  std::atomic<bool> gives_up = false;
  runtime::Mutex mutex;
  runtime::EventLoop* loop ABSL_GUARDED_BY(mutex);
};

class Source final : public CheckpointSource {
 public:
  explicit Source(Options options) : options_(std::move(options)) {}
  ~Source() override {
    *alive_ = false;
    shared_->gives_up = true;
    {
      runtime::MutexLock lock(shared_->mutex);
      shared_->loop = nullptr;
    }
    if (thread_ != nullptr) thread_->Join(kToGiveUp);
  }

  void Take(const NodeWant& want) override {
    if (is_read_) return Answer(want);
    want_ = want;
    if (std::exchange(is_reading_, true)) return;
    thread_ = std::make_unique<runtime::Thread>(
        "checkpoint", [this, shared = shared_, alive = alive_, run = options_.run_directory,
                       path = options_.checkpoint] {
          auto list = ReadTree(run, path, shared->gives_up);
          runtime::MutexLock lock(shared->mutex);
          if (shared->loop == nullptr) return;
          shared->loop->Post([this, alive, list = std::move(list)]() mutable {
            if (*alive) OnRead(std::move(list));
          });
        });
  }

 private:
  void OnRead(absl::StatusOr<FileList> list) {
    is_reading_ = false;
    const NodeWant want = *std::exchange(want_, std::nullopt);
    if (list.ok()) {
      list_ = list->Encode();
      if (list_.size() > kMaxFileList) {
        list = absl::InvalidArgumentError(
            absl::StrCat("the paths of its files have more than ", kMaxFileList, " bytes"));
      }
    }
    if (!list.ok()) {
      return options_.send_list({.attempt = options_.attempt,
                                 .checkpoint = options_.checkpoint,
                                 .error = std::string(runtime::Std(list.status().message()))});
    }
    list_hash_ = runtime::Sha256Hex(list_);
    for (const FileList::File& file : list->files) paths_[file.sha256] = file.path;
    is_read_ = true;
    Answer(want);
  }

  void Answer(const NodeWant& want) {
    if (want.work.empty()) {
      return options_.send_list({.attempt = options_.attempt,
                                 .checkpoint = options_.checkpoint,
                                 .sha256 = list_hash_,
                                 .bytes = list_.size()});
    }
    NodeOrder piece{.kind = NodeOrder::Kind::kWork,
                    .attempt = options_.attempt,
                    .offset = want.offset,
                    .work = want.work};
    if (want.work == list_hash_) {
      if (want.offset < list_.size()) piece.bytes = list_.substr(want.offset, kMaxWorkPiece);
      return options_.send_piece(piece);
    }
    ReadPiece(&piece);
    options_.send_piece(piece);
  }

  void ReadPiece(NodeOrder* piece) const {
    const auto path = paths_.find(piece->work);
    if (path == paths_.end()) {
      piece->line = absl::StrCat("the checkpoint ", options_.checkpoint, " has changed");
      return;
    }
    const runtime::UniqueFd file =
        OpenInRun(options_.run_directory, path->second, O_RDONLY | O_NONBLOCK);
    piece->bytes.resize(kMaxWorkPiece);
    const ssize_t got = file.valid() ? pread(file.get(), piece->bytes.data(), kMaxWorkPiece,
                                             static_cast<off_t>(piece->offset))
                                     : -1;
    if (got < 0) {
      piece->line = absl::StrCat("cannot read ", options_.run_directory, "/", path->second,
                                 " of the checkpoint: ", std::strerror(errno));
    }
    piece->bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }

  const Options options_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>(options_.loop);
  std::unique_ptr<runtime::Thread> thread_;
  bool is_reading_ = false, is_read_ = false;
  std::optional<NodeWant> want_;  // While it is read.
  std::string list_, list_hash_;
  std::map<std::string, std::string> paths_;  // By their hashes.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<CheckpointSource> CheckpointSource::Create(Options options) {
  return std::make_unique<Source>(std::move(options));
}

}  // namespace launcher
