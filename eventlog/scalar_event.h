#ifndef EVENTLOG_SCALAR_EVENT_H_
#define EVENTLOG_SCALAR_EVENT_H_

#include <string_view>

#include "eventlog/event.h"

namespace eventlog {

// Decodes the form that nearly all records have: a wall time, a step, and a summary of scalars.
// Each scalar is a tag with a `simple_value` or a float or double tensor of rank 0, and perhaps its
// metadata, with the fields in the order of their numbers, as every known writer emits them.
//
// Returns false for any other payload; `event` is then unspecified: call DecodeEvent(). If it
// returns true, `event` is identical to the result of DecodeEvent(), to the last bit, for a third
// of the work. Reuses memory in the same way.
bool DecodeScalarEvent(std::string_view payload, Event* event);

}  // namespace eventlog

#endif  // EVENTLOG_SCALAR_EVENT_H_
