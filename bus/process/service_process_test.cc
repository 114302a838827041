// Tests a service built like in a main(), in this process, observed through Stats.

#include "bus/process/service_process.h"

#include <stdlib.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <zmq.hpp>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/registry_methods.h"
#include "gtest/gtest.h"
#include "runtime/thread.h"

namespace bus {
namespace {

using rpc::Common;
using rpc::Registry;
using CounterValues = std::map<std::string, std::uint64_t>;

// Run one test per process: ServiceProcess takes over the signals and the log.
class ServiceProcessTest : public ::testing::Test {
 protected:
  ServiceProcessTest() {
    setenv("XDG_RUNTIME_DIR", yard_.directory().c_str(), 1);
    setenv("YARD_STATE", (yard_.directory() + "/state").c_str(), 1);
    setenv("YARD_REGISTRY", yard_.Address("registry").c_str(), 1);
    auto process = ServiceProcess::Create({.name = "registry", .pool_threads = 1});
    EXPECT_EQ(process.status(), absl::OkStatus());
    process_ = *std::move(process);
    process_->service()->HandleAsync<Registry::List>(
        [this](std::shared_ptr<ReplyWriter<Registry::List>> writer, const msg::ListRequestT&) {
          open_ = std::move(writer);  // Answered when the test releases it.
        });
    process_->service()->Handle<Registry::Renew>(
        [](const CallContext&,
           const msg::RenewRequestT& request) -> absl::StatusOr<msg::RenewReplyT> {
          if (request.lease_id == 0) return absl::NotFoundError("no such lease");
          return msg::RenewReplyT();
        });
    thread_ = std::make_unique<runtime::Thread>("process", [this] { exit_ = process_->Run(); });
    node_ = yard_.MakeNode("test");
    client_ = std::make_unique<Client>(node_.get());
  }
  ~ServiceProcessTest() override {
    EXPECT_EQ(client_->Call<Common::Shutdown>({}, {.service = "registry"}).status(),
              absl::OkStatus());
    thread_->Join();
    EXPECT_EQ(exit_, 0);
  }
  void CheckTheLogLevelChangesWhileItRuns();
  void CheckMetricsAreStatsAsText();
  void CheckStatsSayWhatTheProcessHas();
  CounterValues Stats() {
    const auto stats =
        client_->Call<Common::Stats>({}, {.service = "registry", .wait_for_service = true});
    EXPECT_EQ(stats.status(), absl::OkStatus());
    CounterValues values;
    if (!stats.ok()) return values;
    for (const auto& counter : stats->counters) values[counter->name] = counter->value;
    return values;
  }

