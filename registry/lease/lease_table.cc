#include "registry/lease/lease_table.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

// Invariants:
// - `leases_` and `by_path_` contain the same leases; `bytes_` is the sum of their SizeOf().
// - `changes_` are consecutive and end with `revision_`.
// - A lease in the table is Up or Suspect, and its revision is that of its newest change.
// - The table's own clock (Time()) stops while its owner does not run, so that a stall requires no
//   change to any lease.

namespace registry {
namespace {

constexpr std::size_t kMaxNameBytes = 80;
constexpr std::size_t kMaxVersionBytes = 80;
constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxLabelBytes = 256;
constexpr std::size_t kMaxEndpoints = 8;
constexpr std::size_t kMaxEndpointBytes = 256;
// Encoded size of a table and of a list entry, without their text.
constexpr std::size_t kLeaseOverhead = 256;
constexpr std::size_t kTextOverhead = 16;
constexpr std::size_t kLabelOverhead = 48;

absl::Status CheckText(std::string_view what, std::string_view text, std::size_t max) {
  if (text.size() > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Absl(what), " of a lease has ", text.size(), " bytes, over ", max));
  }
  if (!runtime::IsPrintable(text)) {
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Absl(what), " of a lease has control characters or is not UTF-8"));
  }
  return absl::OkStatus();
}

absl::Status CheckName(std::string_view what, std::string_view name) {
  if (name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(runtime::Absl(what), " of a lease is empty"));
  }
  if (name.find('/') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(runtime::Absl(what), " of a lease must not contain \"/\""));
  }
  return CheckText(what, name, kMaxNameBytes);
}

