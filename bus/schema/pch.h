// Precompiled header of the folders above bus/schema: base.h and all messages, which have 15,000
// lines.
#include "bazel/pch/base.h"
#include "bus/schema/envelope_generated.h"
#include "flatbuffers/flatbuffers.h"
