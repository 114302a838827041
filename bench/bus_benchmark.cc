// What the bus costs beside its peers, all measured in one run: calls, events, points. Prints a
// table, or with --json the same for machines. A ratio that misses its limit is shown, not an
// error: the machine decides it too.

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/calls.h"
#include "bench/comparison.h"
#include "bench/nats.h"
#include "bench/streams.h"
#include "glog/logging.h"

namespace bench {
namespace {

using Kind = Comparison::Limit::Kind;

constexpr std::size_t kCallBytes = 224;  // Of the request of a call.

void AddCalls(Comparison& comparison, absl::Duration time) {
  comparison.Add("DEALER/ROUTER", [=] { return RawRoundTrip(time); });
  comparison.Add("call", [=] { return Call(false, time); });
  comparison.Add("call by the pool", [=] { return Call(true, time); });
  comparison.Add("nats-server, round trip", [=] { return NatsRoundTrip(kCallBytes, time); });
  comparison.Compare("call, on the bus thread", "us", "call", "DEALER/ROUTER",
                     {Kind::kRatioAtMost, 1.8});
  comparison.Compare("call, through the pool", "us", "call by the pool", "DEALER/ROUTER",
                     {Kind::kRatioAtMost, 2.8});
  comparison.Compare("call, on the bus thread", "us", "call", "nats-server, round trip", {});
}

void AddEvents(Comparison& comparison, std::size_t bytes, const std::string& size,
               absl::Duration time) {
  const std::string ours = "hub, " + size;
  const std::string proxy = "zmq_proxy, " + size;
  const std::string nats = "nats-server, " + size;
  const std::string stalled = "hub with a stalled one, " + size;
  comparison.Add(proxy, [=] { return Messages(Way::kRawProxy, bytes, false, time); });
  comparison.Add(ours, [=] { return Messages(Way::kHub, bytes, false, time); });
  comparison.Add(stalled, [=] { return Messages(Way::kHub, bytes, true, time); });
  comparison.Add(nats, [=] { return NatsMessages(bytes, time); });
  comparison.Compare("events, " + size, "messages/s", ours, proxy, {Kind::kRatioAtLeast, 0.8});
  comparison.Compare("events, " + size, "messages/s", ours, nats, {});
  comparison.Compare("and a stalled subscriber, " + size, "messages/s", stalled, ours,
                     {Kind::kRatioAtLeast, 0.95});
}

// In points, not in messages.
Comparison::Measure Points(std::function<absl::StatusOr<double>()> messages) {
  return [messages = std::move(messages)]() -> absl::StatusOr<double> {
    auto rate = messages();
    if (!rate.ok()) return rate;
    return *rate * kPoints;
  };
}

void AddPoints(Comparison& comparison, absl::Duration time) {
  comparison.Add("zmq_proxy, points", Points([=] { return PointMessages(Way::kRawProxy, time); }));
  comparison.Add("points by the bus", Points([=] { return PointMessagesOfTheBus(time); }));
  comparison.Add("points by the hub alone", Points([=] { return PointMessages(Way::kHub, time); }));
  comparison.Add("points directly", Points([=] { return PointMessages(Way::kDirect, time); }));
  comparison.Compare("points, Publisher to Subscriber", "points/s", "points by the bus",
                     "zmq_proxy, points", {Kind::kRatioAtLeast, 0.8});
  comparison.Compare("points, the hub alone", "points/s", "points by the hub alone",
                     "zmq_proxy, points", {Kind::kRatioAtLeast, 0.8});
  comparison.Compare("points, without a hub", "points/s", "points directly", "",
                     {Kind::kValueAtLeast, 25e6});
}

int Main(int argc, char** argv) {
  CLI::App app("Measures the bus beside its peers.");
  int rounds = 5;
  double seconds = 0.5;
  std::string only;
  bool json = false;
  app.add_option("--rounds", rounds, "How often each figure is measured")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", seconds, "How long each measurement takes")
      ->check(CLI::PositiveNumber);
  app.add_option("--only", only, "Measures only what has this in its name; for a profiler");
  app.add_flag("--json", json, "Prints JSON");
  CLI11_PARSE(app, argc, argv);
  const absl::Duration time = absl::Seconds(seconds);
  Comparison comparison;
  AddCalls(comparison, time);
  AddEvents(comparison, 64, "64 B", time);
  AddEvents(comparison, 1024, "1 KiB", time);
  AddPoints(comparison, time);
  const auto lines = comparison.Run(rounds, only);
  if (!lines.ok()) {
    std::fprintf(stderr, "bus_benchmark: %s\n", lines.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", (json ? AsJson(*lines, rounds) : AsTable(*lines)).c_str());
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  return bench::Main(argc, argv);
}
