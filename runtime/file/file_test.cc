#include "runtime/file/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

using testing::HasSubstr;

class FileTest : public testing::Test {
 protected:
  FileTest() {
    char name[] = "/tmp/file-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~FileTest() override { std::filesystem::remove_all(directory_); }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  static mode_t ModeOf(const std::string& path) {
    struct stat about {};
    EXPECT_EQ(stat(path.c_str(), &about), 0);
    return about.st_mode & 07777;
  }
  std::size_t Entries() const {
    const std::filesystem::directory_iterator all(directory_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  std::string directory_;
};

TEST_F(FileTest, WhatIsWrittenIsRead) {
  const std::string content("a\0b\n", 4);
  for (const bool durable : {false, true}) {
    ASSERT_TRUE(WriteFileAtomically(Path("file"), content, 0640, durable).ok());
    EXPECT_EQ(*ReadFile(Path("file"), 4), content);
    EXPECT_EQ(ModeOf(Path("file")), 0640u);
  }
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FileTest, WhatIsMadeIsLessTheUmaskUnlessItsModeIsExact) {
  const mode_t before = umask(0077);
  ASSERT_EQ(WriteFileAtomically(Path("less"), "", 0644), absl::OkStatus());
  ASSERT_EQ(WriteFileAtomically(Path("exact"), "", FileMode::Exactly(0664)), absl::OkStatus());
  ASSERT_EQ(MakeDirectories(Path("directory"), FileMode::Exactly(0750)), absl::OkStatus());
  const std::string in = Path("directory");
  EXPECT_TRUE(OpenOrMake(in + "/file", O_RDWR, FileMode::OfFileIn(in)).valid());
  ASSERT_EQ(MakeDirectories(in + "/inner", FileMode::OfDirectoryIn(in)), absl::OkStatus());
  umask(before);
  EXPECT_EQ(ModeOf(Path("less")), 0600u);
  EXPECT_EQ(ModeOf(Path("exact")), 0664u);
  EXPECT_EQ(ModeOf(in), 0750u);
  EXPECT_EQ(ModeOf(in + "/file"), 0640u);
  EXPECT_EQ(ModeOf(in + "/inner"), 0750u);
  // An existing file keeps its mode.
  ASSERT_EQ(chmod((in + "/file").c_str(), 0600), 0);
  EXPECT_TRUE(OpenOrMake(in + "/file", O_RDWR, FileMode::OfFileIn(in)).valid());
  EXPECT_EQ(ModeOf(in + "/file"), 0600u);
  EXPECT_FALSE(OpenOrMake(Path("missing/file"), O_RDWR, 0644).valid());
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(FileTest, TheUmaskIsObeyed) {
  const mode_t before = umask(0077);
  const absl::Status written = WriteFileAtomically(Path("file"), "x", 0644);
  umask(before);
  ASSERT_TRUE(written.ok()) << written;
  EXPECT_EQ(ModeOf(Path("file")), 0600u);
}

TEST_F(FileTest, AFileOverTheLimitIsRefused) {
  const std::string content(100'000, 'x');
  ASSERT_TRUE(WriteFileAtomically(Path("file"), content, 0600).ok());
  EXPECT_EQ(ReadFile(Path("file"), content.size())->size(), content.size());
  const auto refused = ReadFile(Path("file"), content.size() - 1).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(Path("file")));
  EXPECT_TRUE(absl::IsResourceExhausted(ReadFile("/dev/zero", 1000).status()));
}

TEST_F(FileTest, AMissingFileIsNotFoundAndNamed) {
  const auto status = ReadFile(Path("none"), 10).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(Path("none")));
}

TEST_F(FileTest, APipeInThePlaceOfAFileIsNotWaitedFor) {
  const std::string path = Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(path, 100).value_or("?"), "");
  EXPECT_FALSE(LockHolder(path).ok());
}

TEST_F(FileTest, ReadersSeeTheOldOrTheNewContent) {
  const std::string old_content(50'000, 'o'), new_content(80'000, 'n');
  ASSERT_TRUE(WriteFileAtomically(Path("file"), old_content, 0600).ok());
  std::atomic<bool> done = false;
  Thread writer("writer", [&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(WriteFileAtomically(Path("file"), i % 2 ? old_content : new_content, 0600).ok());
    }
    done = true;
  });
  while (!done) {
    const auto content = ReadFile(Path("file"), 1 << 20);
    ASSERT_TRUE(content.ok()) << content.status();
    ASSERT_TRUE(*content == old_content || *content == new_content) << content->size();
  }
  EXPECT_TRUE(writer.Join());
}

