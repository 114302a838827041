// Tests how large answers are split, and that callers receive them complete.

#include "bus/thread/reply_parts.h"

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/method.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/mutex.h"
#include "runtime/thread_pool.h"

namespace bus {
namespace {

using rpc::Datamanager;
using rpc::Registry;
using ::testing::HasSubstr;

msg::ListReplyT Leases(std::size_t n, std::size_t reason_bytes = 0) {
  msg::ListReplyT reply;
  reply.revision = 7;
  for (std::size_t i = 0; i < n; ++i) {
    reply.leases.push_back(std::make_unique<msg::LeaseT>());
    reply.leases.back()->id = i;
    reply.leases.back()->name = std::string(reason_bytes, 'x');
  }
  return reply;
}

msg::ScalarsReplyT Points(std::size_t n) {
  msg::ScalarsReplyT reply;
  reply.run = "r";
  reply.total_points = n;
  for (std::size_t i = 0; i < n; ++i) {
    reply.steps.push_back(static_cast<std::int64_t>(i));
    reply.values.push_back(0.5 * static_cast<double>(i));
    reply.wall_times.push_back(1e9 + static_cast<double>(i));
  }
  return reply;
}

template <typename Reply>
msg::EnvelopeT Enveloped(Reply reply) {
  msg::EnvelopeT envelope;
  envelope.body.Set(std::move(reply));
  return envelope;
}

void ExpectIds(const std::vector<std::unique_ptr<msg::LeaseT>>& leases, std::size_t n) {
  ASSERT_EQ(leases.size(), n);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(leases[i]->id, i);
}

std::unique_ptr<msg::EnvelopeT> Unpacked(const Frame& frame) {
  const auto received = Receive(frame.bytes(), kMaxMessageBytes);
  EXPECT_EQ(received.status(), absl::OkStatus());
  return std::unique_ptr<msg::EnvelopeT>((*received)->UnPack());
}

// Merges the frames like a caller.
absl::StatusOr<msg::EnvelopeT> Merged(const ReplyFrames& frames) {
  ReplyMerge merge;
  for (const Frame& frame : frames.parts) {
    const auto part = Unpacked(frame);
    EXPECT_EQ(part->kind, msg::Kind::ReplyPart);
    EXPECT_EQ(part->corr, 3u);
    const absl::Status added = merge.Add(std::move(part->body), frame.size());
    if (!added.ok()) return added;
  }
  const auto reply = Unpacked(frames.reply);
  EXPECT_EQ(reply->kind, msg::Kind::Reply);
  const absl::Status finished = merge.Finish(reply->body, frames.reply.size());
  if (!finished.ok()) return finished;
  return std::move(*reply);
}

TEST(ReplyPartsTest, ASmallAnswerIsOneMessage) {
  msg::EnvelopeT reply = Enveloped(Leases(1900));
  const auto frames = EncodeReply(reply, 3, true, "List");
  ASSERT_EQ(frames.status(), absl::OkStatus());
  EXPECT_TRUE(frames->parts.empty());
  ExpectIds(Merged(*frames)->body.AsListReply()->leases, 1900);
}

TEST(ReplyPartsTest, ManyTablesAreCutAndPutTogether) {
  msg::EnvelopeT reply = Enveloped(Leases(20'000));
  const auto frames = EncodeReply(reply, 3, true, "List");
  ASSERT_EQ(frames.status(), absl::OkStatus());
  EXPECT_GE(frames->parts.size(), 10u);
  EXPECT_LE(frames->parts.size(), 24u);
  for (const Frame& part : frames->parts) {
    EXPECT_LE(part.size(), kMaxPartBytes);
    EXPECT_LT(Unpacked(part)->body.AsListReply()->leases.size(), kMaxPartTables);
    EXPECT_EQ(Unpacked(part)->body.AsListReply()->revision, 0u) << "belongs into the last one";
  }
  const auto merged = Merged(*frames);
  ASSERT_EQ(merged.status(), absl::OkStatus());
  ExpectIds(merged->body.AsListReply()->leases, 20'000);
  EXPECT_EQ(merged->body.AsListReply()->revision, 7u);
}

TEST(ReplyPartsTest, ListsOfOneLengthAreCutAtTheSamePlaces) {
  msg::EnvelopeT reply = Enveloped(Points(100'000));
  const auto frames = EncodeReply(reply, 3, true, "Scalars");
  ASSERT_EQ(frames.status(), absl::OkStatus());
  EXPECT_GE(frames->parts.size(), 9u);
  for (const Frame& part : frames->parts) {
    const auto unpacked = Unpacked(part);
    const auto* const points = unpacked->body.AsScalarsReply();
    EXPECT_LE(part.size(), kMaxPartBytes);
    EXPECT_EQ(points->steps.size(), points->values.size());
    EXPECT_EQ(points->steps.size(), points->wall_times.size());
    EXPECT_TRUE(points->mins.empty());
  }
  const auto merged = Merged(*frames);
  ASSERT_EQ(merged.status(), absl::OkStatus());
  EXPECT_EQ(merged->body.AsScalarsReply()->steps, Points(100'000).steps);
  EXPECT_EQ(merged->body.AsScalarsReply()->values, Points(100'000).values);
  EXPECT_EQ(merged->body.AsScalarsReply()->run, "r");
}

TEST(ReplyPartsTest, ListsOfAnyLengthsComeTogetherAgain) {
  std::mt19937 random(1);
  for (int round = 0; round < 30; ++round) {
    msg::ScalarsReplyT points;
    points.steps.resize(random() % 200'000);
    for (auto& step : points.steps) step = static_cast<std::int64_t>(random());
    points.counts.resize(random() % 2 == 0 ? random() % 200'000 : random() % 10);
    for (auto& count : points.counts) count = static_cast<std::uint32_t>(random());
    msg::EnvelopeT reply = Enveloped(points);
    const auto frames = EncodeReply(reply, 3, true, "Scalars");
    ASSERT_EQ(frames.status(), absl::OkStatus());
    for (const Frame& part : frames->parts) EXPECT_LE(part.size(), kMaxPartBytes);
    const auto merged = Merged(*frames);
    ASSERT_EQ(merged.status(), absl::OkStatus());
    EXPECT_EQ(merged->body.AsScalarsReply()->steps, points.steps);
    EXPECT_EQ(merged->body.AsScalarsReply()->counts, points.counts);
  }
}

TEST(ReplyPartsTest, OneHugeEntryAmongSmallOnesIsAPartOfItsOwn) {
  msg::ListReplyT leases = Leases(1000, 1000);
  leases.leases[17]->name = std::string(3 << 20, 'y');
  msg::EnvelopeT reply = Enveloped(std::move(leases));
  const auto frames = EncodeReply(reply, 3, true, "List");
  ASSERT_EQ(frames.status(), absl::OkStatus());
  int large = 0;
  for (const Frame& part : frames->parts) {
    if (part.size() <= kMaxPartBytes) continue;
    ++large;
    EXPECT_EQ(Unpacked(part)->body.AsListReply()->leases.size(), 1u);
  }
  EXPECT_EQ(large, 1);
  ExpectIds(Merged(*frames)->body.AsListReply()->leases, 1000);
}

TEST(ReplyPartsTest, WhatNoCuttingHelpsIsRefusedWithAdvice) {
  msg::EnvelopeT too_many = Enveloped(Points(kMaxAnswerEntries + 1));
  msg::EnvelopeT too_long = Enveloped(Leases(70, 1 << 20));
  msg::EnvelopeT entry = Enveloped(Leases(1, kMaxMessageBytes));
  for (msg::EnvelopeT* reply : {&too_many, &too_long, &entry}) {
    const absl::Status status = EncodeReply(*reply, 3, true, "Ask").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()), HasSubstr("answer of Ask"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("ask for less"));
  }
  msg::EnvelopeT most = Enveloped(Points(kMaxAnswerEntries));
  EXPECT_EQ(EncodeReply(most, 3, true, "Ask").status(), absl::OkStatus());
}

TEST(ReplyPartsTest, AMergeHasTheSameLimits) {
  ReplyMerge bytes;
  EXPECT_EQ(bytes.Add(Enveloped(Leases(1)).body, kMaxAnswerBytes), absl::OkStatus());
  EXPECT_EQ(bytes.Add(Enveloped(Leases(1)).body, 1).code(), absl::StatusCode::kResourceExhausted);
  ReplyMerge entries;
  EXPECT_EQ(entries.Add(Enveloped(Points(kMaxAnswerEntries)).body, 1), absl::OkStatus());
  msg::EnvelopeT last = Enveloped(Points(1));
  EXPECT_EQ(entries.Finish(last.body, 1).code(), absl::StatusCode::kResourceExhausted);
}

TEST(ReplyPartsTest, PartsOfDifferentTypesAreAnError) {
  ReplyMerge merge;
  EXPECT_EQ(merge.Add(Enveloped(Leases(1)).body, 1), absl::OkStatus());
  EXPECT_EQ(merge.Add(Enveloped(Points(1)).body, 1).code(), absl::StatusCode::kInternal);
  msg::BodyUnion without_table;
  without_table.type = msg::Body::ListReply;
  EXPECT_EQ(merge.Finish(without_table, 1).code(), absl::StatusCode::kInternal);
}

class LargeAnswerTest : public ::testing::Test {
 protected:
  LargeAnswerTest() {
    service_.Handle<Registry::List>(
        [](const CallContext&, const msg::ListRequestT&) { return Leases(20'000); });
    service_.AddMethod(kLarge, msg::Body::WatchRequest,
                       [this](std::shared_ptr<Responder> responder, const msg::EnvelopeT&) {
                         AnswerWithFiftyMebibytes(*responder);
                       });
    service_.Handle<Datamanager::Scalars>(
        [](const CallContext&, const msg::ScalarsRequestT&) { return Points(100'000); });
    service_.AddMethod(kRemembered, msg::Body::LookupRequest,
                       [this](std::shared_ptr<Responder> responder, const msg::EnvelopeT&) {
                         ++lookups_;
                         responder->Finish(Enveloped(Leases(20'000)));
                       });
    EXPECT_EQ(service_.Start(), absl::OkStatus());
  }
  ~LargeAnswerTest() override {
    (void)coordinator_.RequestStop();
    service_.Stop();
  }
  zmq::socket_t Connect(zmq::socket_type type, int receive_limit = 1000) {
    zmq::socket_t socket(context_, type);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, 20'000);
    socket.set(zmq::sockopt::rcvhwm, receive_limit);
    socket.connect(yard_.Address("registry"));
    return socket;
  }
  void AnswerWithFiftyMebibytes(Responder& responder) {
    responder.Finish(Enveloped(Leases(200, 1 << 18)));
    runtime::MutexLock lock(mutex_);
    ++answered_;
    changed_.Signal();
  }
  bool WaitUntilAnswered(int times) {
    runtime::MutexLock lock(mutex_);
    while (answered_ < times) {
      if (!changed_.WaitWithTimeout(mutex_, absl::Seconds(30))) return false;
    }
    return true;
  }
  template <typename Request>
  static void Send(zmq::socket_t& socket, const std::string& method, Request body,
                   std::uint64_t corr = 3) {
    msg::EnvelopeT request = Enveloped(std::move(body));
    request.kind = msg::Kind::Request;
    request.corr = corr;
    request.method = method;
    socket.send(zmq::buffer(std::string(Encode(request).text())), zmq::send_flags::none);
  }
  static std::unique_ptr<msg::EnvelopeT> Answer(zmq::socket_t& socket) {
    zmq::message_t message;
    if (!socket.recv(message).has_value()) return nullptr;
    return Unpacked(Frame(message.to_string_view()));
  }

  static inline const MethodInfo kRemembered = {"registry",           "Lookup",
                                                Role::kPublish,       Idempotency::kRemembered,
                                                absl::Seconds(5),     /*streaming=*/false,
                                                /*runs_inline=*/false};
  static inline const MethodInfo kLarge = {"registry",           "Large",
                                           Role::kRead,          Idempotency::kSafe,
                                           absl::Seconds(5),     /*streaming=*/false,
                                           /*runs_inline=*/false};
  TestYard yard_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<Node> server_node_ = yard_.MakeNode("registry");
  std::unique_ptr<Node> client_node_ = yard_.MakeNode("test");
  std::unique_ptr<runtime::ThreadPool> pool_ =
      runtime::ThreadPool::Create(&coordinator_, {.threads = 2});
  std::atomic<int> lookups_{0};
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  int answered_ ABSL_GUARDED_BY(mutex_) = 0;
  Service service_{
      server_node_.get(),
      {.name = "registry", .endpoint = yard_.Address("registry"), .pool = pool_.get()}};
  Client client_{client_node_.get()};
  zmq::context_t context_;
};

TEST_F(LargeAnswerTest, TwentyThousandTablesArriveWhole) {
  const auto reply = client_.Call<Registry::List>({}, {.timeout = absl::Seconds(60)});
  ASSERT_EQ(reply.status(), absl::OkStatus());
  ExpectIds(reply->leases, 20'000);
  EXPECT_EQ(reply->revision, 7u);
}

TEST_F(LargeAnswerTest, AHundredThousandPointsArriveWhole) {
  const auto reply =
      client_.Call<Datamanager::Scalars>({}, {.timeout = absl::Seconds(60), .service = "registry"});
  ASSERT_EQ(reply.status(), absl::OkStatus());
  EXPECT_EQ(reply->steps, Points(100'000).steps);
  EXPECT_EQ(reply->wall_times, Points(100'000).wall_times);
}

TEST_F(LargeAnswerTest, ACallerWithoutTypesGetsItWholeToo) {
  const auto reply =
      client_.CallEnvelope(Registry::List::kInfo, Enveloped(msg::ListRequestT()), {});
  ASSERT_EQ(reply.status(), absl::OkStatus());
  ExpectIds(const_cast<msg::BodyUnion&>(reply->body).AsListReply()->leases, 20'000);
}

TEST_F(LargeAnswerTest, ARememberedOneIsGivenAgainWhole) {
  for (int i = 0; i < 2; ++i) {
    auto reply = client_.CallEnvelope(kRemembered, Enveloped(msg::LookupRequestT()),
                                      {.request_id = "the-same"});
    ASSERT_EQ(reply.status(), absl::OkStatus());
    ExpectIds(reply->body.AsListReply()->leases, 20'000);
  }
  EXPECT_EQ(lookups_, 1);
}

TEST_F(LargeAnswerTest, APlainDealerSeesTheParts) {
  auto dealer = Connect(zmq::socket_type::dealer);
  Send(dealer, "List", msg::ListRequestT());
  std::size_t leases = 0, messages = 0;
  for (bool more = true; more; ++messages) {
    const auto answer = Answer(dealer);
    ASSERT_NE(answer, nullptr);
    leases += answer->body.AsListReply()->leases.size();
    more = answer->kind == msg::Kind::ReplyPart;
  }
  EXPECT_EQ(leases, 20'000u);
  EXPECT_GE(messages, 10u);
}

TEST_F(LargeAnswerTest, APlainReqGetsOneMessage) {
  auto req = Connect(zmq::socket_type::req);
  Send(req, "Scalars", msg::ScalarsRequestT());
  const auto points = Answer(req);
  ASSERT_NE(points, nullptr);
  EXPECT_EQ(points->kind, msg::Kind::Reply);
  EXPECT_EQ(points->body.AsScalarsReply()->steps.size(), 100'000u);
  Send(req, "List", msg::ListRequestT());
  const auto leases = Answer(req);
  ASSERT_NE(leases, nullptr);
  EXPECT_EQ(FromWire(leases->status.get()).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(LargeAnswerTest, AnAnswerThatFindsNoRoomBecomesAnError) {
  auto dealer = Connect(zmq::socket_type::dealer, 1);
  for (std::uint64_t corr = 1; corr <= 3; ++corr) {
    Send(dealer, "Large", msg::WatchRequestT(), corr);
  }
  ASSERT_TRUE(WaitUntilAnswered(3));
  int whole = 0, refused = 0;
  while (whole + refused < 3) {
    const auto answer = Answer(dealer);
    ASSERT_NE(answer, nullptr);
    if (answer->kind == msg::Kind::ReplyPart) continue;
    const absl::Status status = FromWire(answer->status.get());
    if (status.ok()) {
      ++whole;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
      ++refused;
    }
  }
  EXPECT_GE(whole, 1);
  EXPECT_GE(refused, 1);
  EXPECT_EQ(server_node_->counters().replies_dropped.Get(), static_cast<std::uint64_t>(refused));
  EXPECT_EQ(server_node_->counters().outbox_bytes.Get(), 0u);
}

}  // namespace
}  // namespace bus
