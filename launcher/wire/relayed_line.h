#ifndef LAUNCHER_WIRE_RELAYED_LINE_H_
#define LAUNCHER_WIRE_RELAYED_LINE_H_

#include <string>
#include <string_view>

namespace launcher {

// The value of the string field "t" at the top of the JSON object `line`, as it is written; empty
// if `line` has no such field. Not a JSON parser: what it is told only decides who answers a line.
std::string_view ReportLineType(std::string_view line);
// True if a program waits for an answer to a line of this type.
bool WantsAnswer(std::string_view type);
// {"t":"error","code":CODE,"error":ERROR}, without a newline. Both must need no JSON escapes.
std::string ErrorLine(std::string_view code, std::string_view error);
// `answer` is the trainer's to a report: the stop line that takes its place, with the same seq.
// Empty if the answer says more than ok (events, a checkpoint that is saved), or something else.
std::string StopInPlaceOf(std::string_view answer, double grace_s);

}  // namespace launcher

#endif  // LAUNCHER_WIRE_RELAYED_LINE_H_
