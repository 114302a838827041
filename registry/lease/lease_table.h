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

// The leases, which say which processes are alive, and numbered changes of them. Pure: time comes
// in with each call (monotonic), nothing is waited for. Not thread safe.
//
// Every change has the next revision, from 1; none is ever used twice. The newest changes are kept,
// so that a watcher that has missed some can catch up; one that has missed more starts from a
// snapshot. Changes are "registered", "late" (the lease is suspect), "renewed" (it is up again),
// and the ends: "expired", "revoked", "replaced", or the reason given to Revoke().
//
// Everything in it is bounded: the number of leases, what they say, and the changes that are kept.
class LeaseTable {
 public:
  struct Options {
    std::uint64_t epoch = 0;  // The epoch of this registry; in every event.
    absl::Duration default_ttl = absl::Seconds(6);
    absl::Duration min_ttl = absl::Milliseconds(500);
    absl::Duration max_ttl = absl::Minutes(10);
    // How often the owner calls Look(). A longer pause than twice this was a stall of its own.
    absl::Duration look_every = absl::Milliseconds(500);
    std::size_t max_leases = 10'000;
    // Bytes of all leases together, encoded (about; see Check() in the source for one lease's). All
    // of them fit into one answer of the bus then.
    std::size_t max_bytes = 32 << 20;
    // Kept for watchers: at most so many changes of at most so many bytes, and one in any case.
    std::size_t max_changes = 4096;
    std::size_t max_change_bytes = 16 << 20;
  };
  struct Page {
    std::string_view prefix = {};  // Beginning of "name/instance".
    std::uint64_t after = 0;       // Only leases with a higher id.
    std::size_t limit = 0;         // 0: all.
  };
  struct Found {
    std::vector<const msg::LeaseT*> leases;
    bool more = false;  // There are others behind the last of these.
  };
  struct Looked {
    int expired = 0, suspect = 0;
    bool more = false;  // `at_most` was reached: call again soon.
  };
  explicit LeaseTable(Options options);

  // Takes a lease. A lease of the same name and instance is replaced, with a change "replaced",
  // unless it is of the same process (nonce): that lease keeps its id, and if it says the same as
  // before, it is just renewed. `immortal`: never late.
  // InvalidArgument for a lease that says too much or what cannot be printed, ResourceExhausted
  // when full; then everything is as it was.
  absl::StatusOr<std::uint64_t> Register(msg::LeaseT lease, absl::Duration now,
                                         std::int64_t wall_us, bool immortal = false);
  // NotFound: there is no such lease (any more).
  absl::Status Renew(std::uint64_t id, absl::Duration now);
  absl::Status Revoke(std::uint64_t id, std::string_view reason);

  // Ends what has not been renewed in time, and makes suspect what is late: not renewed for two
  // thirds of its time, so that one renewal (they come at thirds) has failed and not been made up
  // for. Each is suspect for one look at least. To be called every look_every; when the calls
  // themselves were late (this process was stopped), nobody's time runs meanwhile, because renewals
  // could not arrive. Makes at most `at_most` changes, which is less than are kept.
  Looked Look(absl::Duration now, int at_most = 512);

  const msg::LeaseT* Find(std::uint64_t id) const;
  // Live leases, oldest first.
  Found List(const Page& page) const;
  // Live leases of exactly this name (and instance, unless empty), oldest first.
  std::vector<const msg::LeaseT*> Lookup(std::string_view name, std::string_view instance) const;
  std::uint64_t revision() const { return revision_; }
  std::size_t size() const { return leases_.size(); }
  std::size_t bytes() const { return bytes_; }

  // The changes after `from`, oldest first; nothing if they are not all kept any more.
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
  std::map<std::uint64_t, Entry> leases_;  // By id, which is by age.
  std::map<std::string, std::uint64_t, std::less<>> by_path_;
  std::deque<msg::LeaseEventT> changes_;
  std::size_t change_bytes_ = 0;
  std::optional<absl::Duration> last_call_;
  absl::Duration stalled_ = absl::ZeroDuration();
};

// "name/instance", as prefixes are compared with.
std::string PathOf(const msg::LeaseT& lease);

}  // namespace registry

#endif  // REGISTRY_LEASE_LEASE_TABLE_H_
