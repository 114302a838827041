#include "launcher/testing/objects/object_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace launcher::testing {
namespace {

using Operation = ObjectRequest::Operation;

bool Fail(absl::Status status, ObjectReply* reply) {
  reply->status = std::move(status);
  return true;
}

bool Refuse(ObjectReply* reply) {
  return Fail(absl::InvalidArgumentError("the shared object has no such operation"), reply);
}

bool Answers(std::int64_t number, ObjectReply* reply) {
  reply->number = number;
  return true;
}

}  // namespace

std::vector<ObjectTable::Answer> ObjectTable::Handle(std::uint64_t client, Ticket ticket,
                                                     const ObjectRequest& request,
                                                     absl::Duration now) {
  std::vector<Answer> answers;
  ObjectReply reply;
  if (request.operation >= Operation::kMakeEvent && request.operation <= Operation::kMakeBarrier) {
    answers.push_back({ticket, Make(request)});
    return answers;
  }
  const auto found = objects_.find(request.object);
  if (found == objects_.end()) {
    reply.status = absl::NotFoundError("the shared object is not there any more");
    answers.push_back({ticket, reply});
    return answers;
  }
  Object& object = found->second;
  if (request.operation == Operation::kRemove) {
    for (const Waiting& waiting : object.waiting) {
      reply.status = absl::NotFoundError("the shared object was removed");
      answers.push_back({waiting.ticket, reply});
    }
    waiting_ -= object.waiting.size();
    objects_.erase(found);
    answers.push_back({ticket, {}});
    return answers;
  }
  // (A waiting request of the same kind goes first. Other kinds of requests do not queue.)
  const bool has_turn =
      std::none_of(object.waiting.begin(), object.waiting.end(), [&](const Waiting& waiting) {
        return waiting.request.operation == request.operation &&
               (request.operation == Operation::kAcquire || request.operation == Operation::kTake ||
                request.operation == Operation::kPut);
      });
  if (has_turn && Try(object, client, request, &reply)) {
    answers.push_back({ticket, std::move(reply)});
    Settle(object, &answers);
    return answers;
  }
  if (request.timeout <= absl::ZeroDuration()) {
    reply.status = absl::DeadlineExceededError("not now");
  } else if (waiting_ >= kMaxWaiting) {
    reply.status = absl::ResourceExhaustedError(
        absl::StrCat("more than ", kMaxWaiting, " wait for shared objects"));
  } else {
    object.waiting.push_back({client, ticket, request, now + request.timeout});
    ++waiting_;
    if (object.kind == Operation::kMakeBarrier) Complete(object, &answers);
    return answers;
  }
  answers.push_back({ticket, std::move(reply)});
  return answers;
}

ObjectReply ObjectTable::Make(const ObjectRequest& request) {
  ObjectReply reply;
  if (objects_.size() >= kMaxObjects) {
    reply.status =
        absl::ResourceExhaustedError(absl::StrCat("there are ", kMaxObjects, " shared objects"));
    return reply;
  }
  Object& object = objects_[++last_object_];
  object.kind = request.operation;
  object.number = request.operation == Operation::kMakeLock ? 1 : request.number;
  reply.number = static_cast<std::int64_t>(last_object_);
  return reply;
}

bool ObjectTable::Try(Object& object, std::uint64_t client, const ObjectRequest& request,
                      ObjectReply* reply) {
  switch (object.kind) {
    case Operation::kMakeEvent:
      return TryEvent(object, request, reply);
    case Operation::kMakeLock:
      return TryLock(object, client, request, reply);
    case Operation::kMakeSemaphore:
      return TrySemaphore(object, client, request, reply);
    case Operation::kMakeCounter:
      return TryCounter(object, request, reply);
    case Operation::kMakeQueue:
      return TryQueue(object, request, reply);
    case Operation::kMakeKeyValue:
      return TryKeyValue(object, request, reply);
    case Operation::kMakeBarrier:
      return TryBarrier(object, request, reply);
    default:
      return Refuse(reply);
  }
}

