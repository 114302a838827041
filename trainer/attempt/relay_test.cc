#include "trainer/attempt/relay.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/clock.h"
#include "runtime/report_channel/relay_protocol.h"
#include "trainer/report/report_line.h"
#include "trainer/testing/loop_thread.h"
#include "trainer/testing/relay_client.h"

namespace trainer {
namespace {

// Remembers answers as the trainer does; answers "got TEXT", and sends no answer to "hb".
class FakeReceiver : public LineReceiver {
 public:
  absl::StatusOr<AttemptKey> Greet(std::string_view nonce) override {
    if (nonce == "one") return AttemptKey{1, 1};
    if (nonce == "two") return AttemptKey{2, 1};
    return absl::PermissionDeniedError("no such\nnonce");
  }
  std::vector<absl::StatusOr<std::string>> Receive(const std::vector<RelayedLine>& lines) override {
    batches.push_back(lines.size());
    std::vector<absl::StatusOr<std::string>> answers;
    for (const RelayedLine& line : lines) answers.push_back(Take(line));
    return answers;
  }

  void OnWanted(std::function<void(const AttemptKey&)> wanted) override {
    wanted_ = std::move(wanted);
  }
  void Want(std::int64_t trial) {
    held = 0;
    wanted_({trial, 1});
  }

  void OnAlive(const AttemptKey& attempt) override { alive.push_back(attempt.trial); }

  std::vector<std::int64_t> alive;
  std::int64_t held = 0;  // The trial whose lines from "hold" on are held back.
  std::vector<std::size_t> batches;
  std::map<std::int64_t, std::vector<std::string>> taken;
  absl::Status error;

 private:
  absl::StatusOr<std::string> Take(const RelayedLine& line) {
    std::vector<std::string>& known = taken[line.attempt.trial];
    if (!error.ok()) return error;
    const auto count = static_cast<std::int64_t>(known.size());
    const bool waits = line.text == "hold" || line.number > count + 1 || line.is_end;
    if (held == line.attempt.trial && waits) return absl::UnavailableError("held");
    if (line.number > count + (line.is_end ? 0 : 1)) return absl::FailedPreconditionError("a gap");
    if (line.number == count + 1) known.push_back(line.text);
    if (line.is_end || line.text == "hb") return std::string();
    return absl::StrCat("got ", known[static_cast<std::size_t>(line.number) - 1].substr(0, 10));
  }
  std::function<void(const AttemptKey&)> wanted_;
};

class RelayTest : public testing::Test {
 protected:
  RelayTest() : loop_(runtime::Clock::Real()) {
    char name[] = "/tmp/rl-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/relay";
    std::ofstream(path_) << "a stale file";
    loop_.Call([&] {
      auto relay =
          Relay::Listen({.loop = loop_.loop(), .receiver = &receiver_, .socket_path = path_});
      ASSERT_TRUE(relay.ok()) << relay.status();
      relay_ = *std::move(relay);
    });
  }
  ~RelayTest() override {
    loop_.Call([&] { relay_.reset(); });
    loop_.Stop();
    std::filesystem::remove_all(directory_);
  }

