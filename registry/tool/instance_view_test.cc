#include "registry/tool/instance_view.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "registry/info/info_directory.h"
#include "registry/info/instance_info.h"
#include "registry/tool/tool_probe.h"
#include "runtime/event_loop.h"
#include "runtime/process/subprocess.h"

namespace registry {
namespace {

using State = InstanceView::State;

constexpr absl::Duration kLong = absl::Seconds(20);

// Reports the kernel's processes, but the ports that the test sets.
class PortsOfTheTest : public ToolProbe {
 public:
  std::optional<Process> Look(pid_t pid) override { return ToolProbe::Kernel()->Look(pid); }
  Listeners ListenersOf(uid_t) override {
    Listeners listeners;
    for (const int port : ports) listeners[port].insert(static_cast<std::uint64_t>(port));
    return listeners;
  }
  bool Holds(pid_t, const Listeners& listeners, int port) override {
    return listeners.contains(port);
  }
  std::set<int> ports = {6006};
};

class InstanceViewTest : public ::testing::Test {
 protected:
  InstanceViewTest() {
    char name[] = "/tmp/view-XXXXXX";
    temporary_ = mkdtemp(name);
    files_ = std::make_unique<InfoDirectory>(temporary_);
  }
  ~InstanceViewTest() override {
    view_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(temporary_, ignored);
  }

  InstanceView& View() {
    if (view_ == nullptr) {
      view_ =
          std::make_unique<InstanceView>(InstanceView::Options{.loop = loop_.get(),
                                                               .probe = &probe_,
                                                               .temporary_directory = temporary_,
                                                               .uid = getuid(),
                                                               .changed = [this] {
                                                                 ++changes_;
                                                                 if (until_ && until_())
                                                                   loop_->Stop();
                                                               }});
    }
    return *view_;
  }
  // Runs the loop (once in the test) until a change makes `condition` true.
  bool RunUntil(std::function<bool()> condition) {
    until_ = std::move(condition);
    bool in_time = true;
    const auto timer = loop_->RunAfter(kLong, [&] {
      in_time = false;
      loop_->Stop();
    });
    loop_->Run();
    loop_->Cancel(timer);
    return in_time;
  }
  static InstanceInfo Info(pid_t pid, int port = 6006, const std::string& key = "key") {
    return {.version = "1",
            .start_time = absl::ToUnixSeconds(absl::Now()),
            .pid = pid,
            .port = port,
            .path_prefix = "",
            .logdir = "",
            .db = "",
            .cache_key = key};
  }
  void Write(const InstanceInfo& info) { ASSERT_EQ(files_->Write(info, "1"), absl::OkStatus()); }
  static std::string Name(pid_t pid) { return absl::StrCat("pid-", pid, ".info"); }
  State StateOf(pid_t pid) {
    const auto& entries = View().Entries();
    const auto found = entries.find(Name(pid));
    return found == entries.end() ? State::kForeign : found->second.state;
  }
  bool Exists(pid_t pid) const {
    return access((files_->path() + "/" + Name(pid)).c_str(), F_OK) == 0;
  }
  static runtime::Subprocess Sleep() {
    auto process = runtime::Subprocess::Start({.argv = {"/bin/sleep", "1000"},
                                               .program = "/bin/sleep",
                                               .environment = {},
                                               .working_directory = "/"});
    EXPECT_EQ(process.status(), absl::OkStatus());
    return std::move(*process);
  }

