#ifndef TOOLS_YARD_TOP_VIEW_H_
#define TOOLS_YARD_TOP_VIEW_H_

#include "absl/time/time.h"
#include "tools/yard/top/model.h"
#include "tools/yard/top/screen.h"

namespace yard::top {

struct ViewOptions {
  int width = 80;
  int height = 24;
  absl::TimeZone zone = absl::UTCTimeZone();
  // The last line lists the keys or shows a message. If false, this is a frame for a file, without
  // a selection.
  bool keys = true;
};

// Returns the screen of a model. Leaves out what does not fit, the table's selected row last.
Screen Draw(const Model& model, const ViewOptions& options);

// Returns the height of a frame for a file that shows everything.
int HeightOfAll(const Model& model);

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_VIEW_H_
