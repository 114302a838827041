// Tests the shim's part of the report channel (docs/report-channel.md).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace launcher {
namespace {

using runtime::UniqueFd;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Reads lines from a stream socket.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}
  // Returns the next line; nullopt at the end of the stream or after the time-out.
  std::optional<std::string> Next(absl::Duration timeout = kDeadline) {
    for (;;) {
      const auto end = buffer_.find('\n');
      if (end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      char chunk[65536];
      if (!WaitReadable(fd_, timeout)) return std::nullopt;
      const ssize_t got = read(fd_, chunk, sizeof chunk);
      if (got <= 0) return std::nullopt;
      buffer_.append(chunk, static_cast<std::size_t>(got));
    }
  }

 private:
  const int fd_;
  std::string buffer_;
};

// The trainer's side of the relay, one connection at a time.
class FakeTrainer {
 public:
  explicit FakeTrainer(std::string path) : path_(std::move(path)) { Listen(); }

  void Listen() {
    unlink(path_.c_str());
    listener_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = AddressOf(path_);
    ASSERT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    ASSERT_EQ(listen(listener_.get(), 8), 0);
  }
  // Waits for the shim, reads its greeting and answers `reply`.
  std::string Greet(const std::string& reply = "OK") {
    reader_.reset();
    connection_.reset();
    if (!WaitReadable(listener_.get())) return "nobody came";
    connection_ = UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    reader_.emplace(connection_.get());
    const std::string greeting = Next();
    Send(reply + "\n");
    return greeting;
  }
  std::string Next() { return reader_->Next().value_or("(no line)"); }
  bool Quiet(absl::Duration time) { return !WaitReadable(connection_.get(), time); }
  void Send(const std::string& text) {
    ASSERT_EQ(send(connection_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  void Break() {
    reader_.reset();
    connection_.reset();
  }
  void Die() {
    Break();
    listener_.reset();
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  UniqueFd listener_, connection_;
  std::optional<LineReader> reader_;
};

class ShimRelayTest : public ShimFixture {
 protected:
  ShimRelayTest() {
    spec_.trainer_socket = trainer_.path();
    spec_.nonce = "n0nce";
  }
  // Expects the END of a task whose last line has `number`, and confirms it.
  void ExpectEnd(int number) {
    EXPECT_EQ(trainer_.Next(), absl::StrCat("END ", number));
    trainer_.Send("END\n");
  }
  static ShimBarrier AwaitBarrier(const UniqueFd& control) {
    for (;;) {
      char packet[kMaxShimPacket];
      const ssize_t got =
          WaitReadable(control.get()) ? recv(control.get(), packet, sizeof packet, 0) : 0;
      if (got <= 0) {
        ADD_FAILURE() << "there is no barrier";
        return {};
      }
      const auto barrier = ShimBarrier::Decode({packet, static_cast<std::size_t>(got)});
      if (barrier) return *barrier;
    }
  }
  static void Answer(const UniqueFd& control, std::uint64_t number, const std::string& line) {
    Send(control, {.kind = ShimRequest::Kind::kBarrier, .number = number, .line = line});
  }
  FakeTrainer trainer_{folder_ + "/trainer"};
};

TEST_F(ShimRelayTest, NumbersLinesAndReturnsAnswers) {
  StartShell(R"(echo '{"t":"hello"}' >&3; read -r a <&3; echo "$a"
    echo '{"t":"hb"}' >&3
    echo '{"t":"report","m":{"x":NaN}}' >&3; read -r a <&3; echo "$a")");
  EXPECT_EQ(trainer_.Greet(), "YARD1 n0nce");
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"hello"})");
  trainer_.Send("1 welcome\n");
  EXPECT_EQ(trainer_.Next(), R"(2 {"t":"hb"})");
  EXPECT_EQ(trainer_.Next(), R"(3 {"t":"report","m":{"x":NaN}})");
  trainer_.Send("2\n3 ok three\n");
  ExpectEnd(3);
  Finish();
  EXPECT_EQ(Output(), "welcome\nok three\n");
}

TEST_F(ShimRelayTest, ATaskThatIsBeingStoppedIsToldSoByItsNextReport) {
  StartShell(R"(trap 'told=yes' TERM; echo up
    while [ -z "$told" ]; do sleep 0.01; done
    echo '{"t":"ckpt_begin"}' >&3; read -r a <&3; echo "$a"
    echo '{"t":"report","m":{"x":1},"seq":4}' >&3; read -r a <&3; echo "$a")");
  trainer_.Greet();
  AwaitOutput("up\n");
  Send(control_, {.kind = ShimRequest::Kind::kStop, .signal = SIGTERM, .grace_ms = 60'000});
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"ckpt_begin"})");
  trainer_.Send(R"(1 {"t":"ok","events":[]})"
                "\n");
  EXPECT_EQ(trainer_.Next(), R"(2 {"t":"report","m":{"x":1},"seq":4})");
  trainer_.Send(R"(2 {"t":"ok","seq":4,"events":[]})"
                "\n");
  ExpectEnd(2);
  Finish();
  EXPECT_THAT(Output(),
              testing::MatchesRegex(
                  "up\n\\{\"t\":\"ok\",\"events\":\\[\\]\\}\n"
                  "\\{\"t\":\"stop\",\"seq\":4,\"reason\":\"stop\",\"grace_s\":[0-9.]+\\}\n"));
}

TEST_F(ShimRelayTest, ResendsFromTheFirstUnansweredLineAfterHalfAnAnswer) {
  StartShell(R"(echo one >&3; read -r a <&3; echo "$a"
    echo two >&3; echo three >&3; read -r a <&3; echo "$a"; read -r a <&3; echo "$a")");
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "1 one");
  trainer_.Send("1 answer one\n");
  EXPECT_EQ(trainer_.Next(), "2 two");
  trainer_.Send("2 half an ans");
  trainer_.Break();
  EXPECT_EQ(trainer_.Greet(), "YARD1 n0nce");
  EXPECT_EQ(trainer_.Next(), "2 two");
  trainer_.Send("2 answer two\n");
  EXPECT_EQ(trainer_.Next(), "3 three");
  trainer_.Die();
  trainer_.Listen();
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "3 three");
  trainer_.Send("3 answer three\n");
  ExpectEnd(3);
  Finish();
  EXPECT_EQ(Output(), "answer one\nanswer two\nanswer three\n");
}

