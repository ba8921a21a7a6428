#!/usr/bin/env python3
"""Expected times of 'tare quantize' on clusters: a discrete-event model of its ranks, their processors, network and disk.

usage: scripts/model_scaling.py check    # beside times that were measured on one machine
       scripts/model_scaling.py table    # the table of docs/scaling.md

Each rank is a program of steps: it computes, reads from the disk, or tells all others something and waits for what they tell.
Ranks of a node share its cores, all ranks the disk, and what all of them send goes into each node, one broadcast after
another. Work is what docs/scaling.md says that each level costs; Rates says how fast a core is at it, fitted to the network of
the size of ResNet-50 on one rank and on two, and to that of BERT-base on one. What every rank does for itself bounds the
speed-up.
"""
import dataclasses
import heapq
import sys


@dataclasses.dataclass(frozen=True)
class Layers:
    """Alike: a product of weights [columns, outputs] at so many positions of a sample, and what is looked at beside it."""
    count: int
    columns: int
    outputs: int
    positions: int
    elements: int  # activations of a sample that belong to it

    @property
    def weights(self):
        return self.columns * self.outputs


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    layers: tuple
    samples: int
    sample_bytes: int
    trials: int  # points that are tried for mixed precision

    @property
    def weights(self):
        return sum(layers.count * layers.weights for layers in self.layers)


@dataclasses.dataclass(frozen=True)
class Rates:
    """Of one core, and of what it is connected to."""
    run: float = 190e9         # multiplications of runs, per second
    element: float = 5.1e-9    # seconds: to look at an activation, and to cache it
    gptq: float = 54e9         # multiplications of rounding
    weight: float = 1.9e-7     # seconds: all that each rank does with each weight
    start: float = 0.4         # seconds
    disk: float = 2e9          # bytes per second, of all together
    network: float = 6e8       # bytes per second, into a node; of a machine alone, into all of its ranks
    latency: float = 20e-6     # seconds
    row_number: int = 1        # bytes that each number of a row takes on its way to other ranks
    rounding: int = 1          # and that each rounded weight takes


@dataclasses.dataclass(frozen=True)
class Cluster:
    nodes: int
    ranks_per_node: int
    cores: int  # of a node
    threads: int  # of a rank

    @property
    def ranks(self):
        return self.nodes * self.ranks_per_node


def runs_within(multiplications, network, least, most):
    """As the function of that name in src/calibrate/selection/trial.h: large networks are tried on fewer samples."""
    of_run = sum(layers.count * layers.weights * layers.positions for layers in network.layers)
    return min(max(multiplications / of_run, least), most)


def steps(network, rates, ranks):
    """What one rank does, in order: ("compute", seconds of one core, may use all threads), ("read", bytes), ("gather", bytes)."""
    n = network.samples
    pass_seconds = sum(layers.count * (layers.weights * layers.positions / rates.run + layers.elements * rates.element)
                       for layers in network.layers)
    yield "compute", rates.start, False
    yield "read", 4 * network.weights
    # Equalization: half of the samples and 64 at most through the float network, and half of these through three networks.
    fitting = runs_within(3.2e10, network, 8, min(max(n / 4, 16), 32))
    tried = 2 * fitting + 3 * fitting
    # Mixed precision: ranges of a quarter of them, and two runs, or one, of half the network for each point.
    tried += runs_within(1.6e10, network, 4, max(n / 4, 16)) + network.trials * runs_within(4e9, network, 1, 2) / 2
    yield "read", tried * network.sample_bytes / ranks
    yield "compute", tried * pass_seconds / ranks, True
    yield "compute", 0.5 * network.weights * rates.weight, True
    yield "gather", 1024
    yield "read", n * network.sample_bytes / ranks
    for layers in network.layers:
        rows = min(max(1024, 4 * layers.columns), (32 << 20) / (4 * layers.columns), layers.positions * n)
        block = min(layers.columns, 1024)
        blocks = layers.columns / block
        for _ in range(layers.count):
            yield "compute", n / ranks * (layers.weights * layers.positions / rates.run + layers.elements * rates.element), True
            yield "gather", 65536 + 144 * layers.outputs
            yield "gather", rows * layers.columns * rates.row_number / ranks
            yield "compute", blocks * rows * block * block / 2 / ranks / rates.gptq, True
            yield "gather", blocks * 2 * block * (block + 128) / ranks
            yield "compute", blocks * block ** 3 / 6 / rates.gptq, True
            yield "compute", blocks * 2.5 * block * block * layers.outputs / ranks / rates.gptq, True
            yield "gather", rates.rounding * layers.weights / ranks
            yield "compute", 0.5 * layers.weights * rates.weight, True
    # The verdict: 8 to 64 samples, or 4 of a large network, through three networks.
    yield "compute", 3 * runs_within(1.6e10, network, 4, min(max(n / 8, 8), 64)) * pass_seconds / ranks, True
    yield "read", network.weights  # the file, by the first


