// Compares the costs of the bus with those of its peers, all measured in one run: calls, events,
// points. Prints a table, or JSON with --json. A missed limit is displayed, not an error, because
// it depends on the machine.

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/calls.h"
#include "bench/comparison_app.h"
#include "bench/nats.h"
#include "bench/peer_comparison.h"
#include "bench/streams.h"

namespace bench {
namespace {

using Kind = PeerComparison::Limit::Kind;

constexpr std::size_t kCallBytes = 224;  // Size of a call's request.

void AddCalls(PeerComparison& comparison, absl::Duration time) {
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

void AddEvents(PeerComparison& comparison, std::size_t bytes, const std::string& size,
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

// Converts messages per second to points per second.
PeerComparison::Measure Points(std::function<absl::StatusOr<double>()> messages) {
  return [messages = std::move(messages)]() -> absl::StatusOr<double> {
    auto rate = messages();
    if (!rate.ok()) return rate;
    return *rate * kPoints;
  };
}

void AddPoints(PeerComparison& comparison, absl::Duration time) {
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

void AddAll(PeerComparison& comparison, absl::Duration time) {
  AddCalls(comparison, time);
  AddEvents(comparison, 64, "64 B", time);
  AddEvents(comparison, 1024, "1 KiB", time);
  AddPoints(comparison, time);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::ComparisonApp app("bus_benchmark", "Measures the bus beside its peers.");
  double seconds = 0.5;
  app.options()
      .add_option("--seconds", seconds, "How long each measurement takes")
      ->check(CLI::PositiveNumber);
  return app.Run(argc, argv, [&](bench::PeerComparison& comparison) {
    bench::AddAll(comparison, absl::Seconds(seconds));
    return absl::OkStatus();
  });
}
