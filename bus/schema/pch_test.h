// Precompiled header of the tests of the folders above bus/schema: test.h and all messages.
#include "bazel/pch/test.h"
#include "bus/schema/envelope_generated.h"
#include "flatbuffers/flatbuffers.h"
