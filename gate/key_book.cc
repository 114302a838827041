#include "gate/key_book.h"

#include <sys/stat.h>

#include <utility>

#include "glog/logging.h"

namespace gate {
namespace {

constexpr std::size_t kMostLogged = 1000;
// Two changes may have the same timestamp, so a folder that was changed this recently is read
// again.
constexpr std::int64_t kClockTick = 1'000'000'000;

// Returns 0 if the folder does not exist.
std::int64_t LastChangeOf(const std::string& directory) {
  struct stat about {};
  if (stat(directory.c_str(), &about) != 0) return 0;
  return std::int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec;
}

bool AreSame(const bus::AllowedKey& a, const bus::AllowedKey& b) {
  return a.name == b.name && a.role == b.role && a.nonce == b.nonce;
}

}  // namespace

KeyBook::KeyBook(bus::KeyFolder folder, runtime::Clock* clock)
    : folder_(std::move(folder)), clock_(clock) {}

void KeyBook::Read() {
  const runtime::MutexLock reading(read_mutex_);
  const std::int64_t changed = LastChangeOf(folder_.AllowedDirectory());
  {
    const runtime::MutexLock lock(mutex_);
    const bool is_old = absl::ToUnixNanos(clock_->Now()) - changed > kClockTick;
    if (changed_ == changed && is_old) return;
  }
  std::vector<std::string> bad;
  const auto allowed = folder_.Allowed(&bad);
  if (!allowed.ok()) {
    LOG_EVERY_T(ERROR, 60) << "the keys stay as they were: " << allowed.status().message();
    return;
  }
  std::map<std::string, bus::AllowedKey> keys;
  for (const bus::AllowedKey& key : *allowed) keys.emplace(key.public_key, key);
  const runtime::MutexLock lock(mutex_);
  changed_ = changed;
  for (const std::string& why : bad) {
    if (logged_.size() < kMostLogged && logged_.insert(why).second) LOG(WARNING) << why;
  }
  bool differs = keys.size() != keys_.size();
  for (auto one = keys.begin(), other = keys_.begin(); !differs && one != keys.end();
       ++one, ++other) {
    differs = one->first != other->first || !AreSame(one->second, other->second);
  }
  keys_ = std::move(keys);
  version_ += differs ? 1 : 0;
}

std::uint64_t KeyBook::version() const {
  const runtime::MutexLock lock(mutex_);
  return version_;
}

std::optional<bus::AllowedKey> KeyBook::Find(const std::string& public_key) const {
  const runtime::MutexLock lock(mutex_);
  const auto found = keys_.find(public_key);
  if (found == keys_.end()) return std::nullopt;
  return found->second;
}

bool KeyBook::LetIn(const std::string& public_key, const std::string& address) {
  Read();
  const runtime::MutexLock lock(mutex_);
  if (keys_.contains(public_key)) return true;
  ++refused_;
  if (logged_.size() < kMostLogged && logged_.insert(public_key).second) {
    LOG(WARNING) << "refused a key that is not allowed, from " << address << ": " << public_key
                 << " (said once for each key)";
  }
  return false;
}

std::uint64_t KeyBook::refused() const {
  const runtime::MutexLock lock(mutex_);
  return refused_;
}

std::uint64_t KeyBook::size() const {
  const runtime::MutexLock lock(mutex_);
  return keys_.size();
}

}  // namespace gate
