// Kills the registry while 10,000 events a second pass through its hub, and checks what the
// subscribers of each root have received in the end.

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bus/call/client.h"
#include "bus/call/record_page.h"
#include "bus/call/service.h"
#include "bus/event/publisher.h"
#include "bus/event/subscriber.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/looper_thread.h"
#include "runtime/mutex.h"
#include "runtime/process/subprocess.h"
#include "runtime/thread_pool.h"

namespace registry {
namespace {

constexpr absl::Duration kLong = absl::Seconds(20);

// The owner of one topic; its record is a number of entries.
class Owner {
 public:
  Owner(bus::Node* node, runtime::ThreadPool* pool, const std::string& service, std::string topic)
      : service_(
            node,
            {.name = service, .endpoint = node->locations().ServiceAddress(service), .pool = pool}),
        topic_(std::move(topic)) {
    service_.Handle<rpc::Common::Ends>([this](const auto&, const msg::EndsRequestT& request) {
      bus::EndsPage page(request);
      (void)page.Add(topic_, 0, entries_);
      return page.Take();
    });
    service_.Handle<rpc::Common::Since>([this](const auto&, const msg::SinceRequestT& request) {
      bus::SincePage page;
      const std::uint64_t end = entries_;
      for (std::uint64_t i = request.places[0]->position + 1; i <= end; ++i) {
        if (!page.Add(topic_, msg::Span(0, i - 1, i), Entry(i))) break;
      }
      return page.Take();
    });
    EXPECT_EQ(service_.Start(), absl::OkStatus());
  }
  void Publish(bus::Publisher& publisher) {
    const std::uint64_t entry = ++entries_;
    msg::EnvelopeT event;
    event.body.Set(Entry(entry));
    event.span = std::make_unique<msg::Span>(0, entry - 1, entry);
    EXPECT_EQ(publisher.PublishEnvelope(topic_, std::move(event)), absl::OkStatus());
  }
  std::uint64_t entries() const { return entries_; }
  const std::string& topic() const { return topic_; }

  static msg::TrialEventT Entry(std::uint64_t entry) {
    msg::TrialEventT event;
    event.row = std::make_unique<msg::ResultRowT>();
    event.row->row = entry;
    return event;
  }

 private:
  bus::Service service_;
  const std::string topic_;
  std::atomic<std::uint64_t> entries_{0};
};

// Records the entries of each topic, and the losses reported.
class Ear {
 public:
  Ear(bus::Node* node, bus::Client* client)
      : subscriber_(node, {.prefixes = {"t/", "l/", "m/", "e/"},
                           .client = client,
                           .on_event =
                               [this](std::string_view topic, const msg::Envelope& event) {
                                 runtime::MutexLock lock(mutex_);
                                 heard_[std::string(topic)].push_back(
                                     event.body_as_TrialEvent()->row()->row());
                                 changed_.SignalAll();
                               },
                           .on_lost =
                               [this](std::string_view topic, std::uint64_t lost) {
                                 runtime::MutexLock lock(mutex_);
                                 std::uint64_t& sum = lost_[std::string(topic)];
                                 sum += lost;
                                 unknown_ = unknown_ || lost == 0;
                                 changed_.SignalAll();
                               }}) {}
  bus::Subscriber* operator->() { return &subscriber_; }

  // Waits until the topic has `count` entries, lost ones included, or until a timeout.
  std::vector<std::uint64_t> Heard(const std::string& topic, std::uint64_t count) {
    const absl::Time deadline = absl::Now() + kLong;
    runtime::MutexLock lock(mutex_);
    while (heard_[topic].size() + lost_[topic] < count && absl::Now() < deadline) {
      changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
    }
    return heard_[topic];
  }
  std::uint64_t Lost(const std::string& topic) {
    runtime::MutexLock lock(mutex_);
    return lost_[topic];
  }
  bool lost_unknown() {
    runtime::MutexLock lock(mutex_);
    return unknown_;
  }

