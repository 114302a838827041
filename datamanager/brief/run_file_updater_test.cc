#include "datamanager/brief/run_file_updater.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/find/directory_source.h"
#include "datamanager/find/listed_run.h"

namespace datamanager {
namespace {

using ::testing::HasSubstr;

int parsed = 0;

absl::StatusOr<int> ParseNumber(std::string_view text) {
  ++parsed;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return absl::InvalidArgumentError("no number");
  return number;
}

class CountingSource : public DirectorySource {
 public:
  absl::StatusOr<FileStat> Stat(const std::string& path) override {
    ++looks;
    if (!failure.ok()) return failure;
    return Real()->Stat(path);
  }
  absl::Status List(const std::string& path, const OnEntry& on_entry) override {
    return Real()->List(path, on_entry);
  }

  int looks = 0;
  absl::Status failure;
};

class RunFileUpdaterTest : public testing::Test {
 protected:
  RunFileUpdaterTest() {
    char name[] = "/tmp/updater-XXXXXX";
    directory_ = mkdtemp(name);
    cache_.Register(UpdaterFromFile<int>(
        {.key = "number", .name = "number.txt", .limit = 10, .source = &source_}, ParseNumber));
    parsed = 0;
    Change();
  }
  ~RunFileUpdaterTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& text) {
    std::ofstream(directory_ + "/new") << text;
    std::filesystem::rename(directory_ + "/new", directory_ + "/number.txt");
  }
  // Simulates a scan that finds a change in the run.
  void Change() {
    ListedRun run;
    run.name = "r";
    run.directory = directory_;
    run.update_us = ++update_us_;
    run_ = std::make_shared<const ListedRun>(std::move(run));
  }
  absl::StatusOr<std::shared_ptr<const int>> Number() {
    cache_.Merge({&run_, 1});
    cache_.UpdateAll();
    return (*cache_.Find("r"))->Get<int>("number");
  }

  CountingSource source_;
  BriefCache cache_{[](BriefItem&) { return absl::OkStatus(); }};
  std::string directory_;
  ListedRunPtr run_;
  std::int64_t update_us_ = 0;
};

TEST_F(RunFileUpdaterTest, KeepsWhatAFileSays) {
  Write("17");
  EXPECT_EQ(**Number(), 17);
  Write("18");
  Change();
  EXPECT_EQ(**Number(), 18);
  std::filesystem::remove(directory_ + "/number.txt");
  Change();
  EXPECT_EQ(Number().status(), absl::NotFoundError("no number of run \"r\""));
  EXPECT_TRUE((*cache_.Find("r"))->Failures().empty());
  Write("19");
  Change();
  EXPECT_EQ(**Number(), 19);
}

TEST_F(RunFileUpdaterTest, LooksAfterChangesAndReadsWhatIsNew) {
  Write("17");
  for (int scan = 0; scan < 3; ++scan) EXPECT_EQ(**Number(), 17);
  EXPECT_EQ(source_.looks, 1);
  EXPECT_EQ(parsed, 1);
  Change();  // Something other than the file changed.
  EXPECT_EQ(**Number(), 17);
  EXPECT_EQ(source_.looks, 2);
  EXPECT_EQ(parsed, 1);
}

TEST_F(RunFileUpdaterTest, WhatIsWrongIsWrongUntilItChanges) {
  Write("none");
  for (int scan = 0; scan < 2; ++scan) {
    EXPECT_EQ(Number().status(), absl::NotFoundError("no number of run \"r\": no number"));
  }
  Change();
  EXPECT_EQ(Number().status(), absl::NotFoundError("no number of run \"r\": no number"));
  EXPECT_EQ(parsed, 1);
  Write("5");
  Change();
  EXPECT_EQ(**Number(), 5);
}

TEST_F(RunFileUpdaterTest, HostileFilesAreErrors) {
  Write("12345678901");
  EXPECT_THAT(std::string(Number().status().message()),
              HasSubstr("number.txt: it has 11 bytes, more than 10"));
  std::filesystem::remove(directory_ + "/number.txt");
  std::filesystem::create_directory(directory_ + "/number.txt");
  Change();
  EXPECT_THAT(std::string(Number().status().message()), HasSubstr("it is no file"));
  EXPECT_EQ(parsed, 0);
}

TEST_F(RunFileUpdaterTest, WhatCannotBeLookedAtIsTriedAgain) {
  Write("17");
  EXPECT_EQ(**Number(), 17);
  Change();
  source_.failure = absl::PermissionDeniedError("not allowed");
  EXPECT_THAT(std::string(Number().status().message()), HasSubstr("not allowed"));
  source_.failure = absl::OkStatus();
  EXPECT_EQ(**Number(), 17);
}

}  // namespace
}  // namespace datamanager
