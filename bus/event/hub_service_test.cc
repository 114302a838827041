// Tests the hub's methods in the registry, called through a Client.

#include "bus/event/hub_service.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "bus/event/subscriber.h"
#include "bus/event/users_events.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "runtime/thread_pool.h"

namespace bus {
namespace {

using rpc::Registry;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Seconds(30);

std::vector<std::uint8_t> Bytes(std::string_view text) { return {text.begin(), text.end()}; }

// Returns a message that carries a row of a trial.
std::vector<std::uint8_t> RowMessage(std::uint64_t row) {
  msg::TrialEventT body;
  body.row = std::make_unique<msg::ResultRowT>();
  body.row->row = row;
  msg::EnvelopeT envelope;
  envelope.body.Set(std::move(body));
  envelope.trace = "somebody else's";
  return Bytes(Encode(envelope).text());
}

std::unique_ptr<msg::NewEventT> EventOn(const std::string& topic, std::string_view payload) {
  auto event = std::make_unique<msg::NewEventT>();
  event->topic = topic;
  event->payload = Bytes(payload);
  event->payload_type = "text/plain";
  return event;
}

msg::PublishRequestT RequestOn(const std::string& topic, std::string_view payload = "x") {
  msg::PublishRequestT request;
  request.topic = topic;
  request.payload = Bytes(payload);
  request.payload_type = "text/plain";
  return request;
}

class HubServiceTest : public ::testing::Test {
 protected:
  HubServiceTest() {
    auto hub = Hub::Create(server_.get(), Hub::DefaultAddresses(yard_.locations()));
    EXPECT_EQ(hub.status(), absl::OkStatus());
    hub_ = *std::move(hub);
    service_ = std::make_unique<Service>(
        server_.get(),
        Service::Options{
            .name = "registry", .endpoint = yard_.Address("registry"), .pool = pool_.get()});
    AddHubMethods(service_.get(), hub_.get(), server_->clock());
    EXPECT_EQ(service_->Start(), absl::OkStatus());
  }
  ~HubServiceTest() override {
    (void)coordinator_.RequestStop();
    service_.reset();
  }

  absl::StatusOr<msg::PublishReplyT> Publish(const msg::PublishRequestT& request,
                                             const CallOptions& options = {}) {
    return client_.Call<Registry::Publish>(request, options);
  }
  // Records each received event as "TOPIC PAYLOAD" or "TOPIC row N".
  Subscriber::Options Hears(const std::string& prefix) {
    return {.prefixes = {prefix}, .on_event = [this](auto topic, const msg::Envelope& event) {
              runtime::MutexLock lock(mutex_);
              heard_.push_back(Line(topic, event));
              changed_.SignalAll();
            }};
  }
  static std::string Line(std::string_view topic, const msg::Envelope& event) {
    if (const auto* const body = event.body_as_TrialEvent(); body != nullptr) {
      return absl::StrCat(std::string(topic), " row ", body->row()->row());
    }
    const auto* const payload = event.payload();
    return std::string(topic) + " " +
           (payload == nullptr ? "" : std::string(payload->begin(), payload->end()));
  }
  std::vector<std::string> Heard(std::size_t count) {
    const absl::Time deadline = absl::Now() + kLong;
    runtime::MutexLock lock(mutex_);
    while (heard_.size() < count && absl::Now() < deadline) {
      changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
    }
    return heard_;
  }
  msg::TopicsReplyT Topics(const msg::TopicsRequestT& request) {
    auto reply = client_.Call<Registry::Topics>(request);
    EXPECT_EQ(reply.status(), absl::OkStatus());
    return reply.ok() ? *std::move(reply) : msg::TopicsReplyT();
  }
  // Uses the order in which the hub received them. (Processes' own events use another socket.)
  std::vector<std::string> TopicNames(const std::string& prefix, const std::string& after,
                                      std::uint32_t limit, bool* more) {
    msg::TopicsRequestT request;
    request.prefix = prefix;
    request.after = after;
    request.limit = limit;
    const msg::TopicsReplyT reply = Topics(request);
    *more = reply.more;
    std::vector<std::string> names;
    for (const auto& topic : reply.topics) names.push_back(topic->topic);
    return names;
  }

