// Tests the relay between a shim and a trainer, both acted by the test; a fake controls when files
// are copied.

#include "launcher/node/files/checkpoint_relay.h"

#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/fixtures/loop_fixture.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/node/files/sent_files.h"
#include "launcher/node/words/file_words.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Files count as copied to the launcher when the test says so.
class FakeFiles : public SentFiles {
 public:
  void Send(const std::string& attempt, const std::string& run_directory, const std::string& path,
            std::shared_ptr<const Known> known, Done done) override {
    asked.push_back(absl::StrCat(attempt, " ", run_directory, " ", path));
    last_known = std::move(known);
    done_ = std::move(done);
  }
  void Cancel(const std::string& attempt) override { cancelled.push_back(attempt); }
  void OnConnected() override {}
  void OnAnswer(const FileAnswer&) override {}
  void Finish(absl::StatusOr<FileList> sent) { std::exchange(done_, {})(std::move(sent)); }

  std::vector<std::string> asked, cancelled;
  std::shared_ptr<const Known> last_known;

 private:
  Done done_;
};

// One end of a connection, read and written line by line.
class Lines {
 public:
  explicit Lines(runtime::UniqueFd fd) : fd_(std::move(fd)) {}
  void Say(const std::string& text) { ASSERT_TRUE(Offer(text)); }
  // Returns false if the other side has not accepted all of it.
  bool Offer(const std::string& text) {
    const std::string all = text + "\n";
    return send(fd_.get(), all.data(), all.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(all.size());
  }
  // Returns the next line; "" at the end of the connection or after the deadline.
  std::string Next() {
    for (;;) {
      const std::size_t end = in_.find('\n');
      if (end != in_.npos) {
        std::string line = in_.substr(0, end);
        in_.erase(0, end + 1);
        return line;
      }
      char chunk[4096];
      if (!WaitReadable(fd_.get())) return "nothing comes";
      const ssize_t got = recv(fd_.get(), chunk, sizeof chunk, 0);
      if (got <= 0) return "";
      in_.append(chunk, static_cast<std::size_t>(got));
    }
  }

 private:
  runtime::UniqueFd fd_;
  std::string in_;
};

class CheckpointRelayTest : public LoopFixture {
 protected:
  CheckpointRelayTest() {
    run_ = folder_ + "/run";
    std::filesystem::create_directory(run_);
    trainer_ = runtime::UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = AddressOf(folder_ + "/t");
    EXPECT_EQ(bind(trainer_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(trainer_.get(), 8), 0);
    OnLoop([this] { Open(); });
  }
  ~CheckpointRelayTest() override {
    OnLoop([this] { relay_.reset(); });
  }
  void Open() {
    auto relay = CheckpointRelay::Listen({.loop = loop_.get(),
                                          .socket_path = folder_ + "/s",
                                          .trainer_socket = folder_ + "/t",
                                          .files = &files_,
                                          .on_committed =
                                              [this](const std::string&, const FileList& files) {
                                                for (const FileList::File& file : files.files)
                                                  committed_.push_back(file.path);
                                              },
                                          .beat = beat_});
    ASSERT_TRUE(relay.ok()) << relay.status();
    relay_ = *std::move(relay);
    relay_->Add({.key = "a",
                 .nonce = "n0",
                 .run = {.launcher = "/here/r", .node = run_},
                 .start = run_ + "/checkpoint_tmp000000"});
  }
  std::unique_ptr<Lines> Connect() {
    runtime::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = AddressOf(folder_ + "/s");
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return std::make_unique<Lines>(std::move(fd));
  }
  std::unique_ptr<Lines> Accept() {
    EXPECT_TRUE(WaitReadable(trainer_.get()));
    return std::make_unique<Lines>(
        runtime::UniqueFd(accept4(trainer_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  }
  // Connects a shim and passes its greeting to the trainer.
  void Greet() {
    shim_ = Connect();
    shim_->Say("YARD1 n0");
    at_trainer_ = Accept();
    EXPECT_EQ(at_trainer_->Next(), "YARD1 n0");
    at_trainer_->Say("OK");
    EXPECT_EQ(shim_->Next(), "OK");
  }
  void AwaitAsked(std::size_t count) {
    bool is_asked = false;
    const absl::Time deadline = absl::Now() + kDeadline;
    while (!is_asked && absl::Now() < deadline) {
      OnLoop([&] { is_asked = files_.asked.size() == count; });
    }
    EXPECT_TRUE(is_asked);
  }
  void Finish(absl::StatusOr<FileList> sent) {
    OnLoop([&] { files_.Finish(std::move(sent)); });
  }
  // Begins a checkpoint of the trainer's, and writes a file into it like the program. Returns its
  // path.
  std::string Begin(int line, const std::string& name) {
    shim_->Say(absl::StrCat(line, R"( {"t":"ckpt_begin"})"));
    EXPECT_EQ(at_trainer_->Next(), absl::StrCat(line, R"( {"t":"ckpt_begin"})"));
    at_trainer_->Say(absl::StrCat(line, R"( {"t":"ckpt_dir","path":"/here/r/)", name, R"("})"));
    EXPECT_EQ(shim_->Next(),
              absl::StrCat(line, R"( {"t":"ckpt_dir","path":")", run_, "/", name, R"("})"));
    std::ofstream(run_ + "/" + name + "/w") << "weights";
    return run_ + "/" + name;
  }
  static std::string EndLine(int line, const std::string& path) {
    return absl::StrCat(line, R"( {"t":"ckpt_end","path":")", path, R"("})");
  }
  void Save(int line, const std::string& temporary, const std::string& name) {
    const std::string path = Begin(line, temporary);
    shim_->Say(EndLine(line + 1, path));
    AwaitAsked(++asked_);
    Finish(FileList{.files = {{.path = temporary + "/w", .size = 7, .sha256 = "h" + name}}});
    EXPECT_EQ(at_trainer_->Next(), EndLine(line + 1, "/here/r/" + temporary));
    at_trainer_->Say(
        absl::StrCat(line + 1, R"( {"t":"ok","path":"/here/r/)", name, R"(","events":[]})"));
    EXPECT_EQ(shim_->Next(), absl::StrCat(line + 1, R"( {"t":"ok","path":")", run_, "/", name,
                                          R"(","events":[]})"));
  }

  std::string run_;
  absl::Duration beat_ = absl::Hours(1);
  FakeFiles files_;
  std::size_t asked_ = 0;
  std::vector<std::string> committed_;
  runtime::UniqueFd trainer_;
  std::unique_ptr<Lines> shim_, at_trainer_;
  std::unique_ptr<CheckpointRelay> relay_;
};

TEST_F(CheckpointRelayTest, LinesPassByteForByte) {
  Greet();
  for (const std::string line :
       {R"(1 {"t":"report", "m":{"a":NaN,"ckpt":"/x"}})", "2 not JSON \x01",
        R"(3 {"t":"log","text":"ckpt_end /here/r/c"})", "END 3"}) {
    shim_->Say(line);
    EXPECT_EQ(at_trainer_->Next(), line);
  }
  for (const std::string line : {R"(1 {"t":"ok","events":[{"path":"/here/r/c"}]})", "2", "END",
                                 "OVER the trial has ended", "what is this"}) {
    at_trainer_->Say(line);
    EXPECT_EQ(shim_->Next(), line);
  }
  EXPECT_THAT(files_.asked, IsEmpty());
}

TEST_F(CheckpointRelayTest, ACheckpointIsPassedOnOnceItIsThere) {
  Greet();
  const std::string path = Begin(1, "checkpoint_tmp0123ab");
  shim_->Say(EndLine(2, path));
  shim_->Say(R"(3 {"t":"report","m":{}})");
  AwaitAsked(1);
  EXPECT_THAT(files_.asked, ElementsAre(absl::StrCat("a ", run_, " checkpoint_tmp0123ab")));
  // An earlier answer is not delayed, and the line is not passed on before the files are copied.
  at_trainer_->Say("1");
  EXPECT_EQ(shim_->Next(), "1");
  Finish(FileList{.files = {{.path = "checkpoint_tmp0123ab/w", .size = 7, .sha256 = "hash"}}});
  EXPECT_EQ(at_trainer_->Next(), EndLine(2, "/here/r/checkpoint_tmp0123ab"));
  EXPECT_EQ(at_trainer_->Next(), R"(3 {"t":"report","m":{}})");
  at_trainer_->Say(R"(2 {"t":"ok","path":"/here/r/checkpoint_000001","events":[]})");
  EXPECT_EQ(shim_->Next(),
            absl::StrCat(R"(2 {"t":"ok","path":")", run_, R"(/checkpoint_000001","events":[]})"));
  // The directory was renamed on the node, too.
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(runtime::ReadFile(run_ + "/checkpoint_000001/w", 100).value_or(""), "weights");
  EXPECT_THAT(committed_, ElementsAre("checkpoint_000001/w"));
}

TEST_F(CheckpointRelayTest, TheTrainerHearsThatTheProgramLives) {
  OnLoop([this] {
    relay_.reset();
    beat_ = absl::Milliseconds(1);
    Open();
  });
  Greet();
  shim_->Say(EndLine(1, run_ + "/checkpoint_tmp0123ab"));
  EXPECT_EQ(at_trainer_->Next(), "ALIVE");
  EXPECT_EQ(at_trainer_->Next(), "ALIVE");
  Finish(FileList());
  std::string line = at_trainer_->Next();
  while (line == "ALIVE") line = at_trainer_->Next();
  EXPECT_EQ(line, EndLine(1, "/here/r/checkpoint_tmp0123ab"));
}

TEST_F(CheckpointRelayTest, AFailureIsTheTrainersToAnswer) {
  Greet();
  std::filesystem::create_directory(run_ + "/checkpoint_tmp0123ab");
  shim_->Say(
      absl::StrCat(R"(1 {"t":"ckpt_end","seq":7,"path":")", run_, R"(/checkpoint_tmp0123ab"})"));
  AwaitAsked(1);
  Finish(absl::InvalidArgumentError("checkpoint_tmp0123ab/l is a symbolic link"));
  EXPECT_EQ(at_trainer_->Next(),
            R"(1 {"t":"ckpt_fail","seq":7,"path":"/here/r/checkpoint_tmp0123ab","error":"cannot )"
            R"(copy the checkpoint to the machine of the yard: checkpoint_tmp0123ab/l is a )"
            R"(symbolic link"})");
  at_trainer_->Say(R"(1 {"t":"error","error":"x"})");
  EXPECT_EQ(shim_->Next(), R"(1 {"t":"error","error":"x"})");
  EXPECT_FALSE(std::filesystem::exists(run_ + "/checkpoint_tmp0123ab"));
}

TEST_F(CheckpointRelayTest, TheTrainerKnowsWhatIsGone) {
  Greet();
  shim_->Say(EndLine(1, run_ + "/checkpoint_tmp0123ab"));
  AwaitAsked(1);
  std::filesystem::create_directory(run_ + "/checkpoint_tmp0123ab");
  Finish(absl::NotFoundError("gone"));
  EXPECT_EQ(at_trainer_->Next(), EndLine(1, "/here/r/checkpoint_tmp0123ab"));
  at_trainer_->Say(R"(1 {"t":"ok","path":"/here/r/checkpoint_000001"})");
  EXPECT_EQ(shim_->Next(),
            absl::StrCat(R"(1 {"t":"ok","path":")", run_, R"(/checkpoint_000001"})"));
  EXPECT_TRUE(std::filesystem::exists(run_ + "/checkpoint_000001"));
}

TEST_F(CheckpointRelayTest, APathElsewhereIsNotCopied) {
  Greet();
  int number = 0;
  for (const std::string& path :
       {std::string("/etc"), run_ + "/../x", run_ + "/a/../../x", run_, run_ + "/",
        run_ + "/checkpoint_000001", run_ + "/checkpoint_tmp000000",
        run_ + "/checkpoint_tmp000000/below", std::string("../x")}) {
    shim_->Say(EndLine(++number, path));
    EXPECT_EQ(at_trainer_->Next(), EndLine(number, path));
  }
  EXPECT_THAT(files_.asked, IsEmpty());
  // A relative path is below the run directory.
  shim_->Say(R"(20 {"t":"report","m":{},"ckpt":"mine/"})");
  AwaitAsked(1);
  EXPECT_THAT(files_.asked, ElementsAre(absl::StrCat("a ", run_, " mine")));
  Finish(FileList());
  EXPECT_EQ(at_trainer_->Next(), R"(20 {"t":"report","m":{},"ckpt":"/here/r/mine"})");
}

TEST_F(CheckpointRelayTest, ABrokenConnectionIsTheShimsToMakeAnew) {
  Greet();
  shim_->Say(EndLine(1, run_ + "/checkpoint_tmp0123ab"));
  AwaitAsked(1);
  at_trainer_.reset();
  EXPECT_EQ(shim_->Next(), "");
  Greet();
  shim_->Say(EndLine(1, run_ + "/checkpoint_tmp0123ab"));
  AwaitAsked(2);
  Finish(FileList());
  EXPECT_EQ(at_trainer_->Next(), EndLine(1, "/here/r/checkpoint_tmp0123ab"));
  // The same happens with the next relay.
  OnLoop([this] { relay_.reset(); });
  EXPECT_EQ(shim_->Next(), "");
  EXPECT_EQ(at_trainer_->Next(), "");
  OnLoop([this] { Open(); });
  Greet();
}

TEST_F(CheckpointRelayTest, StrangersAreNotPassedOn) {
  for (const std::string& greeting :
       {std::string("YARD1 other"), std::string("YARD1 "), std::string("1 {}"),
        std::string("ATTACH1 n0 7 {}"), std::string(1'100'000, 'x')}) {
    Lines stranger = std::move(*Connect());
    (void)stranger.Offer(greeting);
    EXPECT_EQ(stranger.Next(), "");
  }
  OnLoop([this] { relay_->Remove("a"); });
  Lines late = std::move(*Connect());
  late.Say("YARD1 n0");
  EXPECT_EQ(late.Next(), "");
}

TEST_F(CheckpointRelayTest, TheNewestCheckpointsStayOnTheNode) {
  Greet();
  std::filesystem::create_directory(run_ + "/checkpoint_tmp000000");
  Save(1, "checkpoint_tmp00000a", "checkpoint_000001");
  Save(3, "checkpoint_tmp00000b", "checkpoint_000002");
  Save(5, "checkpoint_tmp00000c", "checkpoint_000003");
  EXPECT_FALSE(std::filesystem::exists(run_ + "/checkpoint_000001"));
  EXPECT_TRUE(std::filesystem::exists(run_ + "/checkpoint_000002/w"));
  EXPECT_TRUE(std::filesystem::exists(run_ + "/checkpoint_000003/w"));
  EXPECT_TRUE(std::filesystem::exists(run_ + "/checkpoint_tmp000000"));
  // The next relay finds the checkpoints; the launcher is known to have the files of the last one.
  OnLoop([this] { EXPECT_EQ(files_.last_known->count("hcheckpoint_000002"), 1); });
  OnLoop([this] {
    relay_.reset();
    Open();
  });
  Greet();
  Save(7, "checkpoint_tmp00000d", "checkpoint_000004");
  EXPECT_FALSE(std::filesystem::exists(run_ + "/checkpoint_000002"));
  EXPECT_TRUE(std::filesystem::exists(run_ + "/checkpoint_000003"));
}

}  // namespace
}  // namespace launcher
