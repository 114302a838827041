// Tests the transfer of run files between a node and its launcher: both sides, over a connection
// that the test cuts and corrupts.

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/fixtures/loop_fixture.h"
#include "launcher/node/files/checkpoint_source.h"
#include "launcher/node/files/received_files.h"
#include "launcher/node/files/sent_files.h"
#include "launcher/node/files/start_checkpoint.h"
#include "launcher/node/files/work_cache.h"
#include "launcher/node/words/file_words.h"
#include "launcher/node/words/node_words.h"
#include "runtime/mutex.h"
#include "runtime/text/sha256.h"

namespace launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kTemporary[] = "checkpoint_tmp0123af";

class TravellingFilesTest : public LoopFixture {
 protected:
  TravellingFilesTest() {
    for (const std::string& path : {Node(kTemporary), Here(kTemporary)}) {
      std::filesystem::create_directories(path);
    }
    Put(Here(kTemporary) + "/.is_checkpoint", "");
    Put(Here(kTemporary) + "/.temp_marker", "");
    OnLoop([this] {
      OpenReceived();
      sent_ = SentFiles::Create({.loop = loop_.get(),
                                 .send = [this](const FilePart& part) { OnPart(part); },
                                 .no_room_pause = absl::Milliseconds(1)});
    });
  }
  ~TravellingFilesTest() override {
    OnLoop([this] {
      start_.reset();
      source_.reset();
      cache_.reset();
      sent_.reset();
      received_.reset();
    });
  }

  std::string Node(const std::string& path) const { return folder_ + "/node/" + path; }
  std::string Here(const std::string& path) const { return folder_ + "/here/" + path; }
  // Makes bytes that are unique to a file.
  static std::string Bytes(std::size_t size, char first) {
    std::string bytes(size, first);
    for (std::size_t i = 0; i < size; i += 97) bytes[i] = static_cast<char>(i * 31 / 97);
    return bytes;
  }

  void OpenReceived() {
    received_ = std::make_unique<ReceivedFiles>(
        ReceivedFiles::Options{.loop = loop_.get(),
                               .attempt = "a",
                               .run_directory = folder_ + "/here",
                               .answer = [this](const FileAnswer& answer) { OnAnswer(answer); }});
  }
  void OnPart(FilePart part) {
    ++parts_;
    bytes_ += part.bytes.size();
    if (on_part_) on_part_(&part);
    if (!is_cut_) received_->Take(*FilePart::Decode(part.Encode()));
  }
  void OnAnswer(const FileAnswer& answer) {
    if (is_cut_) return;
    sent_->OnAnswer(*FileAnswer::Decode(answer.Encode()));
  }

  void BeginSend(const std::string& path, std::shared_ptr<const SentFiles::Known> known = nullptr) {
    OnLoop([&] {
      result_.reset();
      sent_->Send("a", folder_ + "/node", path, std::move(known),
                  [this](absl::StatusOr<FileList> sent) {
                    runtime::MutexLock lock(mutex_);
                    result_ = std::move(sent);
                    changed_.SignalAll();
                  });
    });
  }
  absl::Status AwaitSent() {
    Await([this] { return result_.has_value(); });
    return result_ ? result_->status() : absl::DeadlineExceededError("");
  }
  absl::Status Send(const std::string& path,
                    std::shared_ptr<const SentFiles::Known> known = nullptr) {
    BeginSend(path, std::move(known));
    return AwaitSent();
  }

