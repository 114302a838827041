#ifndef TOOLS_YARD_TEXT_SPARKLINE_H_
#define TOOLS_YARD_TEXT_SPARKLINE_H_

#include <span>
#include <string>

namespace yard {

// A curve one line high: "█▅▃▂▁", at most `width` columns, oldest first, from the smallest finite
// value to the largest. Where several values share a column, the one is shown that is farthest from
// the column before, so that a spike stays. A value that is not finite leaves a gap.
std::string Sparkline(std::span<const double> values, int width);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_SPARKLINE_H_