bool ObjectTable::TryEvent(Object& object, const ObjectRequest& request, ObjectReply* reply) {
  switch (request.operation) {
    case Operation::kSet:
    case Operation::kClear:
      object.number = request.operation == Operation::kSet ? 1 : 0;
      return true;
    case Operation::kGet:
      return Answers(object.number, reply);
    case Operation::kWait:
      return object.number != 0;
    default:
      return Refuse(reply);
  }
}

bool ObjectTable::TryLock(Object& object, std::uint64_t client, const ObjectRequest& request,
                          ObjectReply* reply) {
  switch (request.operation) {
    case Operation::kAcquire:
      if (object.number == 0) return false;
      object.number = 0;
      object.held = {{client, 1}};
      reply->value = std::exchange(object.dead_holder, {});
      return true;
    case Operation::kRelease:
      if (object.number != 0) {
        return Fail(absl::FailedPreconditionError("the lock is not held"), reply);
      }
      object.number = 1;
      object.held.clear();
      return true;
    case Operation::kGet:
      return Answers(object.number, reply);
    default:
      return Refuse(reply);
  }
}

bool ObjectTable::TrySemaphore(Object& object, std::uint64_t client, const ObjectRequest& request,
                               ObjectReply* reply) {
  switch (request.operation) {
    case Operation::kAcquire:
      if (object.number < 1) return false;
      --object.number;
      ++object.held[client];
      return true;
    case Operation::kRelease:
      if (request.number < 1) return Refuse(reply);
      object.number += request.number;
      if (const auto held = object.held.find(client); held != object.held.end()) {
        held->second = std::max<std::int64_t>(held->second - request.number, 0);
      }
      return true;
    case Operation::kGet:
      return Answers(object.number, reply);
    default:
      return Refuse(reply);
  }
}

bool ObjectTable::TryCounter(Object& object, const ObjectRequest& request, ObjectReply* reply) {
  switch (request.operation) {
    case Operation::kAdd:
      // (Unsigned arithmetic, so that it wraps around.)
      object.number = static_cast<std::int64_t>(static_cast<std::uint64_t>(object.number) +
                                                static_cast<std::uint64_t>(request.number));
      return Answers(object.number, reply);
    case Operation::kGet:
      return Answers(object.number, reply);
    case Operation::kWait:
      return object.number >= request.number && Answers(object.number, reply);
    default:
      return Refuse(reply);
  }
}

bool ObjectTable::TryQueue(Object& object, const ObjectRequest& request, ObjectReply* reply) {
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(object.number, 0));
  switch (request.operation) {
    case Operation::kPut:
      if (request.value.size() > kMaxBytes) return Refuse(reply);
      if (limit != 0 && object.items.size() >= limit) return false;
      if (object.bytes + request.value.size() > kMaxBytes) return false;
      object.bytes += request.value.size();
      object.items.push_back(request.value);
      return true;
    case Operation::kTake:
      if (object.items.empty()) return false;
      reply->value = std::move(object.items.front());
      object.items.pop_front();
      object.bytes -= reply->value.size();
      return true;
    case Operation::kGet:
      return Answers(static_cast<std::int64_t>(object.items.size()), reply);
    default:
      return Refuse(reply);
  }
}

bool ObjectTable::TryKeyValue(Object& object, const ObjectRequest& request, ObjectReply* reply) {
  const auto found = object.pairs.find(request.key);
  const bool is_there = found != object.pairs.end();
  switch (request.operation) {
    case Operation::kSet: {
      const std::size_t old = is_there ? found->first.size() + found->second.size() : 0;
      const std::size_t bytes = object.bytes - old + request.key.size() + request.value.size();
      if (bytes > kMaxBytes) {
        return Fail(absl::ResourceExhaustedError("the key/value object is full"), reply);
      }
      object.bytes = bytes;
      object.pairs[request.key] = request.value;
      return true;
    }
    case Operation::kClear:
      if (is_there) {
        object.bytes -= found->first.size() + found->second.size();
        object.pairs.erase(found);
      }
      return Answers(is_there ? 1 : 0, reply);
    case Operation::kGet:
    case Operation::kWait:
      if (is_there) {
        reply->value = found->second;
        return true;
      }
      if (request.operation == Operation::kWait) return false;
      return Fail(absl::NotFoundError(absl::StrCat("no key \"", request.key, "\"")), reply);
    case Operation::kKeys:
      for (const auto& [key, value] : object.pairs) reply->keys.push_back(key);
      return true;
    default:
      return Refuse(reply);
  }
}

