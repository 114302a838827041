#include "bus/thread/tcp_door.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "glog/logging.h"

namespace bus {
namespace {

// Returns 0 for an address that is not TCP.
in_port_t PortOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(address).sin_port;
  if (address.ss_family != AF_INET6) return 0;
  return reinterpret_cast<const sockaddr_in6&>(address).sin6_port;
}

bool PeerOf(int fd, sockaddr_storage* peer) {
  *peer = {};
  socklen_t size = sizeof(*peer);
  return getpeername(fd, reinterpret_cast<sockaddr*>(peer), &size) == 0;
}

}  // namespace

TcpDoor& TcpDoor::OfThisProcess() {
  static auto* const door = new TcpDoor;
  return *door;
}

void TcpDoor::Guard(const std::string& endpoint) {
  std::uint32_t port = 0;
  if (!absl::SimpleAtoi(endpoint.substr(endpoint.rfind(':') + 1), &port)) return;
  const runtime::MutexLock lock(mutex_);
  ports_.insert(htons(static_cast<in_port_t>(port)));
}

bool TcpDoor::Guards(int listener) {
  sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&own), &size) != 0) return false;
  const in_port_t port = PortOf(own);
  if (port == 0) return false;
  const runtime::MutexLock lock(mutex_);
  return ports_.contains(port);
}

// True if the entry's connection still exists. The descriptor's number may have been reused; the
// peer's address and port identify the connection.
bool TcpDoor::IsStill(const Entry& entry) {
  sockaddr_storage peer;
  return PeerOf(entry.fd, &peer) && std::memcmp(&peer, &entry.peer, sizeof(peer)) == 0;
}

// Returns the number of removed entries.
std::size_t TcpDoor::RemoveEnded(Entries* entries) {
  return std::erase_if(*entries, [](const Entry& entry) { return !IsStill(entry); });
}

bool TcpDoor::LetIn(int fd) {
  Entry entry{.fd = fd};
  if (!PeerOf(fd, &entry.peer)) return false;  // The peer has disconnected.
  const runtime::MutexLock lock(mutex_);
  ++stats_.accepted;
  // An earlier connection with this number has ended.
  const auto is_same = [fd](const Entry& one) { return one.fd == fd; };
  stats_.unused += std::erase_if(new_, is_same);
  std::erase_if(in_use_, is_same);
  if (in_use_.size() >= kMost) RemoveEnded(&in_use_);
  if (in_use_.size() >= kMost) {
    ++stats_.refused;
    LOG_EVERY_T(WARNING, 60) << "a connection was refused: " << kMost << " clients are connected";
    return false;
  }
  if (new_.size() >= kMostNew) LookAtNew();
  if (new_.size() >= kMostNew) {
    ++stats_.cut;
    ++stats_.unused;
    shutdown(new_.front().fd, SHUT_RDWR);
    new_.pop_front();
    LOG_EVERY_T(WARNING, 60) << "over " << kMostNew
                             << " connections have shown no key: the oldest of them are cut";
  }
  entry.ticket = ++last_ticket_;
  new_.push_back(entry);
  return true;
}

std::uint64_t TcpDoor::NoteInUse(int fd) {
  const runtime::MutexLock lock(mutex_);
  const auto found = std::find_if(new_.begin(), new_.end(), [&](const Entry& entry) {
    return entry.fd == fd && IsStill(entry);
  });
  if (found == new_.end()) return 0;
  in_use_.splice(in_use_.end(), new_, found);
  return in_use_.back().ticket;
}

void TcpDoor::Cut(std::uint64_t ticket) {
  const runtime::MutexLock lock(mutex_);
  for (const Entry& entry : in_use_) {
    if (entry.ticket == ticket && IsStill(entry)) shutdown(entry.fd, SHUT_RDWR);
  }
}

TcpDoor::Stats TcpDoor::GetStats() {
  const runtime::MutexLock lock(mutex_);
  LookAtNew();
  RemoveEnded(&in_use_);
  Stats stats = stats_;
  stats.in_use = in_use_.size();
  return stats;
}

}  // namespace bus
