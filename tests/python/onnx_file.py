"""Writes ONNX files where the package onnx is not installed."""


def varint(number):
    low = bytes([number & 0x7F])
    return low if number < 0x80 else bytes([number & 0x7F | 0x80]) + varint(number >> 7)


def message(*fields):
    """A message of protobuf from pairs of a field's number and its value: an integer, a text, or bytes."""
    encoded = b""
    for number, value in fields:
        if isinstance(value, int):
            encoded += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            encoded += varint(number << 3 | 2) + varint(len(data)) + data
    return encoded


def described(name, *extents):
    """A ValueInfoProto of float32; names of extents are open."""
    dims = [(1, message((2, extent) if isinstance(extent, str) else (1, extent))) for extent in extents]
    return message((1, name), (2, message((1, message((1, 1), (2, message(*dims)))))))


def constant(name, array):
    return message(*((1, extent) for extent in array.shape), (2, 1), (8, name), (9, array.astype("<f4").tobytes()))


def node(op, inputs, output):
    return message(*((1, name) for name in inputs), (2, output), (3, output), (4, op))


def model(nodes, constants, inputs, outputs):
    graph = message(*((1, entry) for entry in nodes), (2, "g"), *((5, entry) for entry in constants),
                    *((11, entry) for entry in inputs), *((12, entry) for entry in outputs))
    return message((1, 8), (7, graph), (8, message((1, ""), (2, 13))))