  TestYard yard_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_ =
      runtime::ThreadPool::Create(&coordinator_, {.threads = 1});
  std::unique_ptr<Node> server_ = yard_.MakeNode("registry");
  std::unique_ptr<Node> node_ = yard_.MakeNode("test");
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Service> service_;
  Client client_{node_.get()};

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<std::string> heard_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(HubServiceTest, SeveralEventsArePublishedInTheirOrder) {
  Subscriber subscriber(node_.get(), Hears("e/"));
  ASSERT_EQ(subscriber.WaitUntilConnected(kLong), absl::OkStatus());
  msg::PublishRequestT request;
  request.events.push_back(EventOn("e/a/", "1"));
  request.events.push_back(EventOn("e/b/", "2"));
  request.events.push_back(EventOn("e/a/", "3"));
  const auto reply = Publish(request);
  ASSERT_EQ(reply.status(), absl::OkStatus());
  EXPECT_THAT(reply->seqs, ElementsAre(1, 1, 2));
  EXPECT_EQ(reply->seq, 2u);
  EXPECT_EQ(reply->subscribers, 1u);
  EXPECT_THAT(Heard(3), ElementsAre("e/a/ 1", "e/b/ 2", "e/a/ 3"));
}

TEST_F(HubServiceTest, OneBadEventOfSeveralMeansNone) {
  msg::PublishRequestT request;
  request.events.push_back(EventOn("e/a/", "1"));
  request.events.push_back(EventOn("t/a/", "2"));
  const auto reply = Publish(request);
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr("event 2: "));
  bool more = false;
  EXPECT_THAT(TopicNames("", "", 0, &more), IsEmpty());
}

TEST_F(HubServiceTest, ATypedEventKeepsItsBodyAndNothingElse) {
  Subscriber subscriber(node_.get(), Hears("e/"));
  ASSERT_EQ(subscriber.WaitUntilConnected(kLong), absl::OkStatus());
  msg::PublishRequestT request;
  request.topic = "e/a/";
  request.envelope = RowMessage(7);
  ASSERT_EQ(Publish(request).status(), absl::OkStatus());
  EXPECT_THAT(Heard(1), ElementsAre("e/a/ row 7"));
  const auto last = client_.Call<Registry::LastEvents>({});
  ASSERT_EQ(last.status(), absl::OkStatus());
  ASSERT_THAT(last->events, SizeIs(1));
  const auto event = Receive(last->events[0]->envelope, kMaxMessageBytes);
  ASSERT_EQ(event.status(), absl::OkStatus());
  EXPECT_EQ(Line(last->events[0]->topic, **event), "e/a/ row 7");
  EXPECT_NE((*event)->trace()->str(), "somebody else's");
}

TEST_F(HubServiceTest, WaitsForSubscribersAndHoldsNoThread) {
  msg::PublishRequestT waiting = RequestOn("e/a/", "for two");
  waiting.min_subscribers = 2;
  absl::StatusOr<msg::PublishReplyT> reply = absl::UnknownError("not ended");
  Subscriber first(node_.get(), Hears("e/"));
  ASSERT_EQ(first.WaitUntilConnected(kLong), absl::OkStatus());
  runtime::Thread publisher("publisher", [&] { reply = Publish(waiting, {.timeout = kLong}); });
  // The pool has one thread; a waiting Publish must not occupy it, so another event gets through.
  ASSERT_EQ(Publish(RequestOn("e/b/", "at once"), {.timeout = kLong}).status(), absl::OkStatus());
  EXPECT_THAT(Heard(1), ElementsAre("e/b/ at once"));
  Subscriber second(node_.get(), {.prefixes = {"e/a/"}, .on_event = [](auto, auto&) {}});
  ASSERT_EQ(second.WaitUntilConnected(kLong), absl::OkStatus());
  publisher.Join();
  ASSERT_EQ(reply.status(), absl::OkStatus());
  EXPECT_EQ(reply->subscribers, 2u);
  EXPECT_THAT(Heard(2), ElementsAre("e/b/ at once", "e/a/ for two"));
}

TEST_F(HubServiceTest, WhoWaitsInVainHearsHowManyThereAreAndNothingIsPublished) {
  Subscriber first(node_.get(), Hears("e/a/"));
  ASSERT_EQ(first.WaitUntilConnected(kLong), absl::OkStatus());
  msg::PublishRequestT request = RequestOn("e/a/");
  request.min_subscribers = 2;
  const auto reply = Publish(request, {.timeout = absl::Seconds(3)});
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr("1 of 2 subscriptions of e/a/"));
  ASSERT_EQ(Publish(RequestOn("e/a/", "next")).status(), absl::OkStatus());
  EXPECT_THAT(Heard(1), ElementsAre("e/a/ next"));
}

TEST_F(HubServiceTest, TellsWhatItHasHeardOfATopic) {
  const std::int64_t begin = absl::ToUnixMicros(absl::Now());
  msg::PublishRequestT typed;
  typed.topic = "e/typed/";
  typed.envelope = RowMessage(1);
  ASSERT_EQ(Publish(typed).status(), absl::OkStatus());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(Publish(RequestOn("e/text/", "four")).status(), absl::OkStatus());
  }
  Subscriber subscriber(node_.get(), Hears("e/text/"));
  ASSERT_EQ(subscriber.WaitUntilConnected(kLong), absl::OkStatus());
  msg::TopicsRequestT request;
  request.prefix = "e/";
  const msg::TopicsReplyT reply = Topics(request);
  ASSERT_THAT(reply.topics, SizeIs(2));
  const msg::TopicInfoT& text = *reply.topics[0];
  EXPECT_EQ(text.topic, "e/text/");
  EXPECT_EQ(text.type, "text/plain");
  EXPECT_TRUE(text.is_payload);
  EXPECT_EQ(text.events, 3u);
  EXPECT_GT(text.bytes, 12u);
  EXPECT_EQ(text.last_seq, 3u);
  EXPECT_EQ(text.subscribers, 1u);
  EXPECT_GE(text.first_us, begin);
  EXPECT_GE(text.last_us, text.first_us);
  EXPECT_LE(text.last_us, absl::ToUnixMicros(absl::Now()));
  EXPECT_EQ(reply.topics[1]->topic, "e/typed/");
  EXPECT_EQ(reply.topics[1]->type, "TrialEvent");
  EXPECT_FALSE(reply.topics[1]->is_payload);
  EXPECT_EQ(reply.topics[1]->subscribers, 0u);
  EXPECT_EQ(reply.epoch, server_->epoch());
  EXPECT_FALSE(reply.more);
}