TEST_F(ShimRelayTest, ARefusedGreetingIsTriedAgain) {
  StartShell("echo one >&3; read -r a <&3; echo $a");
  trainer_.Greet("ERR a gap");
  trainer_.Break();
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "1 one");
  trainer_.Send("2 wrong number\n");  // Out of order, so the shim reconnects.
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "1 one");
  trainer_.Send("1 yes\n");
  ExpectEnd(1);
  Finish();
  EXPECT_EQ(Output(), "yes\n");
}

TEST_F(ShimRelayTest, ARefusalAfterTheGreetingIsTriedAgainLessAndLessOften) {
  StartShell("echo one >&3; read -r a <&3; echo $a");
  const absl::Time start = absl::Now();
  for (int i = 0; i < 5; ++i) {
    trainer_.Greet();
    EXPECT_EQ(trainer_.Next(), "1 one");
    trainer_.Break();
  }
  trainer_.Greet();
  // The delays are 20, 40, 80, 160 and 320 ms.
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(600));
  EXPECT_EQ(trainer_.Next(), "1 one");
  trainer_.Send("1 yes\n");
  ExpectEnd(1);
  Finish();
}

TEST_F(ShimRelayTest, AReporterThatOnlyStopsWritingGetsItsAnswers) {
  Start({"python3", "-c",
         "import os,socket\n"
         "s=socket.socket(socket.AF_UNIX); s.connect(os.environ['YARD_SOCKET'])\n"
         "s.sendall(b'one\\ntwo\\n'); s.shutdown(socket.SHUT_WR)\n"
         "f=s.makefile('rb'); print(f.readline(), f.readline(), f.readline())\n"});
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "1 one");
  EXPECT_EQ(trainer_.Next(), "2 two");
  trainer_.Send("1 A\n");
  trainer_.Send("2 B\n");
  ExpectEnd(2);
  Finish();
  EXPECT_EQ(Output(), "b'A\\n' b'B\\n' b''\n");
}