class Simulation:
    """Ranks at their steps. Cores of a node are shared evenly by those that compute."""

    def __init__(self, network, rates, cluster):
        self.rates, self.cluster = rates, cluster
        self.programs = [steps(network, rates, cluster.ranks) for _ in range(cluster.ranks)]
        self.time = 0.0
        self.left = {}       # seconds of one core that a rank still computes for
        self.speed = {}      # cores that it may use
        self.events = []     # (time, rank): ends of reading
        self.disk_free = 0.0
        self.waiting = {}    # rank: bytes that it gave
        self.done = 0

    def node(self, rank):
        return rank // self.cluster.ranks_per_node

    def advance(self, rank):
        step = next(self.programs[rank], None)
        if step is None:
            self.done += 1
        elif step[0] == "compute":
            self.left[rank] = step[1]
            self.speed[rank] = self.cluster.threads if step[2] else 1
        elif step[0] == "read":
            self.disk_free = max(self.disk_free, self.time) + step[1] / self.rates.disk
            heapq.heappush(self.events, (self.disk_free, rank))
        else:
            self.waiting[rank] = step[1]
            if len(self.waiting) == self.cluster.ranks:
                self.gather()

    def gather(self):
        rates, ranks = self.rates, self.cluster.ranks
        hops = max(ranks - 1, 0).bit_length()  # of a tree
        seconds = 0.0 if ranks == 1 else sum(own / rates.network + hops * rates.latency for own in self.waiting.values())
        everybody, self.waiting = list(self.waiting), {}
        for rank in everybody:
            heapq.heappush(self.events, (self.time + seconds, rank))

    def cores_of(self):
        """Cores that each computing rank has."""
        wanted = {}
        for rank in self.left:
            wanted.setdefault(self.node(rank), []).append(rank)
        return {rank: self.speed[rank] * min(1.0, self.cluster.cores / sum(self.speed[other] for other in ranks))
                for ranks in wanted.values() for rank in ranks}

    def run(self):
        for rank in range(self.cluster.ranks):
            self.advance(rank)
        while self.done < self.cluster.ranks:
            cores = self.cores_of()
            ends = [(self.left[rank] / cores[rank], rank) for rank in self.left]
            computed = min(ends, default=(float("inf"), -1))
            event = self.events[0][0] - self.time if self.events else float("inf")
            passed = min(computed[0], event)
            self.time += passed
            for rank in self.left:
                self.left[rank] -= passed * cores[rank]
            if computed[0] <= event:
                finished = [rank for rank, left in self.left.items() if left <= 1e-9]
                for rank in finished:
                    del self.left[rank]
                for rank in finished:
                    self.advance(rank)
            else:
                self.advance(heapq.heappop(self.events)[1])
        return self.time


def seconds(network, rates, cluster):
    return Simulation(network, rates, cluster).run()


def resnet50():
    layers = [Layers(1, 147, 64, 112 ** 2, 64 * 112 ** 2)]
    channels, size = 64, 56
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            before, size = size ** 2, size // (stride if block == 0 else 1)
            layers += [Layers(1, channels, width, before, width * before), Layers(1, 9 * width, width, size ** 2, width * size ** 2),
                       Layers(1, width, 4 * width, size ** 2, 8 * width * size ** 2)]
            if block == 0:
                layers.append(Layers(1, channels, 4 * width, size ** 2, 4 * width * size ** 2))
            channels = 4 * width
    layers.append(Layers(1, 2048, 1000, 1, 3048))
    return Network("ResNet-50 size, 64 images", tuple(layers), 64, 4 * 3 * 224 ** 2, 8)


def transformer(name, blocks, width, hidden, keys, tokens, samples, is_gated):
    up = Layers(blocks * (2 if is_gated else 1), width, hidden, tokens, 2 * hidden * tokens)
    layers = (Layers(2 * blocks, width, width, tokens, 4 * width * tokens), Layers(2 * blocks, width, keys, tokens, 2 * keys * tokens),
              up, Layers(blocks, hidden, width, tokens, 2 * width * tokens))
    return Network(name, layers, samples, 8 * tokens, 8)


BERT = transformer("BERT-base size, 64 sentences of 128 tokens", 12, 768, 3072, 768, 128, 64, False)
LARGE = (transformer("7B, 128 sequences of 2048 tokens", 32, 4096, 11008, 4096, 2048, 128, True),
         transformer("70B, 128 sequences of 2048 tokens", 80, 8192, 28672, 1024, 2048, 128, True))

# Two cores of a Xeon (6/207) that all ranks share, one thread each: seconds by the clock, of one rank, two and so on. They were
# measured, and rates fitted, when rows were sent in float and roundings in two bytes.
MEASURED = Rates(row_number=4, rounding=2)
CHECKED = {resnet50(): (21.2, 14.7, 20.3), BERT: (43.1, 29.7)}
ONE_MACHINE = Cluster(nodes=1, ranks_per_node=1, cores=2, threads=1)


def duration(seconds_of):
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds_of >= 2 * size:
            return f"{seconds_of / size:.1f} {unit}" if seconds_of < 20 * size else f"{seconds_of / size:.0f} {unit}"
    return f"{seconds_of:.0f} s"


def check():
    worst = 0.0
    for network, measured in CHECKED.items():
        for ranks, took in enumerate(measured, 1):
            expected = seconds(network, MEASURED, dataclasses.replace(ONE_MACHINE, ranks_per_node=ranks))
            worst = max(worst, abs(expected / took - 1))
            print(f"{network.name:44} {ranks} ranks  measured {took:6.1f} s  expected {expected:6.1f} s  {100 * (expected / took - 1):+5.1f} %")
    print(f"largest difference {100 * worst:.1f} %")
    return 0 if worst <= 0.15 else 1


def table():
    nodes = (1, 2, 4, 8, 16, 32, 64)
    print("| network | " + " | ".join(f"{count} nodes" if count > 1 else "1 node" for count in nodes) + " |")
    print("| --- |" + " --- |" * len(nodes))
    for network in (*CHECKED, *LARGE):
        times = [duration(seconds(network, Rates(network=12e9, disk=20e9), Cluster(count, 1, 32, 32))) for count in nodes]
        print(f"| {network.name} | " + " | ".join(times) + " |")
    return 0


if __name__ == "__main__":
    words = {"check": check, "table": table}
    if len(sys.argv) != 2 or sys.argv[1] not in words:
        sys.exit(__doc__)
    sys.exit(words[sys.argv[1]]())
