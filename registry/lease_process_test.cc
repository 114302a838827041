// Tests leases as clients of a real registry see them: late, killed, stalled, restarted, with the
// state directory wiped, and in large numbers.

#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/event/subscriber.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "registry/test_registry.h"
#include "runtime/file/file.h"
#include "runtime/mutex.h"
#include "runtime/process/stop_process.h"
#include "runtime/process/subprocess.h"

namespace registry {
namespace {

using rpc::Registry;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = TestRegistry::kLong;

msg::RegisterRequestT LeaseOf(std::string name, std::string instance = "0",
                              std::uint32_t ttl_ms = 0, std::uint64_t nonce = 1) {
  msg::RegisterRequestT request;
  request.lease = std::make_unique<msg::LeaseT>();
  request.lease->name = std::move(name);
  request.lease->instance = std::move(instance);
  request.lease->ttl_ms = ttl_ms;
  request.lease->nonce = nonce;
  return request;
}

void AddLabels(int count, std::size_t bytes, msg::LeaseT* lease) {
  for (int i = 0; i < count; ++i) {
    lease->labels.push_back(std::make_unique<msg::KeyValueT>());
    lease->labels.back()->key = absl::StrCat("k", i);
    lease->labels.back()->value = std::string(bytes, 'v');
  }
}

class LeaseProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(registry_.Start()); }
  msg::RegisterReplyT Register(const msg::RegisterRequestT& request) {
    auto reply = registry_.client().Call<Registry::Register>(request);
    EXPECT_EQ(reply.status(), absl::OkStatus());
    return reply.ok() ? std::move(*reply) : msg::RegisterReplyT();
  }
  absl::Status Renew(std::uint64_t lease) {
    msg::RenewRequestT request;
    request.lease_id = lease;
    return registry_.client().Call<Registry::Renew>(request).status();
  }
  // Follows changes of `prefix` until `on_event` returns true.
  using OnEvent = std::function<bool(const msg::LeaseEventT&)>;
  absl::Status Watch(const std::string& prefix, std::uint64_t from, std::uint64_t epoch,
                     const OnEvent& on_event) {
    msg::WatchRequestT request;
    request.prefix = prefix;
    request.from_revision = from;
    request.epoch = epoch;
    bool enough = false;
    const absl::Status end = registry_.client()
                                 .Stream<Registry::Watch>(request,
                                                          [&](const msg::WatchReplyT& part) {
                                                            for (const auto& event : part.events) {
                                                              enough = enough || on_event(*event);
                                                            }
                                                            return !enough;
                                                          },
                                                          {.timeout = kLong})
                                 .status();
    return enough ? absl::OkStatus() : end;
  }

  TestRegistry registry_;
};

TEST_F(LeaseProcessTest, ALateLeaseIsSuspectUntilItIsRenewed) {
  const auto lease = Register(LeaseOf("worker", "0", 4500));
  const std::uint64_t epoch = registry_.List().epoch;
  std::vector<std::string> reasons;
  const absl::Status watched =
      Watch("worker/", lease.revision - 1, epoch, [&](const msg::LeaseEventT& event) {
        reasons.push_back(event.reason);
        if (event.reason == "late" && reasons.size() == 2) {
          EXPECT_EQ(event.lease->state, msg::LeaseState::Suspect);
          const auto listed = registry_.List("worker/");
          EXPECT_EQ(listed.leases.size(), 1u);
          for (const auto& one : listed.leases) {
            EXPECT_EQ(one->state, msg::LeaseState::Suspect);
          }
          EXPECT_EQ(Renew(lease.lease_id), absl::OkStatus());
        }
        if (event.reason == "renewed") {
          EXPECT_EQ(event.lease->state, msg::LeaseState::Up);
        }
        return event.lease->state == msg::LeaseState::Gone;
      });
  EXPECT_EQ(watched, absl::OkStatus());
  EXPECT_THAT(reasons, ElementsAre("registered", "late", "renewed", "late", "expired"));
}

TEST_F(LeaseProcessTest, AKilledProcessIsGoneLongBeforeItsLeaseIsOver) {
  registry_.StartMember("victim");
  registry_.AwaitCount("victim/", 1);
  const absl::Time killed = absl::Now();
  ASSERT_EQ(registry_.member("victim").Signal(SIGKILL), absl::OkStatus());
  registry_.AwaitCount("victim/", 0);
  const absl::Duration took = absl::Now() - killed;
  std::cout << "gone from the list " << took << " after kill -9\n";
  EXPECT_LT(took, absl::Seconds(2));
}

