#include "launcher/share/machine_locks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class MachineLocksTest : public ::testing::Test {
 protected:
  MachineLocksTest() {
    char name[] = "/tmp/ylkXXXXXX";
    folder_ = mkdtemp(name);
    directory_ = folder_ + "/machine";
    std::filesystem::create_directory(directory_);
  }
  ~MachineLocksTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // Opens the locks of one launcher.
  std::unique_ptr<MachineLocks> Locks(const std::string& yard = "/alice/yard") {
    MachineLocks::Options options;
    options.directory = directory_;
    options.yard = yard;
    options.gpu_uuid = gpu_uuid_;
    options.clock = &clock_;
    auto locks = MachineLocks::Open(std::move(options));
    if (locks != nullptr) {
      locks->SetNames([](const std::string& job) {
        return MachineLocks::Names{.trial = job == "j-trial" ? "lr-3" : "", .job = "sweep"};
      });
    }
    return locks;
  }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  std::string Content(const std::string& name) const {
    return runtime::ReadFile(Path(name), 1 << 20).value_or("(cannot be read)");
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }

  runtime::FakeClock clock_;
  std::string folder_, directory_;
  std::function<std::optional<std::string>(const std::string&)> gpu_uuid_;
};

TEST_F(MachineLocksTest, WithoutTheDirectoryThereAreNone) {
  std::filesystem::remove(directory_);
  EXPECT_EQ(Locks(), nullptr);
}

TEST_F(MachineLocksTest, AMemberHasOneHolder) {
  const auto alice = Locks(), bob = Locks("/bob/yard");
  EXPECT_TRUE(alice->Claim("gpu", "0", "j-trial"));
  EXPECT_TRUE(alice->Claim("gpu", "0", "j-trial"));
  EXPECT_FALSE(bob->Claim("gpu", "0", "j-other"));
  EXPECT_TRUE(bob->Claim("gpu", "1", "j-other"));
  alice->Release("gpu", "0");
  EXPECT_THAT(bob->WhyNot("gpu", "0"), IsEmpty());
  EXPECT_TRUE(bob->Claim("gpu", "0", "j-other"));
  EXPECT_FALSE(alice->Claim("gpu", "0", "j-trial"));
}

TEST_F(MachineLocksTest, TheFileSaysWhoHasIt) {
  const auto alice = Locks(), bob = Locks("/bob/yard");
  ASSERT_TRUE(alice->Claim("gpu", "0", "j-trial"));
  EXPECT_THAT(Content("gpu.0.lock"),
              AllOf(HasSubstr("\"trial\":\"lr-3\""), HasSubstr("\"yard\":\"/alice/yard\"")));
  EXPECT_THAT(
      bob->WhyNot("gpu", "0"),
      AllOf(HasSubstr("gpu 0 is held by your trial lr-3 (of the yard in /alice/yard) since "),
            HasSubstr(absl::FormatTime("%H:%M", clock_.Now(), absl::LocalTimeZone()))));
  EXPECT_THAT(alice->WhyNot("gpu", "0"), IsEmpty());
  alice->Release("gpu", "0");
  EXPECT_THAT(Content("gpu.0.lock"), IsEmpty());
  // The job of another user, which is not a trial's.
  ASSERT_TRUE(alice->Claim("gpu", "1", "j-job"));
  Write("gpu.1.lock", R"({"user": "carol", "job": "sweep", "since_us": 1600000000000000})");
  EXPECT_THAT(bob->WhyNot("gpu", "1"),
              HasSubstr("gpu 1 is held by carol's job sweep since 2020-09-1"));
}

TEST_F(MachineLocksTest, ProcessesKeepItWhenTheirLauncherHasEnded) {
  auto alice = Locks();
  const auto bob = Locks("/bob/yard");
  auto tree = alice->ForTree("gpu", "0", "j-trial");
  ASSERT_TRUE(tree.ok()) << tree.status();
  auto other_task = alice->ForTree("gpu", "0", "j-trial");
  ASSERT_TRUE(other_task.ok()) << other_task.status();
  alice.reset();
  EXPECT_FALSE(bob->Claim("gpu", "0", "j-other"));
  EXPECT_THAT(bob->WhyNot("gpu", "0"), HasSubstr("trial lr-3"));
  tree->reset();
  EXPECT_FALSE(bob->Claim("gpu", "0", "j-other"));
  // The next launcher claims it again, both while the processes use it and after they have ended.
  const auto later = Locks();
  EXPECT_TRUE(later->Reclaim("gpu", "0", "j-trial", false));
  other_task->reset();
  EXPECT_FALSE(bob->Claim("gpu", "0", "j-other"));
  later->Release("gpu", "0");
  EXPECT_TRUE(bob->Claim("gpu", "0", "j-other"));
  EXPECT_FALSE(later->Reclaim("gpu", "0", "j-trial", false));
}

