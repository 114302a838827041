#ifndef REGISTRY_LEASE_LEASE_TABLE_H_
#define REGISTRY_LEASE_LEASE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/registry_generated.h"

namespace registry {

// The leases, which record which processes are alive, and a numbered history of their changes.
// Pure: the (monotonic) time is a parameter of each call, and nothing blocks. Not thread safe.
//
// Every change gets the next revision, from 1, and no revision is reused. The table keeps the
// newest changes, so that a watcher that has missed some can catch up; one that has missed more
// starts from a snapshot. Reasons of changes are "registered", "late" (the lease is suspect),
// "renewed" (it is up again), and for its end: "expired", "revoked", "replaced", or the reason
// given to Revoke().
//
// Everything is bounded: the number of leases, their contents, and the history of changes.
class LeaseTable {
 public:
  struct Options {
    std::uint64_t epoch = 0;  // Epoch of this registry; included in every event.
    absl::Duration default_ttl = absl::Seconds(6);
    absl::Duration min_ttl = absl::Milliseconds(500);
    absl::Duration max_ttl = absl::Minutes(10);
    // How often the owner calls Look(). A pause of more than twice this was a stall of this
    // process.
    absl::Duration look_every = absl::Milliseconds(500);
    std::size_t max_leases = 10'000;
    // Limit of the approximate encoded bytes of all leases together (Check() in the .cc limits one
    // lease). All leases then fit into one answer of the bus.
    std::size_t max_bytes = 32 << 20;
    // Limits of the history: this many changes with this many bytes, but at least one change.
    std::size_t max_changes = 4096;
    std::size_t max_change_bytes = 16 << 20;
  };
  struct Page {
    std::string_view prefix = {};  // Prefix of "name/instance".
    std::uint64_t after = 0;       // Returns only leases with a higher id.
    std::size_t limit = 0;         // 0: unlimited.
  };
  struct Found {
    std::vector<const msg::LeaseT*> leases;
    bool more = false;  // More leases follow.
  };
  struct Looked {
    int expired = 0, suspect = 0;
    bool more = false;  // `at_most` was reached: call again soon.
  };
  explicit LeaseTable(Options options);

  // Adds a lease. An existing lease of the same name and instance is replaced, with a change
  // "replaced", unless it belongs to the same process (nonce): it then keeps its id, and if its
  // content is unchanged, it is only renewed. `immortal`: never late. Errors, which leave the table
  // unchanged: InvalidArgument for a lease with too much or unprintable content, ResourceExhausted
  // if the table is full.
  absl::StatusOr<std::uint64_t> Register(msg::LeaseT lease, absl::Duration now,
                                         std::int64_t wall_us, bool immortal = false);
  // NotFound if the lease does not (or no longer) exist.
  absl::Status Renew(std::uint64_t id, absl::Duration now);
  absl::Status Revoke(std::uint64_t id, std::string_view reason);

  // Ends leases that have expired, and marks late ones suspect: those not renewed for two thirds of
  // their time, so that one renewal (due at each third) has failed and was not made up for. Each
  // lease is suspect for at least one look before it ends. Call it every look_every. If the calls
  // themselves were late (this process was stopped), that time does not count for any lease,
  // because no renewal could arrive. Makes at most `at_most` changes, which is less than the
  // history keeps.
  Looked Look(absl::Duration now, int at_most = 512);

  const msg::LeaseT* Find(std::uint64_t id) const;
  // Returns live leases, oldest first.
  Found List(const Page& page) const;
  // Returns live leases of exactly this name (and instance, unless empty), oldest first.
  std::vector<const msg::LeaseT*> Lookup(std::string_view name, std::string_view instance) const;
  std::uint64_t revision() const { return revision_; }
  std::size_t size() const { return leases_.size(); }
  std::size_t bytes() const { return bytes_; }

  // Returns the changes after `from`, oldest first; null if some of them are no longer kept.
  std::optional<std::vector<const msg::LeaseEventT*>> ChangesSince(std::uint64_t from) const;

 private:
  struct Entry {
    msg::LeaseT lease;
    absl::Duration ttl;      // Infinite: immortal.
    absl::Duration renewed;  // On this table's own clock: see Time().
  };

  absl::Status CheckRoom(const Entry* old, std::size_t bytes) const;
  absl::Duration Time(absl::Duration now);
  void SetRenewed(Entry& entry, absl::Duration time);
  void Change(Entry& entry, msg::LeaseState state, std::string_view reason);
  void End(std::uint64_t id, std::string_view reason);
  std::vector<std::uint64_t> IdsOf(const Page& page) const;

  const Options options_;
  std::uint64_t revision_ = 0;
  std::uint64_t last_id_ = 0;
  std::size_t bytes_ = 0;
  std::map<std::uint64_t, Entry> leases_;  // By id, which is also by age.
  std::map<std::string, std::uint64_t, std::less<>> by_path_;
  std::deque<msg::LeaseEventT> changes_;
  std::size_t change_bytes_ = 0;
  std::optional<absl::Duration> last_call_;
  absl::Duration stalled_ = absl::ZeroDuration();
};

// Returns "name/instance", with which prefixes are compared.
std::string PathOf(const msg::LeaseT& lease);

}  // namespace registry

#endif  // REGISTRY_LEASE_LEASE_TABLE_H_