TEST_F(ShimRelayTest, AReporterThatHasGoneMakesRoomBeforeItsLinesAreAnswered) {
  // The second reporter closes in two steps.
  Start({"python3", "-c",
         "import os,socket\n"
         "def channel(line):\n"
         "  s=socket.socket(socket.AF_UNIX); s.connect(os.environ['YARD_SOCKET'])\n"
         "  s.sendall(line+b'\\n'); return s\n"
         "channel(b'one').close()\n"
         "s=channel(b'two'); s.shutdown(socket.SHUT_WR)\n"
         "while not os.path.exists('go'): pass\n"
         "s.close()\n"
         "s=channel(b'three'); print(s.makefile('rb').readline())\n"});
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "1 one");
  EXPECT_EQ(trainer_.Next(), "2 two");
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  EXPECT_EQ(trainer_.Next(), "3 three");
  trainer_.Send("1 A\n2 B\n3 C\n");
  ExpectEnd(3);
  Finish();
  EXPECT_EQ(Output(), "b'C\\n'\n");
}

TEST_F(ShimRelayTest, ALineOverOneMegabyteCostsOnlyItself) {
  Start({"python3", "-c",
         "import os\n"
         "f=os.fdopen(3,'r+b',buffering=0)\n"
         "f.write(b'x'*1048576+b'\\n'); f.write(b'y'*1048577+b'\\n'); f.write(b'after\\n')\n"
         "r=os.fdopen(os.dup(3),'rb')\n"
         "for i in range(3): print(r.readline().decode().strip())\n"});
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "1 " + std::string(1048576, 'x'));
  EXPECT_EQ(trainer_.Next(), "2 after");
  trainer_.Send("1 first\n2 last\n");
  ExpectEnd(2);
  Finish();
  const std::vector<std::string> lines = absl::StrSplit(Output(), '\n');
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "first");
  EXPECT_THAT(lines[1], HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(lines[2], "last");
}

TEST_F(ShimRelayTest, StopsReadingAfterSixtyFourUnansweredLines) {
  StartShell("i=1; while [ $i -le 100 ]; do echo line $i >&3; i=$((i+1)); done; echo sent");
  trainer_.Greet();
  for (int i = 1; i <= 64; ++i) ASSERT_EQ(trainer_.Next(), absl::StrCat(i, " line ", i));
  EXPECT_TRUE(trainer_.Quiet(absl::Milliseconds(100)));
  trainer_.Send("1\n");
  EXPECT_EQ(trainer_.Next(), "65 line 65");
  for (int i = 66; i <= 100; ++i) {
    trainer_.Send(absl::StrCat(i - 64, "\n"));
    ASSERT_EQ(trainer_.Next(), absl::StrCat(i, " line ", i));
  }
  for (int i = 37; i <= 100; ++i) trainer_.Send(absl::StrCat(i, "\n"));
  ExpectEnd(100);
  Finish();
}

