#include "tools/yard/health/tensorboard_health.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace yard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::vector<std::string> kOurServer = {
    "PATH=/bin", "TENSORBOARD_DATA_SERVER_BINARY=/usr/libexec/yard-data-server"};

// Answers one request like TensorBoard.
class FakeTensorBoard {
 public:
  explicit FakeTensorBoard(const std::string& answer) : answer_(answer) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_.get(), plain, size), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    EXPECT_EQ(getsockname(listener_.get(), plain, &size), 0);
    port_ = ntohs(address.sin_port);
  }

  // Returns true if a TensorBoard with this answer counts as fallen back.
  bool HasFallenBack() {
    runtime::Thread thread("answer", [this] {
      const runtime::UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char byte = 0;
      while (!asked_.ends_with("\r\n\r\n") && recv(fd.get(), &byte, 1, 0) == 1) asked_ += byte;
      send(fd.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
    });
    const bool fallen =
        yard::HasFallenBack({.pid = getpid(), .port = port_, .path_prefix = "/tb"}, kOurServer);
    (void)thread.Join();
    return fallen;
  }

  const std::string& asked() const { return asked_; }

 private:
  const std::string answer_;
  std::string asked_;
  runtime::UniqueFd listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
};

std::string Answer(const std::string& provider) {
  return absl::StrCat("HTTP/1.0 200 OK\r\n\r\n{\"debug\":{\"data_provider\":", provider, "}}");
}

TEST(TensorBoardHealthTest, ATensorBoardSaysHowItReads) {
  FakeTensorBoard by_python(Answer("\"MultiplexerDataProvider(logdir='runs')\""));
  EXPECT_TRUE(by_python.HasFallenBack());
  EXPECT_THAT(by_python.asked(), StartsWith("GET /tb/data/environment HTTP/1.0\r\n"));
  EXPECT_FALSE(FakeTensorBoard(Answer("\"GrpcDataProvider(addr='x')\"")).HasFallenBack());
}

TEST(TensorBoardHealthTest, AnAnswerThatDoesNotSayItIsNoFallback) {
  for (const std::string& answer :
       {Answer("1"), std::string("HTTP/1.0 200 OK\r\n\r\n{}"), std::string("nonsense"),
        std::string("HTTP/1.0 200 OK\r\n\r\n{\"debug\":[]}"), std::string(),
        std::string("HTTP/1.0 500 Sorry\r\n\r\n{\"debug\":{\"data_provider\":\"x\"}}")}) {
    EXPECT_FALSE(FakeTensorBoard(answer).HasFallenBack()) << answer;
  }
}

TEST(TensorBoardHealthTest, ATensorBoardWithAServerOfItsOwnIsNotAsked) {
  EXPECT_FALSE(HasFallenBack({.pid = 1, .port = 1}, {"PATH=/bin"}));
  // The environment of this process does not name our server either.
  EXPECT_THAT(LookForFallbacks({{.pid = getpid(), .port = 1}}), IsEmpty());
}

TEST(TensorBoardHealthTest, AFindingNamesTheProcessTheCauseAndTheNextStep) {
  EXPECT_THAT(CheckFallbacks({}), IsEmpty());
  const Findings findings =
      CheckFallbacks({{.tool = {.pid = 11}, .proxy = true}, {.tool = {.pid = 12}}});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].level, Level::kWarn);
  EXPECT_THAT(findings[0].found, AllOf(HasSubstr("process 11 "), HasSubstr("through a proxy")));
  EXPECT_THAT(findings[0].fix, HasSubstr("no_grpc_proxy=localhost"));
  EXPECT_THAT(findings[1].found, AllOf(HasSubstr("process 12 "), Not(HasSubstr("proxy"))));
  EXPECT_THAT(findings[1].fix, HasSubstr("--load_fast=true"));
}

}  // namespace
}  // namespace yard
