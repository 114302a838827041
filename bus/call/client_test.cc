// Tests Client and Service together over real sockets.

#include "bus/call/client.h"

#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bus/call/service.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/counters.h"
#include "bus/wire/envelope.h"
#include "bus/wire/trace.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "runtime/thread_pool.h"

namespace bus {
namespace {

using rpc::Registry;
using ::testing::HasSubstr;

// A one-shot event that threads can wait for.
class Event {
 public:
  void Set() {
    runtime::MutexLock lock(mutex_);
    set_ = true;
    changed_.SignalAll();
  }
  bool Wait(absl::Duration timeout = absl::Seconds(30)) {
    const absl::Time deadline = absl::Now() + timeout;
    runtime::MutexLock lock(mutex_);
    while (!set_ && absl::Now() < deadline) {
      changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
    }
    return set_;
  }

 private:
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
};

class ClientTest : public ::testing::Test {
 protected:
  ~ClientTest() override {
    (void)coordinator_.RequestStop();
    service_.reset();
  }
  void Serve() { ASSERT_EQ(service_->Start(), absl::OkStatus()); }
  template <typename M>
  auto Call(const typename M::RequestT& request, const CallOptions& options = {}) {
    return client_->Call<M>(request, options);
  }

  TestYard yard_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<Node> server_node_ = yard_.MakeNode("registry");
  std::unique_ptr<Node> client_node_ = yard_.MakeNode("test");
  std::unique_ptr<runtime::ThreadPool> pool_ =
      runtime::ThreadPool::Create(&coordinator_, {.threads = 4});
  std::unique_ptr<Service> service_ = std::make_unique<Service>(
      server_node_.get(),
      Service::Options{
          .name = "registry", .endpoint = yard_.Address("registry"), .pool = pool_.get()});
  std::unique_ptr<Client> client_ = std::make_unique<Client>(client_node_.get());
};

using Writer = std::shared_ptr<ReplyWriter<Registry::Watch>>;

TEST_F(ClientTest, CallsAMethodAndGetsItsAnswer) {
  service_->Handle<Registry::List>([](const CallContext&, const msg::ListRequestT& request) {
    msg::ListReplyT reply;
    reply.revision = request.prefix.size();
    return reply;
  });
  Serve();
  msg::ListRequestT request;
  request.prefix = "seven..";
  const auto reply = Call<Registry::List>(request);
  ASSERT_EQ(reply.status(), absl::OkStatus());
  EXPECT_EQ(reply->revision, 7u);
}

TEST_F(ClientTest, TheContextNamesTheCallerAsTheKernelKnowsIt) {
  CallContext seen;
  service_->Handle<Registry::List>([&](const CallContext& context, const msg::ListRequestT&) {
    seen = context;
    return msg::ListReplyT();
  });
  Serve();
  ASSERT_EQ(Call<Registry::List>({}, {.timeout = absl::Seconds(7), .trace = "t1"}).status(),
            absl::OkStatus());
  EXPECT_EQ(seen.uid, geteuid());
  EXPECT_EQ(seen.pid, getpid());
  EXPECT_EQ(seen.source, client_node_->source());
  EXPECT_EQ(seen.trace, "t1");
  EXPECT_EQ(seen.request_id.size(), 32u);
  const absl::Duration left = seen.deadline - runtime::Clock::Real()->Monotonic();
  EXPECT_LT(left, absl::Seconds(7));
  EXPECT_GT(left, absl::Seconds(2));
}

TEST_F(ClientTest, AnErrorArrivesWithItsCodeAndWords) {
  service_->Handle<Registry::Renew>([](const CallContext&, const msg::RenewRequestT&) {
    return absl::StatusOr<msg::RenewReplyT>(absl::NotFoundError("no lease 7"));
  });
  Serve();
  EXPECT_EQ(Call<Registry::Renew>({}).status(), absl::NotFoundError("no lease 7"));
}

TEST_F(ClientTest, AnExceptionInAHandlerIsAnInternalError) {
  service_->Handle<Registry::Renew>(
      [](const CallContext&, const msg::RenewRequestT&) -> absl::StatusOr<msg::RenewReplyT> {
        throw std::runtime_error("broken");
      });
  Serve();
  const absl::Status status = Call<Registry::Renew>({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("broken"));
}

TEST_F(ClientTest, AnUnknownMethodIsUnimplementedAndNamed) {
  Serve();
  const absl::Status status = Call<Registry::List>({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("List"));
}

TEST_F(ClientTest, ABodyOfAnotherTypeIsAnInvalidArgument) {
  service_->Handle<Registry::List>(
      [](const CallContext&, const msg::ListRequestT&) { return msg::ListReplyT(); });
  Serve();
  msg::EnvelopeT request;
  request.body.Set(msg::RenewRequestT());
  const auto reply = client_->CallEnvelope(Registry::List::kInfo, std::move(request));
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientTest, AMethodOfEveryServiceNeedsTheService) {
  service_->Handle<rpc::Common::Stats>(
      [](const CallContext&, const msg::StatsRequestT&) { return msg::StatsReplyT(); });
  Serve();
  EXPECT_EQ(Call<rpc::Common::Stats>({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Call<rpc::Common::Stats>({}, {.service = "registry"}).status(), absl::OkStatus());
}

TEST_F(ClientTest, AHandlerThatForgetsToAnswerAnswersInternal) {
  service_->HandleAsync<Registry::List>(
      [](std::shared_ptr<ReplyWriter<Registry::List>>, const msg::ListRequestT&) {});
  Serve();
  EXPECT_EQ(Call<Registry::List>({}).status().code(), absl::StatusCode::kInternal);
}

TEST_F(ClientTest, NobodyThereIsUnavailableAtOnceWithTheAddress) {
  const absl::Time start = absl::Now();
  const absl::Status status = Call<Registry::List>({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(yard_.Address("registry")));
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
}

TEST_F(ClientTest, AServiceThatIsNotRegisteredIsUnavailableAtOnce) {
  service_->Handle<Registry::Lookup>(
      [](const CallContext&, const msg::LookupRequestT&) { return msg::LookupReplyT(); });
  Serve();
  const absl::Status status = Call<rpc::Common::Stats>({}, {.service = "nobody"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nobody"));
}

TEST_F(ClientTest, WaitsForAServiceThatComesLater) {
  service_->Handle<Registry::List>(
      [](const CallContext&, const msg::ListRequestT&) { return msg::ListReplyT(); });
  Event done;
  absl::Status status;
  client_->Start<Registry::List>({}, nullptr,
                                 [&](absl::StatusOr<msg::ListReplyT> reply) {
                                   status = reply.status();
                                   done.Set();
                                 },
                                 {.timeout = absl::Seconds(20), .wait_for_service = true});
  EXPECT_FALSE(done.Wait(absl::Milliseconds(50)));
  Serve();
  ASSERT_TRUE(done.Wait());
  EXPECT_EQ(status, absl::OkStatus());
}

TEST_F(ClientTest, ADeadlineEndsACallThatIsNotAnswered) {
  std::vector<std::shared_ptr<void>> kept;
  runtime::Mutex mutex;
  Event cancelled;
  service_->HandleAsync<Registry::List>(
      [&](std::shared_ptr<ReplyWriter<Registry::List>> writer, const msg::ListRequestT&) {
        writer->OnCancel([&] { cancelled.Set(); });
        runtime::MutexLock lock(mutex);
        kept.push_back(writer);
      });
  Serve();
  const absl::Time start = absl::Now();
  const absl::Status status =
      Call<Registry::List>({}, {.timeout = absl::Milliseconds(100)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(99));
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_TRUE(cancelled.Wait()) << "the handler was not told";
}

TEST_F(ClientTest, CancelEndsTheCallAndTellsTheHandler) {
  Event started, cancelled, done;
  std::shared_ptr<void> kept;
  service_->HandleAsync<Registry::List>(
      [&](std::shared_ptr<ReplyWriter<Registry::List>> writer, const msg::ListRequestT&) {
        writer->OnCancel([&] { cancelled.Set(); });
        kept = writer;
        started.Set();
      });
  Serve();
  absl::Status status;
  const std::uint64_t id =
      client_->Start<Registry::List>({}, nullptr, [&](absl::StatusOr<msg::ListReplyT> reply) {
        status = reply.status();
        done.Set();
      });
  ASSERT_TRUE(started.Wait());
  client_->Cancel(id);
  ASSERT_TRUE(done.Wait());
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(cancelled.Wait());
}

TEST_F(ClientTest, DestroyingTheClientCancelsWhatIsUnderWay) {
  std::shared_ptr<void> kept;
  Event started;
  service_->HandleAsync<Registry::List>(
      [&](std::shared_ptr<ReplyWriter<Registry::List>> writer, const msg::ListRequestT&) {
        kept = writer;
        started.Set();
      });
  Serve();
  absl::Status status;
  client_->Start<Registry::List>(
      {}, nullptr, [&](absl::StatusOr<msg::ListReplyT> reply) { status = reply.status(); });
  ASSERT_TRUE(started.Wait());
  client_.reset();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientTest, PartsArriveInOrderAndThenTheReply) {
  service_->HandleAsync<Registry::Watch>([](Writer writer, const msg::WatchRequestT&) {
    for (std::uint64_t i = 1; i <= 100; ++i) {
      msg::WatchReplyT part;
      part.revision = i;
      ASSERT_EQ(writer->SendPart(std::move(part)), absl::OkStatus());
    }
    msg::WatchReplyT last;
    last.revision = 101;
    writer->Finish(std::move(last));
  });
  Serve();
  std::uint64_t next = 1;
  const auto end = client_->Stream<Registry::Watch>({}, [&](const msg::WatchReplyT& part) {
    EXPECT_EQ(part.revision, next++);
    return true;
  });
  ASSERT_EQ(end.status(), absl::OkStatus());
  EXPECT_EQ(end->revision, 101u);
  EXPECT_EQ(next, 101u);
}

TEST_F(ClientTest, AStreamIsCancelledByItsReader) {
  Event cancelled;
  Writer kept;
  service_->HandleAsync<Registry::Watch>([&](Writer writer, const msg::WatchRequestT&) {
    writer->OnCancel([&] { cancelled.Set(); });
    kept = writer;
    EXPECT_EQ(writer->SendPart({}), absl::OkStatus());
  });
  Serve();
  const auto end =
      client_->Stream<Registry::Watch>({}, [](const msg::WatchReplyT&) { return false; });
  EXPECT_EQ(end.status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(cancelled.Wait());
  EXPECT_EQ(kept->SendPart({}).code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientTest, AQuietStreamLivesOnPings) {
  Event begun, finish;
  Writer kept;
  service_->HandleAsync<Registry::Watch>([&](Writer writer, const msg::WatchRequestT&) {
    kept = writer;
    EXPECT_EQ(writer->SendPart({}), absl::OkStatus());
    begun.Set();
  });
  Serve();
  runtime::Thread later("later", [&] {
    EXPECT_TRUE(begun.Wait());
    finish.Wait(absl::Milliseconds(4500));  // Longer than the 3 s of silence that end a stream.
    kept->Finish(msg::WatchReplyT());
  });
  const auto end =
      client_->Stream<Registry::Watch>({}, [](const msg::WatchReplyT&) { return true; });
  EXPECT_EQ(end.status(), absl::OkStatus());
  later.Join();
}

TEST_F(ClientTest, ASlowReaderHoldsItsOwnStreamOnly) {
  // Sends 160 MiB to a reader that does not read: the writer must wait, and nothing may be lost.
  constexpr int kParts = 640;
  Event refused;
  std::atomic<int> sent{0};
  std::function<void(Writer)> pump = [&](Writer writer) {
    while (sent < kParts) {
      msg::WatchReplyT part;
      part.revision = sent + 1;
      auto event = std::make_unique<msg::LeaseEventT>();
      event->reason = std::string(256 << 10, 'x');
      part.events.push_back(std::move(event));
      const absl::Status status = writer->SendPart(std::move(part));
      if (absl::IsResourceExhausted(status)) {
        refused.Set();
        return writer->WhenWritable([&pump, writer] { pump(writer); });
      }
      ASSERT_EQ(status, absl::OkStatus());
      ++sent;
    }
    writer->Finish(msg::WatchReplyT());
  };
  service_->HandleAsync<Registry::Watch>(
      [&](Writer writer, const msg::WatchRequestT&) { pump(writer); });
  service_->Handle<Registry::List>(
      [](const CallContext&, const msg::ListRequestT&) { return msg::ListReplyT(); });
  Serve();
  std::uint64_t next = 1;
  const auto end = client_->Stream<Registry::Watch>({}, [&](const msg::WatchReplyT& part) {
    if (next == 1) {
      EXPECT_TRUE(refused.Wait()) << "the writer was never told to wait";
      EXPECT_LT(sent, kParts);
      EXPECT_EQ(Call<Registry::List>({}).status(), absl::OkStatus());
    }
    EXPECT_EQ(part.revision, next++);
    return true;
  });
  EXPECT_EQ(end.status(), absl::OkStatus());
  EXPECT_EQ(next, kParts + 1u);
}

TEST_F(ClientTest, ManyThreadsCallAtOnce) {
  service_->Handle<Registry::Renew>([](const CallContext&, const msg::RenewRequestT& request) {
    msg::RenewReplyT reply;
    reply.revision = request.lease_id;
    return reply;
  });
  Serve();
  std::atomic<int> good{0};
  std::vector<std::unique_ptr<runtime::Thread>> threads;
  for (int t = 0; t < 8; ++t) {
    threads.push_back(std::make_unique<runtime::Thread>("caller", [&, t] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        msg::RenewRequestT request;
        request.lease_id = t * 1000 + i;
        const auto reply = Call<Registry::Renew>(request, {.timeout = absl::Seconds(30)});
        if (reply.ok() && reply->revision == request.lease_id) ++good;
      }
    }));
  }
  for (auto& thread : threads) thread->Join();
  EXPECT_EQ(good, 8 * 200);
}

TEST_F(ClientTest, ARememberedAnswerIsGivenAgain) {
  std::atomic<int> times{0};
  service_->Handle<Registry::Publish>([&](const CallContext&, const msg::PublishRequestT&) {
    msg::PublishReplyT reply;
    reply.seq = ++times;
    return reply;
  });
  Serve();
  for (int i = 0; i < 3; ++i) {
    const auto reply = Call<Registry::Publish>({}, {.request_id = "one"});
    ASSERT_EQ(reply.status(), absl::OkStatus());
    EXPECT_EQ(reply->seq, 1u);
  }
  EXPECT_EQ(Call<Registry::Publish>({}, {.request_id = "two"})->seq, 2u);
}

TEST_F(ClientTest, ARetryWhileTheFirstTryIsWorkedOnGetsTheSameAnswer) {
  std::atomic<int> times{0};
  Event begun, go;
  service_->Handle<Registry::Publish>([&](const CallContext&, const msg::PublishRequestT&) {
    begun.Set();
    go.Wait();
    msg::PublishReplyT reply;
    reply.seq = ++times;
    return reply;
  });
  service_->Handle<Registry::List>(
      [](const CallContext&, const msg::ListRequestT&) { return msg::ListReplyT(); });
  Serve();
  std::atomic<int> answers{0};
  Event both;
  const auto done = [&](absl::StatusOr<msg::PublishReplyT> reply) {
    EXPECT_EQ(reply.status(), absl::OkStatus());
    if (reply.ok()) {
      EXPECT_EQ(reply->seq, 1u);
    }
    if (++answers == 2) both.Set();
  };
  client_->Start<Registry::Publish>({}, nullptr, done, {.request_id = "same"});
  ASSERT_TRUE(begun.Wait());
  client_->Start<Registry::Publish>({}, nullptr, done, {.request_id = "same"});
  // Requests are received in order: once this one is answered, the retry has been received.
  ASSERT_EQ(Call<Registry::List>({}).status(), absl::OkStatus());
  go.Set();
  EXPECT_TRUE(both.Wait());
  EXPECT_EQ(times, 1);
}

TEST_F(ClientTest, ARequestOverTheLimitIsRefusedBeforeItIsSent) {
  Serve();
  msg::ListRequestT request;
  request.prefix = std::string(2 << 20, 'x');
  const absl::Status status = Call<Registry::List>(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1048576"));
}

TEST_F(ClientTest, AServiceThatStopsAnswersUnavailable) {
  std::shared_ptr<void> kept;
  Event started;
  service_->HandleAsync<Registry::List>(
      [&](std::shared_ptr<ReplyWriter<Registry::List>> writer, const msg::ListRequestT&) {
        kept = writer;
        started.Set();
      });
  Serve();
  Event done;
  absl::Status status;
  client_->Start<Registry::List>({}, nullptr, [&](absl::StatusOr<msg::ListReplyT> reply) {
    status = reply.status();
    done.Set();
  });
  ASSERT_TRUE(started.Wait());
  service_->Stop();
  ASSERT_TRUE(done.Wait());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(ClientTest, CountsCallsAndErrors) {
  service_->Handle<Registry::Renew>(
      [](const CallContext&,
         const msg::RenewRequestT& request) -> absl::StatusOr<msg::RenewReplyT> {
        if (request.lease_id == 0) return absl::NotFoundError("none");
        return msg::RenewReplyT();
      });
  Serve();
  msg::RenewRequestT request;
  (void)Call<Registry::Renew>(request);
  request.lease_id = 1;
  (void)Call<Registry::Renew>(request);
  const auto stats = service_->GetStats();
  ASSERT_EQ(stats.size(), 1u);
  EXPECT_EQ(stats[0].name, "Renew");
  EXPECT_EQ(stats[0].count, 2u);
  EXPECT_EQ(stats[0].errors, 1u);
}

TEST_F(ClientTest, ARequestOfALaterProtocolIsRefusedWithBothVersions) {
  service_->Handle<Registry::List>(
      [](const CallContext&, const msg::ListRequestT&) { return msg::ListReplyT(); });
  Serve();
  msg::EnvelopeT request;
  request.body.Set(msg::ListRequestT());
  request.protocol = kProtocol;
  EXPECT_EQ(client_->CallEnvelope(Registry::List::kInfo, request).status(), absl::OkStatus());
  request.protocol = kProtocol + 1;
  EXPECT_EQ(client_->CallEnvelope(Registry::List::kInfo, request).status(),
            absl::FailedPreconditionError("the request needs protocol version 2, but registry "
                                          "speaks version 1: upgrade registry"));
}

TEST_F(ClientTest, AnAnswerOfALaterProtocolIsRefusedWithBothVersions) {
  const auto answer = [](std::shared_ptr<Responder> responder, const msg::EnvelopeT&) {
    msg::EnvelopeT reply;
    reply.protocol = kProtocol + 1;
    reply.body.Set(msg::ListReplyT());
    responder->Finish(std::move(reply));
  };
  service_->AddMethod(Registry::List::kInfo, msg::Body::ListRequest, answer);
  Serve();
  EXPECT_EQ(Call<Registry::List>({}).status(),
            absl::FailedPreconditionError("the answer of registry.List needs protocol version 2, "
                                          "but this program speaks version 1: upgrade this "
                                          "program"));
}

// Collects the process's log lines while it exists.
class LogLines : private google::LogSink {
 public:
  LogLines() { google::AddLogSink(this); }
  ~LogLines() override { google::RemoveLogSink(this); }
  std::vector<std::string> With(const std::string& part) {
    runtime::MutexLock lock(mutex_);
    std::vector<std::string> found;
    for (const std::string& line : lines_) {
      if (absl::StrContains(line, part)) found.push_back(line);
    }
    return found;
  }

 private:
  void send(google::LogSeverity severity, const char*, const char*, int, const tm*,
            const char* message, std::size_t size) override {
    runtime::MutexLock lock(mutex_);
    if (severity == google::GLOG_INFO) lines_.emplace_back(message, size);
  }
  runtime::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

class TraceTest : public ClientTest {
 protected:
  TraceTest() {
    service_->Handle<Registry::List>([this](const CallContext& context, const msg::ListRequestT&) {
      runtime::MutexLock lock(mutex_);
      seen_.push_back(context.trace);
      return msg::ListReplyT();
    });
    service_->Handle<Registry::Publish>(
        [](const CallContext&, const msg::PublishRequestT&) { return msg::PublishReplyT(); });
    service_->Handle<Registry::Renew>(
        [](const CallContext&,
           const msg::RenewRequestT& request) -> absl::StatusOr<msg::RenewReplyT> {
          if (request.lease_id == 0) return msg::RenewReplyT();
          return absl::NotFoundError("no lease\x1b");
        });
  }
  std::vector<std::string> seen() {
    runtime::MutexLock lock(mutex_);
    return seen_;
  }
  runtime::Mutex mutex_;
  std::vector<std::string> seen_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(TraceTest, AHandlersCallsCarryTheTraceOfItsOwn) {
  service_->Handle<Registry::Lookup>([this](const CallContext&, const msg::LookupRequestT&) {
    EXPECT_EQ(Call<Registry::List>({}).status(), absl::OkStatus());
    EXPECT_EQ(Call<Registry::List>({}, {.trace = "mine"}).status(), absl::OkStatus());
    return msg::LookupReplyT();
  });
  Serve();
  ASSERT_EQ(Call<Registry::Lookup>({}, {.trace = "t1"}).status(), absl::OkStatus());
  EXPECT_EQ(seen(), (std::vector<std::string>{"t1", "mine"}));
  ASSERT_EQ(Call<Registry::List>({}, {.request_id = "r2"}).status(), absl::OkStatus());
  EXPECT_EQ(seen().back(), "r2") << "a thread of the pool must forget";
}

TEST_F(TraceTest, ACallMadeWhenAnotherEndsCarriesItsTrace) {
  Serve();
  Event done;
  client_->Start<Registry::List>({}, nullptr,
                                 [&](absl::StatusOr<msg::ListReplyT>) {
                                   client_->Start<Registry::List>(
                                       {}, nullptr,
                                       [&](absl::StatusOr<msg::ListReplyT>) { done.Set(); });
                                 },
                                 {.trace = "t3"});
  ASSERT_TRUE(done.Wait());
  EXPECT_EQ(seen(), (std::vector<std::string>{"t3", "t3"}));
}

TEST_F(TraceTest, AllCallsOfANodeWithATraceHaveIt) {
  Serve();
  const auto node =
      Node::Create({.name = "command", .locations = yard_.locations(), .trace = "command-1"});
  ASSERT_EQ(node.status(), absl::OkStatus());
  Client client(node->get());
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(client.Call<Registry::List>({}).status(), absl::OkStatus());
  }
  EXPECT_EQ(seen(), (std::vector<std::string>{"command-1", "command-1"}));
  EXPECT_EQ(Node::Create({.name = "command",
                          .locations = yard_.locations(),
                          .trace = std::string(kMaxTraceBytes + 1, 't')})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TraceTest, WhatChangesSomethingIsLoggedOnceWithItsTrace) {
  LogLines log;
  Serve();
  const CallOptions options{.request_id = "r4", .trace = "t4\n"};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Call<Registry::Publish>({}, options).status(), absl::OkStatus());
  }
  ASSERT_EQ(Call<Registry::List>({}, options).status(), absl::OkStatus());
  EXPECT_EQ(log.With("t4"),
            (std::vector<std::string>{
                absl::StrCat("registry.Publish: pid ", getpid(), ", request r4, trace t4\\x0A")}));
}

TEST_F(TraceTest, RenewalsThatNobodyAskedForAreLoggedOnce) {
  LogLines log;
  Serve();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Call<Registry::Renew>({}).status(), absl::OkStatus());
  EXPECT_EQ(log.With("registry.Renew").size(), 1u);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(Call<Registry::Renew>({}, {.trace = "asked"}).status(), absl::OkStatus());
  }
  EXPECT_EQ(log.With("asked").size(), 3u);
}

TEST_F(TraceTest, FailuresAreLoggedTenASecond) {
  LogLines log;
  Serve();
  msg::RenewRequestT request;
  request.lease_id = 1;
  for (int i = 0; i < 1000; ++i) (void)Call<Registry::Renew>(request, {.trace = "t5"});
  EXPECT_EQ(Call<Registry::Lookup>({}, {.trace = "t6"}).status().code(),
            absl::StatusCode::kUnimplemented);
  const auto lines = log.With(" failed: ");
  EXPECT_GE(lines.size(), 10u);
  EXPECT_LE(lines.size(), 200u) << "in less than 20 s";
  EXPECT_THAT(lines.front(), HasSubstr("NOT_FOUND: no lease\\x1B"));
  EXPECT_THAT(lines.front(), HasSubstr("trace t5"));
}

TEST_F(TraceTest, ARefusedRequestIsLoggedToo) {
  LogLines log;
  Serve();
  EXPECT_EQ(Call<Registry::Lookup>({}, {.trace = "t6"}).status().code(),
            absl::StatusCode::kUnimplemented);
  ASSERT_EQ(log.With("t6").size(), 1u);
  EXPECT_THAT(log.With("t6").front(), HasSubstr("registry.Lookup failed: UNIMPLEMENTED"));
}

TEST_F(ClientTest, BothSidesCountTheirMessages) {
  // (The handler does not own `kept`: that would be a reference cycle.)
  std::shared_ptr<ReplyWriter<Registry::List>> kept;
  Event begun;
  service_->HandleAsync<Registry::List>(
      [&](std::shared_ptr<ReplyWriter<Registry::List>> writer, const msg::ListRequestT&) {
        kept = std::move(writer);
        begun.Set();
      });
  service_->Handle<Registry::Renew>(
      [](const CallContext&, const msg::RenewRequestT&) { return msg::RenewReplyT(); });
  Serve();
  Counters& server = server_node_->counters();
  Counters& client = client_node_->counters();
  EXPECT_EQ(Call<Registry::List>({}, {.timeout = absl::Milliseconds(50)}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_EQ(Call<Registry::Renew>({}).status(), absl::OkStatus());
  ASSERT_TRUE(begun.Wait());
  EXPECT_EQ(client.deadlines_expired.Get(), 1u);
  EXPECT_EQ(client.messages_sent.Get(), 3u) << "two requests, and that one is cancelled";
  EXPECT_EQ(client.messages_received.Get(), 1u);
  EXPECT_EQ(client.retries_sent.Get(), 0u);
  EXPECT_EQ(server.messages_received.Get(), client.messages_sent.Get());
  EXPECT_EQ(server.bytes_received.Get(), client.bytes_sent.Get());
  EXPECT_EQ(server.open_calls.Get(), 1u);
  service_.reset();
  kept.reset();
  EXPECT_EQ(server.open_calls.Get(), 0u);
  EXPECT_EQ(server.outbox_bytes.Get(), 0u);
}

TEST_F(ClientTest, ABlockingCallOnTheBusThreadIsRefused) {
  service_->Handle<Registry::List>(
      [](const CallContext&, const msg::ListRequestT&) { return msg::ListReplyT(); });
  Serve();
  Event done;
  absl::Status inner;
  client_->Start<Registry::List>({}, nullptr, [&](absl::StatusOr<msg::ListReplyT>) {
    inner = Call<Registry::List>({}).status();
    done.Set();
  });
  ASSERT_TRUE(done.Wait());
  EXPECT_EQ(inner.code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace bus