TEST_F(MachineLocksTest, AReleaseLeavesItToProcessesThatStillHaveIt) {
  const auto alice = Locks(), bob = Locks("/bob/yard");
  auto tree = alice->ForTree("gpu", "0", "j-trial");
  ASSERT_TRUE(tree.ok()) << tree.status();
  alice->Release("gpu", "0");
  EXPECT_FALSE(bob->Claim("gpu", "0", "j-other"));
  EXPECT_THAT(bob->WhyNot("gpu", "0"), HasSubstr("trial lr-3"));
  tree->reset();
  EXPECT_TRUE(bob->Claim("gpu", "0", "j-other"));
}

TEST_F(MachineLocksTest, WhatSomebodyElseHasIsNotForATree) {
  const auto alice = Locks(), bob = Locks("/bob/yard");
  ASSERT_TRUE(alice->Claim("gpu", "0", "j-trial"));
  const auto tree = bob->ForTree("gpu", "0", "j-other");
  EXPECT_TRUE(absl::IsFailedPrecondition(tree.status()));
  EXPECT_THAT(tree.status().message(), HasSubstr("gpu 0 is held by"));
}

TEST_F(MachineLocksTest, OnlyWhatIsNotedIsTakenBackWhereThatIsAsked) {
  Write("shared", "licence");
  auto alice = Locks();
  ASSERT_TRUE(alice->Claim("licence", "1", "j-trial"));
  alice.reset();
  const auto later = Locks(), bob = Locks("/bob/yard");
  EXPECT_FALSE(bob->Reclaim("licence", "1", "j-trial", true));
  EXPECT_FALSE(later->Reclaim("licence", "0", "j-trial", true));
  EXPECT_FALSE(later->Reclaim("licence", "1", "j-other", true));
  EXPECT_TRUE(later->Reclaim("licence", "1", "j-trial", true));
}

TEST_F(MachineLocksTest, GpusHaveOneNameWhateverTheirOrder) {
  gpu_uuid_ = [](const std::string& member) { return member == "0" ? "GPU-aaaa" : ""; };
  const auto alice = Locks();
  gpu_uuid_ = [](const std::string& member) { return member == "GPU-a" ? "GPU-aaaa" : ""; };
  const auto bob = Locks("/bob/yard");
  EXPECT_TRUE(alice->Claim("gpu", "0", "j-trial"));
  EXPECT_FALSE(bob->Claim("gpu", "GPU-a", "j-other"));
  EXPECT_TRUE(std::filesystem::exists(Path("gpu.GPU-aaaa.lock")));
  // A GPU that the driver does not know is identified by the launcher's name.
  EXPECT_TRUE(bob->Claim("gpu", "7", "j-other"));
  EXPECT_TRUE(std::filesystem::exists(Path("gpu.7.lock")));
}

TEST_F(MachineLocksTest, ADriverThatDoesNotAnswerIsWaitedForAWhile) {
  std::optional<std::string> said;
  gpu_uuid_ = [&](const std::string&) { return said; };
  const auto locks = Locks();
  EXPECT_FALSE(locks->Claim("gpu", "0", "j-trial"));
  EXPECT_THAT(locks->WhyNot("gpu", "0"), HasSubstr("the driver has not said yet"));
  said = "GPU-aaaa";
  EXPECT_TRUE(locks->Claim("gpu", "0", "j-trial"));
  said = std::nullopt;
  clock_.Advance(absl::Seconds(31));
  EXPECT_TRUE(locks->Claim("gpu", "1", "j-trial"));
  EXPECT_TRUE(std::filesystem::exists(Path("gpu.1.lock")));
}

TEST_F(MachineLocksTest, OtherResourcesAreSharedIfTheFileNamesThem) {
  EXPECT_TRUE(Locks()->IsShared("gpu"));
  EXPECT_FALSE(Locks()->IsShared("licence"));
  Write("shared", "# bought twice\nlicence, disk  # fast\n");
  for (const char* name : {"gpu", "licence", "disk"}) EXPECT_TRUE(Locks()->IsShared(name)) << name;
  EXPECT_FALSE(Locks()->IsShared("fast"));
  EXPECT_THAT(Locks()->problem(), IsEmpty());
  // A file that others can write is ignored.
  chmod(Path("shared").c_str(), 0664);
  EXPECT_FALSE(Locks()->IsShared("licence"));
  EXPECT_THAT(Locks()->problem(), HasSubstr("shared does not count"));
  std::filesystem::remove(Path("shared"));
  Write("elsewhere", "licence");
  std::filesystem::create_symlink("elsewhere", Path("shared"));
  EXPECT_FALSE(Locks()->IsShared("licence"));
  std::filesystem::remove(Path("shared"));
  ASSERT_EQ(mkfifo(Path("shared").c_str(), 0600), 0);
  EXPECT_FALSE(Locks()->IsShared("licence"));
}

