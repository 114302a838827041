#include "launcher/node/node_door.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "launcher/node/words/node_words.h"
#include "runtime/file/file.h"
#include "runtime/process/peer.h"
#include "runtime/process/unix_listener.h"

namespace launcher {
namespace {

constexpr int kWaiting = 4;  // Backlog of connections of one node.

}  // namespace

NodeDoor::~NodeDoor() {
  while (!places_.empty()) Close(std::string(places_.begin()->first));
}

absl::StatusOr<runtime::UniqueFd> NodeDoor::Listen(const std::string& name) const {
  if (auto made = runtime::MakePrivateDirectory(options_.directory); !made.ok()) return made;
  return runtime::ListenAtPath(Path(name), kWaiting);
}

absl::StatusOr<NodeLink*> NodeDoor::Open(const std::string& name) {
  if (NodeLink* const known = Find(name)) return known;
  if (!IsAttemptKey(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no node can be called \"", name, "\": a name has a-z, 0-9, . and -"));
  }
  if (places_.size() >= kMaxNodes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", kMaxNodes, " nodes already, and no room for ", name));
  }
  auto listener = Listen(name);
  if (!listener.ok()) return listener.status();
  auto place = std::make_unique<Place>();
  place->listener = *std::move(listener);
  NodeLink::Options options;
  options.loop = options_.loop;
  options.name = name;
  options.lost_after = options_.lost_after;
  if (options_.admit) {
    options.admit = [this, name](const NodeHello& hello) { return options_.admit(name, hello); };
  }
  if (options_.on_change) {
    options.on_change = [this, name](const absl::Status& why) { options_.on_change(name, why); };
  }
  place->link = std::make_unique<NodeLink>(std::move(options));
  if (admits_) Watch(place.get());
  return (places_[name] = std::move(place))->link.get();
}

void NodeDoor::Close(const std::string& name) {
  const auto found = places_.find(name);
  if (found == places_.end()) return;
  if (found->second->watch != 0) options_.loop->Unwatch(found->second->watch);
  unlink(Path(name).c_str());
  places_.erase(found);
}

NodeLink* NodeDoor::Find(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : found->second->link.get();
}

void NodeDoor::Admit() {
  if (std::exchange(admits_, true)) return;
  for (const auto& [name, place] : places_) Watch(place.get());
}

void NodeDoor::Watch(Place* place) {
  place->watch =
      options_.loop->Watch(place->listener.get(), runtime::EventLoop::Readiness::kReadable,
                           [this, place] { Accept(place); });
}

void NodeDoor::Accept(Place* place) {
  runtime::UniqueFd socket(
      accept4(place->listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {
    LOG_IF_EVERY_N(ERROR, errno != EAGAIN && errno != EINTR && errno != ECONNABORTED, 100)
        << "cannot take the connection of node " << place->link->name() << ": "
        << std::strerror(errno);
    return;
  }
  if (!runtime::IsOfOurUser(socket.get())) {
    LOG_EVERY_N(WARNING, 100) << "refused a connection of another user for node "
                              << place->link->name();
    return;
  }
  place->link->Take(std::move(socket));
}

}  // namespace launcher
