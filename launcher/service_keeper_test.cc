#include "launcher/service_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/mutex.h"
#include "runtime/process/subprocess.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

// A fake service: takes its lock like runtime::LockFile, records its arguments, and waits to be
// stopped.
constexpr char kService[] = R"(#!/usr/bin/python3
import fcntl, os, signal, struct, sys
run = '%s'
name = os.path.basename(sys.argv[0])
fd = os.open(run + '/' + name + '.lock', os.O_RDWR | os.O_CREAT, 0o600)
try:
    fcntl.fcntl(fd, 37, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0) + bytes(8))
except OSError:
    sys.exit(6)
os.ftruncate(fd, 0)
os.write(fd, b'%%d\n' %% os.getpid())
with open(run + '/starts', 'a') as starts:
    starts.write(' '.join([name] + sys.argv[1:]) + '\n')
signal.pause()
)";

class ServiceKeeperTest : public ::testing::Test {
 protected:
  explicit ServiceKeeperTest(runtime::Clock* clock = runtime::Clock::Real()) : clock_(clock) {
    char name[] = "/tmp/yskXXXXXX";
    folder_ = mkdtemp(name);
    for (const char* part : {"/run", "/state", "/bin"}) {
      std::filesystem::create_directory(folder_ + part);
    }
    char script[2048];
    snprintf(script, sizeof script, kService, (folder_ + "/run").c_str());
    for (const char* service : {"registry", "datamanager", "trainer", "web", "mine"}) {
      EXPECT_TRUE(runtime::WriteFileAtomically(folder_ + "/bin/" + service, script, 0700).ok());
    }
    loop_ = runtime::EventLoop::Create(clock_);
    thread_ = std::make_unique<runtime::Thread>("loop", [this] { loop_->Run(); });
  }
  ~ServiceKeeperTest() override {
    OnLoop([this] { keeper_.reset(); });
    loop_->Stop();
    thread_->Join();
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const char* service : {"registry", "datamanager", "trainer", "web", "mine"}) {
      if (const pid_t pid = Holder(service); pid > 0) kill(pid, SIGKILL);
    }
    std::filesystem::remove_all(folder_);
  }

  void OnLoop(const std::function<void()>& body) {
    bool done = false;
    loop_->Post([&] {
      body();
      runtime::MutexLock lock(mutex_);
      done = true;
      changed_.SignalAll();
    });
    runtime::MutexLock lock(mutex_);
    while (!done) changed_.Wait(mutex_);
  }
  void Open(bool external = false) {
    OnLoop([&] {
      ServiceKeeper::Options options;
      options.loop = loop_.get();
      options.clock = clock_;
      options.locations.runtime_directory = folder_ + "/run";
      options.locations.state_directory = folder_ + "/state";
      options.environment = {"PATH=/usr/bin:/bin"};
      options.find_binary = [this](std::string_view label) -> absl::StatusOr<std::string> {
        return absl::StrCat(folder_, "/bin/", std::string(label.substr(label.find('/') + 1)));
      };
      options.random = [] { return 0.0; };
      options.external = external;
      options.on_change = [this](const msg::SupervisedServiceT& service) {
        runtime::MutexLock lock(mutex_);
        if (service.pid != 0) pids_.push_back(service.pid);
        changed_.SignalAll();
      };
      options.on_restart = [this](const std::string& service, const std::string& how, auto) {
        runtime::MutexLock lock(mutex_);
        restarted_.push_back(absl::StrCat(service, ": ", how));
      };
      auto keeper = ServiceKeeper::Create(std::move(options));
      ASSERT_TRUE(keeper.ok()) << keeper.status();
      keeper_ = std::move(*keeper);
    });
  }
  void WriteWanted(const std::string& more = "") {
    ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/state/wanted",
                                             absl::StrCat(R"({"logdir": "/the/runs")", more, "}"),
                                             0600)
                    .ok());
  }
  std::map<std::string, msg::SupervisedServiceT> Services() {
    std::map<std::string, msg::SupervisedServiceT> result;
    OnLoop([&] {
      for (auto& service : keeper_->Services()) result[service.name] = service;
    });
    return result;
  }
  pid_t Holder(const std::string& service) {
    return runtime::LockHolder(folder_ + "/run/" + service + ".lock").value_or(0);
  }
  // Waits until a process other than `before` holds the service's lock.
  pid_t AwaitHolder(const std::string& service, pid_t before = 0) {
    pid_t holder = 0;
    EXPECT_TRUE(Await([&] {
      holder = Holder(service);
      return holder != 0 && holder != before;
    })) << service;
    return holder;
  }
  // Starts a service like another supervisor.
  pid_t StartByHand(const std::string& service) {
    runtime::Subprocess::Options options;
    options.program = folder_ + "/bin/" + service;
    options.argv = {options.program};
    options.environment = {"PATH=/usr/bin:/bin"};
    auto child = runtime::Subprocess::Start(options);
    EXPECT_TRUE(child.ok()) << child.status();
    by_hand_.push_back(std::move(*child));
    pids_.push_back(by_hand_.back().pid());
    return by_hand_.back().pid();
  }
  bool AwaitAdopted(const std::string& service, pid_t pid) {
    return Await([&] { return Services()[service].pid == pid; });
  }
  bool Await(const std::function<bool()>& condition) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (!condition()) {
      if (absl::Now() > deadline) return false;
      runtime::MutexLock lock(mutex_);
      changed_.WaitWithTimeout(mutex_, absl::Milliseconds(10));
    }
    return true;
  }
  std::string Starts() { return runtime::ReadFile(folder_ + "/run/starts", 10000).value_or(""); }

  runtime::Clock* const clock_;
  std::string folder_;
  std::unique_ptr<runtime::EventLoop> loop_;
  std::unique_ptr<runtime::Thread> thread_;
  std::unique_ptr<ServiceKeeper> keeper_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<pid_t> pids_;
  std::vector<std::string> restarted_;  // The services that on_restart has reported.
  std::vector<runtime::Subprocess> by_hand_;
};

