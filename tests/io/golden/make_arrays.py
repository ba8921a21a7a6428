"""Writes the arrays of this folder as NumPy does. The tests know what is in them, and need no numpy."""
import pathlib

import numpy

FOLDER = pathlib.Path(__file__).parent


def main():
    x = (numpy.arange(5 * 2 * 3, dtype=numpy.float32) / 4).reshape(5, 2, 3)
    arrays = {"x": x, "inner/y": numpy.arange(5, dtype=numpy.int64) * 10, "labels": numpy.array([4, 3, 2, 1, 0])}
    numpy.savez(FOLDER / "stored.npz", **arrays)
    numpy.savez_compressed(FOLDER / "deflated.npz", **arrays)
    for name in ("float64", "float16", "uint8", "bool"):
        numpy.save(FOLDER / f"{name}.npy", (numpy.arange(6) % 3).reshape(2, 3).astype(name))
    numpy.save(FOLDER / "big_endian.npy", x.astype(">f4"))
    numpy.save(FOLDER / "columns.npy", numpy.asfortranarray(x))
    numpy.save(FOLDER / "objects.npy", numpy.array([{}, 1], dtype=object))
    numpy.save(FOLDER / "records.npy", numpy.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
    numpy.save(FOLDER / "texts.npy", numpy.array(["a", "bc"]))


if __name__ == "__main__":
    main()
