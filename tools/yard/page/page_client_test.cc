#include "tools/yard/page/page_client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace yard {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PageClientTest : public testing::Test {
 protected:
  PageClientTest() {
    char folder[] = "/tmp/page-XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    locations_.runtime_directory = folder;
  }
  ~PageClientTest() override { std::filesystem::remove_all(locations_.runtime_directory); }

  // Sends `answer` to one caller; its request is in request_ once the thread has ended.
  runtime::Thread Answer(const std::string& answer) {
    const std::string path = locations_.runtime_directory + "/http";
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    listener_ = runtime::UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    return runtime::Thread("answer", [this, answer] {
      const runtime::UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char byte = 0;
      while (!request_.ends_with("{}") && recv(fd.get(), &byte, 1, 0) == 1) request_ += byte;
      send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    });
  }

  runtime::Locations locations_;
  runtime::UniqueFd listener_;
  std::string request_;
};

TEST_F(PageClientTest, TheAddressHasAKey) {
  auto thread = Answer(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
      R"({"address":"http://127.0.0.1:7710/","key":"abc"})");
  const auto address = AddressWithKey(locations_, PathOfRun("sweep/a b"));
  (void)thread.Join();
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(*address, "http://127.0.0.1:7710/run/sweep%2Fa%20b#k=abc");
  EXPECT_THAT(request_, StartsWith("POST /api/v1/key HTTP/1.0\r\n"));
}

TEST_F(PageClientTest, APageThatIsOffSaysWhatToDo) {
  auto thread = Answer(
      "HTTP/1.1 409 Conflict\r\n\r\n"
      R"({"status":409,"title":"the page is off","hint":"yard up --page on"})");
  const auto address = AddressWithKey(locations_, "");
  (void)thread.Join();
  EXPECT_TRUE(absl::IsFailedPrecondition(address.status()));
  EXPECT_EQ(address.status().message(), "the page is off; next: yard up --page on");
}

TEST_F(PageClientTest, WithoutAServiceThereIsNone) {
  EXPECT_TRUE(absl::IsUnavailable(AddressWithKey(locations_, "").status()));
  EXPECT_EQ(PageAddress(locations_), "");
}

TEST_F(PageClientTest, WhatIsNoHttpIsAnError) {
  auto thread = Answer("nonsense");
  const auto address = AddressWithKey(locations_, "");
  (void)thread.Join();
  EXPECT_THAT(std::string(address.status().message()), HasSubstr("what it says is no HTTP"));
}

}  // namespace
}  // namespace yard
