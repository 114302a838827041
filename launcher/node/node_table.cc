#include "launcher/node/node_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/printable.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxPoolName = 32;
constexpr std::size_t kMaxAddress = 255;
constexpr std::size_t kMaxAllocation = 100;
constexpr std::size_t kMaxRun = 200;
constexpr std::uint32_t kMaxSlots = 10'000;

absl::Status Check(const NodeRow& node) {
  if (!IsAttemptKey(node.name)) {
    return absl::InvalidArgumentError(absl::StrCat("no node can be called \"",
                                                   runtime::Printable(node.name),
                                                   "\": a name has a-z, 0-9, . and -"));
  }
  if (!IsPoolName(node.pool)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no pool can be called \"", runtime::Printable(node.pool),
                     "\": a name has at most ", kMaxPoolName, " of a-z, 0-9, . and -"));
  }
  if (node.address.size() > kMaxAddress || runtime::Printable(node.address) != node.address) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", node.name, ": its address is none of a host"));
  }
  if (node.allocation.size() > kMaxAllocation ||
      runtime::Printable(node.allocation) != node.allocation) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", node.name, ": its allocation is no name of one"));
  }
  if (node.slots > kMaxSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", node.name, ": at most ", kMaxSlots, " slots"));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsPoolName(const std::string& name) {
  return IsAttemptKey(name) && name.size() <= kMaxPoolName;
}

std::string NodeTable::Info::host() const {
  if (!hello.address.empty()) return hello.address;
  const auto at = row.address.rfind('@');
  return at == std::string::npos ? row.address : row.address.substr(at + 1);
}

NodeTable::NodeTable(Options options) : options_(std::move(options)) {
  NodeDoor::Options door;
  door.loop = options_.loop;
  door.directory = options_.directory;
  door.lost_after = options_.lost_after;
  door.admit = [this](const std::string& node, const NodeHello& hello) {
    return MayCome(node, hello);
  };
  door.on_change = [this](const std::string& node, const absl::Status& why) {
    OnConnection(node, why);
  };
  door_ = std::make_unique<NodeDoor>(std::move(door));
}

absl::StatusOr<std::unique_ptr<NodeTable>> NodeTable::Open(Options options) {
  std::unique_ptr<NodeTable> table(new NodeTable(std::move(options)));
  if (auto status = table->Prepare(); !status.ok()) return status;
  return table;
}

absl::Status NodeTable::Prepare() {
  auto rows = options_.store->Load();
  if (!rows.ok()) return rows.status();
  for (NodeRow& row : *rows) {
    const std::string name = row.name;
    // (If a node's socket cannot be opened, the other nodes are available all the same.)
    (void)Link(name);
    Info& info = nodes_[name];
    info.row = std::move(row);
    info.since_us = absl::ToUnixMicros(options_.clock->Now());
    info.why = "it has not connected since the launcher started";
  }
  return absl::OkStatus();
}

std::string NodeTable::RunOf(const std::string& allocation) const {
  for (const auto& [name, info] : nodes_) {
    if (info.row.allocation == allocation && !info.row.run.empty()) return info.row.run;
  }
  return "";
}

absl::Status NodeTable::MayCome(const std::string& name, const NodeHello& hello) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || found->second.row.allocation.empty()) return absl::OkStatus();
  const std::string& allocation = found->second.row.allocation;
  if (hello.run.empty() || hello.run.size() > kMaxRun ||
      runtime::Printable(hello.run) != hello.run) {
    return absl::PermissionDeniedError(
        absl::StrCat("allocation ", allocation, " is for nodes that say of which run they are"));
  }
  const std::string first = RunOf(allocation);
  if (first == hello.run) return absl::OkStatus();
  if (!first.empty()) {
    return absl::PermissionDeniedError(absl::StrCat("run ", hello.run, " is not the first of ",
                                                    allocation, ": run ", first, " has it"));
  }
  // The claim is stored before any task can start on the node.
  if (auto status = options_.store->Claim(allocation, hello.run); !status.ok()) {
    LOG(ERROR) << status;
    return absl::UnavailableError("the launcher cannot store whose the allocation is");
  }
  for (auto& [other, info] : nodes_) {
    if (info.row.allocation == allocation) info.row.run = hello.run;
  }
  LOG(INFO) << "run " << hello.run << " has allocation " << allocation;
  return absl::OkStatus();
}

absl::Status NodeTable::Set(NodeRow node, const std::string& why) {
  if (auto status = Check(node); !status.ok()) return status;
  const auto known = nodes_.find(node.name);
  if (known != nodes_.end() && known->second.row.pool != node.pool) {
    return absl::AlreadyExistsError(absl::StrCat("node ", node.name, " is in pool ",
                                                 known->second.row.pool, "; next: yard pool rm ",
                                                 known->second.row.pool));
  }
  node.run = node.allocation.empty() ? "" : RunOf(node.allocation);
  if (known != nodes_.end() && known->second.row == node) {
    if (std::exchange(known->second.told_why, why) != why) Tell(node.name);
    return absl::OkStatus();
  }
  if (const auto link = door_->Open(node.name); !link.ok()) return link.status();
  if (auto status = options_.store->Set(node); !status.ok()) return status;
  if (known == nodes_.end()) {
    Info& info = nodes_[node.name];
    info.since_us = absl::ToUnixMicros(options_.clock->Now());
    info.why = "it has not connected yet";
  }
  const std::string name = node.name;
  nodes_[name].row = std::move(node);
  nodes_[name].told_why = why;
  Tell(name);
  return absl::OkStatus();
}

absl::Status NodeTable::Remove(const std::string& name, const std::string& why) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return absl::NotFoundError(absl::StrCat("there is no node ", name));
  if (auto status = options_.store->Remove(name); !status.ok()) return status;
  nodes_.erase(found);
  if (NodeLink* const link = door_->Find(name)) link->GiveUp(why);
  Tell(name);
  return absl::OkStatus();
}

NodeLink* NodeTable::Link(const std::string& name) {
  const auto link = door_->Open(name);
  if (link.ok()) return *link;
  LOG(ERROR) << "node " << name << " cannot connect: " << link.status();
  auto& alone = without_socket_[name];
  if (alone == nullptr) {
    NodeLink::Options options;
    options.loop = options_.loop;
    options.name = name;
    options.lost_after = options_.lost_after;
    alone = std::make_unique<NodeLink>(std::move(options));
  }
  return alone.get();
}

const NodeTable::Info* NodeTable::Find(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::vector<const NodeTable::Info*> NodeTable::All() const {
  std::vector<const Info*> all;
  for (const auto& [name, info] : nodes_) all.push_back(&info);
  return all;
}

std::string NodeTable::Socket(const std::string& name) const {
  return absl::StrCat(options_.directory, "/", name);
}

void NodeTable::OnConnection(const std::string& name, const absl::Status& why) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  Info& info = found->second;
  const bool was_connected = std::exchange(info.is_connected, why.ok());
  if (was_connected != why.ok()) info.since_us = absl::ToUnixMicros(options_.clock->Now());
  info.why = std::string(why.message());
  if (const NodeLink* const link = door_->Find(name); link != nullptr && why.ok()) {
    info.hello = link->hello();
  }
  LOG(INFO) << "node " << name
            << (!why.ok()            ? " is away: " + info.why
                : info.hello.leaving ? " is being stopped"
                                     : " has connected");
  Tell(name);
}

}  // namespace launcher
