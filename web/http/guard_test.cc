#include "web/http/guard.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "web/http/message.h"

namespace web {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

int StatusOf(const Guard& guard, std::string_view method, Headers headers,
             Door door = Door::kPort) {
  const auto refused =
      guard.Refuse({.door = door, .method = std::string(method), .headers = headers});
  return refused ? refused->status : 200;
}

TEST(GuardTest, EveryMethodHasToNameThisHost) {
  const Guard guard({"box.example"});
  for (const std::string_view method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}) {
    const Headers json = {{"content-type", "application/json"}};
    const auto with_host = [&](std::string_view host) {
      Headers headers = json;
      headers.emplace_back("host", host);
      return StatusOf(guard, method, headers);
    };
    for (const std::string_view host :
         {"localhost", "localhost:7710", "LocalHost:1", "127.0.0.1", "127.0.0.1:7710", "[::1]",
          "[::1]:7710", "box.example", "BOX.example:80"}) {
      EXPECT_EQ(with_host(host), 200) << method << " " << host;
    }
    for (const std::string_view host :
         {"evil.example", "evil.example:7710", "localhost.evil.example", "127.0.0.1.evil.example",
          "127.0.0.2", "localhost.", "localhost:", "localhost:77x", "localhost:777777", "[::1",
          "[::1]x", "[::1]x:80", "::1", "a@localhost", "localhost/", "", " localhost"}) {
      EXPECT_EQ(with_host(host), 421) << method << " " << host;
    }
    EXPECT_EQ(StatusOf(guard, method, json), 400) << method;
    EXPECT_EQ(StatusOf(guard, method, {json[0], {"host", "localhost"}, {"host", "localhost"}}), 400)
        << method;
  }
}

TEST(GuardTest, OtherMethodsAreRefused) {
  for (const std::string_view method : {"OPTIONS", "TRACE", "CONNECT", "get", "", "PROPFIND"}) {
    EXPECT_EQ(StatusOf(Guard(), method, {{"host", "localhost"}}), 405) << method;
    EXPECT_EQ(StatusOf(Guard(), method, {{"host", "localhost"}}, Door::kSocket), 405) << method;
  }
}

TEST(GuardTest, AChangeComesFromAPageOfOursOrFromNone) {
  const auto status = [](Headers more) {
    Headers headers = {{"host", "localhost:7710"}, {"content-type", "application/json"}};
    headers.insert(headers.end(), more.begin(), more.end());
    return StatusOf(Guard(), "DELETE", headers);
  };
  EXPECT_EQ(status({}), 200);
  EXPECT_EQ(status({{"origin", "http://localhost:7710"}}), 200);
  EXPECT_EQ(status({{"sec-fetch-site", "same-origin"}}), 200);
  EXPECT_EQ(status({{"sec-fetch-site", "none"}}), 200);
  for (const std::string_view origin :
       {"http://evil.example", "null", "", "http://localhost", "https://localhost:7710",
        "http://127.0.0.1:7710", "http://localhost:7711"}) {
    EXPECT_EQ(status({{"origin", std::string(origin)}}), 403) << origin;
  }
  EXPECT_EQ(status({{"origin", "http://localhost:7710"}, {"origin", "http://evil.example"}}), 403);
  EXPECT_EQ(status({{"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(status({{"sec-fetch-site", "same-site"}}), 403);
}

TEST(GuardTest, AChangeHasABodyOfJson) {
  const auto status = [](std::string_view type) {
    return StatusOf(Guard(), "POST", {{"host", "localhost"}, {"content-type", std::string(type)}});
  };
  EXPECT_EQ(status("application/json"), 200);
  EXPECT_EQ(status("Application/JSON ; charset=utf-8"), 200);
  for (const std::string_view type : {"text/plain", "application/x-www-form-urlencoded",
                                      "multipart/form-data", "", "application/jsonx"}) {
    EXPECT_EQ(status(type), 415) << type;
  }
  EXPECT_EQ(StatusOf(Guard(), "POST", {{"host", "localhost"}}), 415);
}

TEST(GuardTest, TheSocketIsNoBrowsers) {
  EXPECT_EQ(StatusOf(Guard(), "GET", {{"host", "yard"}}, Door::kSocket), 200);
  EXPECT_EQ(StatusOf(Guard(), "POST", {{"content-type", "application/json"}}, Door::kSocket), 200);
}

}  // namespace
}  // namespace web