TEST_F(ServiceKeeperTest, StartsNothingUntilTheYardIsWantedThenEverything) {
  Open();
  for (const auto& [name, service] : Services()) EXPECT_EQ(service.pid, 0) << name;
  WriteWanted();
  AwaitHolder("registry");
  AwaitHolder("datamanager");
  AwaitHolder("trainer");
  for (const char* start : {"registry\n", "datamanager --logdir=/the/runs\n",
                            "trainer --logdir=/the/runs\n", "web\n"}) {
    EXPECT_TRUE(Await([&] { return Starts().find(start) != std::string::npos; })) << start;
  }
}

TEST_F(ServiceKeeperTest, AWipedStateDirectoryIsMadeAgainAndWatched) {
  Open();
  std::filesystem::remove_all(folder_ + "/state");
  EXPECT_TRUE(Await([&] { return std::filesystem::is_directory(folder_ + "/state/log"); }));
  WriteWanted();
  AwaitHolder("registry");
}

TEST_F(ServiceKeeperTest, StartsAKilledOneAgain) {
  WriteWanted();
  Open();
  const pid_t first = AwaitHolder("datamanager");
  ASSERT_EQ(kill(first, SIGKILL), 0);
  const pid_t second = AwaitHolder("datamanager", first);
  EXPECT_NE(second, first);
  EXPECT_EQ(Services()["datamanager"].restarts, 1u);
  EXPECT_EQ(Services()["datamanager"].pid, second);
  ASSERT_EQ(restarted_.size(), 1u) << "a person may want to hear of it";
  EXPECT_EQ(restarted_[0].find("datamanager: signal 9"), 0u) << restarted_[0];
}

struct StoppedTime {
  runtime::FakeClock clock;
};
// A keeper whose clock stands still, so that no delay ends by itself.
class StoppedKeeperTest : private StoppedTime, public ServiceKeeperTest {
 protected:
  StoppedKeeperTest() : ServiceKeeperTest(&clock) {}
};

TEST_F(StoppedKeeperTest, AFileThatIsWrittenAgainEndsTheDelay) {
  const std::string program = folder_ + "/bin/web";
  const std::string good = runtime::ReadFile(program, 10'000).value_or("");
  ASSERT_TRUE(runtime::WriteFileAtomically(program, "#!/bin/sh\nexit 1\n", 0700).ok());
  WriteWanted();
  Open();
  // The first try and the immediate second one have failed; the next one has a delay.
  ASSERT_TRUE(Await([&] {
    auto web = Services()["web"];
    return web.restarts == 2 && web.state == msg::TaskState::Exited;
  }));
  ASSERT_TRUE(runtime::WriteFileAtomically(program, good, 0700).ok());
  EXPECT_EQ(Holder("web"), 0);
  WriteWanted();
  AwaitHolder("web");
}

TEST_F(StoppedKeeperTest, AServiceThatEndsWellIsNoMatterForAnybody) {
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/bin/web", "#!/bin/sh\nexit 0\n", 0700).ok());
  WriteWanted();
  Open();
  ASSERT_TRUE(Await([&] { return Services()["web"].restarts == 2; }));
  EXPECT_TRUE(restarted_.empty()) << restarted_[0];
}

TEST_F(ServiceKeeperTest, TheNextLauncherAdoptsAndWatchesThem) {
  WriteWanted();
  Open();
  std::map<std::string, pid_t> before;
  for (const char* name : {"registry", "datamanager", "trainer", "web"})
    before[name] = AwaitHolder(name);
  OnLoop([this] { keeper_.reset(); });
  Open();
  for (const auto& [name, service] : Services()) EXPECT_EQ(service.pid, before[name]) << name;
  ASSERT_EQ(kill(before["registry"], SIGKILL), 0);
  AwaitHolder("registry", before["registry"]);
}

TEST_F(ServiceKeeperTest, TheTrainerMayBeTheUsersOwn) {
  WriteWanted(absl::StrCat(R"(, "trainer": ")", folder_, "/bin/mine\""));
  Open();
  AwaitHolder("mine");
  EXPECT_TRUE(
      Await([&] { return Starts().find("mine --logdir=/the/runs\n") != std::string::npos; }));
}

