#include "bus/process/environment_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Shown(const std::string& entry) {
  return ViewOf({entry}, msg::EnvironmentView::Values).at(0);
}

TEST(EnvironmentViewTest, ShowsNothingNamesOrValuesByName) {
  const std::vector<std::string> environment = {"PATH=/usr/bin", "HOME=/root", "EMPTY="};
  EXPECT_THAT(ViewOf(environment, msg::EnvironmentView::None), IsEmpty());
  EXPECT_THAT(ViewOf(environment, msg::EnvironmentView::Names),
              ElementsAre("EMPTY", "HOME", "PATH"));
  EXPECT_THAT(ViewOf(environment, msg::EnvironmentView::Values),
              ElementsAre("EMPTY=", "HOME=/root", "PATH=/usr/bin"));
  EXPECT_THAT(ViewOf(environment, static_cast<msg::EnvironmentView>(7)), IsEmpty())
      << "what is not known yet";
}

TEST(EnvironmentViewTest, HidesWhatIsNamedLikeASecret) {
  for (const char* name : {"HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD",
                           "db_passwd", "GOOGLE_APPLICATION_CREDENTIALS", "HTTP_AUTHORIZATION",
                           "session_cookie", "privateThing", "GithubToken"}) {
    EXPECT_TRUE(NamesSecret(name)) << name;
    EXPECT_EQ(Shown(std::string(name) + "=word"), std::string(name) + "=(hidden)");
    EXPECT_EQ(Shown(std::string(name) + "=a=b"), std::string(name) + "=(hidden)");
  }
  for (const char* name : {"PATH", "PWD", "HOME", "CUDA_VISIBLE_DEVICES", "LR", ""}) {
    EXPECT_FALSE(NamesSecret(name)) << name;
  }
}

TEST(EnvironmentViewTest, HidesAPasswordInAnAddress) {
  for (const char* value :
       {"postgres://me:word@host/db", "x https://me:word@host", "http://a/ ftp://:word@b/",
        "redis://:wo@rd@host", "a://b://me:word@c"}) {
    EXPECT_EQ(Shown(std::string("PLACE=") + value), "PLACE=(hidden)") << value;
  }
  for (const char* value : {"https://host:80/a@b", "me:word@host", "ssh://git@host:22/a", "://",
                            "http://[::1]:80/", "git@host:a/b"}) {
    EXPECT_EQ(Shown(std::string("PLACE=") + value), std::string("PLACE=") + value);
  }
}

TEST(EnvironmentViewTest, WhatIsNoAssignmentIsAName) {
  EXPECT_EQ(Shown("word"), "word");
  EXPECT_EQ(Shown("MY_TOKEN"), "MY_TOKEN=(hidden)");
}

}  // namespace
}  // namespace bus
