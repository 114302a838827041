#ifndef TOOLS_YARD_PRINTABLE_H_
#define TOOLS_YARD_PRINTABLE_H_

#include "runtime/printable.h"

namespace yard {

using runtime::CharacterBytes;
using runtime::Printable;
using runtime::PrintableLines;

}  // namespace yard

#endif  // TOOLS_YARD_PRINTABLE_H_