TEST_F(ServiceKeeperTest, TheTrainerHasAsManySlotsAsTheYard) {
  WriteWanted(R"(, "slots": 3)");
  Open();
  AwaitHolder("trainer");
  EXPECT_TRUE(Await([&] {
    return Starts().find("trainer --logdir=/the/runs --slots=3\n") != std::string::npos;
  }));
}

TEST_F(ServiceKeeperTest, TheDataManagerHasTheFlagsOfTheYard) {
  WriteWanted(R"(, "datamanager": ["cache_mb=7", 3, "stop_grace=1s"])");
  Open();
  AwaitHolder("datamanager");
  AwaitHolder("trainer");
  EXPECT_TRUE(Await([&] {
    return Starts().find("datamanager --logdir=/the/runs --cache_mb=7 --stop_grace=1s\n") !=
           std::string::npos;
  }));
  EXPECT_TRUE(
      Await([&] { return Starts().find("trainer --logdir=/the/runs\n") != std::string::npos; }));
}

TEST_F(ServiceKeeperTest, EachServiceHasItsSharedFlags) {
  WriteWanted(R"(, "datamanager": ["cache_mb=7"],
                 "flags": {"registry": ["a=1"], "datamanager": ["b=2", 3], "trainer": "c=3"})");
  Open();
  AwaitHolder("datamanager");
  for (const char* line :
       {"registry --a=1\n", "datamanager --logdir=/the/runs --cache_mb=7 --b=2\n",
        "trainer --logdir=/the/runs\n", "web\n"}) {
    EXPECT_TRUE(Await([&] { return Starts().find(line) != std::string::npos; })) << line;
  }
}

TEST_F(ServiceKeeperTest, StartsNothingUnderAnotherSupervisor) {
  WriteWanted();
  Open(/*external=*/true);
  for (const auto& [name, service] : Services()) EXPECT_EQ(service.pid, 0) << name;
}

TEST_F(ServiceKeeperTest, LeavesARegistryOfAnotherSupervisorAlone) {
  WriteWanted();
  Open();
  const pid_t registry = AwaitHolder("registry");
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/run/registry.ready",
                                           absl::StrCat(registry, "\nsupervisor=external\n"), 0600)
                  .ok());
  ASSERT_EQ(kill(registry, SIGKILL), 0);
  EXPECT_TRUE(Await([&] { return Services()["registry"].reason == "somebody else starts it"; }));
  EXPECT_EQ(Services()["registry"].pid, 0);
  const pid_t next = StartByHand("registry");
  EXPECT_TRUE(AwaitAdopted("registry", next));
}

TEST_F(ServiceKeeperTest, WatchesWhatAnotherSupervisorStarts) {
  WriteWanted();
  Open(/*external=*/true);
  for (int i = 0; i < 2; ++i) {
    const pid_t pid = StartByHand("trainer");
    EXPECT_TRUE(AwaitAdopted("trainer", pid));
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_TRUE(AwaitAdopted("trainer", 0));
  }
}

TEST_F(ServiceKeeperTest, AStoppingLauncherLeavesAWantedYardRunning) {
  WriteWanted();
  Open();
  const pid_t trainer = AwaitHolder("trainer");
  bool done = false;
  OnLoop([&] { keeper_->Stop([&] { done = true; }); });
  EXPECT_TRUE(done);
  EXPECT_EQ(kill(trainer, 0), 0);
}

TEST_F(ServiceKeeperTest, AStoppingLauncherStopsAnUnwantedYardButForTheRegistry) {
  WriteWanted();
  Open();
  const pid_t registry = AwaitHolder("registry");
  AwaitHolder("datamanager");
  AwaitHolder("trainer");
  AwaitHolder("web");
  std::filesystem::remove(folder_ + "/state/wanted");
  bool done = false;
  OnLoop([&] {
    keeper_->Stop([&] {
      runtime::MutexLock lock(mutex_);
      done = true;
      changed_.SignalAll();
    });
  });
  EXPECT_TRUE(Await([&] {
    runtime::MutexLock lock(mutex_);
    return done;
  }));
  EXPECT_EQ(Holder("web"), 0);
  EXPECT_EQ(Holder("trainer"), 0);
  EXPECT_EQ(Holder("datamanager"), 0);
  EXPECT_EQ(Holder("registry"), registry);
}

}  // namespace
}  // namespace launcher