absl::Status CheckLabels(const msg::LeaseT& lease) {
  if (lease.labels.size() > kMaxLabels) {
    return absl::InvalidArgumentError(absl::StrCat("a lease has at most ", kMaxLabels,
                                                   " labels, this one ", lease.labels.size()));
  }
  for (const auto& label : lease.labels) {
    if (label == nullptr || label->key.size() + label->value.size() > kMaxLabelBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a label of a lease is over ", kMaxLabelBytes, " bytes"));
    }
    for (const std::string& text : {label->key, label->value}) {
      if (absl::Status good = CheckText("a label", text, kMaxLabelBytes); !good.ok()) return good;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEndpoints(const msg::LeaseT& lease) {
  if (lease.endpoints.size() > kMaxEndpoints) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a lease has at most ", kMaxEndpoints, " endpoints, this one ", lease.endpoints.size()));
  }
  for (const std::string& endpoint : lease.endpoints) {
    absl::Status good = CheckText("an endpoint", endpoint, kMaxEndpointBytes);
    if (!good.ok()) return good;
  }
  return absl::OkStatus();
}

absl::Status Check(const msg::LeaseT& lease) {
  for (const absl::Status& good :
       {CheckName("the name", lease.name), CheckName("the instance", lease.instance),
        CheckText("the version", lease.version, kMaxVersionBytes), CheckEndpoints(lease),
        CheckLabels(lease)}) {
    if (!good.ok()) return good;
  }
  return absl::OkStatus();
}

// Approximate size of the lease in a message.
std::size_t SizeOf(const msg::LeaseT& lease) {
  std::size_t size =
      kLeaseOverhead + lease.name.size() + lease.instance.size() + lease.version.size();
  for (const std::string& endpoint : lease.endpoints) size += kTextOverhead + endpoint.size();
  for (const auto& label : lease.labels) {
    size += kLabelOverhead + label->key.size() + label->value.size();
  }
  return size;
}

bool SameProcess(const msg::ProcessIdentityT* a, const msg::ProcessIdentityT* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->pid_namespace == b->pid_namespace && a->boot_id == b->boot_id && a->pid == b->pid &&
         a->start_ticks == b->start_ticks;
}

// True if both leases (of one name, instance and nonce) describe the service identically.
bool SayTheSame(const msg::LeaseT& a, const msg::LeaseT& b) {
  return a.endpoints == b.endpoints && a.version == b.version && a.ttl_ms == b.ttl_ms &&
         SameProcess(a.process.get(), b.process.get()) &&
         std::equal(
             a.labels.begin(), a.labels.end(), b.labels.begin(), b.labels.end(),
             [](const auto& x, const auto& y) { return x->key == y->key && x->value == y->value; });
}

absl::Status NoSuchLease(std::uint64_t id) {
  return absl::NotFoundError(absl::StrCat("no lease ", id, ": register again"));
}

}  // namespace

std::string PathOf(const msg::LeaseT& lease) {
  return absl::StrCat(lease.name, "/", lease.instance);
}

LeaseTable::LeaseTable(Options options) : options_(options) {}

// ---- Changes

absl::StatusOr<std::uint64_t> LeaseTable::Register(msg::LeaseT lease, absl::Duration now,
                                                   std::int64_t wall_us, bool immortal) {
  if (absl::Status good = Check(lease); !good.ok()) return good;
  const absl::Duration time = Time(now);
  const absl::Duration ttl = lease.ttl_ms == 0
                                 ? options_.default_ttl
                                 : std::clamp(absl::Duration(absl::Milliseconds(lease.ttl_ms)),
                                              options_.min_ttl, options_.max_ttl);
  lease.ttl_ms = static_cast<std::uint32_t>(absl::ToInt64Milliseconds(ttl));
  std::string path = PathOf(lease);
  const auto known = by_path_.find(path);
  Entry* const old = known == by_path_.end() ? nullptr : &leases_.at(known->second);
  const bool same_process = old != nullptr && old->lease.nonce == lease.nonce;
  // A repeated request, for example because an answer was lost.
  if (same_process && SayTheSame(old->lease, lease)) {
    SetRenewed(*old, time);
    return old->lease.id;
  }
  if (absl::Status room = CheckRoom(old, SizeOf(lease)); !room.ok()) return room;
  lease.id = same_process ? old->lease.id : ++last_id_;
  lease.registered_us = wall_us;
  if (same_process) {
    bytes_ -= SizeOf(old->lease);
  } else if (old != nullptr) {
    End(old->lease.id, "replaced");
  }
  const std::uint64_t id = lease.id;
  bytes_ += SizeOf(lease);
  by_path_[std::move(path)] = id;
  Entry& entry = leases_[id];
  entry = {std::move(lease), immortal ? absl::InfiniteDuration() : ttl, time};
  Change(entry, msg::LeaseState::Up, "registered");
  return id;
}

// Checks the limits for `bytes` more, in place of `old` unless that is null.
absl::Status LeaseTable::CheckRoom(const Entry* old, std::size_t bytes) const {
  if (old == nullptr && leases_.size() >= options_.max_leases) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the registry is full: it has ", leases_.size(), " leases"));
  }
  const std::size_t others = bytes_ - (old == nullptr ? 0 : SizeOf(old->lease));
  if (others + bytes > options_.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the registry is full: labels and endpoints of its ", leases_.size(), " leases take ",
        others, " bytes, this one ", bytes, ", and all together at most ", options_.max_bytes));
  }
  return absl::OkStatus();
}

absl::Status LeaseTable::Renew(std::uint64_t id, absl::Duration now) {
  const absl::Duration time = Time(now);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return NoSuchLease(id);
  SetRenewed(found->second, time);
  return absl::OkStatus();
}

void LeaseTable::SetRenewed(Entry& entry, absl::Duration time) {
  entry.renewed = time;
  if (entry.lease.state == msg::LeaseState::Suspect) {
    Change(entry, msg::LeaseState::Up, "renewed");
  }
}

absl::Status LeaseTable::Revoke(std::uint64_t id, std::string_view reason) {
  if (!leases_.contains(id)) return NoSuchLease(id);
  End(id, reason);
  return absl::OkStatus();
}