  std::string directory_, path_;
  FakeReceiver receiver_;
  LoopThread loop_;
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, AnswersNumberedLines) {
  RelayClient shim(path_);
  ASSERT_TRUE(shim.Send("YARD1 one\n1 hello\n2 hb\n3 report\nEND 3\n"));
  EXPECT_EQ(shim.Line(), "OK");
  EXPECT_EQ(shim.Line(), "1 got hello");
  EXPECT_EQ(shim.Line(), "2");
  EXPECT_EQ(shim.Line(), "3 got report");
  EXPECT_EQ(shim.Line(), "END");
}

TEST_F(RelayTest, AProgramIsAliveWithoutALine) {
  RelayClient shim(path_);
  ASSERT_TRUE(shim.Send("YARD1 two\nALIVE\n1 hello\nALIVE\n2 report\n"));
  EXPECT_EQ(shim.Line(), "OK");
  EXPECT_EQ(shim.Line(), "1 got hello");
  EXPECT_EQ(shim.Line(), "2 got report");
  loop_.Call([&] { EXPECT_EQ(receiver_.alive, (std::vector<std::int64_t>{2, 2})); });
}

TEST_F(RelayTest, TheSocketIsPrivate) {
  struct stat about {};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_TRUE(S_ISSOCK(about.st_mode));
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(RelayTest, RefusesWhatIsNotTheProtocol) {
  const std::pair<std::string, std::string> kCases[] = {
      {"YARD1 three\n", "ERR no such nonce"},
      {"hello\n", "ERR expected YARD1 NONCE"},
      {"YARD1 one\nx report\n", "ERR not a numbered line"},
      {"YARD1 one\n1\n", "ERR not a numbered line"},
      {"YARD1 one\n0 x\n", "ERR not a numbered line"},
      {"YARD1 one\n-1 x\n", "ERR not a numbered line"},
      {"YARD1 one\n99999999999999999999 x\n", "ERR not a numbered line"},
      {"YARD1 one\nEND x\n", "ERR not a numbered line"},
      {"YARD1 one\n7 report\n", "ERR a gap"},
      {"YARD1 one\nEND 4\n", "ERR a gap"},
  };
  for (const auto& [sent, refusal] : kCases) {
    RelayClient shim(path_);
    ASSERT_TRUE(shim.Send(sent));
    std::optional<std::string> line = shim.Line();
    if (line == "OK") line = shim.Line();
    EXPECT_EQ(line, refusal) << sent;
    EXPECT_EQ(shim.Line(), std::nullopt) << "the connection is closed";
  }
  EXPECT_TRUE(receiver_.taken[1].empty());
}

TEST_F(RelayTest, ALineMayComeByteByByte) {
  RelayClient shim(path_);
  for (const char c : std::string("YARD1 one\n1 report\n")) {
    ASSERT_TRUE(shim.Send(std::string(1, c)));
    loop_.Settle();
  }
  EXPECT_EQ(shim.Line(), "OK");
  EXPECT_EQ(shim.Line(), "1 got report");
}

TEST_F(RelayTest, HalfALineIsForgottenWithItsConnection) {
  {
    RelayClient shim(path_);
    ASSERT_TRUE(shim.Send("YARD1 one\n1 a\n2 repo"));
    EXPECT_EQ(shim.Line(), "OK");
    EXPECT_EQ(shim.Line(), "1 got a");
  }
  RelayClient shim(path_);
  ASSERT_TRUE(shim.Send("YARD1 one\n1 a\n2 b\n"));
  EXPECT_EQ(shim.Line(), "OK");
  EXPECT_EQ(shim.Line(), "1 got a");
  EXPECT_EQ(shim.Line(), "2 got b");
  loop_.Call([&] { EXPECT_EQ(receiver_.taken[1].size(), 2u); });
}

TEST_F(RelayTest, TakesTheLongestLineAndRefusesALongerOne) {
  RelayClient shim(path_);
  ASSERT_TRUE(shim.Send("YARD1 one\n1 " + std::string(runtime::kMaxReportLine, 'x') + "\n"));
  EXPECT_EQ(shim.Line(), "OK");
  EXPECT_EQ(shim.Line(), "1 got xxxxxxxxxx");
  shim.Send("2 " + std::string(runtime::kMaxReportLine + 400'000, 'x'));
  EXPECT_EQ(shim.Line(), "ERR line too long");
}

TEST_F(RelayTest, ManyLinesAtOnceAreAnsweredInOrderInFewTransactions) {
  RelayClient one(path_), two(path_);
  std::string lines = "YARD1 one\n";
  for (int i = 1; i <= 5000; ++i) absl::StrAppend(&lines, i, " line ", i, "\n");
  std::thread other([&] { two.Send("YARD1 two\n" + lines.substr(lines.find('\n') + 1)); });
  std::thread first([&] { one.Send(lines); });
  for (RelayClient* shim : {&one, &two}) {
    EXPECT_EQ(shim->Line(), "OK");
    for (int i = 1; i <= 5000; ++i) {
      ASSERT_EQ(shim->Line(),
                absl::StrCat(i, " got line ", i).substr(0, absl::StrCat(i).size() + 15));
    }
  }
  first.join();
  other.join();
  loop_.Call([&] { EXPECT_LT(receiver_.batches.size(), 1000u); });
  EXPECT_EQ(relay_->GetStats().lines, 10'000u);
}

TEST_F(RelayTest, ASecondConnectionOfAnAttemptReplacesTheFirst) {
  RelayClient first(path_);
  ASSERT_TRUE(first.Send("YARD1 one\n1 a\n"));
  EXPECT_EQ(first.Line(), "OK");
  EXPECT_EQ(first.Line(), "1 got a");
  RelayClient second(path_);
  ASSERT_TRUE(second.Send("YARD1 one\n2 b\n"));
  EXPECT_EQ(second.Line(), "OK");
  EXPECT_EQ(second.Line(), "2 got b");
  EXPECT_EQ(first.Line(), std::nullopt);
}

TEST_F(RelayTest, AnErrorOfTheReceiverRefusesTheConnectionOnce) {
  receiver_.error = absl::ResourceExhaustedError("disk full");
  RelayClient shim(path_);
  ASSERT_TRUE(shim.Send("YARD1 one\n1 a\n2 b\n"));
  EXPECT_EQ(shim.Line(), "OK");
  EXPECT_EQ(shim.Line(), "ERR disk full");
  EXPECT_EQ(shim.Line(), std::nullopt);
}

TEST_F(RelayTest, LinesThatAreHeldBackWaitInTheirOrderWhileOthersAreAnswered) {
  loop_.Call([&] { receiver_.held = 1; });
  RelayClient first(path_), second(path_);
  ASSERT_TRUE(first.Send("YARD1 one\n1 a\n2 hold\n3 b\n"));
  EXPECT_EQ(first.Line(), "OK");
  EXPECT_EQ(first.Line(), "1 got a");
  ASSERT_TRUE(first.Send("4 c\nEND 4\n"));
  ASSERT_TRUE(second.Send("YARD1 two\n1 x\n"));
  EXPECT_EQ(second.Line(), "OK");
  EXPECT_EQ(second.Line(), "1 got x");
  std::size_t batches = 0;
  loop_.Call([&] { batches = receiver_.batches.size(); });
  loop_.Settle();
  loop_.Call([&] {
    EXPECT_EQ(receiver_.batches.size(), batches) << "it asks only when it is called";
    receiver_.Want(2);
    receiver_.Want(1);
  });
  for (const char* const answer : {"2 got hold", "3 got b", "4 got c", "END"}) {
    EXPECT_EQ(first.Line(), answer);
  }
  EXPECT_EQ(relay_->GetStats().refused, 0u);
}

TEST_F(RelayTest, LinesThatAreHeldBackAreLostWithTheirConnectionAndComeAgain) {
  loop_.Call([&] { receiver_.held = 1; });
  RelayClient first(path_);
  ASSERT_TRUE(first.Send("YARD1 one\n1 hold\n2 b\n"));
  EXPECT_EQ(first.Line(), "OK");
  RelayClient second(path_);
  ASSERT_TRUE(second.Send("YARD1 one\n1 hold\n2 b\n"));
  EXPECT_EQ(second.Line(), "OK");
  EXPECT_EQ(first.Line(), std::nullopt);
  loop_.Settle();
  loop_.Call([&] { receiver_.Want(1); });
  EXPECT_EQ(second.Line(), "1 got hold");
  EXPECT_EQ(second.Line(), "2 got b");
  EXPECT_EQ(receiver_.taken[1].size(), 2u);
}

TEST(RelayListenTest, RefusesAPathThatIsTooLong) {
  FakeReceiver receiver;
  const auto loop = runtime::EventLoop::Create();
  const auto relay = Relay::Listen(
      {.loop = loop.get(), .receiver = &receiver, .socket_path = "/tmp/" + std::string(110, 'x')});
  EXPECT_EQ(relay.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace trainer