TEST_F(ShimRelayTest, OneReporterAtATime) {
  Start({"python3", "-c",
         "import os,socket\n"
         "def channel():\n"
         "  s=socket.socket(socket.AF_UNIX); s.connect(os.environ['YARD_SOCKET']); return "
         "s.makefile('rwb',0)\n"
         "a=channel(); b=channel()\n"
         "a.write(b'one\\n'); print(a.readline())\n"
         "b.write(b'two\\n'); print(b.readline()[:36], b.readline())\n"
         "f=os.fdopen(3,'r+b',0); f.write(b'three\\n'); print(f.readline()[:36], f.readline())\n"
         "a.write(b'four\\n'); print(a.readline())\n"
         "a.close(); c=channel(); c.write(b'five\\n'); print(c.readline())\n"});
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "1 one");
  trainer_.Send("1 A\n");
  EXPECT_EQ(trainer_.Next(), "2 four");
  trainer_.Send("2 B\n");
  EXPECT_EQ(trainer_.Next(), "3 five");
  trainer_.Send("3 C\n");
  ExpectEnd(3);
  Finish();
  const std::string refused = R"(b'{"t":"error","code":"ALREADY_EXISTS"' b'')";
  EXPECT_EQ(Output(), absl::StrCat("b'A\\n'\n", refused, "\n", refused, "\nb'B\\n'\nb'C\\n'\n"));
}

TEST_F(ShimRelayTest, LinesOfATaskThatHasEndedStillArriveWhenTheTrainerComesBack) {
  trainer_.Die();
  StartShell("echo '{\"t\":\"fail\",\"error\":\"x\"}' >&3; echo last >&3; exit 1");
  EXPECT_EQ(AwaitPhase(ShimPhase::kExited).exit_code, 1);
  Send(control_, {.kind = ShimRequest::Kind::kAcknowledge});
  trainer_.Listen();
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"fail","error":"x"})");
  EXPECT_EQ(trainer_.Next(), "2 last");
  trainer_.Send("1\n2 too late\n");
  EXPECT_EQ(trainer_.Next(), "END 2");
  trainer_.Break();
  trainer_.Greet();
  ExpectEnd(2);
  const auto status = shim_->Wait(kDeadline);
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(status->ok());
}

TEST_F(ShimRelayTest, EndIsSentForATaskThatNeverReported) {
  StartShell("true");
  trainer_.Greet();
  ExpectEnd(0);
  Finish();
}

TEST_F(ShimRelayTest, WithoutATrainerItAnswersItself) {
  spec_.trainer_socket.clear();
  StartShell(R"(echo '{"t":"log","text":"x"}' >&3
    echo '{"t":"hb"}' >&3
    echo '{"t":"report","m":{}}' >&3; read -r a <&3; echo "$a")");
  Finish();
  const std::string output = Output();
  EXPECT_THAT(output, StartsWith(R"({"t":"error","code":"FAILED_PRECONDITION")"));
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1);
}

TEST_F(ShimRelayTest, ARankThatDoesNotReportIsToldWhoDoes) {
  spec_.trainer_socket.clear();
  spec_.no_reports = "rank 2 does not report: rank 0 does";
  StartShell(R"(echo '{"t":"hello","v":1}' >&3; read -r a <&3; echo "$a"
    echo '{"t":"ckpt_begin"}' >&3; read -r a <&3; echo "$a"
    echo '{"t":"fail","error":"x"}' >&3)");
  Finish();
  const std::string refused =
      R"({"t":"error","code":"FAILED_PRECONDITION","error":"rank 2 does not report: rank 0 does",)"
      R"("trial":true})";
  EXPECT_EQ(Output(), absl::StrCat(refused, "\n", refused, "\n"));
}

constexpr char kAtBarrier[] = R"(echo '{"t":"barrier","name":"a"}' >&3; read -r a <&3; echo "$a")";

TEST_F(ShimRelayTest, ABarrierIsAnsweredByTheLauncher) {
  spec_.trainer_socket.clear();
  StartShell(kAtBarrier);
  const ShimBarrier barrier = AwaitBarrier(control_);
  EXPECT_EQ(barrier.line, R"({"t":"barrier","name":"a"})");
  Answer(control_, barrier.number + 1, "of another one");
  Answer(control_, barrier.number, "go on");
  Finish();
  EXPECT_EQ(Output(), "go on\n");
}