  // Starts the attempt on the node from `checkpoint`.
  absl::Status Start(const std::string& checkpoint, const std::string& run = "node") {
    std::optional<absl::Status> come;
    OnLoop([&] {
      if (cache_ == nullptr) {
        cache_ = std::make_unique<WorkCache>(
            WorkCache::Options{.loop = loop_.get(),
                               .directory = folder_ + "/cache",
                               .ask = [this](const NodeWant& want) { OnWant(want); }});
      }
      source_ = std::make_unique<CheckpointSource>(
          CheckpointSource::Options{.loop = loop_.get(),
                                    .attempt = "a",
                                    .run_directory = folder_ + "/here",
                                    .checkpoint = checkpoint,
                                    .send_list =
                                        [this](const FileListAnswer& list) {
                                          start_->OnList(*FileListAnswer::Decode(list.Encode()));
                                        },
                                    .send_piece =
                                        [this](NodeOrder piece) {
                                          if (on_piece_) on_piece_(&piece);
                                          cache_->OnPiece(*NodeOrder::Decode(piece.Encode()));
                                        }});
      start_ = std::make_unique<StartCheckpoint>(
          StartCheckpoint::Options{.loop = loop_.get(),
                                   .cache = cache_.get(),
                                   .attempt = "a",
                                   .run_directory = folder_ + "/" + run,
                                   .checkpoint = checkpoint,
                                   .ask = [this](const NodeWant& want) { OnWant(want); },
                                   .done =
                                       [&](const absl::Status& status) {
                                         runtime::MutexLock lock(mutex_);
                                         come = status;
                                         changed_.SignalAll();
                                       }});
    });
    Await([&] { return come.has_value(); });
    OnLoop([this] { start_.reset(); });
    return come.value_or(absl::DeadlineExceededError(""));
  }
  void OnWant(const NodeWant& want) {
    ++wants_;
    source_->Take(*NodeWant::Decode(want.Encode()));
  }

  std::optional<absl::StatusOr<FileList>> result_;
  // Used on the loop's thread.
  int parts_ = 0, wants_ = 0;
  std::uint64_t bytes_ = 0;
  bool is_cut_ = false;
  std::function<void(FilePart*)> on_part_;
  std::function<void(NodeOrder*)> on_piece_;
  std::unique_ptr<ReceivedFiles> received_;
  std::unique_ptr<SentFiles> sent_;
  std::unique_ptr<WorkCache> cache_;
  std::unique_ptr<CheckpointSource> source_;
  std::unique_ptr<StartCheckpoint> start_;
};

TEST_F(TravellingFilesTest, ADirectoryComesWhole) {
  const std::string large = Bytes(3 * kMaxFilePiece + 17, 'l');
  Put(Node(kTemporary) + "/large", large);
  Put(Node(kTemporary) + "/a/b/small", "small");
  Put(Node(kTemporary) + "/a/nothing", "");
  std::filesystem::create_directory(Node(kTemporary) + "/empty");
  // Files that an earlier try has left.
  Put(Here(kTemporary) + "/stale", "x");
  Put(Here(kTemporary) + "/old/stale", "x");
  EXPECT_EQ(Send(kTemporary), absl::OkStatus());
  EXPECT_TRUE(Get(Here(kTemporary) + "/large") == large);
  EXPECT_EQ(Get(Here(kTemporary) + "/a/b/small"), "small");
  EXPECT_EQ(Get(Here(kTemporary) + "/a/nothing"), "");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Here(kTemporary))) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, UnorderedElementsAre(".is_checkpoint", ".temp_marker", "large", "a", "empty"));
}

TEST_F(TravellingFilesTest, WhatIsHereIsNotSentAgain) {
  const std::string frozen = Bytes(2 * kMaxFilePiece, 'f');
  Put(Node(kTemporary) + "/frozen", frozen);
  Put(Here("checkpoint_000001/frozen"), frozen);
  const auto known = std::make_shared<SentFiles::Known>(
      SentFiles::Known{{runtime::Sha256Hex(frozen), "checkpoint_000001/frozen"}});
  EXPECT_EQ(Send(kTemporary, known), absl::OkStatus());
  EXPECT_TRUE(Get(Here(kTemporary) + "/frozen") == frozen);
  EXPECT_EQ(bytes_, 0);
  // The known file has a different content.
  std::filesystem::remove(Here(kTemporary) + "/frozen");
  Put(Here("checkpoint_000001/frozen"), Bytes(2 * kMaxFilePiece, 'x'));
  EXPECT_EQ(Send(kTemporary, known), absl::OkStatus());
  EXPECT_TRUE(Get(Here(kTemporary) + "/frozen") == frozen);
  EXPECT_EQ(bytes_, frozen.size());
}

