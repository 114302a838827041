#include "trainer/run/system_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SystemFileTest : public ::testing::Test {
 protected:
  SystemFileTest() {
    std::string folder = ::testing::TempDir() + "system-XXXXXX";
    folder_ = mkdtemp(folder.data());
  }
  ~SystemFileTest() override { std::filesystem::remove_all(folder_); }

  RunIdentity Identity() const {
    RunIdentity run;
    run.event_file = "events.out.tfevents.1700000000.host.12.0";
    run.created_us = 1'700'000'000'000'000;
    return run;
  }
  SystemFile File() const { return SystemFile(folder_, Identity()); }
  std::string Path() const { return File().path(); }
  std::string Bytes() const { return runtime::ReadFile(Path(), 1 << 20).value_or("unreadable"); }
  void Put(const std::string& bytes) const {
    std::ofstream(Path(), std::ios::binary | std::ios::trunc) << bytes;
  }
  // Returns all valid events as "STEP TAG=VALUE ..."; skips damaged records.
  std::vector<std::string> Events() const {
    std::vector<std::string> events;
    const std::string bytes = Bytes();
    for (std::size_t at = 0; at < bytes.size();) {
      const auto record = eventlog::ParseRecord(std::string_view(bytes).substr(at));
      if (record.size == 0) {
        events.emplace_back("torn");
        break;
      }
      at += record.size;
      eventlog::Event event;
      if (record.state != eventlog::ParsedRecord::State::kRecord ||
          !eventlog::DecodeEvent(record.payload, &event).ok()) {
        events.emplace_back("damaged");
        continue;
      }
      std::string line = absl::StrCat(event.step);
      for (const auto& value : event.values) {
        absl::StrAppend(&line, " ", std::string(value.tag), "=", value.scalar.value_or(-1));
      }
      events.push_back(line);
    }
    return events;
  }
  static absl::Status Append(SystemFile& file, std::int64_t step) {
    const double value = static_cast<double>(step) + 0.5;
    const eventlog::Scalar scalars[] = {{"sys/cpu_percent", value}};
    return file.Append(1'700'000'100.0 + static_cast<double>(step), step, scalars);
  }

  std::string folder_;
};

TEST_F(SystemFileTest, StandsBeforeTheFileOfTheReports) {
  const std::string name = SystemFile::NameFor("events.out.tfevents.1700000000.host.12.0");
  EXPECT_EQ(name, "events.out.tfevents.1700000000-sys.host.12.0");
  EXPECT_LT(name, "events.out.tfevents.1700000000.host.12.0");
  EXPECT_EQ(SystemFile::NameFor("odd"), "-sysodd");
}

TEST_F(SystemFileTest, IsMadeWithTheFirstMeasurement) {
  SystemFile file = File();
  EXPECT_TRUE(file.Repair().ok());
  EXPECT_FALSE(std::filesystem::exists(Path()));
  ASSERT_TRUE(Append(file, 0).ok());
  ASSERT_TRUE(Append(file, 3).ok());
  EXPECT_THAT(Events(), ElementsAre("0", "0 sys/cpu_percent=0.5", "3 sys/cpu_percent=3.5"));
  EXPECT_THAT(file.TakeNotices(), IsEmpty());
}

// A kill may leave any prefix of the text that was being written.
TEST_F(SystemFileTest, WhatIsTornAnywhereIsCutOff) {
  SystemFile first = File();
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(Append(first, step).ok());
  const std::string whole = Bytes();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    Put(whole.substr(0, size));
    SystemFile next = File();
    ASSERT_TRUE(next.Repair().ok()) << size;
    ASSERT_EQ(whole.substr(0, std::filesystem::file_size(Path())), Bytes());
    ASSERT_TRUE(Append(next, 9).ok()) << size;
    const std::vector<std::string> events = Events();
    EXPECT_EQ(events.front(), "0") << size;
    EXPECT_EQ(events.back(), "9 sys/cpu_percent=9.5") << size;
    for (const std::string& event : events) EXPECT_THAT(event, testing::Not("torn")) << size;
    EXPECT_THAT(next.TakeNotices(), IsEmpty()) << size;
  }
}