  std::string temporary_;
  std::unique_ptr<InfoDirectory> files_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  PortsOfTheTest probe_;
  int changes_ = 0;
  std::function<bool()> until_;
  std::unique_ptr<InstanceView> view_;
};

TEST_F(InstanceViewTest, AMissingDirectoryIsEmptyAndIsNotMade) {
  EXPECT_TRUE(View().Entries().empty());
  EXPECT_FALSE(std::filesystem::exists(files_->path()));
}

TEST_F(InstanceViewTest, WhatIsThereIsRead) {
  Write(Info(getpid()));
  Write(Info(1 << 24));
  EXPECT_EQ(View().Entries().size(), 2u);
  EXPECT_EQ(StateOf(getpid()), State::kLive);
  EXPECT_EQ(StateOf(1 << 24), State::kDead);
}

TEST_F(InstanceViewTest, ADirectoryThatComesLaterIsSeen) {
  EXPECT_TRUE(View().Entries().empty());
  Write(Info(getpid()));
  EXPECT_EQ(StateOf(getpid()), State::kLive);
}

TEST_F(InstanceViewTest, EveryAnswerHasTheChangesUntilNow) {
  ASSERT_EQ(files_->Create(), absl::OkStatus());
  EXPECT_TRUE(View().Entries().empty());
  Write(Info(getpid()));
  EXPECT_EQ(View().Entries().size(), 1u);
  Write(Info(getpid(), 6007));
  EXPECT_EQ(View().Entries().begin()->second.file.info.port, 6007);
  ASSERT_EQ(files_->Remove(getpid()), absl::OkStatus());
  EXPECT_TRUE(View().Entries().empty());
}

TEST_F(InstanceViewTest, OnlyWhatHasChangedIsReadAgain) {
  for (int i = 0; i < 20; ++i) Write(Info((1 << 24) + i));
  EXPECT_EQ(View().Entries().size(), 20u);
  const std::size_t before = View().reads();
  Write(Info(getpid()));
  EXPECT_EQ(View().Entries().size(), 21u);
  EXPECT_EQ(View().reads(), before + 1);
}

TEST_F(InstanceViewTest, ADirectoryThatIsMadeAnewIsFollowed) {
  Write(Info(getpid()));
  EXPECT_EQ(View().Entries().size(), 1u);
  std::filesystem::remove_all(files_->path());
  EXPECT_TRUE(View().Entries().empty());
  Write(Info(getpid()));
  EXPECT_EQ(View().Entries().size(), 1u);
}

TEST_F(InstanceViewTest, JunkIsPassedOver) {
  Write(Info(getpid()));
  EXPECT_EQ(View().Entries().size(), 1u);
  ASSERT_EQ(mkfifo((files_->path() + "/pid-7.info").c_str(), 0600), 0);
  std::filesystem::create_directory(files_->path() + "/pid-8.info");
  std::filesystem::create_symlink("/dev/zero", files_->path() + "/pid-9.info");
  std::ofstream(files_->path() + "/pid-10.info") << "\xff\xfe not JSON";
  EXPECT_EQ(View().Entries().size(), 1u);
}

TEST_F(InstanceViewTest, TheLoopTellsOfANewFile) {
  ASSERT_EQ(files_->Create(), absl::OkStatus());
  (void)View();
  loop_->Post([this] { Write(Info(getpid())); });
  EXPECT_TRUE(RunUntil([this] { return View().Entries().size() == 1; }));
}

TEST_F(InstanceViewTest, TheFileOfAProcessThatWasSeenToEndIsRemoved) {
  auto tool = Sleep();
  Write(Info(tool.pid()));
  EXPECT_EQ(StateOf(tool.pid()), State::kLive);
  ASSERT_EQ(tool.Signal(SIGKILL), absl::OkStatus());
  EXPECT_TRUE(RunUntil([&] { return !Exists(tool.pid()); }));
  EXPECT_TRUE(View().Entries().empty());
  (void)tool.Wait();
}

TEST_F(InstanceViewTest, AToolWhosePortIsClosedIsDeadUntilItListensAgain) {
  Write(Info(getpid()));
  EXPECT_NE(View().FindLive("key"), nullptr);
  probe_.ports.clear();
  EXPECT_EQ(View().FindLive("key"), nullptr);
  probe_.ports.insert(6006);
  EXPECT_NE(View().FindLive("key"), nullptr);
}

TEST_F(InstanceViewTest, OfSeveralWithOneKeyTheLowestLivePortIsFound) {
  probe_.ports = {6007, 6008};
  auto other = Sleep();
  Write(Info(getpid(), 6008));
  Write(Info(other.pid(), 6007));
  Write(Info(1 << 24, 6006));
  EXPECT_EQ(View().FindLive("key")->file.info.port, 6007);
  EXPECT_EQ(View().FindLive("another"), nullptr);
  (void)other.Signal(SIGKILL);
  (void)other.Wait();
}

TEST_F(InstanceViewTest, ASignalReachesTheToolOnly) {
  auto tool = Sleep();
  Write(Info(tool.pid()));
  const InstanceView::Entry entry = *View().FindLive("key");
  EXPECT_EQ(View().Signal(entry, SIGTERM), absl::OkStatus());
  EXPECT_EQ(tool.Wait(kLong)->signal, SIGTERM);
  EXPECT_TRUE(absl::IsNotFound(View().Signal(entry, SIGTERM)));
}

}  // namespace
}  // namespace registry
