"""Plots predicted against measured speed-ups.

usage: plot_speeds.py SPEEDS.txt >speeds.svg      lines of SPEEDS.txt: network, predicted and measured speed-up

Both axes are logarithmic; the line is where both are equal, the band where they differ by at most 15 %.
"""
import math
import sys

SIZE, MARGIN, LEAST, MOST = 560, 56, 0.9, 2.8
TICKS = (1, 1.25, 1.5, 2, 2.5)


def place(value):
    share = math.log(min(max(value, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return MARGIN + share * (SIZE - 2 * MARGIN)


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{words}</text>'


def main(path):
    rows = []
    for line in open(path):
        if line.strip():
            name, predicted, measured = line.split()
            rows.append((name, float(predicted), float(measured)))
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" font-family="sans-serif" font-size="11">')
    print(f'<title>Predicted and measured speed-up of {len(rows)} networks</title>')
    print(f'<rect width="{SIZE}" height="{SIZE}" fill="white"/>')
    low, high = place(LEAST), place(MOST)
    band = [(LEAST, LEAST * 1.15), (MOST / 1.15, MOST), (MOST, MOST), (MOST, MOST / 1.15), (LEAST * 1.15, LEAST), (LEAST, LEAST)]
    points = " ".join(f"{place(x):.1f},{SIZE - place(y):.1f}" for x, y in band)
    print(f'<polygon points="{points}" fill="#e6eef7"/>')
    for tick in TICKS:
        at = place(tick)
        print(f'<path d="M{at:.1f} {SIZE - low:.1f}V{SIZE - high:.1f}M{low:.1f} {SIZE - at:.1f}H{high:.1f}" stroke="#ddd"/>')
        print(text(at, SIZE - low + 16, f"{tick:g}x"), text(low - 6, SIZE - at + 4, f"{tick:g}x", "end"))
    print(f'<path d="M{low:.1f} {SIZE - low:.1f}L{high:.1f} {SIZE - high:.1f}" stroke="#888"/>')
    print(text(SIZE / 2, SIZE - 14, "predicted"))
    print(text(16, SIZE / 2, "measured", extra=f' transform="rotate(-90 16 {SIZE / 2})"'))
    for name, predicted, measured in rows:
        x, y = place(predicted), SIZE - place(measured)
        print(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#1f5fa8" fill-opacity="0.75"><title>{name}: predicted {predicted:.2f}x, '
              f'measured {measured:.2f}x</title></circle>')
        if abs(math.log(predicted / measured)) > math.log(1.15):
            print(text(x + 6, y + 4, name, "start"))
    print("</svg>")


main(sys.argv[1])