TEST_F(SystemFileTest, ALaterRepairDoesTheSameWithoutBeingAskedFor) {
  SystemFile file = File();
  ASSERT_TRUE(Append(file, 1).ok());
  Put(Bytes() + std::string("\x10\0\0\0\0\0\0\0torn", 12));
  ASSERT_TRUE(Append(file, 2).ok());
  EXPECT_THAT(Events(), ElementsAre("0", "1 sys/cpu_percent=1.5", "2 sys/cpu_percent=2.5"));
}

TEST_F(SystemFileTest, ADamagedRecordCostsItself) {
  SystemFile first = File();
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(Append(first, step).ok());
  std::string bytes = Bytes();
  bytes[bytes.find("cpu_percent")] ^= 1;
  Put(bytes);
  SystemFile next = File();
  ASSERT_TRUE(Append(next, 9).ok());
  EXPECT_THAT(Events().back(), "9 sys/cpu_percent=9.5");
  EXPECT_THAT(Events(), testing::Contains("damaged"));
  EXPECT_THAT(Events(), testing::Contains("1 sys/cpu_percent=1.5"));
}

TEST_F(SystemFileTest, ZerosOfALossOfPowerAreCutOff) {
  SystemFile first = File();
  ASSERT_TRUE(Append(first, 1).ok());
  const std::string whole = Bytes();
  Put(whole + std::string(5000, '\0'));
  ASSERT_TRUE(File().Repair().ok());
  EXPECT_EQ(Bytes(), whole);
}

TEST_F(SystemFileTest, WhatIsNoneOfOursIsPutAside) {
  Put("somebody's notes, which stay");
  SystemFile file = File();
  ASSERT_TRUE(Append(file, 1).ok());
  EXPECT_THAT(Events(), ElementsAre("0", "1 sys/cpu_percent=1.5"));
  EXPECT_EQ(runtime::ReadFile(folder_ + "/system_file.put_aside", 100).value_or(""),
            "somebody's notes, which stay");
  EXPECT_THAT(
      file.TakeNotices(),
      ElementsAre("events.out.tfevents.1700000000-sys.host.12.0 was no event file: what was "
                  "there is in system_file.put_aside, and it is made anew"));
  Put("and more");
  ASSERT_TRUE(Append(file, 2).ok());
  EXPECT_EQ(runtime::ReadFile(folder_ + "/system_file.put_aside.2", 100).value_or(""), "and more");
}

TEST_F(SystemFileTest, ALinkAFolderAndAPipeAreRefused) {
  const std::string target = folder_ + "/target";
  ASSERT_TRUE(runtime::WriteFileAtomically(target, "mine", 0600).ok());
  ASSERT_EQ(symlink(target.c_str(), Path().c_str()), 0);
  SystemFile file = File();
  EXPECT_FALSE(Append(file, 1).ok());
  EXPECT_EQ(runtime::ReadFile(target, 100).value_or(""), "mine");
  std::filesystem::remove(Path());
  ASSERT_EQ(mkfifo(Path().c_str(), 0600), 0);
  EXPECT_THAT(Append(file, 1).ToString(), HasSubstr("is no regular file"));
  std::filesystem::remove(Path());
  std::filesystem::create_directory(Path());
  EXPECT_FALSE(Append(file, 1).ok());
}

TEST_F(SystemFileTest, WithoutADirectoryItIsNotFound) {
  SystemFile file(folder_ + "/gone", Identity());
  EXPECT_TRUE(file.Repair().ok());
  EXPECT_TRUE(absl::IsNotFound(Append(file, 1)));
  std::filesystem::create_directory(folder_ + "/gone");
  EXPECT_TRUE(Append(file, 2).ok());
}

TEST_F(SystemFileTest, WithoutRoomTheFileStaysAsItWas) {
  SystemFile file = File();
  ASSERT_TRUE(Append(file, 1).ok());
  const std::string whole = Bytes();
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = whole.size() + 10;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status failed = Append(file, 2);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(failed.ToString(), HasSubstr(absl::StrCat("cannot append to ", Path())));
  EXPECT_EQ(Bytes(), whole);
  ASSERT_TRUE(Append(file, 3).ok());
  EXPECT_THAT(Events(), ElementsAre("0", "1 sys/cpu_percent=1.5", "3 sys/cpu_percent=3.5"));
}

}  // namespace
}  // namespace trainer
