#include "trainer/run/run_configuration.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

std::string Updated(const std::string& before, const std::string& update) {
  const auto updated = UpdatedConfiguration(before, update);
  return updated.ok() ? *updated : std::string(updated.status().message());
}

TEST(RunConfigurationTest, AMemberReplacesThatOfItsNameAsAWhole) {
  EXPECT_EQ(Updated("{}", R"({ "lr": 0.10 })"), R"({"lr":0.10})");
  EXPECT_EQ(Updated(R"({"lr":0.1,"net":{"depth":2,"width":3}})", R"({"net":{"depth":4},"a":[1]})"),
            R"({"lr":0.1,"net":{"depth":4},"a":[1]})");
  EXPECT_EQ(Updated(R"({"lr":0.1})", "{}"), R"({"lr":0.1})");
  EXPECT_EQ(Updated("{}", R"({"a":2,"b":3,"\u0061":1})"), R"({"b":3,"a":1})");
}

TEST(RunConfigurationTest, NumbersThatAreNotFiniteBecomeText) {
  EXPECT_EQ(Updated("{}", R"({"a":NaN,"b":[1,{"c":-Infinity}],"d":1e400})"),
            R"({"a":"NaN","b":[1,{"c":"-Infinity"}],"d":"Infinity"})");
  EXPECT_EQ(Updated(R"({"a":Infinity})", R"({"b":0.10})"), R"({"a":"Infinity","b":0.10})");
  EXPECT_EQ(ParseConfiguration(R"({"a":NaN})").value_or("refused"), R"({"a":"NaN"})");
}

TEST(RunConfigurationTest, WhatIsNoObjectIsRefused) {
  for (const char* update : {"[1]", "3", "\"a\"", "null"}) {
    EXPECT_EQ(Updated("{}", update), "config must be a JSON object");
  }
}

TEST(RunConfigurationTest, TheResultHasLimits) {
  const std::string half(300 << 10, 'x');
  const std::string one = absl::StrCat(R"({"one":")", half, "\"}");
  EXPECT_EQ(Updated("{}", one), one);
  EXPECT_EQ(Updated(one, absl::StrCat(R"({"two":")", half, "\"}")),
            absl::StrCat("config has ", 2 * half.size() + 19, " bytes, more than 524288"));
  std::string numbers = "[0", deep = "1";
  for (int i = 0; i < 15'000; ++i) numbers += ",0";
  for (int i = 0; i < 40; ++i) deep = absl::StrCat("[", deep, "]");
  numbers += "]";
  const std::string many = absl::StrCat(R"({"a":)", numbers, "}");
  EXPECT_EQ(Updated("{}", many), many);
  EXPECT_NE(Updated(many, absl::StrCat(R"({"b":)", numbers, "}")).find("20000 values"),
            std::string::npos)
      << Updated(many, absl::StrCat(R"({"b":)", numbers, "}"));
  EXPECT_EQ(UpdatedConfiguration("{}", absl::StrCat(R"({"a":)", deep, "}")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RunConfigurationTest, TheFileIsWrittenOnlyIfItSaysSomethingElse) {
  char name[] = "/tmp/rc-XXXXXX";
  const std::string directory = mkdtemp(name);
  const std::string path = directory + "/params.json";
  ASSERT_TRUE(BringConfigurationUpToDate(directory, R"({"b":2,"a":1})").ok());
  EXPECT_EQ(*runtime::ReadFile(path, 100), "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
  struct stat before {
  }, after{};
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  ASSERT_TRUE(BringConfigurationUpToDate(directory, R"({"a":1,"b":2})").ok());
  ASSERT_EQ(stat(path.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  ASSERT_TRUE(BringConfigurationUpToDate(directory, "{}").ok());
  EXPECT_EQ(*runtime::ReadFile(path, 100), "{}\n");
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(BringConfigurationUpToDate(directory, "{}").ok());
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace trainer