TEST_F(LeaseProcessTest, AProcessThatHasEndedAlreadyIsNotKept) {
  registry_.StartMember("victim");
  registry_.AwaitCount("victim/", 1);
  msg::RegisterRequestT late = LeaseOf("late");
  late.lease->process =
      std::make_unique<msg::ProcessIdentityT>(*registry_.List("victim/").leases[0]->process);
  ASSERT_EQ(registry_.member("victim").Signal(SIGKILL), absl::OkStatus());
  ASSERT_EQ(registry_.member("victim").Wait(kLong).status(), absl::OkStatus());
  const auto reply = Register(late);
  EXPECT_TRUE(registry_.List("late/").leases.empty());
  EXPECT_EQ(Renew(reply.lease_id).code(), absl::StatusCode::kNotFound);
}

class StalledRegistryTest : public LeaseProcessTest, public ::testing::WithParamInterface<int> {};

TEST_P(StalledRegistryTest, LosesNobodyAndSuspectsNobody) {
  const absl::Duration stall = absl::Seconds(GetParam());
  for (const char* name : {"one", "two", "three"}) registry_.StartMember(name);
  registry_.AwaitCount("", 4);
  const auto before = registry_.List();
  ASSERT_EQ(runtime::StopProcess(registry_.process()), absl::OkStatus());
  EXPECT_EQ(registry_.client().Call<Registry::List>({}, {.timeout = stall}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_EQ(registry_.process().Signal(SIGCONT), absl::OkStatus());
  // Nobody renews this lease: when it ends, every other holder has renewed or is late.
  Register(LeaseOf("clock", "0", 5000));
  std::vector<std::string> changes;
  const absl::Status watched =
      Watch("", before.revision, before.epoch, [&](const msg::LeaseEventT& event) {
        if (event.lease->name == "clock") return event.lease->state == msg::LeaseState::Gone;
        if (event.lease->state != msg::LeaseState::Up) {
          changes.push_back(absl::StrCat(event.reason, " ", event.lease->name));
        }
        return false;
      });
  EXPECT_EQ(watched, absl::OkStatus());
  EXPECT_THAT(changes, ElementsAre());
  const auto after = registry_.List();
  ASSERT_EQ(after.leases.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(after.leases[i]->id, before.leases[i]->id);
    EXPECT_EQ(after.leases[i]->state, msg::LeaseState::Up);
  }
}

INSTANTIATE_TEST_SUITE_P(For, StalledRegistryTest, ::testing::Values(3, 8),
                         [](const auto& test) { return absl::StrCat(test.param, "Seconds"); });

TEST_F(LeaseProcessTest, AfterARestartAllAreBackWithinTwoSeconds) {
  for (int i = 0; i < 5; ++i) registry_.StartMember(absl::StrCat("m", i));
  registry_.AwaitCount("m", 5);
  std::set<std::uint64_t> nonces, nonces_again;
  for (const auto& lease : registry_.List("m").leases) nonces.insert(lease->nonce);
  registry_.Kill();
  const absl::Time began = absl::Now();
  ASSERT_TRUE(registry_.Start());
  registry_.AwaitCount("m", 5);
  const absl::Duration took = absl::Now() - began;
  std::cout << "all are back " << took << " after the new registry was started\n";
  EXPECT_LT(took, absl::Seconds(2));
  for (const auto& lease : registry_.List("m").leases) nonces_again.insert(lease->nonce);
  EXPECT_EQ(nonces_again, nonces) << "they are other processes";
}

// ---- The state on disk

TEST_F(LeaseProcessTest, AWipedStateDirectoryIsNotFatal) {
  registry_.StartMember("old");
  registry_.AwaitCount("old/", 1);
  std::filesystem::remove_all(registry_.locations().state_directory);
  const auto lease = Register(LeaseOf("worker", "0", 6000));
  EXPECT_EQ(Renew(lease.lease_id), absl::OkStatus());
  registry_.StartMember("new");
  registry_.AwaitCount("new/", 1);
  registry_.AwaitCount("old/", 1);
  std::filesystem::remove_all(registry_.locations().state_directory);
  registry_.Kill();
  ASSERT_TRUE(registry_.Start());
  registry_.AwaitCount("old/", 1);
  registry_.AwaitCount("new/", 1);
}

// ---- Watching

TEST_F(LeaseProcessTest, AWatchBeginsWithASnapshotUnlessItsRevisionIsKnown) {
  const auto one = Register(LeaseOf("one"));
  const auto two = Register(LeaseOf("two"));
  const std::uint64_t epoch = registry_.List().epoch;
  struct Case {
    std::uint64_t from, epoch;
    std::string prefix;
    bool snapshot;
    std::vector<std::string> names;
  };
  for (const Case& c : std::vector<Case>{
           {one.revision, epoch, "", false, {"two"}},
           {one.revision - 1, epoch, "t", false, {"two"}},
           {one.revision, epoch + 1, "one/", true, {"one"}},
           {two.revision + 100, epoch, "two/0", true, {"two"}},
           {0, 0, "nobody/", true, {}},
       }) {
    msg::WatchRequestT request;
    request.prefix = c.prefix;
    request.from_revision = c.from;
    request.epoch = c.epoch;
    std::vector<std::string> names;
    (void)registry_.client().Stream<Registry::Watch>(request, [&](const msg::WatchReplyT& part) {
      EXPECT_EQ(part.snapshot, c.snapshot);
      EXPECT_EQ(part.epoch, epoch);
      EXPECT_EQ(part.revision, two.revision);
      for (const auto& event : part.events) names.push_back(event->lease->name);
      return false;
    });
    EXPECT_EQ(names, c.names) << c.prefix;
  }
}

TEST_F(LeaseProcessTest, AWatcherThatIsTooSlowGetsAnotherSnapshotAndThenTheChanges) {
  // Several buffers hold messages that were sent but not read; this is more than they and the
  // registry keep together.
  constexpr std::uint64_t kChanges = 4000;
  const auto big = [](std::uint64_t nonce) {
    auto request = LeaseOf("big", "0", 600'000, nonce);
    AddLabels(60, 250, request.lease.get());
    return request;
  };
  Register(big(1));
  const auto writer_node = registry_.MakeNode();
  bus::Client writer(writer_node.get());
  int snapshots = 0;
  std::uint64_t last = 0, nonce = 0;
  const absl::Status end =
      registry_.client()
          .Stream<Registry::Watch>(
              [] {
                msg::WatchRequestT request;
                request.prefix = "big/";
                return request;
              }(),
              [&](const msg::WatchReplyT& part) {
                if (part.snapshot && ++snapshots == 1) {
                  // Read nothing during many changes.
                  for (std::uint64_t i = 2; i <= kChanges; ++i) {
                    EXPECT_EQ(writer.Call<Registry::Register>(big(i)).status(), absl::OkStatus());
                  }
                }
                EXPECT_GE(part.revision, last);
                for (const auto& event : part.events) {
                  if (!part.snapshot) {
                    EXPECT_GT(event->revision, last);
                  }
                  last = event->revision;
                  if (event->lease->state == msg::LeaseState::Up) nonce = event->lease->nonce;
                }
                last = part.revision;
                return nonce != kChanges;
              },
              {.timeout = absl::Minutes(2)})
          .status();
  EXPECT_EQ(nonce, kChanges) << end;
  EXPECT_EQ(snapshots, 2);
}

// ---- Names

TEST_F(LeaseProcessTest, ControlCharactersReachNeitherTheAnswerNorTheLog) {
  for (const std::string name : {"\x1b]0;title\x07", "a\nb", "\xc2\x9b[31m"}) {
    for (const bool as_name : {true, false}) {
      const auto reply = registry_.client().Call<Registry::Register>(
          as_name ? LeaseOf(name) : LeaseOf("worker", name));
      EXPECT_EQ(reply.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(reply.status().message()), HasSubstr("control characters"));
      EXPECT_EQ(reply.status().message().find_first_of("\x1b\x07\n\xc2"), std::string::npos);
    }
    msg::LookupRequestT lookup;
    lookup.name = name;
    const auto found = registry_.client().Call<Registry::Lookup>(lookup);
    ASSERT_EQ(found.status(), absl::OkStatus());
    EXPECT_TRUE(found->leases.empty());
  }
  EXPECT_EQ(registry_.List().leases.size(), 1u);
  EXPECT_EQ(registry_.Errors().find_first_of("\x1b\x07\xc2"), std::string::npos);
}

// ---- Many leases

class ManyLeasesTest : public LeaseProcessTest {
 protected:
  static constexpr std::uint64_t kMany = 9'999;  // And the registry's own.

  void SetUp() override {
    LeaseProcessTest::SetUp();
    const absl::Time start = absl::Now();
    runtime::Mutex mutex;
    runtime::CondVar changed;
    std::uint64_t under_way = 0, registered = 0;
    for (std::uint64_t i = 0; i < kMany; ++i) {
      runtime::MutexLock lock(mutex);
      while (under_way >= 200) changed.Wait(mutex);
      ++under_way;
      auto request = LeaseOf("worker", absl::StrCat(i), 600'000);
      AddLabels(4, 100, request.lease.get());
      registry_.client().Start<Registry::Register>(
          request, nullptr,
          [&](const absl::StatusOr<msg::RegisterReplyT>& reply) {
            EXPECT_EQ(reply.status(), absl::OkStatus());
            runtime::MutexLock done(mutex);
            --under_way;
            ++registered;
            changed.SignalAll();
          },
          {.timeout = kLong});
    }
    runtime::MutexLock lock(mutex);
    while (registered < kMany) changed.Wait(mutex);
    std::cout << kMany << " registrations took " << absl::Now() - start << "\n";
  }
  std::uint64_t Received(std::string_view what) {
    for (const bus::CounterValue& counter : registry_.node().counters().List()) {
      if (counter.name == what) return counter.value;
    }
    ADD_FAILURE() << what;
    return 0;
  }
};

TEST_F(ManyLeasesTest, NamesAndStatesTakeFewMessages) {
  msg::ListRequestT request;
  request.brief = true;
  const std::uint64_t messages = Received("bus.messages_received");
  const std::uint64_t bytes = Received("bus.bytes_received");
  const absl::Time start = absl::Now();
  const auto list = registry_.client().Call<Registry::List>(request, {.timeout = kLong});
  std::cout << "names and states of " << kMany + 1 << " took " << absl::Now() - start << ", "
            << Received("bus.bytes_received") - bytes << " bytes\n";
  ASSERT_EQ(list.status(), absl::OkStatus());
  ASSERT_EQ(list->leases.size(), kMany + 1);
  EXPECT_FALSE(list->more);
  for (const auto& lease : list->leases) {
    ASSERT_TRUE(lease->labels.empty());
    ASSERT_NE(lease->id, 0u);
    ASSERT_FALSE(lease->name.empty() || lease->instance.empty());
    ASSERT_EQ(lease->state, msg::LeaseState::Up);
  }
  EXPECT_LE(Received("bus.messages_received") - messages, 10u);
  EXPECT_LE(Received("bus.bytes_received") - bytes, (kMany + 1) * 100);
}

TEST_F(ManyLeasesTest, LabelsComeInPages) {
  msg::ListRequestT request;
  request.limit = 1000;
  std::set<std::string> instances;
  for (int page = 1; page <= 10; ++page) {
    const auto list = registry_.client().Call<Registry::List>(request, {.timeout = kLong});
    ASSERT_EQ(list.status(), absl::OkStatus());
    ASSERT_EQ(list->leases.size(), 1000u);
    EXPECT_EQ(list->more, page < 10);
    for (const auto& lease : list->leases) {
      EXPECT_GT(lease->id, request.after);
      request.after = lease->id;
      if (lease->name != "worker") continue;
      EXPECT_EQ(lease->labels.size(), 4u);
      instances.insert(lease->instance);
    }
  }
  EXPECT_EQ(instances.size(), kMany);
  msg::LookupRequestT lookup;
  lookup.name = "worker";
  lookup.instance = "777";
  const auto found = registry_.client().Call<Registry::Lookup>(lookup);
  ASSERT_EQ(found.status(), absl::OkStatus());
  ASSERT_EQ(found->leases.size(), 1u);
  EXPECT_EQ(found->leases[0]->instance, "777");
  EXPECT_EQ(registry_.client().Call<Registry::Register>(LeaseOf("over")).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(ManyLeasesTest, AWatchBeginsWithAllOfThemInSeveralParts) {
  const auto now = registry_.List("registry/");
  std::size_t parts = 0, snapshots = 0;
  std::set<std::uint64_t> ids;
  (void)registry_.client().Stream<Registry::Watch>(
      {},
      [&](const msg::WatchReplyT& part) {
        ++parts;
        snapshots += part.snapshot ? 1 : 0;
        for (const auto& event : part.events) ids.insert(event->lease->id);
        const bool all = part.revision != 0;
        EXPECT_TRUE(!all || part.revision == now.revision);
        return !all;
      },
      {.timeout = kLong});
  EXPECT_EQ(ids.size(), kMany + 1);
  EXPECT_GT(parts, 10u);
  EXPECT_EQ(snapshots, 1u) << "what follows the first adds to it";
}

}  // namespace
}  // namespace registry