TEST_F(FileTest, AFailedWriteLeavesTheOldFileAndNothingElse) {
  std::filesystem::create_directory(Path("folder"));
  std::ofstream(Path("folder/inside")) << "x";
  EXPECT_FALSE(WriteFileAtomically(Path("folder"), "content", 0600).ok());
  EXPECT_FALSE(WriteFileAtomically(Path("none/file"), "content", 0600).ok());
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FileTest, DirectoriesAreMadeWithTheirParents) {
  ASSERT_TRUE(MakeDirectories(Path("a/b/c/"), 0700).ok());
  EXPECT_EQ(ModeOf(Path("a/b/c")), 0700u);
  EXPECT_EQ(ModeOf(Path("a/b")), 0755u);
  EXPECT_TRUE(MakeDirectories(Path("a/b/c")).ok());
  EXPECT_TRUE(MakeDirectories("/").ok());
  std::ofstream(Path("file")) << "x";
  EXPECT_FALSE(MakeDirectories(Path("file")).ok());
  EXPECT_FALSE(MakeDirectories(Path("file/below")).ok());
}

TEST_F(FileTest, ThreadsMayMakeTheSameDirectories) {
  std::vector<std::unique_ptr<Thread>> threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::make_unique<Thread>(
        "maker", [&] { EXPECT_TRUE(MakeDirectories(Path("a/b/c/d/e")).ok()); }));
  }
  for (const auto& thread : threads) EXPECT_TRUE(thread->Join());
}

TEST_F(FileTest, APrivateDirectoryIsMadeClosed) {
  ASSERT_TRUE(MakePrivateDirectory(Path("a/private")).ok());
  EXPECT_EQ(ModeOf(Path("a/private")), 0700u);
  EXPECT_TRUE(MakePrivateDirectory(Path("a/private/")).ok());
}

TEST_F(FileTest, ADirectoryThatIsNotPrivateIsRefused) {
  std::filesystem::create_directory(Path("open"));
  ASSERT_EQ(chmod(Path("open").c_str(), 0750), 0);
  const auto open_to_group = MakePrivateDirectory(Path("open"));
  EXPECT_TRUE(absl::IsPermissionDenied(open_to_group));
  EXPECT_THAT(std::string(open_to_group.message()), HasSubstr(Path("open")));

  ASSERT_TRUE(MakePrivateDirectory(Path("real")).ok());
  std::filesystem::create_directory_symlink(Path("real"), Path("link"));
  EXPECT_TRUE(absl::IsPermissionDenied(MakePrivateDirectory(Path("link"))));
  EXPECT_TRUE(absl::IsPermissionDenied(MakePrivateDirectory(Path("link/"))));

  std::ofstream(Path("file")) << "x";
  EXPECT_TRUE(absl::IsPermissionDenied(MakePrivateDirectory(Path("file"))));
}

TEST_F(FileTest, ADirectoryOfAnotherUserIsRefused) {
  // The root directory belongs to root; root itself needs a directory that it has given to another
  // user.
  std::string path = "/";
  if (geteuid() == 0) {
    path = Path("given");
    ASSERT_TRUE(MakePrivateDirectory(path).ok());
    if (chown(path.c_str(), 12345, static_cast<gid_t>(-1)) != 0) {
      path = "/proc/sys/fs";  // A sandbox may map only one user; this directory belongs to none.
    }
  }
  const auto status = MakePrivateDirectory(path);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
}

TEST_F(FileTest, ALockIsHeldUntilItsDescriptorIsClosed) {
  auto lock = LockFile(Path("lock"));
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(ModeOf(Path("lock")), 0600u);
  EXPECT_EQ(*ReadFile(Path("lock"), 100), std::to_string(getpid()) + "\n");
  EXPECT_EQ(*LockHolder(Path("lock")), getpid());

  const auto second = LockFile(Path("lock")).status();
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr(std::to_string(getpid())));
  EXPECT_EQ(*LockHolder(Path("lock")), getpid());

  lock->reset();
  EXPECT_TRUE(absl::IsNotFound(LockHolder(Path("lock")).status()));
  EXPECT_TRUE(LockFile(Path("lock")).ok());
  EXPECT_TRUE(absl::IsNotFound(LockHolder(Path("none")).status()));
}

TEST_F(FileTest, AChildDoesNotInheritALock) {
  auto lock = LockFile(Path("lock"));
  ASSERT_TRUE(lock.ok());
  auto child = *Subprocess::Start({.argv = {"/bin/sleep", "1000"}});
  lock->reset();
  EXPECT_TRUE(LockFile(Path("lock")).ok());
  EXPECT_TRUE(child.Signal(SIGKILL).ok());
  EXPECT_TRUE(child.Wait().ok());
}

