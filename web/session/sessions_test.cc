#include "web/session/sessions.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"

namespace web {
namespace {

class SessionsTest : public testing::Test {
 protected:
  SessionsTest() : file_(absl::StrCat(getenv("TEST_TMPDIR"), "/sessions-", getpid())) {
    unlink(file_.c_str());
  }
  std::unique_ptr<Sessions> Open() { return Sessions::Open({.file = file_, .clock = &clock_}); }

  const std::string file_;
  runtime::FakeClock clock_;
};

TEST_F(SessionsTest, AKeyIsSwappedOnceForAToken) {
  const auto sessions = Open();
  const std::string key = sessions->NewKey();
  const auto session = sessions->Exchange(key);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->token.size(), 64u);
  EXPECT_EQ(session->life, absl::Hours(12));
  EXPECT_TRUE(sessions->Knows(session->token));
  EXPECT_TRUE(absl::IsPermissionDenied(sessions->Exchange(key).status()));
}

TEST_F(SessionsTest, AKeyIsGoodForAMinute) {
  const auto sessions = Open();
  const std::string early = sessions->NewKey();
  clock_.Advance(absl::Seconds(59));
  EXPECT_TRUE(sessions->Exchange(early).ok());
  const std::string late = sessions->NewKey();
  clock_.Advance(absl::Seconds(60));
  EXPECT_TRUE(absl::IsPermissionDenied(sessions->Exchange(late).status()));
}

TEST_F(SessionsTest, WhatIsNoTokenIsNotKnown) {
  const auto sessions = Open();
  const std::string key = sessions->NewKey();
  std::string token = sessions->Exchange(key)->token;
  for (const std::string& guess :
       {std::string(), key, token.substr(1), token + "0", std::string(64, '0')}) {
    EXPECT_FALSE(sessions->Knows(guess)) << guess;
  }
  token.back() = token.back() == '0' ? '1' : '0';
  EXPECT_FALSE(sessions->Knows(token));
}

TEST_F(SessionsTest, ASessionOutlivesTheServiceAndEnds) {
  const auto first = Open();
  const std::string token = first->Exchange(first->NewKey())->token;
  clock_.Advance(absl::Hours(11));
  EXPECT_TRUE(Open()->Knows(token));
  const auto second = Open();
  clock_.Advance(absl::Hours(1));
  EXPECT_FALSE(first->Knows(token));
  EXPECT_FALSE(second->Knows(token));
  EXPECT_FALSE(Open()->Knows(token));
}

TEST_F(SessionsTest, TheFileIsOursAlone) {
  const auto sessions = Open();
  ASSERT_TRUE(sessions->Exchange(sessions->NewKey()).ok());
  struct stat status = {};
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(SessionsTest, KeysAreTriedFiveTimesAMinute) {
  const auto sessions = Open();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(absl::IsPermissionDenied(sessions->Exchange("guess").status()));
  }
  const std::string key = sessions->NewKey();
  EXPECT_TRUE(absl::IsResourceExhausted(sessions->Exchange(key).status()));
  clock_.Advance(absl::Minutes(1));
  EXPECT_TRUE(absl::IsPermissionDenied(sessions->Exchange(key).status()));
  EXPECT_TRUE(sessions->Exchange(sessions->NewKey()).ok());
}

TEST_F(SessionsTest, OnlyTheNewestKeysAndSessionsAreKept) {
  const auto sessions = Open();
  const std::string key = sessions->NewKey();
  for (std::size_t i = 0; i < kMaxKeys; ++i) sessions->NewKey();
  EXPECT_TRUE(absl::IsPermissionDenied(sessions->Exchange(key).status()));
  const std::string token = sessions->Exchange(sessions->NewKey())->token;
  for (std::size_t i = 0; i < kMaxSessions; ++i) {
    clock_.Advance(absl::Seconds(30));
    ASSERT_TRUE(sessions->Exchange(sessions->NewKey()).ok());
  }
  EXPECT_FALSE(sessions->Knows(token));
}

TEST_F(SessionsTest, WhatIsWrongInTheFileIsForgotten) {
  const std::string good(64, 'a');
  const std::string bad(64, 'g');
  const std::string for_ever(64, 'b');
  const std::string end = absl::StrCat(absl::ToUnixMicros(clock_.Now() + absl::Hours(1)));
  ASSERT_TRUE(runtime::WriteFileAtomically(
                  file_,
                  absl::StrCat("\n \nabc ", end, "\n", bad, " ", end, "\n", for_ever,
                               " 9223372036854775807\n", good, " x\n", good, " ", end, "\n", good),
                  0600)
                  .ok());
  const auto sessions = Open();
  EXPECT_TRUE(sessions->Knows(good));
  EXPECT_FALSE(sessions->Knows(bad));
  EXPECT_FALSE(sessions->Knows(for_ever));
  EXPECT_FALSE(sessions->Knows("abc"));
}

}  // namespace
}  // namespace web
