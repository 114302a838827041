#ifndef LAUNCHER_WIRE_RELAYED_LINE_H_
#define LAUNCHER_WIRE_RELAYED_LINE_H_

#include <string>
#include <string_view>

namespace launcher {

// Returns the value of the top-level string field "t" of the JSON object `line`, with its escapes;
// empty if `line` has no such field. This is not a JSON parser: its result only decides who answers
// a line.
std::string_view ReportLineType(std::string_view line);
// True if a program waits for an answer to a line of this type.
bool WantsAnswer(std::string_view type);
// Returns {"t":"error","code":CODE,"error":ERROR}, without a newline. Both must need no JSON
// escapes.
std::string ErrorLine(std::string_view code, std::string_view error);
// Returns the stop line that replaces `answer`, the trainer's answer to a report, with the same
// seq. Empty if the answer is not a plain ok (it has events or a saved checkpoint, or is an error).
std::string StopInPlaceOf(std::string_view answer, double grace_s);

}  // namespace launcher

#endif  // LAUNCHER_WIRE_RELAYED_LINE_H_
