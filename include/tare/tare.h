#pragma once

/// All of Tare.

#include "tare/arithmetic.h"
#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/node.h"
#include "tare/pattern.h"
#include "tare/process.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"
#include "tare/report.h"
#include "tare/search.h"
#include "tare/simulate.h"
#include "tare/statistics.h"
#include "tare/tensor.h"
#include "tare/toolkit.h"
