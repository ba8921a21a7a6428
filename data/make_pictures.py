"""Writes the first 64 calibration samples as JPEG files, to stand in for a user's folder of pictures. Needs h5py and
Pillow."""
import pathlib

import h5py
from PIL import Image

FOLDER = pathlib.Path(__file__).parent


def main():
    pictures = FOLDER / "pictures"
    pictures.mkdir(exist_ok=True)
    with h5py.File(FOLDER / "digits_calibration.h5") as file:
        for number, sample in enumerate(file["image"][:64]):
            Image.fromarray(sample[0]).save(pictures / f"{number:02}.jpg", quality=92)


if __name__ == "__main__":
    main()
