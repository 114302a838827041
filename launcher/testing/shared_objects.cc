#include "launcher/testing/shared_objects.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/testing/objects/object_calls.h"

namespace launcher::testing {

SharedObject::SharedObject(Operation make, std::int64_t number) : home_(HomeOfThisProcess()) {
  ObjectRequest request;
  request.operation = make;
  request.home = home_;
  request.number = number;
  const ObjectReply reply = CallObjectAndWait(request);
  made_ = reply.status;
  object_ = static_cast<std::uint64_t>(reply.number);
  if (!made_.ok()) return;
  request.operation = Operation::kRemove;
  request.object = object_;
  owner_ = std::shared_ptr<const void>(
      this, [request](const void*) { CallObject(kOwnClient, request, [](const ObjectReply&) {}); });
}

void SharedObject::Refer(std::uint64_t home, std::uint64_t object) {
  home_ = home;
  object_ = object;
  made_ = absl::OkStatus();
  owner_.reset();
}

ObjectReply SharedObject::Ask(Operation operation, absl::Duration timeout, std::int64_t number,
                              std::string key, std::string value) const {
  ObjectReply reply;
  reply.status = made_;
  if (reply.status.ok() && home_ == 0) {
    reply.status = absl::NotFoundError("a shared object that was never made");
  }
  if (key.size() + value.size() > kMaxContent) {
    reply.status = absl::InvalidArgumentError(absl::StrCat(
        key.size() + value.size(), " bytes for a shared object, more than ", kMaxContent));
  }
  if (!reply.status.ok()) return reply;
  ObjectRequest request;
  request.operation = operation;
  request.home = home_;
  request.object = object_;
  request.number = number;
  request.key = std::move(key);
  request.value = std::move(value);
  request.timeout = timeout;
  return CallObjectAndWait(request);
}

absl::Status SharedEvent::Set() const { return Ask(Operation::kSet).status; }

absl::Status SharedEvent::Clear() const { return Ask(Operation::kClear).status; }

absl::StatusOr<bool> SharedEvent::IsSet() const {
  const ObjectReply reply = Ask(Operation::kGet);
  if (!reply.status.ok()) return reply.status;
  return reply.number != 0;
}

absl::Status SharedEvent::Wait(absl::Duration timeout) const {
  return Ask(Operation::kWait, timeout).status;
}

absl::StatusOr<std::string> SharedLock::Acquire(absl::Duration timeout) const {
  ObjectReply reply = Ask(Operation::kAcquire, timeout);
  if (!reply.status.ok()) return reply.status;
  return std::move(reply.value);
}

absl::Status SharedLock::Release() const { return Ask(Operation::kRelease).status; }

absl::Status SharedSemaphore::Acquire(absl::Duration timeout) const {
  return Ask(Operation::kAcquire, timeout).status;
}

absl::Status SharedSemaphore::Release(std::int64_t units) const {
  return Ask(Operation::kRelease, absl::ZeroDuration(), units).status;
}

absl::StatusOr<std::int64_t> SharedSemaphore::Units() const {
  const ObjectReply reply = Ask(Operation::kGet);
  if (!reply.status.ok()) return reply.status;
  return reply.number;
}

absl::StatusOr<std::int64_t> SharedCounter::Add(std::int64_t amount) const {
  const ObjectReply reply = Ask(Operation::kAdd, absl::ZeroDuration(), amount);
  if (!reply.status.ok()) return reply.status;
  return reply.number;
}

absl::StatusOr<std::int64_t> SharedCounter::Value() const {
  const ObjectReply reply = Ask(Operation::kGet);
  if (!reply.status.ok()) return reply.status;
  return reply.number;
}

absl::StatusOr<std::int64_t> SharedCounter::WaitFor(std::int64_t value,
                                                    absl::Duration timeout) const {
  const ObjectReply reply = Ask(Operation::kWait, timeout, value);
  if (!reply.status.ok()) return reply.status;
  return reply.number;
}

absl::Status SharedKeyValue::Set(const std::string& key, const std::string& value) const {
  return Ask(Operation::kSet, absl::ZeroDuration(), 0, key, value).status;
}

absl::StatusOr<std::string> SharedKeyValue::Get(const std::string& key) const {
  ObjectReply reply = Ask(Operation::kGet, absl::ZeroDuration(), 0, key);
  if (!reply.status.ok()) return reply.status;
  return std::move(reply.value);
}

absl::StatusOr<std::string> SharedKeyValue::Wait(const std::string& key,
                                                 absl::Duration timeout) const {
  ObjectReply reply = Ask(Operation::kWait, timeout, 0, key);
  if (!reply.status.ok()) return reply.status;
  return std::move(reply.value);
}

absl::StatusOr<bool> SharedKeyValue::Remove(const std::string& key) const {
  const ObjectReply reply = Ask(Operation::kClear, absl::ZeroDuration(), 0, key);
  if (!reply.status.ok()) return reply.status;
  return reply.number != 0;
}

absl::StatusOr<std::vector<std::string>> SharedKeyValue::Keys() const {
  ObjectReply reply = Ask(Operation::kKeys);
  if (!reply.status.ok()) return reply.status;
  return std::move(reply.keys);
}

absl::StatusOr<int> SharedBarrier::Wait(absl::Duration timeout) const {
  const ObjectReply reply = Ask(Operation::kWait, timeout);
  if (!reply.status.ok()) return reply.status;
  return static_cast<int>(reply.number);
}

absl::Status SharedBarrier::Reset() const { return Ask(Operation::kClear).status; }

absl::StatusOr<std::int64_t> SharedBarrier::Waiting() const {
  const ObjectReply reply = Ask(Operation::kGet);
  if (!reply.status.ok()) return reply.status;
  return reply.number;
}

absl::StatusOr<int> Barrier::Wait(const Options& options) const {
  // (For launcher::Barriers, zero would be no limit.)
  if (options.timeout <= absl::ZeroDuration()) {
    return absl::DeadlineExceededError("at a barrier without any time to wait");
  }
  ObjectRequest request;
  request.operation = ObjectRequest::Operation::kBarrier;
  request.key = options.name;
  request.parties = options.parties;
  request.timeout = options.timeout;
  const ObjectReply reply = CallObjectAndWait(request);
  if (!reply.status.ok()) return reply.status;
  return static_cast<int>(reply.number);
}

}  // namespace launcher::testing