TEST_F(TravellingFilesTest, GoesOnAfterACutAndWithTheNextLauncher) {
  const std::string large = Bytes(8 * kMaxFilePiece, 'l');
  Put(Node(kTemporary) + "/0", "first");
  Put(Node(kTemporary) + "/large", large);
  OnLoop([this] {
    on_part_ = [this](FilePart* part) { is_cut_ = is_cut_ || part->offset == 4 * kMaxFilePiece; };
  });
  BeginSend(kTemporary);
  bool is_cut = false;
  while (!is_cut) OnLoop([&] { is_cut = is_cut_; });
  OnLoop([this] {
    received_.reset();
    OpenReceived();
    on_part_ = {};
    is_cut_ = false;
    bytes_ = 0;
    sent_->OnConnected();
  });
  EXPECT_EQ(AwaitSent(), absl::OkStatus());
  EXPECT_TRUE(Get(Here(kTemporary) + "/large") == large);
  EXPECT_EQ(Get(Here(kTemporary) + "/0"), "first");
  EXPECT_LE(bytes_, 4 * kMaxFilePiece + 5);  // (The first file is requested again.)
}

TEST_F(TravellingFilesTest, BytesThatAreChangedOnTheWayDoNotCount) {
  const std::string large = Bytes(2 * kMaxFilePiece, 'l');
  Put(Node(kTemporary) + "/large", large);
  int changes = 1;
  OnLoop([&] {
    on_part_ = [&](FilePart* part) {
      if (!part->bytes.empty() && changes-- > 0) part->bytes[7] ^= 1;
    };
  });
  EXPECT_EQ(Send(kTemporary), absl::OkStatus());
  EXPECT_TRUE(Get(Here(kTemporary) + "/large") == large);
  changes = 1000;
  std::filesystem::remove(Here(kTemporary) + "/large");
  const absl::Status changed = Send(kTemporary);
  EXPECT_EQ(changed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(changed.message(), HasSubstr("large was changed while it was copied"));
}

TEST_F(TravellingFilesTest, LinksAndSpecialFilesAreNamed) {
  Put(folder_ + "/secret", "secret");
  std::filesystem::create_symlink(folder_ + "/secret", Node(kTemporary) + "/link");
  absl::Status refused = Send(kTemporary);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr(absl::StrCat(kTemporary, "/link is a symbolic link")));
  std::filesystem::remove(Node(kTemporary) + "/link");
  ASSERT_EQ(mkfifo((Node(kTemporary) + "/pipe").c_str(), 0600), 0);
  refused = Send(kTemporary);
  EXPECT_THAT(refused.message(), HasSubstr("/pipe is neither a file nor a directory"));
  std::filesystem::remove_all(Node(kTemporary));
  std::filesystem::create_directory_symlink(folder_ + "/here", Node(kTemporary));
  EXPECT_EQ(Send(kTemporary).code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(Node(kTemporary));
  EXPECT_EQ(Send(kTemporary).code(), absl::StatusCode::kNotFound);
}

TEST_F(TravellingFilesTest, ACheckpointThatWasCommittedIsNotWritten) {
  Put(Node(kTemporary) + "/w", "new");
  std::filesystem::remove_all(Here(kTemporary));
  EXPECT_EQ(Send(kTemporary).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(Here(kTemporary)));
  // A node cannot overwrite such files by other names either.
  Put(Here("checkpoint_000001/w"), "old");
  Put(folder_ + "/outside/w", "old");
  std::filesystem::create_directory_symlink(folder_ + "/outside", Here("out"));
  for (const std::string& path : {"checkpoint_000001/w", "checkpoint_tmpZ/w", "out/w", "params"}) {
    const std::string name = path.substr(0, path.find('/'));
    Put(Node("mine/w"), "new");
    OnLoop([&] { on_part_ = [&](FilePart* part) { part->path = path; }; });
    std::optional<FileAnswer> answer;
    OnLoop([&] {
      received_ = std::make_unique<ReceivedFiles>(
          ReceivedFiles::Options{.loop = loop_.get(),
                                 .attempt = "a",
                                 .run_directory = folder_ + "/here",
                                 .answer = [&](const FileAnswer& said) {
                                   runtime::MutexLock lock(mutex_);
                                   answer = said;
                                   changed_.SignalAll();
                                 }});
      received_->Take({.attempt = "a",
                       .path = path,
                       .size = 3,
                       .sha256 = runtime::Sha256Hex("new"),
                       .bytes = "new"});
    });
    Await([&] { return answer.has_value(); });
    EXPECT_EQ(answer->kind, FileAnswer::Kind::kFailed) << path;
    EXPECT_NE(answer->error, "") << path;
  }
  EXPECT_EQ(Get(Here("checkpoint_000001/w")), "old");
  EXPECT_EQ(Get(folder_ + "/outside/w"), "old");
}

TEST_F(TravellingFilesTest, AnotherDirectoryOfTheRunComesToo) {
  Put(Node("mine/w"), "one");
  EXPECT_EQ(Send("mine"), absl::OkStatus());
  std::filesystem::remove(Node("mine/w"));
  Put(Node("mine/v"), "two");
  EXPECT_EQ(Send("mine"), absl::OkStatus());
  EXPECT_EQ(Get(Here("mine/v")), "two");
  EXPECT_FALSE(std::filesystem::exists(Here("mine/w")));
}

TEST_F(TravellingFilesTest, WhatIsCancelledIsNotToldOf) {
  Put(Node(kTemporary) + "/w", "w");
  OnLoop([this] { is_cut_ = true; });
  BeginSend(kTemporary);
  OnLoop([this] { sent_->Cancel("a"); });
  Put(Node("mine/w"), "one");
  OnLoop([this] { is_cut_ = false; });
  EXPECT_EQ(Send("mine"), absl::OkStatus());
  EXPECT_EQ(Get(Here(kTemporary) + "/w"), "missing");
}

TEST_F(TravellingFilesTest, AStartComesOnceForEachNode) {
  const std::string large = Bytes(3 * kMaxWorkPiece + 5, 'l');
  Put(Here("checkpoint_000004/large"), large);
  Put(Here("checkpoint_000004/deep/er/small"), "small");
  Put(Here("checkpoint_000004/nothing"), "");
  std::filesystem::create_directory(Here("checkpoint_000004/empty"));
  EXPECT_EQ(Start("checkpoint_000004"), absl::OkStatus());
  EXPECT_TRUE(Get(Node("checkpoint_000004/large")) == large);
  EXPECT_EQ(Get(Node("checkpoint_000004/deep/er/small")), "small");
  EXPECT_EQ(Get(Node("checkpoint_000004/nothing")), "");
  EXPECT_TRUE(std::filesystem::is_directory(Node("checkpoint_000004/empty")));
  wants_ = 0;
  std::filesystem::create_directory(folder_ + "/second");
  EXPECT_EQ(Start("checkpoint_000004", "second"), absl::OkStatus());
  EXPECT_TRUE(Get(folder_ + "/second/checkpoint_000004/large") == large);
  EXPECT_EQ(wants_, 1);  // Only the list.
  // A file that was damaged in the cache is transferred again.
  Put(folder_ + "/cache/" + runtime::Sha256Hex(large), "spoilt");
  EXPECT_EQ(Start("checkpoint_000004", "second"), absl::OkStatus());
  EXPECT_TRUE(Get(folder_ + "/second/checkpoint_000004/large") == large);
}

TEST_F(TravellingFilesTest, AStartWithAnotherHashIsRefused) {
  Put(Here("checkpoint_000004/w"), "weights");
  OnLoop([this] {
    on_piece_ = [](NodeOrder* piece) {
      if (piece->work == runtime::Sha256Hex("weights")) piece->bytes[0] = 'W';
    };
  });
  const absl::Status refused = Start("checkpoint_000004");
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(refused.message(), HasSubstr("checkpoint_000004/w has come with another hash"));
  EXPECT_THAT(Start("checkpoint_000005").message(), HasSubstr("checkpoint_000005 is not there"));
}

}  // namespace
}  // namespace launcher