bool ObjectTable::TryBarrier(Object& object, const ObjectRequest& request, ObjectReply* reply) {
  switch (request.operation) {
    case Operation::kWait:
      if (object.broken.empty()) return false;
      return Fail(absl::FailedPreconditionError(object.broken), reply);
    case Operation::kClear:
      object.broken.clear();
      return true;
    case Operation::kGet:
      return Answers(static_cast<std::int64_t>(object.waiting.size()), reply);
    default:
      return Refuse(reply);
  }
}

void ObjectTable::Complete(Object& object, std::vector<Answer>* answers) {
  if (static_cast<std::int64_t>(object.waiting.size()) < object.number) return;
  ObjectReply reply;
  for (const Waiting& waiting : object.waiting) {
    answers->push_back({waiting.ticket, reply});
    ++reply.number;
  }
  waiting_ -= object.waiting.size();
  object.waiting.clear();
}

void ObjectTable::Break(Object& object, const std::string& why, std::vector<Answer>* answers) {
  object.broken = "the barrier is broken: " + why;
  Settle(object, answers);
}

void ObjectTable::Settle(Object& object, std::vector<Answer>* answers) {
  // Serving a request may make an earlier one possible, so the loop restarts.
  for (bool again = true; again;) {
    again = false;
    for (auto at = object.waiting.begin(); at != object.waiting.end();) {
      ObjectReply reply;
      if (!Try(object, at->client, at->request, &reply)) {
        ++at;
        continue;
      }
      answers->push_back({at->ticket, std::move(reply)});
      at = object.waiting.erase(at);
      --waiting_;
      again = true;
    }
  }
}

std::vector<ObjectTable::Answer> ObjectTable::Expire(absl::Duration now) {
  std::vector<Answer> answers;
  for (auto& [id, object] : objects_) {
    const auto expired = std::erase_if(object.waiting, [&](const Waiting& waiting) {
      if (waiting.until > now) return false;
      Answer& answer = answers.emplace_back();
      answer.ticket = waiting.ticket;
      answer.reply.status = absl::DeadlineExceededError(
          absl::StrCat("waited ", absl::FormatDuration(waiting.request.timeout)));
      --waiting_;
      return true;
    });
    if (expired == 0 || object.kind != Operation::kMakeBarrier) continue;
    Break(object, "somebody's time was over", &answers);
  }
  return answers;
}

absl::Duration ObjectTable::NextTimeout() const {
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [id, object] : objects_) {
    for (const Waiting& waiting : object.waiting) next = std::min(next, waiting.until);
  }
  return next;
}

std::vector<ObjectTable::Answer> ObjectTable::ClientGone(std::uint64_t client,
                                                         const std::string& name) {
  std::vector<Answer> answers;
  for (auto& [id, object] : objects_) {
    const auto left = std::erase_if(
        object.waiting, [&](const Waiting& waiting) { return waiting.client == client; });
    waiting_ -= left;
    if (left > 0 && object.kind == Operation::kMakeBarrier) {
      Break(object, name + " has ended", &answers);
    }
    const auto held = object.held.find(client);
    if (held == object.held.end()) continue;
    object.number += held->second;
    object.held.erase(held);
    if (object.kind == Operation::kMakeLock) object.dead_holder = name;
    Settle(object, &answers);
  }
  return answers;
}

}  // namespace launcher::testing
