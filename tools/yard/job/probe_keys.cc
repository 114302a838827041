#include "tools/yard/job/probe_keys.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/yard/text/quantities.h"

namespace yard {
namespace {

using Probe = msg::ProbeT;
using Kind = YamlNode::Kind;

constexpr std::uint64_t kLongest = 24ULL * 3600 * 1000;
constexpr std::uint64_t kShortestPeriod = 100;
constexpr std::uint64_t kMostFailures = 1'000'000;

void ReadProbeCommand(NodeReader& in, const YamlNode& node, Probe* probe) {
  if (node.kind == Kind::kText) {
    probe->argv = {"sh", "-c", node.text};
    return;
  }
  if (!in.IsList(node, "a list, or a line for a shell: [curl, -sf, URL]")) return;
  if (in.Texts(node, &probe->argv) && (probe->argv.empty() || probe->argv.front().empty())) {
    in.Wrong(node, "expected a program first");
  }
}

void ReadTcp(NodeReader& in, const YamlNode& node, Probe* probe) {
  if (in.Text(node, &probe->tcp) && probe->tcp.empty()) in.Wrong(node, "expected a port");
}

void ReadHttp(NodeReader& in, const YamlNode& node, Probe* probe) {
  if (!in.Text(node, &probe->http)) return;
  if (!probe->http.starts_with("http://")) {
    in.Wrong(node, "expected a URL that begins with http://");
  }
}

void ReadHeartbeat(NodeReader& in, const YamlNode& node, Probe* probe) {
  if (in.Bool(node, &probe->heartbeat) && !probe->heartbeat) {
    in.Wrong(node, "expected true; without the key there is no heartbeat");
  }
}

template <std::uint32_t Probe::*field>
void ReadProbeTime(NodeReader& in, const YamlNode& node, Probe* probe) {
  in.Time(node, kLongest, &(probe->*field));
}

void ReadPeriod(NodeReader& in, const YamlNode& node, Probe* probe) {
  if (!in.Time(node, kLongest, &probe->period_ms)) return;
  if (probe->period_ms < kShortestPeriod) in.Wrong(node, "expected at least 100ms");
}

void ReadFailures(NodeReader& in, const YamlNode& node, Probe* probe) {
  in.Whole(node, 1, kMostFailures, &probe->failures);
}

constexpr NodeKey<Probe> kProbeKeys[] = {
    {"command", "list or text", "", "", ReadProbeCommand},
    {"tcp", "port", "", "", ReadTcp},
    {"http", "URL", "", "", ReadHttp},
    {"heartbeat", "true", "", "", ReadHeartbeat},
    {"period", "time", "10s", "", ReadPeriod},
    {"timeout", "time", "1s", "", ReadProbeTime<&Probe::timeout_ms>},
    {"failures", "number", "3", "", ReadFailures},
    {"start_delay", "time", "the period", "", ReadProbeTime<&Probe::start_delay_ms>},
};

}  // namespace

void ReadProbe(NodeReader& in, const YamlNode& node, std::unique_ptr<Probe>* probe) {
  if (!in.IsMap(node, "a map, such as {tcp: 8080, period: 5s}")) return;
  auto read = std::make_unique<Probe>();
  in.Keys<Probe>(node, kProbeKeys, read.get());
  int ways = 0;
  for (const std::string_view way : {"command", "tcp", "http", "heartbeat"}) {
    if (node.Find(way) != nullptr) ++ways;
  }
  if (ways != 1) return in.Wrong(node, "expected one of command, tcp, http and heartbeat");
  *probe = std::move(read);
}

}  // namespace yard
