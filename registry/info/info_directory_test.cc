#include "registry/info/info_directory.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace registry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kVersion[] = "2.20.0";

InstanceInfo Info(std::int64_t pid, const std::string& logdir = "~/my_data") {
  return {.version = kVersion,
          .start_time = 1548973541,
          .pid = pid,
          .port = 6006,
          .path_prefix = "/x",
          .logdir = logdir,
          .db = "",
          .cache_key = "eyJhIjoxfQ=="};
}

// Sets the umask for its lifetime.
class Umask {
 public:
  explicit Umask(mode_t mask) : before_(umask(mask)) {}
  ~Umask() { umask(before_); }

 private:
  const mode_t before_;
};

// Collects the lines that are logged during its lifetime.
class Logged : public google::LogSink {
 public:
  Logged() { google::AddLogSink(this); }
  ~Logged() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity, const char*, const char*, int, const struct ::tm*,
            const char* message, std::size_t size) override {
    lines_.emplace_back(message, size);
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

class InfoDirectoryTest : public ::testing::Test {
 protected:
  InfoDirectoryTest() {
    EXPECT_NE(mkdtemp(temporary_.data()), nullptr);
    directory_ = InfoDirectory(temporary_);
  }
  ~InfoDirectoryTest() override { std::filesystem::remove_all(temporary_); }

  std::string InDirectory(const std::string& name) const { return directory_.path() + "/" + name; }
  mode_t ModeOf(const std::string& path) const {
    struct stat about {};
    EXPECT_EQ(lstat(path.c_str(), &about), 0) << path;
    return about.st_mode & 07777;
  }
  static std::vector<std::string> NamesIn(const std::string& directory) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  void Put(const std::string& name, const std::string& content) {
    EXPECT_EQ(runtime::WriteFileAtomically(InDirectory(name), content, 0644), absl::OkStatus());
  }
  std::vector<std::int64_t> Pids() const {
    std::vector<std::int64_t> pids;
    const auto files = directory_.GetAll();
    EXPECT_EQ(files.status(), absl::OkStatus());
    if (!files.ok()) return pids;
    for (const InfoFile& file : *files) pids.push_back(file.info.pid);
    return pids;
  }

  std::string temporary_ = ::testing::TempDir() + "info-XXXXXX";
  InfoDirectory directory_{""};
};

using TemporaryDirectoryTest = InfoDirectoryTest;

TEST_F(TemporaryDirectoryTest, TheFirstUsableVariableCounts) {
  const std::string a = temporary_ + "/a";
  const std::string b = temporary_ + "/b";
  ASSERT_EQ(mkdir(a.c_str(), 0700), 0);
  ASSERT_EQ(mkdir(b.c_str(), 0700), 0);
  EXPECT_EQ(TemporaryDirectory({"TMP=" + b, "TEMP=" + a}, "/"), a);
  EXPECT_EQ(TemporaryDirectory({"TMPDIR=" + b, "TEMP=" + a, "TMPDIR=" + a}, "/"), b);
  EXPECT_EQ(TemporaryDirectory({"TMPDIR=", "TEMP=" + a + "/none", "TMP=" + b}, "/"), b);
  EXPECT_THAT(NamesIn(a), IsEmpty());
  EXPECT_THAT(NamesIn(b), IsEmpty());
}

TEST_F(TemporaryDirectoryTest, APathIsMadeAbsolute) {
  ASSERT_EQ(mkdir((temporary_ + "/a").c_str(), 0700), 0);
  EXPECT_EQ(TemporaryDirectory({"TMPDIR=a"}, temporary_), temporary_ + "/a");
  EXPECT_EQ(TemporaryDirectory({"TMPDIR=./x/..//a/"}, temporary_), temporary_ + "/a");
}

TEST_F(TemporaryDirectoryTest, WithoutVariablesItIsTheUsualOne) {
  EXPECT_EQ(TemporaryDirectory({"TMPDIRS=/x", "PATH=/bin"}, "/"), "/tmp");
  ASSERT_EQ(runtime::WriteFileAtomically(temporary_ + "/file", "", 0644), absl::OkStatus());
  EXPECT_EQ(TemporaryDirectory({"TMPDIR=" + temporary_ + "/file"}, "/"), "/tmp");
}

TEST_F(InfoDirectoryTest, IsWhereTensorBoardHasIt) {
  EXPECT_EQ(directory_.path(), temporary_ + "/.tensorboard-info");
}

TEST_F(InfoDirectoryTest, IsOpenToEverybodyWhateverTheUmask) {
  for (const mode_t mask : {022, 077, 0777}) {
    const Umask masked(mask);
    ASSERT_EQ(directory_.Create(), absl::OkStatus());
    EXPECT_EQ(ModeOf(directory_.path()), 0777u);
    EXPECT_THAT(NamesIn(temporary_), ElementsAre(".tensorboard-info"));
    ASSERT_EQ(rmdir(directory_.path().c_str()), 0);
  }
}

TEST_F(InfoDirectoryTest, SeveralMayMakeItAtOnce) {
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> missing{4};
    std::vector<std::unique_ptr<runtime::Thread>> threads;
    for (int i = missing; i > 0; --i) {
      threads.push_back(std::make_unique<runtime::Thread>("maker", [this, &missing] {
        --missing;
        while (missing > 0) {
        }
        EXPECT_EQ(directory_.Create(), absl::OkStatus());
      }));
    }
    for (const auto& thread : threads) EXPECT_TRUE(thread->Join());
    EXPECT_THAT(NamesIn(temporary_), ElementsAre(".tensorboard-info"));
    ASSERT_EQ(rmdir(directory_.path().c_str()), 0);
  }
}

