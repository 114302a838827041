#include "launcher/node/files/checkpoint_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/node/files/run_directory_files.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/sha256.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

// Always true: the loop's thread accesses no file, because a file system may hang indefinitely. At
// most one thread reads; it uses only its arguments, and is abandoned if its result is no longer
// needed.

NodeOrder ReadPiece(const std::string& run_directory, const std::string& path, NodeOrder piece) {
  const runtime::UniqueFd file = OpenInRun(run_directory, path, O_RDONLY | O_NONBLOCK);
  piece.bytes.resize(kMaxWorkPiece);
  const ssize_t got = file.valid() ? pread(file.get(), piece.bytes.data(), kMaxWorkPiece,
                                           static_cast<off_t>(piece.offset))
                                   : -1;
  if (got < 0) {
    piece.line = absl::StrCat("cannot read ", run_directory, "/", path,
                              " of the checkpoint: ", std::strerror(errno));
  }
  piece.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return piece;
}

}  // namespace

CheckpointSource::CheckpointSource(Options options) : options_(std::move(options)) {}

CheckpointSource::~CheckpointSource() {
  *gives_up_ = true;
  way_->Close();
}

void CheckpointSource::Take(const NodeWant& want) {
  want_ = want;
  if (!is_busy_) Next();
}

void CheckpointSource::Next() {
  is_busy_ = false;
  if (!want_) return;
  is_busy_ = true;
  if (!is_read_) return ReadList();
  Answer(*std::exchange(want_, std::nullopt));
}

template <typename Read, typename Take>
void CheckpointSource::OnThread(Read read, Take take) {
  thread_ =
      std::make_unique<runtime::Thread>("checkpoint", [way = way_, read = std::move(read), take] {
        way->Post([take, result = read()]() mutable { take(std::move(result)); });
      });
}

void CheckpointSource::ReadList() {
  OnThread([run = options_.run_directory, path = options_.checkpoint,
            gives_up = gives_up_] { return ReadTree(run, path, *gives_up); },
           [this](absl::StatusOr<FileList> list) { OnRead(std::move(list)); });
}

void CheckpointSource::OnRead(absl::StatusOr<FileList> list) {
  if (list.ok()) {
    list_ = list->Encode();
    if (list_.size() > kMaxFileList) {
      list = absl::InvalidArgumentError(
          absl::StrCat("the paths of its files have more than ", kMaxFileList, " bytes"));
    }
  }
  if (!list.ok()) {
    want_.reset();
    options_.send_list({.attempt = options_.attempt,
                        .checkpoint = options_.checkpoint,
                        .error = std::string(runtime::Std(list.status().message()))});
    return Next();
  }
  list_hash_ = runtime::Sha256Hex(list_);
  for (const FileList::File& file : list->files) paths_[file.sha256] = file.path;
  is_read_ = true;
  Next();
}

void CheckpointSource::Answer(const NodeWant& want) {
  if (want.work.empty()) {
    options_.send_list({.attempt = options_.attempt,
                        .checkpoint = options_.checkpoint,
                        .sha256 = list_hash_,
                        .bytes = list_.size()});
    return Next();
  }
  NodeOrder piece{.kind = NodeOrder::Kind::kWork,
                  .attempt = options_.attempt,
                  .offset = want.offset,
                  .work = want.work};
  const auto path = paths_.find(want.work);
  if (want.work != list_hash_ && path != paths_.end()) {
    return OnThread([piece = std::move(piece), run = options_.run_directory,
                     path = path->second] { return ReadPiece(run, path, piece); },
                    [this](const NodeOrder& read) { Send(read); });
  }
  if (want.work != list_hash_) {
    piece.line = absl::StrCat("the checkpoint ", options_.checkpoint, " has changed");
  } else if (want.offset < list_.size()) {
    piece.bytes = list_.substr(want.offset, kMaxWorkPiece);
  }
  Send(piece);
}

void CheckpointSource::Send(const NodeOrder& piece) {
  options_.send_piece(piece);
  Next();
}

}  // namespace launcher
