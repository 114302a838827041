#ifndef LAUNCHER_TESTING_OBJECTS_OBJECT_CALLS_H_
#define LAUNCHER_TESTING_OBJECTS_OBJECT_CALLS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/testing/call/child_message.h"

namespace launcher::testing {

// How a request gets to the process whose object it is: to the table of this process, or else, in a
// child, to the parent, which does the same. Any thread may call anything here.

using ObjectDone = std::function<void(ObjectReply reply)>;

// Not 0; like no other process's of the machine.
std::uint64_t HomeOfThisProcess();
// The process that asks: this one, or one of its children.
inline constexpr std::uint64_t kOwnClient = 0;
std::uint64_t NewObjectClient();

// `done` runs once, on another thread, and must not block.
void CallObject(std::uint64_t client, const ObjectRequest& request, ObjectDone done);
// The child has ended.
void ObjectClientGone(std::uint64_t client, const std::string& name);
// Sends a request of this process. Waits for as long as the request says, and 30 s more for the
// answer: then Unavailable.
ObjectReply CallObjectAndWait(const ObjectRequest& request);

// Where requests for objects of other processes go; without it they are FailedPrecondition. Set
// once, before any other thread is started.
void SetObjectUpstream(std::function<void(const ObjectRequest& request, ObjectDone done)> upstream);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OBJECTS_OBJECT_CALLS_H_
