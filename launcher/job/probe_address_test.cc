#include "launcher/job/probe_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace launcher {
namespace {

ProbeAddress Tcp(const std::string& text) {
  msg::ProbeT probe;
  probe.tcp = text;
  const auto address = ParseProbeAddress(probe);
  EXPECT_TRUE(address.ok()) << text << ": " << address.status();
  return address.ok() ? *address : ProbeAddress();
}

ProbeAddress Http(const std::string& text) {
  msg::ProbeT probe;
  probe.http = text;
  const auto address = ParseProbeAddress(probe);
  EXPECT_TRUE(address.ok()) << text << ": " << address.status();
  return address.ok() ? *address : ProbeAddress();
}

TEST(ProbeAddressTest, APortIsOneOfThisHost) {
  EXPECT_EQ(Tcp("8080").host, "127.0.0.1");
  EXPECT_EQ(Tcp("8080").port, 8080);
  EXPECT_EQ(Tcp("localhost:80").host, "127.0.0.1");
  EXPECT_EQ(Tcp("10.1.2.3:5").host, "10.1.2.3");
  EXPECT_EQ(Tcp("[::1]:5").host, "::1");
  EXPECT_EQ(Tcp("own").host, "");
}

TEST(ProbeAddressTest, AUrlIsSplit) {
  const ProbeAddress address = Http("http://127.0.0.1:8080/health?deep=1");
  EXPECT_EQ(address.host, "127.0.0.1");
  EXPECT_EQ(address.port, 8080);
  EXPECT_EQ(address.path, "/health?deep=1");
  EXPECT_EQ(address.authority, "127.0.0.1:8080");
  EXPECT_EQ(Http("http://localhost").port, 80);
  EXPECT_EQ(Http("http://localhost").path, "/");
  EXPECT_EQ(Http("http://localhost?x").path, "/?x");
  EXPECT_EQ(Http("http://own/health").host, "");
  EXPECT_EQ(Http("http://own/health").path, "/health");
}

TEST(ProbeAddressTest, NobodyLooksUpANameOrSendsTwoRequests) {
  for (const std::string& text :
       {"example.com:80", "0", "65536", "-1", "a:b", ":80", "[::1", "", "127.0.0.1", "80 81"}) {
    msg::ProbeT probe;
    probe.tcp = text;
    probe.heartbeat = text.empty();
    if (!text.empty()) {
      EXPECT_TRUE(absl::IsInvalidArgument(ParseProbeAddress(probe).status())) << text;
    }
  }
  for (const std::string& text :
       {std::string("https://localhost/"), std::string("localhost:80"),
        std::string("http://example.com/"), std::string("http://localhost/a b"),
        std::string("http://localhost/\r\nGET /x HTTP/1.1"), std::string("http://user@localhost/"),
        std::string("http:///x"), "http://localhost/" + std::string(3000, 'a')}) {
    msg::ProbeT probe;
    probe.http = text;
    EXPECT_TRUE(absl::IsInvalidArgument(ParseProbeAddress(probe).status())) << text;
  }
}

}  // namespace
}  // namespace launcher