TEST_F(InfoDirectoryTest, OneThatIsThereIsLeftAsItIs) {
  ASSERT_EQ(mkdir(directory_.path().c_str(), 0750), 0);
  EXPECT_EQ(directory_.Create(), absl::OkStatus());
  EXPECT_EQ(ModeOf(directory_.path()), 0750u);
}

TEST_F(InfoDirectoryTest, ANameThatIsTakenByAFileIsAnError) {
  ASSERT_EQ(runtime::WriteFileAtomically(directory_.path(), "kept", 0644), absl::OkStatus());
  EXPECT_TRUE(absl::IsAlreadyExists(directory_.Create())) << directory_.Create();
  EXPECT_TRUE(absl::IsAlreadyExists(directory_.Write(Info(1), kVersion)));
  EXPECT_THAT(directory_.GetAll().status().ToString(), HasSubstr(directory_.path()));
  EXPECT_FALSE(directory_.Remove(1).ok());
  EXPECT_EQ(runtime::ReadFile(directory_.path(), 10).value_or(""), "kept");
  EXPECT_THAT(NamesIn(temporary_), ElementsAre(".tensorboard-info"));
}

TEST_F(InfoDirectoryTest, ALinkIsNotFollowed) {
  const std::string other = temporary_ + "/other";
  ASSERT_EQ(symlink(other.c_str(), directory_.path().c_str()), 0);
  EXPECT_TRUE(absl::IsAlreadyExists(directory_.Create()));
  ASSERT_EQ(mkdir(other.c_str(), 0777), 0);
  EXPECT_TRUE(absl::IsAlreadyExists(directory_.Write(Info(1), kVersion)));
  EXPECT_FALSE(directory_.GetAll().ok());
  EXPECT_THAT(NamesIn(other), IsEmpty());
}

TEST_F(InfoDirectoryTest, WithoutATemporaryDirectoryThereIsNone) {
  const InfoDirectory nowhere(temporary_ + "/nowhere");
  EXPECT_TRUE(absl::IsNotFound(nowhere.Create()));
  EXPECT_TRUE(absl::IsNotFound(nowhere.Write(Info(1), kVersion)));
  EXPECT_EQ(nowhere.Remove(1), absl::OkStatus());
  const auto files = nowhere.GetAll();
  ASSERT_EQ(files.status(), absl::OkStatus());
  EXPECT_THAT(*files, IsEmpty());
}

TEST_F(InfoDirectoryTest, AnInfoIsWrittenReadAndRemoved) {
  ASSERT_EQ(directory_.Write(Info(76540), kVersion), absl::OkStatus());
  EXPECT_THAT(NamesIn(directory_.path()), ElementsAre("pid-76540.info"));
  EXPECT_THAT(NamesIn(temporary_), ElementsAre(".tensorboard-info"));
  EXPECT_EQ(runtime::ReadFile(InDirectory("pid-76540.info"), 1000).value_or(""),
            SerializeInfo(Info(76540), kVersion).value());
  const auto files = directory_.GetAll();
  ASSERT_EQ(files.status(), absl::OkStatus());
  ASSERT_THAT(*files, SizeIs(1));
  EXPECT_EQ(files->front().path, InDirectory("pid-76540.info"));
  EXPECT_EQ(files->front().uid, geteuid());
  EXPECT_EQ(files->front().info, Info(76540));
  EXPECT_EQ(directory_.Remove(76540), absl::OkStatus());
  EXPECT_THAT(NamesIn(directory_.path()), IsEmpty());
}

