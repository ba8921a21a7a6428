"""Writes the pictures of this folder, and what Pillow makes of them: NAME.npy is NAME as RGB, resized_H_W.npy is photo.png
in another size, imagenet.npy what torchvision's Resize(32), CenterCrop(28), ToTensor and Normalize make of it. Needs
Pillow and numpy; the tests need neither.
"""
import pathlib

import numpy
from PIL import Image

FOLDER = pathlib.Path(__file__).parent
HEIGHT, WIDTH = 29, 37


def photo():
    random = numpy.random.default_rng(7)
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    channels = [127 + 120 * numpy.sin(x / 5), 127 + 120 * numpy.cos(y / 4), (x * y) % 256]
    pixels = numpy.stack(channels, axis=-1) + random.normal(0, 8, (HEIGHT, WIDTH, 3))
    pixels[5:12, 8:20] = [250, 10, 30]
    return Image.fromarray(numpy.clip(pixels, 0, 255).astype(numpy.uint8))


def save(image, name, **options):
    image.save(FOLDER / name, **options)
    numpy.save(FOLDER / f"{name}.npy", numpy.asarray(Image.open(FOLDER / name).convert("RGB")))


def main():
    image = photo()
    save(image, "photo.png")
    save(image.convert("L"), "gray.png")
    save(image.convert("1"), "two_levels.png")
    save(image.quantize(13), "palette.png")
    alpha = Image.fromarray(numpy.tile(numpy.arange(WIDTH, dtype=numpy.uint8) * 6, (HEIGHT, 1)))
    transparent = image.copy()
    transparent.putalpha(alpha)
    save(transparent, "transparent.png")
    save(image, "photo.jpg", quality=90)
    save(image, "progressive.jpg", quality=80, progressive=True, subsampling=0)
    save(image.convert("L"), "gray.jpg", quality=90)
    save(image.convert("CMYK"), "inks.jpg", quality=95)
    save(image, "photo.bmp")
    save(image.quantize(200), "palette.bmp")
    save(image.convert("1"), "two_levels.bmp")
    numpy.save(FOLDER / "luma.npy", numpy.asarray(image.convert("L")))

    for height, width in [(14, 20), (58, 74), (29, 13), (90, 37), (7, 100), (1, 1)]:
        resized = image.resize((width, height), Image.BILINEAR)
        numpy.save(FOLDER / f"resized_{height}_{width}.npy", numpy.asarray(resized))

    shorter, size = 32, 28
    resized = image.resize((int(shorter * WIDTH / HEIGHT), shorter), Image.BILINEAR)
    left, top = int(round((resized.width - size) / 2.0)), int(round((resized.height - size) / 2.0))
    cut = numpy.asarray(resized.crop((left, top, left + size, top + size)))
    values = (cut / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    numpy.save(FOLDER / "imagenet.npy", values.transpose(2, 0, 1).astype(numpy.float32))


if __name__ == "__main__":
    main()