TEST_F(ShimRelayTest, ABarrierComesAfterTheReportsBeforeItAndBeforeThoseBehindIt) {
  StartShell(absl::StrCat("echo one >&3; echo two >&3; ", kAtBarrier,
                          "; read -r a <&3; echo $a; read -r a <&3; echo $a"
                          "; echo three >&3; read -r a <&3; echo $a"));
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "1 one");
  EXPECT_EQ(trainer_.Next(), "2 two");
  trainer_.Send("1 first\n");
  trainer_.Break();
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), "2 two");
  trainer_.Send("2 second\n");
  const ShimBarrier barrier = AwaitBarrier(control_);
  Answer(control_, barrier.number, "met");
  EXPECT_EQ(trainer_.Next(), "3 three");
  trainer_.Send("3 third\n");
  ExpectEnd(3);
  Finish();
  EXPECT_EQ(Output(), "first\nsecond\nmet\nthird\n");
}

TEST_F(ShimRelayTest, ALaterLauncherIsAskedAgain) {
  spec_.trainer_socket.clear();
  StartShell(kAtBarrier);
  const ShimBarrier barrier = AwaitBarrier(control_);
  control_ = ConnectTo(spec_.control_socket, SOCK_SEQPACKET);
  Send(control_, {.kind = ShimRequest::Kind::kState});
  EXPECT_EQ(AwaitBarrier(control_), barrier);
  Answer(control_, barrier.number, "met");
  Finish();
  EXPECT_EQ(Output(), "met\n");
}

TEST_F(ShimRelayTest, WhoWaitsAtABarrierIsSaidToBeAlive) {
  StartShell(absl::StrCat(kAtBarrier, "; echo behind >&3; read -r a <&3; echo \"$a\""));
  EXPECT_EQ(trainer_.Greet(), "YARD1 n0nce");
  const ShimBarrier barrier = AwaitBarrier(control_);
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"hb"})");
  trainer_.Send("1\n");
  EXPECT_EQ(trainer_.Next(), R"(2 {"t":"hb"})");
  // The barrier is answered before the heartbeat, which the next trainer gets again.
  Answer(control_, barrier.number, "met");
  EXPECT_EQ(trainer_.Next(), "3 behind");
  trainer_.Break();
  EXPECT_EQ(trainer_.Greet(), "YARD1 n0nce");
  EXPECT_EQ(trainer_.Next(), R"(2 {"t":"hb"})");
  trainer_.Send("2\n");
  EXPECT_EQ(trainer_.Next(), "3 behind");
  trainer_.Send("3 ok\n");
  ExpectEnd(3);
  Finish();
  EXPECT_EQ(Output(), "met\nok\n");
}

TEST_F(ShimRelayTest, WhoEndsAtABarrierIsNotWaitedFor) {
  StartShell(R"(echo '{"t":"barrier","name":"a"}' >&3; echo '{"t":"hb"}' >&3)");
  trainer_.Greet();
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"hb"})");
  trainer_.Send("1\n");
  ExpectEnd(1);
  Finish();
}

TEST_F(ShimRelayTest, ABarrierThatIsTooLongIsRefused) {
  spec_.trainer_socket.clear();
  Start({"python3", "-c",
         "import os\n"
         "os.write(3, b'{\"t\":\"barrier\",\"name\":\"' + b'x' * 40000 + b'\"}\\n')\n"
         "print(os.read(3, 1000))\n"});
  Finish();
  EXPECT_THAT(Output(), HasSubstr("INVALID_ARGUMENT"));
}

