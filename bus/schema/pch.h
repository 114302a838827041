// base.h and all messages, for the folders above bus/schema: the messages have 15,000 lines.
#include "bazel/pch/base.h"
#include "bus/schema/envelope_generated.h"
#include "flatbuffers/flatbuffers.h"
