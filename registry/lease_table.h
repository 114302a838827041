#ifndef REGISTRY_LEASE_TABLE_H_
#define REGISTRY_LEASE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/registry_generated.h"

namespace registry {

// Who is alive: the leases, and numbered changes of them. Pure: time comes in with each call
// (monotonic), nothing is waited for. Not thread safe.
//
// Every change has the next revision, from 1. The newest changes are kept, so that a watcher that
// has missed some can catch up; one that has missed more starts from a snapshot.
class LeaseTable {
 public:
  struct Options {
    std::uint64_t epoch = 0;  // Of this registry; in every event.
    absl::Duration default_ttl = absl::Seconds(6);
    absl::Duration min_ttl = absl::Milliseconds(500);
    absl::Duration max_ttl = absl::Minutes(10);
    std::size_t max_leases = 10'000;
    std::size_t max_changes = 4096;  // Kept for watchers.
  };
  explicit LeaseTable(Options options);

  // Takes a lease. One of the same name and instance is replaced: at once if it is the same
  // process that registers again (its id stays), with an event "replaced" otherwise.
  // `immortal`: never expires. InvalidArgument for a bad name, ResourceExhausted when full.
  absl::StatusOr<std::uint64_t> Register(msg::LeaseT lease, absl::Duration now,
                                         std::int64_t wall_us, bool immortal = false);
  // NotFound: there is no such lease (any more).
  absl::Status Renew(std::uint64_t id, absl::Duration now);
  absl::Status Revoke(std::uint64_t id, std::string_view reason);

  // Ends what has not been renewed in time. To be called often; when the calls themselves were
  // late (this process was stopped), everybody gets that time in addition, because renewals could
  // not arrive meanwhile. Returns how many ended.
  int Expire(absl::Duration now);
  // When Expire() is to be called next, at the latest; infinite if there is nothing to expire.
  absl::Duration NextExpiry() const;

  const msg::LeaseT* Find(std::uint64_t id) const;
  // Live leases, oldest first, whose "name/instance" starts with `prefix`.
  std::vector<const msg::LeaseT*> List(std::string_view prefix) const;
  // Live leases of exactly this name (and instance, unless empty), oldest first.
  std::vector<const msg::LeaseT*> Lookup(std::string_view name, std::string_view instance) const;
  std::uint64_t revision() const { return revision_; }
  std::size_t size() const { return leases_.size(); }

  // The changes after `from`, oldest first; nothing if they are not all kept any more.
  std::optional<std::vector<const msg::LeaseEventT*>> ChangesSince(std::uint64_t from) const;

 private:
  struct Entry {
    msg::LeaseT lease;
    absl::Duration ttl;
    absl::Duration expires;
  };
  using Key = std::pair<std::string, std::string>;  // Name and instance.

  void Record(const msg::LeaseT& lease, std::string_view reason);
  void End(std::uint64_t id, std::string_view reason);
  void CompensateStall(absl::Duration now);

  const Options options_;
  std::uint64_t revision_ = 0;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Entry> leases_;  // By id, which is by age.
  std::map<Key, std::uint64_t> by_name_;
  std::deque<msg::LeaseEventT> changes_;
  std::optional<absl::Duration> last_look_;
};

// "name/instance", as prefixes are compared with.
std::string PathOf(const msg::LeaseT& lease);

}  // namespace registry

#endif  // REGISTRY_LEASE_TABLE_H_
