// Clients come and go for a long time, many by kill -9: a registry, and a client that stays, are
// afterwards as small as before. $SOAK_MINUTES says for how long (10 in the long run).

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/event/publisher.h"
#include "bus/event/subscriber.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "gtest/gtest.h"
#include "runtime/clock.h"
#include "runtime/file/locations.h"
#include "runtime/mutex.h"
#include "tests/yard_fixture.h"

namespace tests {
namespace {

using rpc::Registry;

constexpr std::int64_t kMaxGrowth = 5 << 20;
constexpr std::size_t kListening = 6;  // Processes that listen at any time.
constexpr int kTopics = 16;
constexpr absl::Duration kPatience = absl::Seconds(30);

struct Usage {
  std::int64_t rss = 0;
  std::size_t fds = 0;
  std::size_t threads = 0;
  bool same_handles(const Usage& other) const {
    return fds == other.fds && threads == other.threads;
  }
  friend std::ostream& operator<<(std::ostream& out, const Usage& usage) {
    return out << usage.rss / 1024 << " KiB, " << usage.fds << " fds, " << usage.threads
               << " threads";
  }
};

std::size_t CountEntries(const std::string& directory) {
  std::error_code gone;
  const std::filesystem::directory_iterator entries(directory, gone);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

Usage UsageOf(pid_t pid) {
  const std::string proc = absl::StrCat("/proc/", pid);
  std::int64_t size = 0, resident = 0;
  std::ifstream(proc + "/statm") >> size >> resident;
  return {.rss = resident * sysconf(_SC_PAGESIZE),
          .fds = CountEntries(proc + "/fd"),
          .threads = CountEntries(proc + "/task")};
}

// The least that is seen for a while: what has ended may still be on its way out.
Usage AtRest(pid_t pid) {
  Usage least = UsageOf(pid);
  Yard::Eventually(
      [&] {
        const Usage now = UsageOf(pid);
        least.rss = now.rss;
        least.fds = std::min(least.fds, now.fds);
        least.threads = std::min(least.threads, now.threads);
        return false;
      },
      absl::Seconds(3));
  return least;
}

// How many events have been heard.
class Heard {
 public:
  void Add() {
    runtime::MutexLock lock(mutex_);
    ++count_;
    changed_.SignalAll();
  }
  std::uint64_t count() const {
    runtime::MutexLock lock(mutex_);
    return count_;
  }
  bool AwaitMoreThan(std::uint64_t count) {
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + kPatience;
    runtime::MutexLock lock(mutex_);
    while (count_ <= count) {
      if (!runtime::Clock::Real()->WaitUntil(changed_, mutex_, deadline)) return count_ > count;
    }
    return true;
  }

 private:
  mutable runtime::Mutex mutex_;
  mutable runtime::CondVar changed_;
  std::uint64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A client on the bus: calls, publishes, and hears itself.
class Member {
 public:
  Member(const runtime::Locations& locations, std::string topic)
      : node_(*bus::Node::Create({.name = "soak", .locations = locations})),
        topic_(std::move(topic)) {}
  absl::Status Connect() { return subscriber_.WaitUntilConnected(kPatience); }
  absl::Status List() { return client_.Call<Registry::List>({}).status(); }
  // Asks the data manager for its statistics; waits for it while it is being restarted.
  absl::Status AskDataManager() {
    return client_
        .Call<rpc::Common::Stats>(
            {}, {.timeout = kPatience, .service = "datamanager", .wait_for_service = true})
        .status();
  }
  bool HearOneself() {
    const std::uint64_t before = heard_.count();
    msg::EnvelopeT event;
    event.payload = {'{', '}'};
    event.payload_type = "application/json";
    return publisher_.PublishEnvelope(topic_, std::move(event)).ok() &&
           heard_.AwaitMoreThan(before);
  }

 private:
  const std::unique_ptr<bus::Node> node_;
  const std::string topic_;
  Heard heard_;
  bus::Client client_{node_.get()};
  bus::Publisher publisher_{node_.get()};
  bus::Subscriber subscriber_{
      node_.get(),
      {.prefixes = {topic_},
       .on_event = [this](std::string_view, const msg::Envelope&) { heard_.Add(); }}};
};

class SoakTest : public ::testing::Test {
 protected:
  runtime::Locations locations() const {
    return {.runtime_directory = yard_.runtime_directory(),
            .state_directory = yard_.state(),
            .registry_address = "ipc://" + yard_.runtime_directory() + "/registry"};
  }
  std::string NextTopic() { return absl::StrCat("s/soak/", rounds_ % kTopics, "/"); }
  void StartDataManager() {
    data_manager_.reset();  // Killed.
    data_manager_.emplace(yard_.StartBinary("datamanager/datamanager", {"--logdir=runs"}));
  }

  void Round() {
    ++rounds_;
    ASSERT_EQ(resident_->List(), absl::OkStatus());
    ASSERT_TRUE(resident_->HearOneself());
    {
      Member passing(locations(), NextTopic());
      ASSERT_EQ(passing.List(), absl::OkStatus());
      ASSERT_EQ(passing.Connect(), absl::OkStatus());
      ASSERT_TRUE(passing.HearOneself());
    }
    listening_.push_back(yard_.Start({"sub", "s/soak/", "e/soak/"}));
    if (listening_.size() > kListening) listening_.pop_front();  // Killed.
    KillInTheMiddle();
    if (rounds_ % 10 == 0) {
      ASSERT_EQ(yard_.Run({"call", "registry", "List", "{}"}).exit_code, 0);
      ASSERT_EQ(yard_.Run({"pub", "e/soak/", "{}"}).exit_code, 0);
      StartDataManager();
      ASSERT_EQ(resident_->AskDataManager(), absl::OkStatus());
    }
    if (rounds_ % 500 == 0) ForgetOutput();
  }
  // A command is killed after so many round trips of another client, wherever it is by then.
  void KillInTheMiddle() {
    const bool publishes = rounds_ % 8 == 0;  // The hub remembers such an event.
    Command killed = publishes ? yard_.Start({"pub", "e/soak/", "{}"})
                               : yard_.Start({"call", "registry", "List", "{}"});
    for (std::uint64_t left = random_() % 100; left > 0; --left) {
      ASSERT_EQ(resident_->List(), absl::OkStatus());
    }
  }
  void Churn(absl::Duration time) {
    const absl::Time end = absl::Now() + time;
    while (absl::Now() < end && !HasFatalFailure()) Round();
    listening_.clear();  // Killed.
  }
  // Removes the output of the commands.
  void ForgetOutput() {
    for (const auto& file : std::filesystem::directory_iterator(yard_.directory() + "/out")) {
      std::filesystem::remove(file.path());
    }
  }

  Yard yard_;
  Command registry_ = yard_.StartBinary("registry/registry", {});
  std::optional<Command> data_manager_;
  std::unique_ptr<Member> resident_;
  std::deque<Command> listening_;
  std::mt19937_64 random_{7};
  std::uint64_t rounds_ = 0;
};

TEST_F(SoakTest, WhoComesAndGoesLeavesNothingBehind) {
  const char* const minutes = std::getenv("SOAK_MINUTES");
  const absl::Duration time = absl::Minutes(minutes == nullptr ? 1 : std::atof(minutes));
  ASSERT_TRUE(Yard::Eventually([&] { return yard_.PidOf("registry") == registry_.pid(); }));
  resident_ = std::make_unique<Member>(locations(), "s/resident/");
  ASSERT_EQ(resident_->Connect(), absl::OkStatus());
  StartDataManager();
  ASSERT_EQ(resident_->AskDataManager(), absl::OkStatus());

  const pid_t pids[] = {registry_.pid(), getpid()};
  const char* const names[] = {"registry", "resident client"};
  Usage before[2];
  Churn(time / 5);
  ASSERT_FALSE(HasFatalFailure());
  for (int i = 0; i < 2; ++i) before[i] = AtRest(pids[i]);
  const std::uint64_t first_rounds = rounds_;
  Churn(time * 4 / 5);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_GT(rounds_, 2 * first_rounds);  // It went on as fast as it began, more or less.
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        Yard::Eventually([&] { return UsageOf(pids[i]).same_handles(before[i]); }, kPatience))
        << names[i];
    const Usage after = UsageOf(pids[i]);
    EXPECT_LT(after.rss - before[i].rss, kMaxGrowth) << names[i];
    std::cout << names[i] << ": " << before[i] << "; after " << rounds_ - first_rounds
              << " more rounds: " << after << "\n";
  }
}

}  // namespace
}  // namespace tests