TEST_F(InfoDirectoryTest, AFileIsReadableByEverybodyWhateverTheUmask) {
  const Umask masked(0777);
  ASSERT_EQ(directory_.Write(Info(76540), kVersion), absl::OkStatus());
  EXPECT_EQ(ModeOf(directory_.path()), 0777u);
  EXPECT_EQ(ModeOf(InDirectory("pid-76540.info")), 0644u);
}

TEST_F(InfoDirectoryTest, NothingIsWrittenForAnotherVersionOrNoProcess) {
  EXPECT_TRUE(absl::IsInvalidArgument(directory_.Write(Info(76540), "2.19.0")));
  EXPECT_TRUE(absl::IsInvalidArgument(directory_.Write(Info(0), kVersion)));
  EXPECT_TRUE(absl::IsInvalidArgument(directory_.Write(Info(-5), kVersion)));
  EXPECT_THAT(NamesIn(temporary_), IsEmpty());
}

TEST_F(InfoDirectoryTest, AWriteThatFailsLeavesNothing) {
  ASSERT_EQ(directory_.Create(), absl::OkStatus());
  ASSERT_EQ(mkdir(InDirectory("pid-5.info").c_str(), 0755), 0);
  EXPECT_THAT(directory_.Write(Info(5), kVersion).ToString(),
              HasSubstr("writing " + InDirectory("pid-5.info")));
  EXPECT_THAT(NamesIn(temporary_), ElementsAre(".tensorboard-info"));
  EXPECT_THAT(directory_.Remove(5).ToString(), HasSubstr("removing " + InDirectory("pid-5.info")));
}