// A process that no launcher has started, and its relay.
class AttachedShimTest : public ShimFixture {
 protected:
  AttachedShimTest() {
    auto process = runtime::Subprocess::Start({.argv = {"sleep", "1000"}});
    EXPECT_TRUE(process.ok()) << process.status();
    process_.emplace(*std::move(process));
    pid_ = absl::StrCat(process_->pid());
  }
  // Starts the relay, and returns the exit code of the caller's process. Our end of the channel
  // becomes channel_.
  int Attach(const std::string& pid) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    channel_ = UniqueFd(ends[0]);
    const UniqueFd its(ends[1]);
    reader_.emplace(channel_.get());
    runtime::Subprocess::Options options;
    options.argv = {"yard-shim", "--attach", pid, "3", trainer_.path()};
    const auto program = runtime::FindBinary("launcher/yard-shim");
    EXPECT_TRUE(program.ok()) << program.status();
    options.program = *program;
    options.fds = {{its.get(), 3}, {2, 2}};
    auto shim = runtime::Subprocess::Start(options);
    EXPECT_TRUE(shim.ok()) << shim.status();
    const auto ended = shim->Wait(kDeadline);
    EXPECT_TRUE(ended.ok()) << ended.status();
    return ended.ok() ? ended->code : -1;
  }
  void AttachToProcess() {
    ASSERT_EQ(Attach(pid_), kShimDone);
    Say(R"({"name":"first"})");
  }
  void Say(const std::string& line) {
    const std::string text = line + "\n";
    ASSERT_EQ(send(channel_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  std::string Heard() { return reader_->Next().value_or("(no line)"); }
  // Accepts the first greeting, and returns it without the nonce.
  std::string GreetFirst(const std::string& reply = "OK") {
    const std::vector<std::string> words = absl::StrSplit(trainer_.Greet(reply), ' ');
    if (words.size() != 4) return absl::StrCat(words.size(), " words");
    nonce_ = words[1];
    EXPECT_EQ(nonce_.size(), 32u);
    return absl::StrCat(words[0], " ", words[2], " ", words[3]);
  }

  FakeTrainer trainer_{folder_ + "/trainer"};
  std::optional<runtime::Subprocess> process_;
  std::string pid_, nonce_;
  UniqueFd channel_;
  std::optional<LineReader> reader_;
};

TEST_F(AttachedShimTest, AsksForATrialUntilItIsThereAndSaysThatItIsFinished) {
  AttachToProcess();
  EXPECT_EQ(GreetFirst(), absl::StrCat("ATTACH1 ", pid_, R"( {"name":"first"})"));
  Say(R"({"t":"hello","v":1})");
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"hello","v":1})");
  trainer_.Break();
  EXPECT_EQ(trainer_.Greet(), absl::StrCat("YARD1 ", nonce_));
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"hello","v":1})");
  trainer_.Send("1 welcome\n");
  EXPECT_EQ(Heard(), "welcome");
  Say(R"({"t":"hb"})");
  Say(R"({"t":"finish"})");
  EXPECT_EQ(trainer_.Next(), R"(2 {"t":"hb"})");
  trainer_.Send("2\n");
  EXPECT_EQ(trainer_.Next(), "END 2 finished");
  // If the trainer dies before it confirms END, the next one gets END again.
  trainer_.Break();
  EXPECT_EQ(trainer_.Greet(), absl::StrCat("YARD1 ", nonce_));
  EXPECT_EQ(trainer_.Next(), "END 2 finished");
  trainer_.Send("END\n");
  EXPECT_EQ(Heard(), R"({"t":"ok"})");
  EXPECT_EQ(Heard(), "(no line)") << "the shim has ended";
  EXPECT_EQ(kill(process_->pid(), 0), 0);
}

// For example after an interrupted report: the program counts the answers that it has not read.
TEST_F(AttachedShimTest, WhatIsQueuedAtTheFinishIsAnsweredBeforeIt) {
  AttachToProcess();
  GreetFirst();
  Say(R"({"t":"report","m":{}})");
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"report","m":{}})");
  trainer_.Die();
  Say(R"({"t":"report","m":{"last":1}})");
  Say(R"({"t":"finish"})");
  trainer_.Listen();
  EXPECT_EQ(trainer_.Greet(), absl::StrCat("YARD1 ", nonce_));
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"report","m":{}})");
  EXPECT_EQ(trainer_.Next(), R"(2 {"t":"report","m":{"last":1}})");
  trainer_.Send("1 first\n2 second\n");
  EXPECT_EQ(trainer_.Next(), "END 2 finished");
  trainer_.Send("END\n");
  EXPECT_EQ(Heard(), "first");
  EXPECT_EQ(Heard(), "second");
  EXPECT_EQ(Heard(), R"({"t":"ok"})");
  EXPECT_EQ(Heard(), "(no line)");
}

