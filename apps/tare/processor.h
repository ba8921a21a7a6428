#pragma once

namespace tare::cli {

/// Throws Error(kUnsupported) when this machine lacks instructions that the library was
/// compiled for. Called before anything of the library runs.
void require_processor();

}  // namespace tare::cli