 private:
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::map<std::string, std::vector<std::uint64_t>> heard_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t> lost_ ABSL_GUARDED_BY(mutex_);
  bool unknown_ ABSL_GUARDED_BY(mutex_) = false;
  bus::Subscriber subscriber_;
};

class HubRestartTest : public ::testing::Test {
 protected:
  HubRestartTest() {
    char name[] = "/tmp/hub-XXXXXX";
    directory_ = mkdtemp(name);
    locations_ = {.runtime_directory = directory_ + "/yard",
                  .state_directory = directory_ + "/state",
                  .registry_address = "ipc://" + directory_ + "/yard/registry"};
    std::filesystem::create_directory(locations_.runtime_directory);
    std::filesystem::permissions(locations_.runtime_directory, std::filesystem::perms::owner_all);
  }
  ~HubRestartTest() override {
    if (process_ != nullptr) Kill();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::unique_ptr<bus::Node> MakeNode(const std::string& name) {
    auto node = bus::Node::Create({.name = name, .locations = locations_});
    EXPECT_EQ(node.status(), absl::OkStatus());
    return std::move(*node);
  }
  // Starts the registry, and registers the owners in their place.
  void Start(bus::Client& client) {
    const std::string program = runtime::FindBinary("registry/registry").value_or("");
    errors_ = runtime::UniqueFd(
        open((directory_ + "/err").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
    auto process = runtime::Subprocess::Start(
        {.argv = {program},
         .program = program,
         .environment = {"XDG_RUNTIME_DIR=" + directory_, "YARD_STATE=" + directory_ + "/state",
                         "PATH=/usr/bin:/bin"},
         .working_directory = directory_,
         .fds = {{errors_.get(), 2}}});
    ASSERT_EQ(process.status(), absl::OkStatus());
    process_ = std::make_unique<runtime::Subprocess>(std::move(*process));
    for (const std::string service : {"trainer", "launcher", "datamanager"}) {
      msg::RegisterRequestT request;
      request.lease = std::make_unique<msg::LeaseT>();
      request.lease->name = service;
      request.lease->instance = "0";
      request.lease->nonce = 7;
      request.lease->ttl_ms = 60'000;
      request.lease->endpoints = {locations_.ServiceAddress(service)};
      ASSERT_EQ(
          client
              .Call<rpc::Registry::Register>(request, {.timeout = kLong, .wait_for_service = true})
              .status(),
          absl::OkStatus());
    }
  }
  // Returns the number of events that passed through the hub.
  static std::uint64_t Forwarded(bus::Client& client) {
    const auto stats = client.Call<rpc::Common::Stats>({}, {.service = "registry"});
    EXPECT_EQ(stats.status(), absl::OkStatus());
    if (!stats.ok()) return ~std::uint64_t{0};
    for (const auto& counter : stats->counters) {
      if (counter->name == "events_forwarded") return counter->value;
    }
    return ~std::uint64_t{0};
  }
  void Kill() {
    (void)process_->Signal(SIGKILL);
    EXPECT_EQ(process_->Wait(kLong).status(), absl::OkStatus());
    process_.reset();
  }

  std::string directory_;
  runtime::Locations locations_;
  runtime::UniqueFd errors_;
  std::unique_ptr<runtime::Subprocess> process_;
};

TEST_F(HubRestartTest, OwnersTopicsEndCompleteAndUsersEventsCompleteOrTold) {
  constexpr std::uint64_t kEntries = 5000;  // Entries of each of four topics, in two seconds.
  runtime::Coordinator coordinator;
  const auto pool = runtime::ThreadPool::Create(&coordinator, {.threads = 2});
  const auto owners_node = MakeNode("owners");
  const auto ear_node = MakeNode("ear");
  bus::Client owners_client(owners_node.get());
  bus::Client ear_client(ear_node.get());
  Owner trial(owners_node.get(), pool.get(), "trainer", "t/x/");
  Owner lines(owners_node.get(), pool.get(), "launcher", "l/j/w/");
  Owner points(owners_node.get(), pool.get(), "datamanager", "m/r/loss/");
  bus::Publisher publisher(owners_node.get());
  Start(owners_client);
  Ear ear(ear_node.get(), &ear_client);
  ASSERT_EQ(ear->WaitUntilConnected(kLong), absl::OkStatus());

  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::uint64_t published = 0;
  runtime::Coordinator publishing;
  const auto looper = runtime::Loop(&publishing, absl::Milliseconds(1), [&] {
    runtime::MutexLock lock(mutex);
    for (int i = 0; i < 10 && published < 4 * kEntries; ++i, ++published) {
      switch (published % 4) {
        case 0:
          trial.Publish(publisher);
          break;
        case 1:
          lines.Publish(publisher);
          break;
        case 2:
          points.Publish(publisher);
          break;
        default:
          EXPECT_EQ(publisher.Publish("e/x/", Owner::Entry(published / 4 + 1)), absl::OkStatus());
      }
    }
    changed.SignalAll();
  });
  ASSERT_EQ(looper.status(), absl::OkStatus());
  const auto wait_for = [&](std::uint64_t count) {
    runtime::MutexLock lock(mutex);
    while (published < count) changed.Wait(mutex);
  };
  for (const std::uint64_t at : {kEntries, 2 * kEntries}) {
    wait_for(at);
    Kill();
    wait_for(at + kEntries / 4);  // An eighth of a second without a hub.
    Start(owners_client);
  }
  wait_for(4 * kEntries);
  (void)publishing.RequestStop();
  EXPECT_EQ(publishing.Join({}, kLong), absl::OkStatus());

  std::vector<std::uint64_t> all(kEntries);
  for (std::uint64_t i = 0; i < kEntries; ++i) all[i] = i + 1;
  for (const Owner* owner : {&trial, &lines, &points}) {
    const auto heard = ear.Heard(owner->topic(), kEntries);
    EXPECT_EQ(heard.size(), kEntries) << owner->topic();
    EXPECT_TRUE(heard == all) << owner->topic() << ": once each, in order";
    EXPECT_EQ(ear.Lost(owner->topic()), 0u) << owner->topic();
  }
  // The publisher is still alive, so the number is exact.
  const auto heard = ear.Heard("e/x/", kEntries);
  EXPECT_TRUE(std::is_sorted(heard.begin(), heard.end(), std::less_equal<>())) << "e/x/";
  EXPECT_EQ(heard.size() + ear.Lost("e/x/"), kEntries);
  EXPECT_TRUE(ear.lost_unknown()) << "a new hub remembers nothing";
  const auto stats = ear->GetStats();
  RecordProperty("recovered", static_cast<int>(stats.recovered));
  std::printf("recovered %d events in %d calls, lost %d of e/\n", static_cast<int>(stats.recovered),
              static_cast<int>(stats.asked), static_cast<int>(stats.lost));
  (void)coordinator.RequestStop();
}

// Sends much more than all sockets on the path can buffer.
TEST_F(HubRestartTest, AStalledSubscriberOfUsersEventsEndsComplete) {
  constexpr std::uint64_t kEvents = 40'000;
  const auto node = MakeNode("publisher");
  const auto ear_node = MakeNode("ear");
  bus::Client client(node.get());
  bus::Client ear_client(ear_node.get());
  bus::Publisher publisher(node.get());
  Start(client);
  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool released = false;
  std::vector<std::uint64_t> heard;
  std::uint64_t lost = 0;
  bus::Subscriber subscriber(ear_node.get(),
                             {.prefixes = {"e/x/"},
                              .client = &ear_client,
                              .on_event =
                                  [&](std::string_view, const msg::Envelope& event) {
                                    runtime::MutexLock lock(mutex);
                                    while (!released) changed.Wait(mutex);
                                    heard.push_back(event.head()->seq());
                                    changed.SignalAll();
                                  },
                              .on_lost =
                                  [&](std::string_view, std::uint64_t count) {
                                    runtime::MutexLock lock(mutex);
                                    lost += count;
                                  }});
  ASSERT_EQ(subscriber.WaitUntilConnected(kLong), absl::OkStatus());
  for (std::uint64_t i = 1; i <= kEvents; ++i) {
    ASSERT_EQ(publisher.Publish("e/x/", Owner::Entry(i)), absl::OkStatus());
    // Wait until the hub has received all of them.
    while (i % 5000 == 0 && Forwarded(client) < i) {
    }
  }
  runtime::MutexLock lock(mutex);
  released = true;
  changed.SignalAll();
  const absl::Time deadline = absl::Now() + kLong;
  while (heard.size() < kEvents && absl::Now() < deadline) {
    changed.WaitWithTimeout(mutex, deadline - absl::Now());
  }
  ASSERT_EQ(heard.size(), kEvents);
  EXPECT_TRUE(std::is_sorted(heard.begin(), heard.end(), std::less_equal<>()));
  EXPECT_EQ(lost, 0u);
}

// Each publisher is like a program that publishes one event and exits.
TEST_F(HubRestartTest, EventsOfAThousandShortLivedPublishersAllArrive) {
  constexpr std::size_t kPublishers = 1000;
  const auto node = MakeNode("ear");
  bus::Client client(node.get());
  Start(client);
  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::set<std::string> heard;
  bus::Subscriber subscriber(node.get(),
                             {.prefixes = {"e/"},
                              .client = &client,
                              .on_event = [&](std::string_view, const msg::Envelope& event) {
                                runtime::MutexLock lock(mutex);
                                heard.emplace(event.payload()->begin(), event.payload()->end());
                                changed.SignalAll();
                              }});
  ASSERT_EQ(subscriber.WaitUntilConnected(kLong), absl::OkStatus());
  for (std::size_t i = 1; i <= kPublishers; ++i) {
    const auto fresh = MakeNode("pub");
    bus::Client publisher(fresh.get());
    msg::PublishRequestT request;
    request.topic = "e/x/";
    const std::string text = absl::StrCat(i);
    request.payload.assign(text.begin(), text.end());
    const auto reply = publisher.Call<rpc::Registry::Publish>(request);
    ASSERT_EQ(reply.status(), absl::OkStatus());
    EXPECT_EQ(reply->seq, i);
    EXPECT_EQ(reply->subscribers, 1u);
  }
  const absl::Time deadline = absl::Now() + kLong;
  runtime::MutexLock lock(mutex);
  while (heard.size() < kPublishers && absl::Now() < deadline) {
    changed.WaitWithTimeout(mutex, deadline - absl::Now());
  }
  EXPECT_EQ(heard.size(), kPublishers);
}

}  // namespace
}  // namespace registry
