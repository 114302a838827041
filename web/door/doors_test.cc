#include "web/door/doors.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "web/http/message.h"

namespace web {
namespace {

using testing::HasSubstr;

class DoorsTest : public testing::Test {
 protected:
  DoorsTest() {
    char folder[] = "/tmp/doors-XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    locations_.runtime_directory = locations_.state_directory = folder_;
  }
  ~DoorsTest() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<std::unique_ptr<HttpServer>> Open(const DoorOptions& options) {
    return OpenDoors(options, locations_, [](Request, std::shared_ptr<Reply>) {});
  }

  std::string folder_;
  runtime::Locations locations_;
};

TEST_F(DoorsTest, AnAddressThatOthersReachIsRefused) {
  EXPECT_TRUE(CheckDoors({}).ok());
  EXPECT_TRUE(CheckDoors({.addresses = {"127.0.0.1", "127.1.2.3", "::1"}}).ok());
  for (const char* address : {"0.0.0.0", "::", "192.168.1.2", "localhost"}) {
    const absl::Status refused = CheckDoors({.addresses = {address}});
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << address;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("--allow_remote"));
    EXPECT_TRUE(CheckDoors({.addresses = {address}, .allow_remote = true}).ok());
  }
  EXPECT_FALSE(CheckDoors({.page = "maybe"}).ok());
  EXPECT_FALSE(CheckDoors({.port = 65'536}).ok());
  EXPECT_FALSE(CheckDoors({.addresses = {}}).ok());
}

TEST_F(DoorsTest, ThePortIsThatOfLastTime) {
  int port = 0;
  {
    const auto first = Open({});
    ASSERT_TRUE(first.ok()) << first.status();
    port = (*first)->port();
    EXPECT_EQ(AddressOf(port), absl::StrCat("http://127.0.0.1:", port, "/"));
  }
  const auto second = Open({});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->port(), port);
}

TEST_F(DoorsTest, AUsualPortThatIsTakenIsNoError) {
  const auto taken = HttpServer::Start({.addresses = {"127.0.0.1"}});
  ASSERT_TRUE(taken.ok());
  ASSERT_TRUE(
      runtime::WriteFileAtomically(folder_ + "/web.port", absl::StrCat((*taken)->port()), 0600)
          .ok());
  const auto server = Open({});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE((*server)->port(), (*taken)->port());
  EXPECT_NE((*server)->port(), 0);
}

TEST_F(DoorsTest, APortThatWasAskedForIsIt) {
  const auto taken = HttpServer::Start({.addresses = {"127.0.0.1"}});
  ASSERT_TRUE(taken.ok());
  const auto server = Open({.port = (*taken)->port()});
  EXPECT_THAT(std::string(server.status().message()),
              HasSubstr(absl::StrCat("port ", (*taken)->port())));
}

TEST_F(DoorsTest, WithoutThePageThereIsTheSocketAlone) {
  const auto server = Open({.page = "off"});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->port(), 0);
  EXPECT_EQ(AddressOf(0), "");
  EXPECT_EQ(access(SocketOf(locations_).c_str(), F_OK), 0);
}

}  // namespace
}  // namespace web
