#include "web/page/page_files.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace web {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(PageFilesTest, FilesAreWhole) {
  const auto index = FindPageFile("index.html");
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->type, "text/html; charset=utf-8");
  EXPECT_THAT(std::string(index->body), StartsWith("<!doctype html>"));
  const auto script = FindPageFile("main.js");
  ASSERT_TRUE(script.has_value());
  EXPECT_EQ(script->type, "text/javascript; charset=utf-8");
  const auto vendored = FindPageFile("preact-htm.js");
  ASSERT_TRUE(vendored.has_value());
  EXPECT_EQ(vendored->body.size(), 13'194U);
}

TEST(PageFilesTest, OthersAreNot) {
  for (const char* name : {"", "page_files.h", "embed.py", "../BUILD", "main.js/"}) {
    EXPECT_FALSE(FindPageFile(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace web