TEST_F(MachineLocksTest, NothingButAPlainFileIsTouched) {
  const std::string mine = folder_ + "/mine";
  std::ofstream(mine) << "precious";
  std::filesystem::create_symlink(mine, Path("gpu.0.lock"));
  std::filesystem::create_hard_link(mine, Path("gpu.1.lock"));
  ASSERT_EQ(mkfifo(Path("gpu.2.lock").c_str(), 0666), 0);
  std::filesystem::create_directory(Path("gpu.3.lock"));
  std::filesystem::create_symlink("/dev/zero", Path("gpu.4.lock"));
  const auto locks = Locks();
  for (const char* member : {"0", "1", "2", "3", "4"}) {
    EXPECT_FALSE(locks->Claim("gpu", member, "j-trial")) << member;
    EXPECT_THAT(locks->WhyNot("gpu", member), HasSubstr("is not a plain file with one name"))
        << member;
    EXPECT_FALSE(locks->Reclaim("gpu", member, "j-trial", false)) << member;
    EXPECT_FALSE(locks->ForTree("gpu", member, "j-trial").ok()) << member;
  }
  EXPECT_EQ(runtime::ReadFile(mine, 100).value_or(""), "precious");
  EXPECT_TRUE(locks->Claim("gpu", "5", "j-trial"));
}

TEST_F(MachineLocksTest, GarbageIsNoNote) {
  const auto alice = Locks(), bob = Locks("/bob/yard");
  for (const std::string& garbage :
       {std::string("\x1b[31mred\n"), std::string(1 << 20, '{'), std::string("{\"user\": 7}"),
        std::string("[\"user\"]"), std::string("\xff\xfe\0{}", 5), std::string()}) {
    ASSERT_TRUE(alice->Claim("gpu", "0", "j-trial"));
    Write("gpu.0.lock", garbage);
    EXPECT_EQ(bob->WhyNot("gpu", "0"), "gpu 0 is held by another yard");
    alice->Release("gpu", "0");
  }
  ASSERT_TRUE(alice->Claim("gpu", "0", "j-trial"));
  Write("gpu.0.lock", absl::StrCat(R"({"user": "m\u001b[2J", "trial": ")", std::string(3000, 'x'),
                                   R"(", "since_us": -4e9})"));
  const std::string why = bob->WhyNot("gpu", "0");
  EXPECT_THAT(why, AllOf(HasSubstr("xxx..."), Not(HasSubstr("\x1b")), Not(HasSubstr("since"))));
  EXPECT_LT(why.size(), 200u);
}

TEST_F(MachineLocksTest, AFileOfManyBytesIsReadNoFurtherThanItsStart) {
  Write("gpu.0.lock", "");
  ASSERT_EQ(truncate(Path("gpu.0.lock").c_str(), 1LL << 40), 0);
  const auto alice = Locks(), bob = Locks("/bob/yard");
  ASSERT_TRUE(alice->Claim("gpu", "0", "j-trial"));
  EXPECT_LT(std::filesystem::file_size(Path("gpu.0.lock")), 4096u);
  ASSERT_EQ(truncate(Path("gpu.0.lock").c_str(), 1LL << 40), 0);
  EXPECT_THAT(bob->WhyNot("gpu", "0"), HasSubstr("gpu 0 is held by"));
}

TEST_F(MachineLocksTest, AFileThatIsReplacedIsNotTheLock) {
  const auto alice = Locks(), bob = Locks("/bob/yard");
  ASSERT_TRUE(alice->Claim("gpu", "0", "j-trial"));
  alice->Release("gpu", "0");
  std::filesystem::rename(Path("gpu.0.lock"), Path("away"));
  EXPECT_TRUE(bob->Claim("gpu", "0", "j-other"));
  EXPECT_FALSE(alice->Claim("gpu", "0", "j-trial"));
}

TEST_F(MachineLocksTest, NamesBecomeNamesOfFiles) {
  const auto locks = Locks();
  EXPECT_TRUE(locks->Claim("gpu", "GPU-4f/../:a", "j-trial"));
  EXPECT_TRUE(std::filesystem::exists(Path("gpu.GPU-4f%2F..%2F%3Aa.lock")));
}

TEST_F(MachineLocksTest, FilesAreForTheGroup) {
  const mode_t mask = umask(0077);
  const auto locks = Locks();
  EXPECT_TRUE(locks->Claim("gpu", "0", "j-trial"));
  umask(mask);
  struct stat about = {};
  ASSERT_EQ(stat(Path("gpu.0.lock").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0660u);
}

}  // namespace
}  // namespace launcher
