#pragma once

#include "base/output_file.h"
#include "io/hdf5.h"

namespace tare::hdf5 {

/// A new HDF5 file in `output`, which has to outlive it. The library never learns that
/// something could not be written: it leaves files open that it cannot write to the end, and
/// crashes on them when the process exits. So nothing here fails because of the disk; ask
/// `output.require_written()`. Hold the lock of the library.
Handle create_file(OutputFile& output);

}  // namespace tare::hdf5