TEST_F(InfoDirectoryTest, AReaderNeverSeesAPart) {
  constexpr int kWrites = 500;
  ASSERT_EQ(directory_.Write(Info(7), kVersion), absl::OkStatus());
  const std::string large(30'000, 'x');
  runtime::Thread writer("writer", [&] {
    for (int i = 0; i < kWrites; ++i) {
      EXPECT_EQ(directory_.Write(Info(7, i % 2 == 0 ? large : ""), kVersion), absl::OkStatus());
    }
  });
  while (writer.alive() && !HasFailure()) {
    EXPECT_THAT(Pids(), ElementsAre(7));
    EXPECT_THAT(NamesIn(directory_.path()), ElementsAre("pid-7.info"));
  }
  ASSERT_TRUE(writer.Join(absl::Minutes(1)));
}

TEST_F(InfoDirectoryTest, RemovingWhatIsNotThereIsFine) {
  EXPECT_EQ(directory_.Remove(1), absl::OkStatus());
  ASSERT_EQ(directory_.Create(), absl::OkStatus());
  EXPECT_EQ(directory_.Remove(1), absl::OkStatus());
}

TEST_F(InfoDirectoryTest, ReadingMakesNothing) {
  EXPECT_THAT(Pids(), IsEmpty());
  EXPECT_THAT(NamesIn(temporary_), IsEmpty());
}

TEST_F(InfoDirectoryTest, TheInfosAreAlwaysThoseThatWereWrittenAndNotRemoved) {
  const auto write = [this](std::int64_t pid) {
    EXPECT_EQ(directory_.Write(Info(pid), kVersion), absl::OkStatus());
  };
  EXPECT_THAT(Pids(), IsEmpty());
  write(1);
  EXPECT_THAT(Pids(), ElementsAre(1));
  write(3);
  write(2);
  EXPECT_THAT(Pids(), ElementsAre(1, 2, 3));
  EXPECT_EQ(directory_.Remove(2), absl::OkStatus());
  EXPECT_THAT(Pids(), ElementsAre(1, 3));
  EXPECT_EQ(directory_.Remove(1), absl::OkStatus());
  EXPECT_EQ(directory_.Remove(3), absl::OkStatus());
  EXPECT_THAT(Pids(), IsEmpty());
}

TEST_F(InfoDirectoryTest, TheNameOfAFileDoesNotMatter) {
  ASSERT_EQ(directory_.Create(), absl::OkStatus());
  Put("yard-77.info", SerializeInfo(Info(77), kVersion).value());
  Put(".hidden", SerializeInfo(Info(78), kVersion).value());
  EXPECT_THAT(Pids(), ElementsAre(78, 77));
}

// An entry that is not an info file, with the code of the error that Read() returns for it.
struct Junk {
  std::string name;
  absl::StatusCode code;
};

class JunkTest : public InfoDirectoryTest {
 protected:
  JunkTest() {
    EXPECT_EQ(directory_.Write(Info(41), kVersion), absl::OkStatus());
    EXPECT_EQ(directory_.Write(Info(42), kVersion), absl::OkStatus());
  }
  void PutJunk() {
    Put("pid-1.info", "\x80\xFF\xFE binary \x01");
    Put("pid-2.info", SerializeInfo(Info(2), kVersion)->substr(0, 60));
    Put("pid-3.info", "");
    Put("pid-4.info", std::string(60'000, '['));
    Put("pid-5.info", std::string(InfoDirectory::kMaxFileSize + 1, ' '));
    Put("control\n\x1B[2J", "x");
    ASSERT_EQ(mkdir(InDirectory("pid-51.info").c_str(), 0755), 0);
    ASSERT_EQ(mkfifo(InDirectory("pid-52.info").c_str(), 0666), 0);
    ASSERT_EQ(symlink("/no/such/file", InDirectory("pid-53.info").c_str()), 0);
    ASSERT_EQ(symlink("pid-42.info", InDirectory("pid-54.info").c_str()), 0);
    ASSERT_EQ(symlink("/dev/zero", InDirectory("pid-55.info").c_str()), 0);
    ASSERT_EQ(symlink("pid-56.info", InDirectory("pid-56.info").c_str()), 0);
    const runtime::UniqueFd huge(
        open(InDirectory("pid-57.info").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_EQ(ftruncate(huge.get(), off_t{1} << 30), 0);
    Bind("pid-58.info");
  }
  // Binds a socket. The path is too long for bind(), so this changes to the directory first.
  void Bind(const std::string& name) {
    const std::string before = std::filesystem::current_path();
    ASSERT_EQ(chdir(directory_.path().c_str()), 0);
    const runtime::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, name.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(chdir(before.c_str()), 0);
  }
  const std::vector<Junk> junk_ = {
      {"pid-1.info", absl::StatusCode::kInvalidArgument},
      {"pid-2.info", absl::StatusCode::kInvalidArgument},
      {"pid-3.info", absl::StatusCode::kInvalidArgument},
      {"pid-4.info", absl::StatusCode::kInvalidArgument},
      {"pid-5.info", absl::StatusCode::kResourceExhausted},
      {"pid-51.info", absl::StatusCode::kFailedPrecondition},
      {"pid-52.info", absl::StatusCode::kFailedPrecondition},
      {"pid-53.info", absl::StatusCode::kFailedPrecondition},
      {"pid-54.info", absl::StatusCode::kFailedPrecondition},
      {"pid-55.info", absl::StatusCode::kFailedPrecondition},
      {"pid-56.info", absl::StatusCode::kFailedPrecondition},
      {"pid-57.info", absl::StatusCode::kResourceExhausted},
      {"pid-58.info", absl::StatusCode::kFailedPrecondition},
  };
};

TEST_F(JunkTest, TheRestIsListedWithinASecond) {
  PutJunk();
  const absl::Time begin = absl::Now();
  EXPECT_THAT(Pids(), ElementsAre(41, 42));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
}

TEST_F(JunkTest, EachIsNamedInTheDebugLog) {
  PutJunk();
  const int before = FLAGS_v;
  FLAGS_v = 1;
  const Logged logged;
  EXPECT_THAT(Pids(), ElementsAre(41, 42));
  FLAGS_v = before;
  EXPECT_THAT(logged.lines(), SizeIs(junk_.size() + 1));
  for (const Junk& junk : junk_) {
    EXPECT_THAT(
        logged.lines(),
        ::testing::Contains(HasSubstr(absl::StrCat("skipped ", InDirectory(junk.name), ": "))));
  }
  EXPECT_THAT(logged.lines(), ::testing::Contains(HasSubstr("/control\\n\\033[2J: ")));
  for (const std::string& line : logged.lines()) {
    EXPECT_EQ(line.find_first_of("\n\x1B"), line.npos) << line;
  }
}

TEST_F(JunkTest, OneEntryIsRefusedWithItsReason) {
  PutJunk();
  for (const Junk& junk : junk_) {
    const auto file = directory_.Read(junk.name);
    EXPECT_EQ(file.status().code(), junk.code) << file.status();
    if (junk.code != absl::StatusCode::kInvalidArgument) {
      EXPECT_THAT(file.status().ToString(), HasSubstr(InDirectory(junk.name)));
    }
  }
}

TEST_F(InfoDirectoryTest, OneEntryIsReadByItsName) {
  ASSERT_EQ(directory_.Write(Info(9), kVersion), absl::OkStatus());
  const auto file = directory_.Read("pid-9.info");
  ASSERT_EQ(file.status(), absl::OkStatus());
  EXPECT_EQ(file->path, InDirectory("pid-9.info"));
  EXPECT_EQ(file->info, Info(9));
  EXPECT_EQ(file->uid, geteuid());
  EXPECT_EQ(file->state, directory_.GetAll()->front().state);
  EXPECT_TRUE(absl::IsNotFound(directory_.Read("pid-10.info").status()));
  for (const char* name : {"", ".", "..", "../x", "a/b", "/etc/passwd"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(directory_.Read(name).status())) << name;
  }
}

TEST_F(InfoDirectoryTest, AFileThatIsWrittenAgainHasAnotherState) {
  ASSERT_EQ(directory_.Write(Info(9), kVersion), absl::OkStatus());
  const auto before = directory_.Read("pid-9.info");
  ASSERT_EQ(directory_.Write(Info(9), kVersion), absl::OkStatus());
  const auto after = directory_.Read("pid-9.info");
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before->state.size, after->state.size);
  EXPECT_FALSE(before->state == after->state);
}

TEST_F(InfoDirectoryTest, AFileOfExactlyTheLimitIsRead) {
  ASSERT_EQ(directory_.Create(), absl::OkStatus());
  std::string text = SerializeInfo(Info(5), kVersion).value();
  text.resize(InfoDirectory::kMaxFileSize, ' ');
  Put("a", text);
  EXPECT_THAT(Pids(), ElementsAre(5));
}

TEST_F(InfoDirectoryTest, WhatIsKeptInMemoryIsBounded) {
  const auto size = static_cast<std::int64_t>(SerializeInfo(Info(1), kVersion)->size());
  for (int pid = 1; pid <= 4; ++pid) {
    ASSERT_EQ(directory_.Write(Info(pid), kVersion), absl::OkStatus());
  }
  directory_ = InfoDirectory(temporary_, {.total_size = 4 * size});
  const Logged logged;
  EXPECT_THAT(Pids(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(logged.lines(), IsEmpty());
  directory_ = InfoDirectory(temporary_, {.total_size = 4 * size - 1});
  EXPECT_THAT(Pids(), ElementsAre(1, 2, 3));
  EXPECT_THAT(logged.lines(),
              ElementsAre(AllOf(HasSubstr(directory_.path()), HasSubstr("the rest is not read"))));
}

TEST_F(InfoDirectoryTest, TheNumberOfEntriesIsBounded) {
  for (int pid = 1; pid <= 4; ++pid) {
    ASSERT_EQ(directory_.Write(Info(pid), kVersion), absl::OkStatus());
  }
  directory_ = InfoDirectory(temporary_, {.entries = 4});
  const Logged logged;
  EXPECT_THAT(Pids(), SizeIs(4));
  EXPECT_THAT(logged.lines(), IsEmpty());
  directory_ = InfoDirectory(temporary_, {.entries = 3});
  EXPECT_THAT(Pids(), SizeIs(3));
  EXPECT_THAT(logged.lines(),
              ElementsAre(AllOf(HasSubstr(directory_.path()), HasSubstr("the rest is not read"))));
}

// Enough files for several threads.
TEST_F(InfoDirectoryTest, ManyFilesAreListedInOrderAndWithinTheBound) {
  ASSERT_EQ(directory_.Create(), absl::OkStatus());
  const auto size = static_cast<std::int64_t>(SerializeInfo(Info(1000), kVersion)->size());
  std::vector<std::int64_t> pids;
  for (int pid = 1000; pid < 2000; ++pid) {
    Put(absl::StrCat("pid-", pid, ".info"), SerializeInfo(Info(pid), kVersion).value());
    pids.push_back(pid);
  }
  Put("a", "junk");
  EXPECT_EQ(Pids(), pids);
  pids.resize(333);
  directory_ = InfoDirectory(temporary_, {.total_size = 333 * size});
  EXPECT_EQ(Pids(), pids);
}

}  // namespace
}  // namespace registry
