#ifndef LAUNCHER_TESTING_OBJECTS_OBJECT_CALLS_H_
#define LAUNCHER_TESTING_OBJECTS_OBJECT_CALLS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/testing/call/child_message.h"

namespace launcher::testing {

// Routes a request to the process that keeps the object: to the table of this process, or else, in
// a child, to the parent, which does the same. All functions are thread-safe.

using ObjectDone = std::function<void(ObjectReply reply)>;

// Returns an id of this process that is unique on the machine and never 0.
std::uint64_t HomeOfThisProcess();
// Identifies the process that makes a request: this one, or one of its children.
inline constexpr std::uint64_t kOwnClient = 0;
std::uint64_t NewObjectClient();

// Handles a request. `done` runs once, on another thread, and must not block.
void CallObject(std::uint64_t client, const ObjectRequest& request, ObjectDone done);
// Called when a child has ended.
void ObjectClientGone(std::uint64_t client, const std::string& name);
// Makes a request of this process, and blocks for its reply: for the time-out of the request and 30
// s more; then Unavailable.
ObjectReply CallObjectAndWait(const ObjectRequest& request);

// Sets the function that sends requests for objects of other processes; without it they are
// FailedPrecondition. Call it once, before other threads start.
void SetObjectUpstream(std::function<void(const ObjectRequest& request, ObjectDone done)> upstream);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OBJECTS_OBJECT_CALLS_H_
