#include "tare/execute.h"