TEST_F(AttachedShimTest, AProcessThatEndsWhileItsAnswersAreAwayEndsTheShimToo) {
  AttachToProcess();
  GreetFirst();
  Say(R"({"t":"report","m":{}})");
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"report","m":{}})");
  Say(R"({"t":"finish"})");
  ASSERT_TRUE(process_->Signal(SIGKILL).ok());
  (void)process_->Wait(kDeadline);
  trainer_.Send("1 first\n");
  EXPECT_EQ(trainer_.Next(), "END 1 finished");
  trainer_.Send("END\n");
}

// Another process may still hold the other end of the channel.
TEST_F(AttachedShimTest, AProcessThatEndsBeforeItsRequestEndsTheShim) {
  ASSERT_EQ(Attach(pid_), kShimDone);
  ASSERT_TRUE(process_->Signal(SIGKILL).ok());
  (void)process_->Wait(kDeadline);
  ASSERT_TRUE(WaitReadable(channel_.get(), kDeadline));
  char byte;
  EXPECT_EQ(read(channel_.get(), &byte, 1), 0) << "our end is open, and the shim has ended";
}

TEST_F(AttachedShimTest, ATrainerThatComesLaterIsAskedWithTheSameNonce) {
  trainer_.Die();
  AttachToProcess();
  trainer_.Listen();
  EXPECT_EQ(GreetFirst("no greeting"), absl::StrCat("ATTACH1 ", pid_, R"( {"name":"first"})"));
  const std::string nonce = nonce_;
  GreetFirst();
  EXPECT_EQ(nonce_, nonce);
}

TEST_F(AttachedShimTest, AProcessThatIsKilledIsGone) {
  AttachToProcess();
  GreetFirst();
  Say(R"({"t":"hb"})");
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"hb"})");
  trainer_.Send("1\n");
  ASSERT_TRUE(process_->Signal(SIGKILL).ok());
  (void)process_->Wait(kDeadline);
  EXPECT_EQ(trainer_.Next(), "END 1 gone");
  trainer_.Send("END\n");
  EXPECT_EQ(Heard(), "(no line)");
}

TEST_F(AttachedShimTest, AChannelThatIsOnlyClosedIsToldAsThat) {
  AttachToProcess();
  GreetFirst();
  channel_.reset();
  EXPECT_EQ(trainer_.Next(), "END 0 closed");
}

TEST_F(AttachedShimTest, ARefusalIsForGood) {
  AttachToProcess();
  Say(R"({"t":"hello","v":1})");
  GreetFirst("ERR cannot call a run \"a/b\"");
  EXPECT_EQ(Heard(), R"({"t":"error","code":"ABORTED","error":"cannot call a run \"a/b\""})");
  Say(R"({"t":"hb"})");
  Say(R"({"t":"report","m":{}})");
  EXPECT_THAT(Heard(), HasSubstr("ABORTED"));
}

TEST_F(AttachedShimTest, OverIsForGoodToo) {
  AttachToProcess();
  GreetFirst();
  Say(R"({"t":"report","m":{}})");
  EXPECT_EQ(trainer_.Next(), R"(1 {"t":"report","m":{}})");
  trainer_.Send("OVER trial t-abcde has ended (Stopped)\n");
  EXPECT_EQ(Heard(),
            R"_({"t":"error","code":"CANCELLED","error":"trial t-abcde has ended (Stopped)"})_");
  Say(R"({"t":"report","m":{}})");
  EXPECT_THAT(Heard(), HasSubstr("CANCELLED"));
  Say(R"({"t":"finish"})");
  EXPECT_EQ(Heard(), R"({"t":"ok"})");
}

TEST_F(AttachedShimTest, AProcessThatIsNotThereIsSaid) {
  EXPECT_EQ(Attach("0"), kShimBadSpec);
  EXPECT_THAT(Heard(), HasSubstr("cannot watch process 0"));
}

}  // namespace
}  // namespace launcher
