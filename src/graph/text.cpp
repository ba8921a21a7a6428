#include "tare/error.h"
#include "tare/graph.h"

namespace tare {}