TEST_F(HubServiceTest, AnExactTopicIsThereAlsoIfNobodyPublishedOnIt) {
  ASSERT_EQ(Publish(RequestOn("e/a/b/")).status(), absl::OkStatus());
  msg::TopicsRequestT request;
  request.exact = true;
  request.prefix = "e/a/";
  const msg::TopicsReplyT none = Topics(request);
  ASSERT_THAT(none.topics, SizeIs(1));
  EXPECT_EQ(none.topics[0]->topic, "e/a/");
  EXPECT_EQ(none.topics[0]->events, 0u);
  request.prefix = "e/a/b/";
  EXPECT_EQ(Topics(request).topics[0]->events, 1u);
  request.prefix = "no topic";
  EXPECT_EQ(client_.Call<Registry::Topics>(request).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(HubServiceTest, TopicsComeInPages) {
  msg::PublishRequestT request;
  for (const char* topic : {"e/c/", "e/a/", "e/b/"}) {
    request.events.push_back(EventOn(topic, "x"));
  }
  ASSERT_EQ(Publish(request).status(), absl::OkStatus());
  bool more = false;
  EXPECT_THAT(TopicNames("e/", "", 2, &more), ElementsAre("e/a/", "e/b/"));
  EXPECT_TRUE(more);
  EXPECT_THAT(TopicNames("e/", "e/b/", 2, &more), ElementsAre("e/c/"));
  EXPECT_FALSE(more);
  EXPECT_THAT(TopicNames("t/", "", 2, &more), IsEmpty());
}

TEST_F(HubServiceTest, LastEventsComeInPagesOverWhatIsNotKept) {
  const std::string large(100 << 10, 'x');  // One such event fills a page.
  for (const char* topic : {"e/a/", "e/b/", "e/c/"}) {
    ASSERT_EQ(Publish(RequestOn(topic, "old")).status(), absl::OkStatus());
    ASSERT_EQ(Publish(RequestOn(topic, large)).status(), absl::OkStatus());
  }
  msg::EnvelopeT too_large;  // Too large for the hub to keep.
  too_large.payload.resize(3 << 20);
  ASSERT_EQ(hub_->Publish("e/b/", std::move(too_large)).status(), absl::OkStatus());
  msg::LastEventsRequestT request;
  request.prefix = "e/";
  std::vector<std::string> topics;
  for (int page = 0; page < 5; ++page) {
    const auto reply = client_.Call<Registry::LastEvents>(request);
    ASSERT_EQ(reply.status(), absl::OkStatus());
    for (const auto& event : reply->events) topics.push_back(event->topic);
    if (!reply->more) break;
    ASSERT_THAT(reply->events, SizeIs(1));
    request.after = reply->events.back()->topic;
  }
  EXPECT_THAT(topics, ElementsAre("e/a/", "e/c/"));
}

// ---- UsersEvents

absl::Status WhyNot(const msg::PublishRequestT& request) {
  return UsersEvents(request, CallContext()).status();
}

TEST(UsersEventsTest, HaveTheCallersTraceAndRequestId) {
  CallContext context;
  context.trace = "trace";
  context.request_id = "id";
  msg::PublishRequestT request = RequestOn("e/a/");
  const auto events = UsersEvents(request, context);
  ASSERT_EQ(events.status(), absl::OkStatus());
  ASSERT_THAT(*events, SizeIs(1));
  EXPECT_EQ(events->front().topic, "e/a/");
  EXPECT_EQ(events->front().event.trace, "trace");
  EXPECT_EQ(events->front().event.request_id, "id");
  EXPECT_EQ(events->front().event.payload_type, "text/plain");
}

TEST(UsersEventsTest, OthersTopicsAreRefused) {
  for (const char* topic : {"t/a/", "$sys/reg/", "$hello/", "l/x/", "m/x/"}) {
    EXPECT_EQ(WhyNot(RequestOn(topic)).code(), absl::StatusCode::kPermissionDenied) << topic;
  }
  for (const char* topic : {"", "e", "e/no end", "e//", "/"}) {
    EXPECT_EQ(WhyNot(RequestOn(topic)).code(), absl::StatusCode::kInvalidArgument) << topic;
  }
}

TEST(UsersEventsTest, AnEventIsOneThing) {
  msg::PublishRequestT both = RequestOn("e/a/");
  both.envelope = RowMessage(1);
  EXPECT_THAT(std::string(WhyNot(both).message()), HasSubstr("a payload and an envelope"));
  msg::PublishRequestT beside = RequestOn("e/a/");
  beside.events.push_back(EventOn("e/b/", "x"));
  EXPECT_THAT(std::string(WhyNot(beside).message()), HasSubstr("a list of events"));
}

TEST(UsersEventsTest, AnEnvelopeIsVerified) {
  const std::vector<std::uint8_t> good = RowMessage(1);
  msg::PublishRequestT request;
  request.topic = "e/a/";
  request.envelope = good;
  EXPECT_EQ(WhyNot(request), absl::OkStatus());
  // No prefix of a valid envelope is valid (except for missing padding).
  for (std::size_t size = 1; size + 8 <= good.size(); ++size) {
    request.envelope.assign(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(WhyNot(request).code(), absl::StatusCode::kInvalidArgument) << size;
  }
  request.envelope = Bytes(Encode(msg::EnvelopeT()).text());
  EXPECT_THAT(std::string(WhyNot(request).message()),
              HasSubstr("envelope: its body is of no type"));
}

}  // namespace
}  // namespace bus