  TestYard yard_;
  std::unique_ptr<ServiceProcess> process_;
  std::shared_ptr<void> open_;
  std::unique_ptr<runtime::Thread> thread_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<Client> client_;
  int exit_ = -1;
};

void ServiceProcessTest::CheckTheLogLevelChangesWhileItRuns() {
  const auto level = [this] {
    const auto stats =
        client_->Call<Common::Stats>({}, {.service = "registry", .wait_for_service = true});
    EXPECT_EQ(stats.status(), absl::OkStatus());
    return stats.ok() ? stats->log_level : "";
  };
  const auto set = [this](const std::string& to) {
    msg::SetLogLevelRequestT request;
    request.level = to;
    return client_->Call<Common::SetLogLevel>(request, {.service = "registry"});
  };
  EXPECT_EQ(level(), "info");
  const auto reply = set("warning");
  ASSERT_EQ(reply.status(), absl::OkStatus());
  EXPECT_EQ(reply->before, "info");
  EXPECT_EQ(level(), "warning");
  EXPECT_EQ(set("chatty").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(level(), "warning");
}

void ServiceProcessTest::CheckMetricsAreStatsAsText() {
  const auto metrics =
      client_->Call<Common::Metrics>({}, {.service = "registry", .wait_for_service = true});
  ASSERT_EQ(metrics.status(), absl::OkStatus());
  for (const char* part :
       {"\n# TYPE trainyard_bus_open_calls gauge\ntrainyard_bus_open_calls{service=\"registry\"} "
        "1\n",
        "\n# TYPE trainyard_bus_messages_received_total counter\n",
        "trainyard_call_duration_seconds_count{service=\"registry\",method=\"Stats\"}"}) {
    EXPECT_NE(metrics->text.find(part), std::string::npos) << part << "\n" << metrics->text;
  }
}

void ServiceProcessTest::CheckStatsSayWhatTheProcessHas() {
  const auto stats =
      client_->Call<Common::Stats>({}, {.service = "registry", .wait_for_service = true});
  ASSERT_EQ(stats.status(), absl::OkStatus());
  EXPECT_GT(stats->cpu_us, 0u);
  EXPECT_GT(stats->rss_bytes, 1u << 20);
  EXPECT_GT(stats->open_files, 5u);
  EXPECT_GE(stats->open_files_limit, stats->open_files);
  EXPECT_GT(stats->started_us, absl::ToUnixMicros(absl::Now() - absl::Hours(1)));
  EXPECT_LE(stats->started_us, absl::ToUnixMicros(absl::Now()));
}

TEST_F(ServiceProcessTest, AnswersWhatEveryServiceDoes) {
  CounterValues before = Stats();
  EXPECT_EQ(before.at("bus.malformed_dropped"), 0u);
  EXPECT_EQ(before.at("bus.open_calls"), 1u) << "this one";

  // One call that stays open, and one that is refused.
  EXPECT_EQ(client_->Call<Registry::List>({}, {.timeout = absl::Milliseconds(50)}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client_->Call<Registry::Lookup>({}).status().code(), absl::StatusCode::kUnimplemented);
  zmq::context_t context;
  {
    zmq::socket_t dealer(context, zmq::socket_type::dealer);
    dealer.set(zmq::sockopt::linger, 10'000);
    dealer.connect(yard_.Address("registry"));
    dealer.send(zmq::str_buffer("GET / HTTP/1.1"), zmq::send_flags::none);
  }
  context.close();  // Blocks until the message is delivered.
  CounterValues after = Stats();
  // Each iteration is a round trip.
  while (after.at("bus.malformed_dropped") == 0) after = Stats();
  EXPECT_EQ(after.at("bus.malformed_dropped"), 1u);
  EXPECT_EQ(after.at("bus.open_calls"), 2u) << "the one that was given up is worked on";
  EXPECT_GE(after.at("bus.calls_refused.unimplemented"), 1u);
  EXPECT_GE(after.at("bus.messages_received"), before.at("bus.messages_received") + 4);
  EXPECT_GT(after.at("bus.bytes_received"), before.at("bus.bytes_received") + 100);
  EXPECT_GE(after.at("bus.messages_sent"), before.at("bus.messages_sent") + 2);
  EXPECT_GT(after.at("bus.bytes_sent"), before.at("bus.bytes_sent") + 100);
  EXPECT_EQ(after.at("bus.outbox_bytes"), 0u);
  EXPECT_EQ(after.at("bus.replies_dropped"), 0u);
  for (const char* name : {"bus.callers_gone", "bus.retries_sent", "bus.deadlines_expired",
                           "bus.events_published", "bus.events_received", "bus.events_dropped",
                           "bus.events_lost", "bus.events_recovered", "bus.held_events"}) {
    EXPECT_TRUE(after.contains(name)) << name;
  }
  open_.reset();
  while (Stats().at("bus.open_calls") > 1) continue;  // The end of the call is in flight.

  // Stats reports for each method how many calls ended with an error.
  for (const std::uint64_t lease : {0, 1, 0}) {
    msg::RenewRequestT request;
    request.lease_id = lease;
    (void)client_->Call<Registry::Renew>(request);
  }
  const auto stats = client_->Call<Common::Stats>({}, {.service = "registry"});
  ASSERT_EQ(stats.status(), absl::OkStatus());
  const auto renew = std::find_if(stats->histograms.begin(), stats->histograms.end(),
                                  [](const auto& histogram) { return histogram->name == "Renew"; });
  ASSERT_NE(renew, stats->histograms.end());
  EXPECT_EQ((*renew)->count, 3u);
  EXPECT_EQ((*renew)->errors, 2u);

  CheckTheLogLevelChangesWhileItRuns();
  CheckMetricsAreStatsAsText();
  CheckStatsSayWhatTheProcessHas();
}

}  // namespace
}  // namespace bus
