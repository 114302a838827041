#ifndef EVENTLOG_SCALAR_EVENT_H_
#define EVENTLOG_SCALAR_EVENT_H_

#include <string_view>

#include "eventlog/event.h"

namespace eventlog {

// Decodes the shape that nearly all records have: a wall time, a step, and a summary of scalars,
// each a tag with a `simple_value` or a float or double tensor of rank 0, and perhaps its metadata,
// with the fields in the order of their numbers, as every writer there is puts them.
//
// False if the payload is anything else; `event` then holds something, and DecodeEvent() is to be
// asked. If true, `event` is what DecodeEvent() makes of the payload, to the last bit: for a third
// of the work. Reuses memory as it does.
bool DecodeScalarEvent(std::string_view payload, Event* event);

}  // namespace eventlog

#endif  // EVENTLOG_SCALAR_EVENT_H_
