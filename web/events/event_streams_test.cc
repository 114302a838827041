#include "web/events/event_streams.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "web/http/message.h"

namespace web {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Slow = EventStreams::Slow;

// A client that reads everything at once, unless it is stuck.
class FakeReply : public Reply {
 public:
  void Send(Response response) override { status = response.status; }
  void Begin(Response head) override {
    status = head.status;
    type = head.type;
  }
  void Write(std::string part) override {
    text += part;
    if (stuck) waiting += part.size();
  }
  void End() override {}
  std::size_t Waiting() const override { return waiting; }
  bool IsGone() const override { return gone; }
  void OnProgress(std::function<void()> progress) override { on_progress = std::move(progress); }

  std::string Take() { return std::exchange(text, ""); }
  void Leave() {
    gone = true;
    on_progress();
  }
  void ReadOn() {
    stuck = false;
    waiting = 0;
    on_progress();
  }

  std::string text, type;
  int status = 0;
  bool stuck = false, gone = false;
  std::size_t waiting = 0;
  std::function<void()> on_progress;
};

class EventStreamsTest : public testing::Test {
 protected:
  EventStreamsTest() { Make({}); }

  void Make(EventStreams::Options options) {
    options.loop = loop_.get();
    options.epoch = "b91c";
    options.on_wanted = [this](const std::string& topic) { asked_.push_back("+" + topic); };
    options.on_unwanted = [this](const std::string& topic) { asked_.push_back("-" + topic); };
    streams_ = std::make_unique<EventStreams>(std::move(options));
  }
  std::shared_ptr<FakeReply> Open(std::vector<std::string> topics, const std::string& id = "") {
    auto reply = std::make_shared<FakeReply>();
    streams_->Open(std::move(topics), id, reply);
    return reply;
  }
  // Runs posted functions and due timers, once.
  void RunLoop() {
    loop_->Post([this] { loop_->Stop(); });
    loop_->Run();
  }