TEST_F(FileTest, ALockOfTheWholeFileIsSeenToo) {
  const UniqueFd other(open(Path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  ASSERT_EQ(fcntl(other.get(), F_OFD_SETLK, &whole), 0);
  EXPECT_TRUE(absl::IsUnavailable(LockHolder(Path("lock")).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(LockFile(Path("lock")).status()));
  const std::string pid = std::to_string(getppid());
  ASSERT_TRUE(WriteAll(other.get(), pid + "\n").ok());
  EXPECT_EQ(*LockHolder(Path("lock")), getppid());
  EXPECT_THAT(std::string(LockFile(Path("lock")).status().message()), HasSubstr("process " + pid));
}

// Simulates a holder that was killed while it started a program.
TEST_F(FileTest, ALockThatOutlivesItsHolderForAMomentIsWaitedFor) {
  for (const bool is_reaped : {true, false}) {
    SCOPED_TRACE(is_reaped);
    auto dead = *Subprocess::Start({.argv = {"/bin/true"}});
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(dead.pid()), &info, WEXITED | WNOWAIT), 0);
    if (is_reaped) {
      ASSERT_TRUE(dead.Wait().ok());
    }
    const std::string path = Path(is_reaped ? "reaped" : "zombie");
    UniqueFd left(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    ASSERT_EQ(fcntl(left.get(), F_OFD_SETLK, &whole), 0);
    ASSERT_TRUE(WriteAll(left.get(), std::to_string(dead.pid()) + "\n").ok());
    const UniqueFd events(inotify_init1(IN_CLOEXEC));
    ASSERT_GE(inotify_add_watch(events.get(), path.c_str(), IN_ACCESS), 0);
    absl::StatusOr<UniqueFd> lock = absl::UnknownError("");
    Thread locker("locker", [&] { lock = LockFile(path); });
    // Wait until LockFile() has read the holder's pid.
    char event[4096];
    EXPECT_GT(read(events.get(), event, sizeof event), 0);
    left.reset();
    EXPECT_TRUE(locker.Join());
    EXPECT_TRUE(lock.ok()) << lock.status();
    if (!is_reaped) {
      EXPECT_TRUE(dead.Wait().ok());
    }
  }
}

TEST_F(FileTest, ALockThatOutlivesItsHolderForLongIsNotWaitedFor) {
  auto dead = *Subprocess::Start({.argv = {"/bin/true"}});
  ASSERT_TRUE(dead.Wait().ok());
  const UniqueFd left(open(Path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct flock named {};
  named.l_type = F_WRLCK;
  named.l_whence = SEEK_SET;
  named.l_len = dead.pid() + 1;
  ASSERT_EQ(fcntl(left.get(), F_OFD_SETLK, &named), 0);
  EXPECT_TRUE(absl::IsAlreadyExists(LockFile(Path("lock")).status()));
}

TEST_F(FileTest, OfManyWhoWantALockExactlyOneGetsIt) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> got = 0;
    std::atomic<int> ready = 0;
    std::vector<UniqueFd> locks(4);
    std::vector<std::unique_ptr<Thread>> threads;
    for (UniqueFd& place : locks) {
      threads.push_back(std::make_unique<Thread>("locker", [&] {
        ++ready;
        while (ready < 4) continue;
        auto lock = LockFile(Path("lock"));
        // LockHolder() takes no lock, so it must not make another thread's LockFile() fail.
        static_cast<void>(LockHolder(Path("lock")));
        if (!lock.ok()) return;
        place = std::move(*lock);
        ++got;
      }));
    }
    for (const auto& thread : threads) EXPECT_TRUE(thread->Join());
    EXPECT_EQ(got, 1);
  }
}

TEST_F(FileTest, LookingAtALockNeverGetsInTheWay) {
  std::atomic<bool> done = false;
  Thread looker("looker", [&] {
    while (!done) static_cast<void>(LockHolder(Path("lock")));
  });
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(LockFile(Path("lock")).ok());
  done = true;
  EXPECT_TRUE(looker.Join());
}

TEST_F(FileTest, WriteAllWritesMoreThanAPipeHolds) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd read_end(fds[0]);
  UniqueFd write_end(fds[1]);
  const std::string content(1 << 20, 'x');
  std::size_t seen = 0;
  Thread reader("reader", [&] {
    char chunk[5000];
    for (ssize_t got; (got = read(read_end.get(), chunk, sizeof(chunk))) > 0;) {
      seen += static_cast<std::size_t>(got);
    }
  });
  EXPECT_TRUE(WriteAll(write_end.get(), content).ok());
  write_end.reset();
  EXPECT_TRUE(reader.Join());
  EXPECT_EQ(seen, content.size());
  EXPECT_FALSE(WriteAll(read_end.get(), "x").ok());
}

}  // namespace
}  // namespace runtime
