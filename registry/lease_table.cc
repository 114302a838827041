#include "registry/lease_table.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/string_view.h"

namespace registry {
namespace {

// Expire() is called at least every kLookEvery by its owner; what is over twice that was a stall.
constexpr absl::Duration kLookEvery = absl::Seconds(1);
constexpr std::size_t kMaxNameBytes = 80;
constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxLabelBytes = 256;
constexpr std::size_t kMaxEndpoints = 8;
constexpr std::size_t kMaxEndpointBytes = 256;

absl::Status CheckName(std::string_view what, std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the ", runtime::Absl(what), " of a lease has ",
                                                   name.size(), " bytes, not 1 to ",
                                                   kMaxNameBytes));
  }
  if (name.find('/') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", runtime::Absl(what), " of a lease must not contain \"/\""));
  }
  return absl::OkStatus();
}

absl::Status Check(const msg::LeaseT& lease) {
  if (absl::Status name = CheckName("name", lease.name); !name.ok()) return name;
  if (absl::Status name = CheckName("instance", lease.instance); !name.ok()) return name;
  if (lease.labels.size() > kMaxLabels || lease.endpoints.size() > kMaxEndpoints) {
    return absl::InvalidArgumentError(absl::StrCat("a lease has at most ", kMaxLabels,
                                                   " labels and ", kMaxEndpoints, " endpoints"));
  }
  for (const auto& label : lease.labels) {
    if (label == nullptr || label->key.size() + label->value.size() > kMaxLabelBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a label of a lease is over ", kMaxLabelBytes, " bytes"));
    }
  }
  for (const auto& endpoint : lease.endpoints) {
    if (endpoint.size() > kMaxEndpointBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("an endpoint of a lease is over ", kMaxEndpointBytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

absl::Status NoSuchLease(std::uint64_t id) {
  return absl::NotFoundError(absl::StrCat("no lease ", id, ": register again"));
}

}  // namespace

std::string PathOf(const msg::LeaseT& lease) {
  return absl::StrCat(lease.name, "/", lease.instance);
}

LeaseTable::LeaseTable(Options options) : options_(options) {}

absl::StatusOr<std::uint64_t> LeaseTable::Register(msg::LeaseT lease, absl::Duration now,
                                                   std::int64_t wall_us, bool immortal) {
  if (absl::Status good = Check(lease); !good.ok()) return good;
  CompensateStall(now);
  const Key key(lease.name, lease.instance);
  std::uint64_t id = 0;
  if (const auto old = by_name_.find(key); old != by_name_.end()) {
    // The same process asks again, for example because an answer was lost.
    if (leases_.at(old->second).lease.nonce == lease.nonce) {
      id = old->second;
    } else {
      End(old->second, "replaced");
    }
  }
  if (id == 0 && leases_.size() >= options_.max_leases) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the registry is full: it has ", leases_.size(), " leases"));
  }
  if (id == 0) id = ++last_id_;
  const absl::Duration ttl = lease.ttl_ms == 0
                                 ? options_.default_ttl
                                 : std::clamp(absl::Duration(absl::Milliseconds(lease.ttl_ms)),
                                              options_.min_ttl, options_.max_ttl);
  lease.id = id;
  lease.ttl_ms = static_cast<std::uint32_t>(absl::ToInt64Milliseconds(ttl));
  lease.state = msg::LeaseState::Up;
  lease.registered_us = wall_us;
  lease.revision = revision_ + 1;
  by_name_[key] = id;
  Entry& entry = leases_[id];
  entry = {std::move(lease), ttl, immortal ? absl::InfiniteDuration() : now + ttl};
  Record(entry.lease, "registered");
  return id;
}

absl::Status LeaseTable::Renew(std::uint64_t id, absl::Duration now) {
  CompensateStall(now);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return NoSuchLease(id);
  found->second.expires = std::max(found->second.expires, now + found->second.ttl);
  return absl::OkStatus();
}

absl::Status LeaseTable::Revoke(std::uint64_t id, std::string_view reason) {
  if (!leases_.contains(id)) return NoSuchLease(id);
  End(id, reason);
  return absl::OkStatus();
}

int LeaseTable::Expire(absl::Duration now) {
  CompensateStall(now);
  std::vector<std::uint64_t> over;
  for (const auto& [id, entry] : leases_) {
    if (entry.expires <= now) over.push_back(id);
  }
  for (const std::uint64_t id : over) End(id, "expired");
  return static_cast<int>(over.size());
}

// If the last look is longer ago than looks are apart, this process did not run meanwhile.
void LeaseTable::CompensateStall(absl::Duration now) {
  const absl::Duration since = last_look_.has_value() ? now - *last_look_ : absl::ZeroDuration();
  last_look_ = now;
  if (since <= 2 * kLookEvery) return;
  for (auto& [id, entry] : leases_) entry.expires += since - kLookEvery;
}

absl::Duration LeaseTable::NextExpiry() const {
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [id, entry] : leases_) next = std::min(next, entry.expires);
  return next;
}

const msg::LeaseT* LeaseTable::Find(std::uint64_t id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second.lease;
}

std::vector<const msg::LeaseT*> LeaseTable::List(std::string_view prefix) const {
  std::vector<const msg::LeaseT*> live;
  for (const auto& [id, entry] : leases_) {
    if (PathOf(entry.lease).starts_with(prefix)) live.push_back(&entry.lease);
  }
  return live;
}

std::vector<const msg::LeaseT*> LeaseTable::Lookup(std::string_view name,
                                                   std::string_view instance) const {
  std::vector<const msg::LeaseT*> live;
  for (const auto& [id, entry] : leases_) {
    const bool same = entry.lease.name == name;
    if (same && (instance.empty() || entry.lease.instance == instance)) {
      live.push_back(&entry.lease);
    }
  }
  return live;
}

std::optional<std::vector<const msg::LeaseEventT*>> LeaseTable::ChangesSince(
    std::uint64_t from) const {
  if (from > revision_ || from + changes_.size() < revision_) return std::nullopt;
  std::vector<const msg::LeaseEventT*> changes;
  for (auto change = changes_.end() - static_cast<std::ptrdiff_t>(revision_ - from);
       change != changes_.end(); ++change) {
    changes.push_back(&*change);
  }
  return changes;
}

void LeaseTable::Record(const msg::LeaseT& lease, std::string_view reason) {
  msg::LeaseEventT change;
  change.revision = ++revision_;
  change.epoch = options_.epoch;
  change.lease = std::make_unique<msg::LeaseT>(lease);
  change.lease->revision = revision_;
  change.reason = std::string(reason);
  changes_.push_back(std::move(change));
  if (changes_.size() > options_.max_changes) changes_.pop_front();
}

void LeaseTable::End(std::uint64_t id, std::string_view reason) {
  auto gone = leases_.extract(id);
  msg::LeaseT& lease = gone.mapped().lease;
  by_name_.erase({lease.name, lease.instance});
  lease.state = msg::LeaseState::Gone;
  Record(lease, reason);
}

}  // namespace registry