  runtime::FakeClock clock_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  std::vector<std::string> asked_;
  std::unique_ptr<EventStreams> streams_;
};

TEST_F(EventStreamsTest, AStreamHasTheTopicsThatItNames) {
  const auto reply = Open({"yard", "run:a"});
  EXPECT_EQ(reply->type, "text/event-stream");
  EXPECT_EQ(reply->Take(), "retry: 1500\n\n");
  EXPECT_THAT(asked_, ElementsAre("+run:a", "+yard"));
  streams_->Publish("run:a", "points", {{"n", 3}});
  streams_->Publish("run:b", "points", {{"n", 4}});
  streams_->Publish("yard", "trial", {{"id", "t-1"}});
  EXPECT_EQ(reply->Take(),
            "id: b91c-1\nevent: points\ndata: {\"n\":3}\n\n"
            "id: b91c-2\nevent: trial\ndata: {\"id\":\"t-1\"}\n\n");
}

TEST_F(EventStreamsTest, ABrowserGoesOnWhereItWas) {
  const auto first = Open({"run:a"});
  for (int i = 0; i < 4; ++i) streams_->Publish("run:a", "points", i);
  const auto second = Open({"run:a"}, "b91c-2");
  EXPECT_THAT(second->Take(), AllOf(HasSubstr("id: b91c-3\n"), HasSubstr("id: b91c-4\n"),
                                    Not(HasSubstr("id: b91c-2\n")), Not(HasSubstr("resync"))));
  EXPECT_EQ(Open({"run:a"}, "b91c-4")->Take(), "retry: 1500\n\n") << "it has missed nothing";
}

TEST_F(EventStreamsTest, WhatCannotBeMadeUpForIsReadAnew) {
  const auto first = Open({"run:a"});
  const std::string resync = "event: resync\ndata: {\"topics\":[\"run:a\"]}\n\n";
  for (const char* id : {"other-1", "b91c-9", "b91c", "nonsense"}) {
    EXPECT_THAT(Open({"run:a"}, id)->Take(), HasSubstr("id: b91c-0\n" + resync)) << id;
  }
  for (std::size_t i = 0; i < kKeptEvents + 2; ++i) streams_->Publish("run:a", "points", 0);
  EXPECT_THAT(Open({"run:a"}, "b91c-1")->Take(), HasSubstr(resync));
  EXPECT_THAT(Open({"run:a"}, "b91c-2")->Take(), Not(HasSubstr("resync")));
}

TEST_F(EventStreamsTest, ATopicThatNobodyFollowedMeanwhileIsReadAnew) {
  const auto first = Open({"yard"});
  streams_->Publish("yard", "trial", 1);
  streams_->Publish("yard", "trial", 2);
  const auto second = Open({"yard", "run:a"}, "b91c-1");
  EXPECT_THAT(second->Take(), AllOf(HasSubstr("id: b91c-2\nevent: trial"),
                                    HasSubstr("event: resync\ndata: {\"topics\":[\"run:a\"]}")));
}

TEST_F(EventStreamsTest, ASlowReaderLosesCurvesAndIsTold) {
  const auto reply = Open({"run:a"});
  reply->stuck = true;
  reply->waiting = kSlowBytes + 1;
  reply->Take();
  streams_->Publish("run:a", "points", 1, Slow::kDrop);
  streams_->Publish("run:a", "state", 2, Slow::kKeep);
  EXPECT_THAT(reply->Take(), AllOf(Not(HasSubstr("points")), HasSubstr("event: state")));
  reply->ReadOn();
  RunLoop();
  EXPECT_EQ(reply->Take(), "id: b91c-2\nevent: resync\ndata: {\"topics\":[\"run:a\"]}\n\n");
  streams_->Publish("run:a", "points", 3, Slow::kDrop);
  EXPECT_THAT(reply->Take(), HasSubstr("id: b91c-3\nevent: points"));
  EXPECT_EQ(streams_->GetStats().dropped, 1U);
}

TEST_F(EventStreamsTest, WhoReadsNothingIsClosed) {
  auto reply = Open({"run:a"});
  reply->waiting = kTooSlowBytes + 1;
  const std::weak_ptr<FakeReply> weak = reply;
  reply.reset();
  streams_->Publish("run:a", "state", 1);
  EXPECT_TRUE(weak.expired()) << "a reply without an owner closes its connection";
  EXPECT_EQ(streams_->GetStats().streams, 0U);
}

TEST_F(EventStreamsTest, ATopicIsKeptForAMomentAfterItsLastReader) {
  const auto reply = Open({"run:a"});
  reply->Leave();
  loop_->RunAfter(absl::Seconds(59), [&] {
    EXPECT_THAT(asked_, ElementsAre("+run:a"));
    clock_.Advance(absl::Seconds(2));
  });
  loop_->RunAfter(absl::Seconds(61), [&] { loop_->Stop(); });
  loop_->Post([&] { loop_->Post([&] { clock_.Advance(absl::Seconds(59)); }); });
  loop_->Run();
  EXPECT_THAT(asked_, ElementsAre("+run:a", "-run:a"));
  EXPECT_EQ(streams_->GetStats().streams, 0U);
}

TEST_F(EventStreamsTest, AGapIsToldToThoseWhoFollowTheTopic) {
  const auto a = Open({"run:a"}), b = Open({"run:b"});
  a->Take(), b->Take();
  streams_->TellGap("run:a");
  EXPECT_EQ(a->Take(), "id: b91c-1\nevent: resync\ndata: {\"topics\":[\"run:a\"]}\n\n");
  EXPECT_THAT(b->Take(), IsEmpty());
}

TEST_F(EventStreamsTest, MoreStreamsThanTheLimitAreRefused) {
  Make({.max_streams = 1});
  const auto first = Open({"yard"});
  EXPECT_EQ(Open({"yard"})->status, 429);
}

TEST_F(EventStreamsTest, NamesCannotEndAnEvent) {
  const auto reply = Open({"run:a"});
  reply->Take();
  streams_->Publish("run:a", "points", {{"tag", "a\n\nevent: stop\xFF"}});
  EXPECT_EQ(reply->Take(),
            "id: b91c-1\nevent: points\ndata: {\"tag\":\"a\\n\\nevent: stop\xEF\xBF\xBD\"}\n\n");
}

}  // namespace
}  // namespace web
