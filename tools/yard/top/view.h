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
  // The last line names them, or says what else is to be said. Without it this is a frame for a
  // file: nothing is selected.
  bool keys = true;
};

// The screen of a model: what has no place is left out, the table's selected row last.
Screen Draw(const Model& model, const ViewOptions& options);

// Rows of a frame for a file that shows all.
int HeightOfAll(const Model& model);

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_VIEW_H_