LeaseTable::Looked LeaseTable::Look(absl::Duration now, int at_most) {
  const absl::Duration time = Time(now);
  Looked looked;
  for (auto next = leases_.begin(); next != leases_.end();) {
    auto& [id, entry] = *next++;
    const absl::Duration age = time - entry.renewed;
    const bool up = entry.lease.state == msg::LeaseState::Up;
    const bool over = !up && age >= entry.ttl;
    const bool late = up && age >= entry.ttl * 2 / 3;
    if (!over && !late) continue;
    if (looked.expired + looked.suspect >= at_most) {
      looked.more = true;
      break;
    }
    if (over) {
      End(id, "expired");
      ++looked.expired;
    } else {
      Change(entry, msg::LeaseState::Suspect, "late");
      ++looked.suspect;
    }
  }
  return looked;
}

// Returns the time by which leases run: `now` less the stalls of this process. If the last call is
// more than two periods of Look() ago, this process did not run in between.
absl::Duration LeaseTable::Time(absl::Duration now) {
  const absl::Duration since = last_call_.has_value() ? now - *last_call_ : absl::ZeroDuration();
  last_call_ = now;
  if (since > 2 * options_.look_every) stalled_ += since - options_.look_every;
  return now - stalled_;
}

void LeaseTable::Change(Entry& entry, msg::LeaseState state, std::string_view reason) {
  entry.lease.state = state;
  entry.lease.revision = ++revision_;
  msg::LeaseEventT change;
  change.revision = revision_;
  change.epoch = options_.epoch;
  change.lease = std::make_unique<msg::LeaseT>(entry.lease);
  change.reason = std::string(reason);
  change_bytes_ += SizeOf(entry.lease);
  changes_.push_back(std::move(change));
  while (changes_.size() > 1 &&
         (changes_.size() > options_.max_changes || change_bytes_ > options_.max_change_bytes)) {
    change_bytes_ -= SizeOf(*changes_.front().lease);
    changes_.pop_front();
  }
}

void LeaseTable::End(std::uint64_t id, std::string_view reason) {
  auto gone = leases_.extract(id);
  Entry& entry = gone.mapped();
  bytes_ -= SizeOf(entry.lease);
  by_path_.erase(PathOf(entry.lease));
  Change(entry, msg::LeaseState::Gone, reason);
}

// ---- Queries

const msg::LeaseT* LeaseTable::Find(std::uint64_t id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second.lease;
}

LeaseTable::Found LeaseTable::List(const Page& page) const {
  Found found;
  const auto is_full = [&] { return page.limit != 0 && found.leases.size() == page.limit; };
  if (page.prefix.empty()) {
    auto next = leases_.upper_bound(page.after);
    for (; next != leases_.end() && !is_full(); ++next) found.leases.push_back(&next->second.lease);
    found.more = next != leases_.end();
    return found;
  }
  for (const std::uint64_t id : IdsOf(page)) {
    if (is_full()) {
      found.more = true;
      break;
    }
    found.leases.push_back(&leases_.at(id).lease);
  }
  return found;
}

// Returns the ids of the page's leases and of all later ones, in order.
std::vector<std::uint64_t> LeaseTable::IdsOf(const Page& page) const {
  std::vector<std::uint64_t> ids;
  for (auto next = by_path_.lower_bound(page.prefix);
       next != by_path_.end() && next->first.starts_with(page.prefix); ++next) {
    if (next->second > page.after) ids.push_back(next->second);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<const msg::LeaseT*> LeaseTable::Lookup(std::string_view name,
                                                   std::string_view instance) const {
  // (Names cannot contain "/".)
  const std::string path = absl::StrCat(runtime::Absl(name), "/", runtime::Absl(instance));
  if (instance.empty()) return List({.prefix = path}).leases;
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return {};
  return {&leases_.at(found->second).lease};
}

std::optional<std::vector<const msg::LeaseEventT*>> LeaseTable::ChangesSince(
    std::uint64_t from) const {
  if (from > revision_ || revision_ - from > changes_.size()) return std::nullopt;
  std::vector<const msg::LeaseEventT*> changes;
  for (auto change = changes_.end() - static_cast<std::ptrdiff_t>(revision_ - from);
       change != changes_.end(); ++change) {
    changes.push_back(&*change);
  }
  return changes;
}

}  // namespace registry
