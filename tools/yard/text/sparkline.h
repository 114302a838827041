#ifndef TOOLS_YARD_TEXT_SPARKLINE_H_
#define TOOLS_YARD_TEXT_SPARKLINE_H_

#include <span>
#include <string>

namespace yard {

// Returns a curve in one line: "█▅▃▂▁", at most `width` columns, oldest first, from the smallest
// finite value to the largest. If several values share a column, it shows the one farthest from the
// previous column, so that spikes stay visible. A value that is not finite leaves a gap.
std::string Sparkline(std::span<const double> values, int width);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_SPARKLINE_H_
