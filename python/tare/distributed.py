"""Calibrates on several machines at once, by any executor that has `map`: concurrent.futures, or a client of Dask.

    import tare.distributed
    with concurrent.futures.ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as executor:
        stats = tare.distributed.calibrate(executor, "model.onnx", "samples.h5", parts=8)
    tare.quantize("model.onnx", stats=stats, out="model.int8.onnx")
"""
import os
import pathlib
import tempfile
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _errors
from ._functions import calibrate as _calibrate
from ._functions import merge
from ._inputs import Samples
from .results import Statistics

_Path = Union[str, "os.PathLike[str]"]


def _collect(task: Tuple[Any, Any, Optional[Tuple[int, int]], Dict[str, Any]]) -> bytes:
    """What a worker does: statistics of its part, as the bytes of their file."""
    model, data, share, options = task
    if share is not None:
        data = Samples(data, model, options.get("config")).share(*share)
    with tempfile.TemporaryDirectory(prefix="tare-") as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "few_samples", _errors.TareWarning)  # of a part
        path = pathlib.Path(folder) / "part.h5"
        _calibrate(model, data, out=path, progress=False, **options)
        return path.read_bytes()


def _statistics(part: bytes) -> Statistics:
    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        path = pathlib.Path(folder) / "part.h5"
        path.write_bytes(part)
        return merge(path)


def calibrate(executor: Any, model: Any, data: Any, config: Any = None, *, parts: int = 0, out: Optional[_Path] = None,
              **options: Any) -> Statistics:
    """Statistics of all samples, which the workers of an executor collect part by part: those that tare.calibrate() gives.

    executor: has `map(function, tasks)`, which gives results in the order of the tasks, or futures of them: an Executor of
      concurrent.futures, a `dask.distributed.Client`, or the like. Where it repeats a task whose worker died, as Dask does,
      nothing is lost. Processes are not to be forked from one that has used this package.
    model, data: as in tare.calibrate(). `data` is a list of the samples of each part, such as paths of files; or one path
      that all workers can read, and `parts` says in how many parts it is cut. A model that is a path is read by the workers.
    options: of tare.calibrate().
    """
    if isinstance(data, (list, tuple)):
        if parts:
            raise _errors.ConfigError("parts: the samples are in parts already")
        shares: Sequence[Tuple[Any, Optional[Tuple[int, int]]]] = [(part, None) for part in data]
    else:
        if parts < 1:
            raise _errors.ConfigError(f"parts: is {parts}, expected at least 1, or a list of samples")
        available = len(Samples(data, model, config))
        count = max(1, min(parts, available))
        shares = [(data, (number, count)) for number in range(count)]
    tasks = [(model, part, share, {"config": config, **options}) for part, share in shares]
    found: List[bytes] = [part.result() if hasattr(part, "result") else part for part in executor.map(_collect, tasks)]
    total = merge(*(_statistics(part) for part in found))
    if out is not None:
        total.save(out)
    return total
