#include "launcher/node/node_ports.h"

#include <charconv>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "launcher/wire/record.h"

namespace launcher {

std::string NodePortsTaken::Encode() const {
  Record record("ports");
  record.AddNumber("number", static_cast<std::int64_t>(number));
  for (const int port : ports) record.AddNumber("port", port);
  if (!why.empty()) record.Add("why", why);
  return record.Encode();
}

std::optional<NodePortsTaken> NodePortsTaken::Decode(std::string_view bytes) {
  const auto record = Record::Parse(bytes);
  if (!record || record->kind() != "ports") return std::nullopt;
  NodePortsTaken taken{.number = static_cast<std::uint64_t>(record->GetNumber("number")),
                       .why = record->Get("why")};
  for (const std::string& text : record->GetAll("port")) {
    int port = 0;
    if (!absl::SimpleAtoi(text, &port) || port < 1 || port > 65535) return std::nullopt;
    if (taken.ports.size() == kMaxPorts) return std::nullopt;
    taken.ports.push_back(port);
  }
  return taken;
}

absl::StatusOr<std::vector<int>> NodePorts::Take(const std::string& job, std::size_t count) {
  std::vector<int>& ports = ports_[job];
  if (count > ports.size()) {
    const std::size_t more = count - ports.size();
    if (held_.size() + more > NodePortsTaken::kMaxPorts) {
      return absl::ResourceExhaustedError(
          absl::StrCat("jobs have ", held_.size(), " ports of the node already"));
    }
    const auto taken = held_.Take(job, static_cast<int>(more));
    if (!taken.ok()) return taken.status();
    ports.insert(ports.end(), taken->begin(), taken->end());
  }
  return std::vector<int>(ports.begin(), ports.begin() + static_cast<std::ptrdiff_t>(count));
}

void NodePorts::Keep(const std::set<std::string>& jobs) {
  std::erase_if(ports_, [&](const auto& entry) {
    if (jobs.contains(entry.first)) return false;
    for (const int port : entry.second) held_.Release(entry.first, port);
    return true;
  });
}

}  // namespace launcher
